"""Quotients in indices that wrap around a circle, as `(i + 1) // 100` in `x[(i + 1) % 100]`.

Such a quotient has one to three values, and changes once along each index: an index has no more
values than the divisor. Others, such as the `p // 2` of an image that is enlarged, count.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from xdsl.ir import SSAValue

from tadc.dialects import tix
from tadc.dialects.tix import Affine, Constraint
from tadc.passes.index_sets.paths import Path
from tadc.passes.index_sets.sets import index_set, quotients_of

Ends = tuple[int, int]
"""The first and the last value of an index."""

MOST_VALUES = 3
"""Values of a quotient that wraps around: windows reach beyond both ends of a circle."""


class Wrap(NamedTuple):
    """A quotient `q = whole + e // m`, where `e // m` has few values."""

    quotient: tix.FloorDivOp
    whole: Affine
    rest: Affine
    """The numerator e."""
    span: range
    """The values of e."""

    @property
    def divisor(self) -> int:
        """The number m of points on the circle."""
        return self.quotient.divisor.data

    @property
    def values(self) -> range:
        """The values of `e // m`."""
        return range(self.span[0] // self.divisor, self.span[-1] // self.divisor + 1)


def is_at_most(numerator: Affine, divisor: int, value: int) -> Constraint:
    """The condition `e // m <= value`, as `e < m (value + 1)`."""
    return Constraint(divisor * (value + 1) - 1 - numerator)


def wraps_of(read: tix.ReadOp, path: Path) -> Iterator[Wrap]:
    """The quotients in the indices of a read that wrap around, where numbers bound these."""
    quotients = quotients_of(read.forms)
    ranges = ranges_around(path) if quotients else {}
    for quotient in quotients:
        whole = _multiples(quotient)
        rest = quotient.form - whole * quotient.divisor.data
        if not rest.sizes and _changes_once(rest, quotient.divisor.data, ranges):
            ends = [sorted(rest[v] * n for n in ranges[v]) for v in rest.indices]
            low, high = (rest.constant + sum(e[side] for e in ends) for side in (0, 1))
            wrap = Wrap(quotient, whole, rest, range(low, high + 1))
            if len(wrap.values) <= MOST_VALUES:
                yield wrap


def _multiples(quotient: tix.FloorDivOp) -> Affine:
    """The part of a quotient that is whole: `(i + 99 k) // 100` is `k + (i - k) // 100`.

    What is left of a coefficient is no larger than half of the divisor.
    """
    form, m = quotient.form, quotient.divisor.data
    return Affine({v: (2 * form[v] + m) // (2 * m) for v in form.indices})


def _changes_once(rest: Affine, divisor: int, ranges: Mapping[SSAValue, Ends]) -> bool:
    """True if a quotient changes at most once along each index."""
    return all(
        abs(rest[v]) == 1 and v in ranges and 0 <= ranges[v][1] - ranges[v][0] < divisor
        for v in rest.indices
    )


def ranges_around(path: Path) -> dict[SSAValue, Ends]:
    """The first and the last value of the indices around a read that have numbers for bounds."""
    low: dict[SSAValue, int] = {}
    high: dict[SSAValue, int] = {}
    reductions = (c for op in path.reductions for c in op.constraints)
    for constraint in (*index_set(path.definition), *reductions):
        form = constraint.form
        if len(form.terms) != 1 or not form.indices or constraint.equality:
            continue
        (v,) = form.indices
        if form[v] == 1:
            low[v] = max(-form.constant, low.get(v, -form.constant))
        elif form[v] == -1:
            high[v] = min(form.constant, high.get(v, form.constant))
    return {v: (low[v], high[v]) for v in low.keys() & high.keys()}
