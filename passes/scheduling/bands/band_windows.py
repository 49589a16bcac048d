"""Windows: the values of a dimension that one element, or a band of elements, reads of a tensor.

    y[i, j] = sum[s in range(5)](w[s] * z[i + s - 2, 2*j])

    z[i + s - 2, ..]     Window(i, 1, -2, 2): y[i, ..] reads the rows i - 2 to i + 2 of z
    z[.., 2*j]           Window(j, 2, 0, 0)

A sum over a piece has a window as long as that is:

    y_pieces[s, p] = sum[i in range(8*p, min(8*p + 8, I))](x[i] * z[i + s])        s in range(5)

    z[i + s]             Window(p, 8, 0, 11)

A window has bounds that are numbers. Terms that are not there, and conditions, make it no smaller.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf, prod

from xdsl.ir import Operation, SSAValue

from tadc.dialects import tix
from tadc.dialects.tix import Affine
from tadc.passes.rewriting.programs import definition_around, reductions_around
from tadc.passes.scheduling.tiles.tile_analysis import constant_extent


@dataclass(frozen=True)
class Window:
    """The values from `step * index + low` to `step * index + high`."""

    index: SSAValue
    step: int
    low: int
    high: int

    @property
    def uses(self) -> int:
        """The most windows that contain one value."""
        return -(-(self.high - self.low + 1) // self.step)


@dataclass(frozen=True)
class _Range:
    """The values of an index of a reduction, from `start + low` to `start + high`."""

    start: Affine
    low: int
    high: int

    @property
    def count(self) -> int:
        """The number of values."""
        return max(1, self.high - self.low + 1)


def windows_of(read: tix.ReadOp, reader: tix.DefineOp) -> list[Window | None]:
    """The window of each dimension that a definition reads; None where there is none."""
    return windows_by(read, dict(zip(reader.indices, reader.shape, strict=True)))


def windows_by(read: tix.ReadOp, sizes: Mapping[SSAValue, Affine]) -> list[Window | None]:
    """The window of each dimension of a read by one of these indices; None where there is none."""
    ranges = {v: _range(v, op) for op in reductions_around(read) for v in op.indices}
    extents = {v: constant_extent(size) for v, size in sizes.items()}
    return [_window(form, extents, ranges) for form in read.forms]


def _window(
    form: Affine, own: Mapping[SSAValue, int | None], ranges: Mapping[SSAValue, _Range | None]
) -> Window | None:
    place, low, high = Affine(constant=form.constant), 0, 0
    for v in form.indices:
        found = _Range(Affine.of(v), 0, 0) if v in own else ranges.get(v)
        if found is None:
            return None
        ends = form[v] * found.low, form[v] * found.high
        place, low, high = place + found.start * form[v], low + min(ends), high + max(ends)
    moved = sorted(place.indices, key=lambda v: _distance(place[v], own[v]))
    if form.sizes or not moved or place[moved[-1]] < 1:
        return None
    # what moves it less far has all of its values
    for v in moved[:-1]:
        extent = own[v]
        if extent is None:
            return None
        last = place[v] * max(0, extent - 1)
        low, high = low + min(0, last), high + max(0, last)
    return Window(moved[-1], place[moved[-1]], low + place.constant, high + place.constant)


def _distance(step: int, extent: int | None) -> float:
    """The distance that an index with `extent` values moves a subscript; infinite for None."""
    return inf if extent is None else abs(step) * extent


def _range(index: SSAValue, op: tix.ReductionOp) -> _Range | None:
    """The range of a reduction's index in numbers, or in numbers relative to a form of the
    definition's indices; None for other bounds."""
    own = definition_around(op).indices
    forms = [c.form for c in op.constraints if abs(c.form[index]) == 1 and not c.form.sizes]
    first = [Affine.of(index) - form for form in forms if form[index] == 1]
    last = [form + Affine.of(index) for form in forms if form[index] == -1]
    starts = [start for start in map(_moved, first) if {*start.indices} <= {*own}]
    for start in sorted(starts, key=lambda form: len(form.indices)):
        low = [form.constant for form in first if _moved(form) == start]
        high = [form.constant for form in last if _moved(form) == start]
        if high:
            return _Range(start, max(low), min(high))
    return None


def _moved(form: Affine) -> Affine:
    """A form without its constant."""
    return form - form.constant


def most_terms(op: tix.DefineOp) -> int | None:
    """The number of terms that an element of a definition has at most; None if no number says."""
    reductions = [o for o in op.body.walk() if isinstance(o, tix.ReductionOp)]
    if any(_range(v, o) is None for o in reductions for v in o.indices):
        return None
    return max((terms_around(o.body.block.last_op) for o in reductions), default=1)


def terms_around(op: Operation | None) -> int:
    """The number of times that an operation runs for an element, by the known trip counts."""
    around = reductions_around(op) if op else ()
    ranges = (_range(v, o) for o in around for v in o.indices)
    return prod(r.count for r in ranges if r)
