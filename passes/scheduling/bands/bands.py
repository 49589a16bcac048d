"""Definitions that share bands: stages of a stencil, each band of which is near to the next one.

    z[i, j] = sum[t in range(5)](b[t] * x[i, j + t])        for each band of rows of y:
    y[i, j] = sum[s in range(5)](a[s] * z[i + s, j])          the rows of z that it reads
                                                              the rows of y

One after the other, each of them goes over a whole tensor, and what does not fit into a near cache
goes to memory and back. A band is a box of the last definition, its *root*; those before it have a
buffer for the elements that a band reads, and no tensor. What two bands read is computed for both:
so bands do not wait for each other, and bits do not depend on who computes them.

    band     rows i .. i + 7 of y            a root, and
    stage    rows i .. i + 11 of z           a stage before it, which reaches 4 rows further

The root may be a sum over pieces of an image (`band_pieces`): a piece is a band.

A stage is a definition like any other, whose indices begin at that of the band, so that it runs in
blocks or as a stream (`band_loops`). How many elements a band has, sizes tell at run time.
"""

from __future__ import annotations

from collections.abc import Collection, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from math import prod

from xdsl.ir import Operation
from xdsl.rewriter import Rewriter

from dialects import tix
from passes.analysis.costs import FREE, weight
from passes.rewriting.programs import definition_around, reads_of
from passes.scheduling.bands.band_axes import with_all_axes
from passes.scheduling.bands.band_stages import Axis, Bands, Roll, Side, stages_of
from passes.scheduling.bands.band_windows import Window, most_terms, terms_around, windows_of
from passes.scheduling.bands.rolls import roll_of
from passes.scheduling.blocking import Blocking, ChooseBlocking
from passes.scheduling.nest import Nest
from passes.scheduling.scans import is_scanned
from passes.scheduling.tiles.tile_analysis import bytes_of_element, constant_extent

BYTES_OF_BANDS = 1 << 18
"""Bytes of the buffers of a band: a part of a near cache, beside what a band reads and writes."""

MOST_TERMS = 64
"""Terms of an element of a stage: more have no windows, or take longer than memory does."""

MOST_STAGES = 4
"""Definitions that share bands at most: the first ones reach over the windows of all others."""

TIMES_OF_REACH = 3
"""Rows of a band at least, as a multiple of those that it shares with the next one."""

FEWEST_ROWS = 8
"""Rows of a band at least: half of them, which the last bands may have, are rows of blocks."""

FEWEST_COLUMNS = 64
"""Elements of the shortest rows of a band."""

MOST_AGAIN = 32
"""Additions that an element of a stage may cost more, for what two bands compute: memory takes as
long for a vector that is written, and read again."""


def bands_shared(
    nests: Sequence[Nest], alone: Collection[tix.DefineOp], choose: ChooseBlocking
) -> list[Nest]:
    """The given nests in order, where neighbours share bands; those in `alone` share nothing."""
    found: list[Nest] = []
    group: list[Nest] = []
    for nest in reversed(nests):
        if group and _may_join(nest, group, alone, choose):
            group.insert(0, nest)
            continue
        found += reversed(_joined(group, choose))
        group = [nest]
    return [*reversed([*found, *reversed(_joined(group, choose))])]


def _may_join(
    nest: Nest, group: Sequence[Nest], alone: Collection[tix.DefineOp], choose: ChooseBlocking
) -> bool:
    """True if a definition may be a stage before others.

    What takes long is asked last: how loops run, of definitions that have stages.
    """
    ops = [n.members[0] for n in (nest, *group)]
    return (
        len(group) < MOST_STAGES
        and _is_private(ops[0], ops[1:])
        and all(_is_free(n, alone) for n in (nest, *group))
        and all(map(has_few_terms, ops[:-1]))
        and _layout(ops) is not None
        and choose(ops[0]).is_far
        and not any(choose(op).alone for op in ops)
        and not any(_has_short_rows(choose(op)) for op in ops[:-1])
    )


def _has_short_rows(blocking: Blocking) -> bool:
    """True if rows are known to have no room for the blocks of a stage, whose sizes are not."""
    return blocking.row is not None and blocking.row < FEWEST_COLUMNS


def _is_private(op: tix.DefineOp, readers: Sequence[tix.DefineOp]) -> bool:
    """True if others read a result, and nobody else does."""
    users = [use.operation for use in op.result.uses]
    return bool(users) and all(
        isinstance(u, tix.ReadOp) and definition_around(u) in readers for u in users
    )


def _is_free(nest: Nest, alone: Collection[tix.DefineOp]) -> bool:
    """True if a nest is of one definition, of few neighbours, that shares nothing else."""
    if len(nest.members) > 1 or nest.rows or nest.pairs or nest.has_columns:
        return False
    op = nest.members[0]
    if not op.indices or op in alone or is_scanned(op):
        return False
    return not any(isinstance(o, tix.FloorDivOp) for o in op.body.walk())


def has_few_terms(op: tix.DefineOp) -> bool:
    """True if elements are windows that take no longer than memory does."""
    terms = most_terms(op)
    return terms is not None and terms <= MOST_TERMS


def _joined(group: Sequence[Nest], choose: ChooseBlocking) -> list[Nest]:
    """The nest of definitions that share bands, or the nest of the only one."""
    if len(group) < 2:
        return [*group]
    ops = [nest.members[0] for nest in group]
    layout = _layout(ops)
    assert layout is not None
    with _all_axes(ops) as whole:
        stages = stages_of(whole, layout.axes, choose)
    bands = Bands(stages, layout.sides, layout.elements, layout.again, layout.roll)
    nest = Nest(ops[-1], ops, [op.indices for op in ops], (), bands=bands)
    if layout.roll or all(stage.has_vectors_along(layout.sides[-1].index) for stage in stages):
        return [nest]
    nest.forget()
    return [*group]


@contextmanager
def _all_axes(ops: Sequence[tix.DefineOp]) -> Generator[Mapping[tix.DefineOp, tix.DefineOp]]:
    """The definitions that have one with an index for each dimension, which is there meanwhile."""
    found = {op: made for op in ops if (made := with_all_axes(op)) is not None}
    try:
        yield found
    finally:
        for op, made in found.items():
            if made is not op:
                Rewriter.erase_op(made)


# --- the elements of bands ------------------------------------------------------------------------


@dataclass(frozen=True)
class _Layout:
    """The elements of all stages beside a band."""

    axes: Mapping[tix.DefineOp, Sequence[Axis | None]]
    sides: Sequence[Side]
    elements: int
    """The elements of the buffer of a stage."""
    again: float
    """The times that an element of a stage is computed, in the mean, at most."""
    roll: Roll | None = None
    """The roll of the only stage along with the root: then there are no bands."""


def _layout(ops: Sequence[tix.DefineOp]) -> _Layout | None:
    """The bands of the last definition, and what each of the others has in one of them."""
    with _all_axes(ops) as whole:
        axes = _axes([whole[op] for op in ops], ops) if len(whole) == len(ops) else None
        if axes is not None and (roll := _roll(ops, whole, axes)):
            return _Layout({op: [None] * len(own) for op, own in axes.items()}, (), 0, 1.0, roll)
    if axes is None:
        return None
    *before, root = ops
    common = set(range(len(axes[root])))
    for op in before:
        common &= {axis.index for axis in axes[op] if axis}
    axes = {
        op: [axis if axis and axis.index in common else None for axis in own]
        for op, own in axes.items()
    }
    others = [_elements_beside(op, axes[op]) for op in before]
    if not common or None in others:
        return None
    largest = max(bytes_of_element(op.type) for op in before)
    elements = BYTES_OF_BANDS // largest // len(before)
    room = elements // max(1, *(n for n in others if n is not None))
    sides = _sides(sorted(common), [axes[op] for op in before], room)
    if sides is None:
        return None
    again = prod(side.elements(side.least) / (side.step * side.least) for side in sides)
    cost = sum(map(_cost, before))
    return _Layout(axes, sides, elements, again) if (again - 1) * cost <= MOST_AGAIN else None


def _roll(
    ops: Sequence[tix.DefineOp],
    whole: Mapping[tix.DefineOp, tix.DefineOp],
    axes: Mapping[tix.DefineOp, Sequence[Axis | None]],
) -> Roll | None:
    """The roll of the first of two definitions along with the other one, if there is one."""
    if len(ops) != 2:
        return None
    stage, root = (whole[op] for op in ops)
    return roll_of(stage, root, ops[0].result, axes[ops[0]])


def _sides(
    indices: Sequence[int], axes: Sequence[Sequence[Axis | None]], room: int
) -> list[Side] | None:
    """The sides of a band, of which the last one has all elements for which there is `room`."""
    found = [Side.of([a for own in axes for a in own if a and a.index == n]) for n in indices]
    # of long sums an element is a band
    is_long = prod(side.elements(1) for side in found) >= FEWEST_ROWS * FEWEST_COLUMNS
    sides = found if is_long else [replace(side, least=_least(side)) for side in found]
    last = sides[-1]
    most = last.values(room // prod(side.elements(side.least) for side in sides[:-1]))
    if most < last.least or most * last.step < FEWEST_COLUMNS:
        return None
    return [*sides[:-1], replace(last, least=most)]


def _least(side: Side) -> int:
    """The values of a side at least, for what a band shares with the next one."""
    return max(FEWEST_ROWS, -(-TIMES_OF_REACH * side.reach // side.step))


def _elements_beside(op: tix.DefineOp, axes: Sequence[Axis | None]) -> int | None:
    """The elements of dimensions of which a band has all; None where no number says how many."""
    sizes = zip(op.type.shape, axes, strict=True)
    extents = [constant_extent(size) for size, axis in sizes if axis is None]
    return None if None in extents else prod(n for n in extents if n is not None)


def _axes(
    whole: Sequence[tix.DefineOp], ops: Sequence[tix.DefineOp]
) -> dict[tix.DefineOp, list[Axis | None]] | None:
    """For each dimension of each definition which values a band has; None for all of them."""
    found: dict[tix.DefineOp, list[Axis | None]] = {}
    found[ops[-1]] = [Axis(n, 1, 0, 0) for n in range(len(whole[-1].indices))]
    for place in reversed(range(len(ops) - 1)):
        op, reached = ops[place], list[list[Axis | None]]()
        for reader, copy in zip(ops[place + 1 :], whole[place + 1 :], strict=True):
            for read in (r for r in reads_of(copy) if r.tensor is op.result):
                if tuple(read.shape) != tuple(op.type.shape):
                    return None
                windows = windows_of(read, copy)
                if prod(w.uses for w in windows if w) > MOST_TERMS:
                    return None
                own = dict(zip(copy.indices, found[reader], strict=True))
                reached.append(
                    [window and _axis_of(window, own[window.index]) for window in windows]
                )
        hulls = [_hull(axes) for axes in zip(*reached, strict=True)]
        indices = [axis.index for axis in hulls if axis]
        found[op] = [a if a and indices.count(a.index) == 1 else None for a in hulls]
    return found


def _axis_of(window: Window, axis: Axis | None) -> Axis | None:
    """The values of windows whose reader has these ones: `m (s n + l) + w` for each n."""
    if axis is None:
        return None
    step = window.step
    low, high = step * axis.low + window.low, step * axis.high + window.high
    return Axis(axis.index, step * axis.step, low, high)


def _hull(axes: Sequence[Axis | None]) -> Axis | None:
    """The values that are in any of several ranges; None where these move by several indices, or
    by different steps."""
    known = [axis for axis in axes if axis]
    if len(known) < len(axes) or len({(axis.index, axis.step) for axis in known}) > 1:
        return None
    low, high = min(a.low for a in known), max(a.high for a in known)
    return Axis(known[0].index, known[0].step, low, high)


def _cost(op: tix.DefineOp) -> int:
    """The additions of an element."""
    return sum(terms_around(o) * _additions(o) for o in op.body.walk())


def _additions(op: Operation) -> int:
    """The additions that an operation costs each time."""
    if isinstance(op, tix.UnaryOp | tix.BinaryOp):
        return 0 if isinstance(op, FREE) else weight(op)
    return int(isinstance(op, tix.YieldOp) and isinstance(op.parent_op(), tix.ReductionOp))
