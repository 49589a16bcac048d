"""Windows: the values of a dimension that one element, or a band of elements, reads of a tensor.

    y[i, j] = sum[s in range(5)](w[s] * z[i + s - 2, j])

    z[i + s - 2, ..]     Window(i, -2, 2): y[i, ..] reads the rows i - 2 to i + 2 of z
    z[.., j]             Window(j, 0, 0)

A window has bounds that are numbers. Terms that are not there, and conditions, make it no smaller.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from xdsl.ir import Operation, SSAValue

from dialects import tix
from dialects.tix import Affine
from passes.rewriting.programs import reductions_around


@dataclass(frozen=True)
class Window:
    """The values from `index + low` to `index + high`."""

    index: SSAValue
    low: int
    high: int


def windows_of(read: tix.ReadOp, reader: tix.DefineOp) -> list[Window | None]:
    """The window of each dimension that a definition reads; None where there is none."""
    ranges = {v: _range(v, op) for op in reductions_around(read) for v in op.indices}
    return [_window(form, reader.indices, ranges) for form in read.forms]


def _window(
    form: Affine, own: list[SSAValue], ranges: dict[SSAValue, tuple[int, int] | None]
) -> Window | None:
    moved = [v for v in form.indices if v in own]
    others = {v: form[v] for v in form.indices if v not in own}
    if form.sizes or len(moved) != 1 or form[moved[0]] != 1:
        return None
    low = high = form.constant
    for v, c in others.items():
        found = ranges.get(v)
        if found is None:
            return None
        ends = c * found[0], c * found[1]
        low, high = low + min(ends), high + max(ends)
    return Window(moved[0], low, high)


def _range(index: SSAValue, op: tix.ReductionOp) -> tuple[int, int] | None:
    """The first and the last value that numbers leave to an index of a reduction."""
    alone = [c for c in op.constraints if [*c.form.terms] == [index] and abs(c.form[index]) == 1]
    low = [-c.form.constant for c in alone if c.form[index] == 1]
    high = [c.form.constant for c in alone if c.form[index] == -1]
    return (max(low), min(high)) if low and high else None


def most_terms(op: tix.DefineOp) -> int | None:
    """The number of terms that an element of a definition has at most; None if no number says."""
    reductions = [o for o in op.body.walk() if isinstance(o, tix.ReductionOp)]
    if any(_range(v, o) is None for o in reductions for v in o.indices):
        return None
    return max((terms_around(o.body.block.last_op) for o in reductions), default=1)


def terms_around(op: Operation | None) -> int:
    """The times that an operation runs for an element, as far as numbers bound reductions."""
    around = reductions_around(op) if op else ()
    ranges = (_range(v, o) for o in around for v in o.indices)
    return prod(max(1, r[1] - r[0] + 1) for r in ranges if r)
