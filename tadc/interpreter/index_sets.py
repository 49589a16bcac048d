"""Enumerate the points of convex index sets, for many outer points at once.

The own indices of a sum are enumerated one after another. The bounds of each come from interval
propagation over the constraints, given the outer indices and those enumerated before: with
`i + k == p` the second index has one value per point, not a whole range. Bounds only have to be
valid, since in the end the constraints themselves decide.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import gcd
from typing import TypeAlias

import numpy as np
from xdsl.ir import SSAValue

from tadc.dialects.tix import Affine, Constraint
from tadc.interpreter.arrays import Array
from tadc.interpreter.points import POINTS_AT_ONCE, Points

MOST_ROUNDS_OF_PROPAGATION = 30
"""The number of rounds: propagation may never converge, and any bound on the way is valid."""

Values: TypeAlias = dict[SSAValue, Array]


class Unbounded(Exception):
    """A sum over a set whose constraints give an index no finite bounds."""


def expand(
    points: Points,
    own: Sequence[SSAValue],
    constraints: Sequence[Constraint],
    sizes: Mapping[str, int],
) -> Iterator[tuple[Points, Array]]:
    """All extensions of `points` by `own` indices that satisfy the constraints.

    They come in chunks, with the number of the point of `points` that each extends.
    """
    system = _System(constraints, own, sizes)
    yield from _expand(points, np.arange(points.count), {}, constraints, system)


def _expand(
    outer: Points,
    origin: Array,
    chosen: Values,
    constraints: Sequence[Constraint],
    system: _System,
) -> Iterator[tuple[Points, Array]]:
    points = outer.select(origin, dict(chosen))
    if len(chosen) == len(system.own):
        kept = np.flatnonzero(points.holds(constraints, system.sizes))
        if len(kept):
            values = {index: array[kept] for index, array in chosen.items()}
            yield outer.select(origin[kept], values), origin[kept]
        return
    index = system.own[len(chosen)]
    low, high = system.bounds(points, index, chosen)
    counts: Array = np.maximum(high - low + 1, 0)
    for start, stop in _split(counts):
        number: Array = counts[start:stop]
        repeated: Array = np.repeat(np.arange(start, stop), number)
        first = np.repeat(np.cumsum(number) - number, number)
        values = {key: array[repeated] for key, array in chosen.items()}
        values[index] = low[repeated] + (np.arange(len(repeated)) - first)
        if len(repeated):
            yield from _expand(outer, origin[repeated], values, constraints, system)


def _split(counts: Array) -> Iterator[tuple[int, int]]:
    """Runs of points whose `counts` add up to at most `POINTS_AT_ONCE`, or of a single one."""
    ends = np.cumsum(counts)
    start = 0
    while start < len(counts):
        before = int(ends[start - 1]) if start else 0
        stop = max(start + 1, int(np.searchsorted(ends, before + POINTS_AT_ONCE, side="right")))
        yield start, stop
        start = stop


class _System:
    """The inequalities `form >= 0` that bound own indices, sizes replaced by their values.

    Intervals are float64 with infinities; they are exact up to 2**52, far above any grid.
    """

    def __init__(
        self, constraints: Sequence[Constraint], own: Sequence[SSAValue], sizes: Mapping[str, int]
    ):
        self.own = own
        self.sizes = sizes
        known = {name: Affine({}, value) for name, value in sizes.items()}
        forms = [c.form.substitute({**known}) for c in constraints]
        rows = _tightest(
            row
            for form, c in zip(forms, constraints, strict=True)
            for row in ((form, -form) if c.equality else (form,))
        )
        if not _propagation_bounds(rows, own):
            rows = _tightest([*rows, *_combinations(rows, own)])
        mine = [Affine({v: row[v] for v in own}) for row in rows]
        self.rows = [(m, row - m) for m, row in zip(mine, rows, strict=True) if m.terms]

    def bounds(
        self, points: Points, index: SSAValue, chosen: Mapping[SSAValue, Array]
    ) -> tuple[Array, Array]:
        """The least and the largest value of `index` per point, given the `chosen` indices."""
        low = {v: 1.0 * chosen.get(v, np.full(points.count, -np.inf)) for v in self.own}
        high = {v: 1.0 * chosen.get(v, np.full(points.count, np.inf)) for v in self.own}
        rows = [(mine, points.affine(rest, self.sizes)) for mine, rest in self.rows]
        for _ in range(MOST_ROUNDS_OF_PROPAGATION):
            changes = [_tighten(mine, rest, low, high) for mine, rest in rows]
            if not any(changes):
                break
        possible = np.all([low[v] <= high[v] for v in self.own], axis=0)
        lows = np.where(possible, low[index], 0)
        highs = np.where(possible, high[index], -1)
        if not (np.all(np.isfinite(lows)) and np.all(np.isfinite(highs))):
            raise Unbounded(f"index {index.name_hint or index} of a sum has no finite bounds")
        return lows.astype(np.int64), highs.astype(np.int64)


def _tighten(mine: Affine, rest: Array, low: Values, high: Values) -> bool:
    """Use `mine + rest >= 0`: each term is at least the negative of what the others reach."""
    changed = False
    most = {v: mine[v] * (high if mine[v] > 0 else low)[v] for v in mine.indices}
    for v in mine.indices:
        least = -(rest + sum(m for u, m in most.items() if u is not v))
        up = mine[v] > 0
        side, better, rounded = (low, np.maximum, np.ceil) if up else (high, np.minimum, np.floor)
        new = better(side[v], rounded(least / mine[v]))
        changed |= bool(np.any(new != side[v]))
        side[v] = new
    return changed


# --- sets that interval propagation alone does not bound ------------------------------------------


def _propagation_bounds(rows: Sequence[Affine], own: Sequence[SSAValue]) -> bool:
    """True if propagation reaches finite bounds on both sides of every index."""
    known: set[tuple[SSAValue, bool]] = set()
    while True:
        new = {
            (v, row[v] < 0)  # a negative coefficient bounds from above
            for row in rows
            for v in own
            if row[v] and all((u, row[u] > 0) in known for u in own if row[u] and u is not v)
        } - known
        if not new:
            return len(known) == 2 * len(own)
        known |= new


def _combinations(rows: Sequence[Affine], own: Sequence[SSAValue]) -> list[Affine]:
    """Sums of rows in which own indices cancel.

    `0 <= a + b <= n, 0 <= a - b <= n` bounds no index by itself, `0 <= 2 * a <= 2 * n` does.
    Eliminating every index but one, in turn, gives all rational bounds (Fourier-Motzkin).
    """
    result: list[Affine] = []
    for kept in own:
        left = list(rows)
        for v in own:
            left = left if v is kept else _eliminate(left, v)
        result += left
    return result


def _eliminate(rows: Sequence[Affine], v: SSAValue) -> list[Affine]:
    """The rows without `v`, and the sums of two in which it cancels."""
    sums = [up * -down[v] + down * up[v] for up in rows for down in rows if up[v] > 0 > down[v]]
    return _tightest([*(row for row in rows if not row[v]), *sums])


def _tightest(rows: Iterable[Affine]) -> list[Affine]:
    """One row per direction, with the least constant and coprime coefficients."""
    least: dict[Affine, int] = {}
    for row in rows:
        divisor = gcd(*row.terms.values()) or 1
        direction = (row - row.constant) // divisor
        constant = row.constant // divisor
        least[direction] = min(constant, least.get(direction, constant))
    return [direction + constant for direction, constant in least.items()]
