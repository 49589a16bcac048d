"""The elements that a band has of each of its definitions.

    z[i, j] = sum[t in range(5)](b[t] * x[i, j + t])       rows i .. i + 11, for rows i .. i + 7
    y[i, j] = sum[s in range(5)](a[s] * z[i + s, j])       of y, a root

What others need of a definition is a tensor: it is a *root*, whose boxes cover it, and share no
element (`band_roots`). All others are stages, which have what roots and later stages read.
"""

from __future__ import annotations

from collections.abc import Collection, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from math import prod

from xdsl.ir import Operation
from xdsl.rewriter import Rewriter

from tadc.dialects import tix
from tadc.passes.analysis.costs import FREE, weight
from tadc.passes.rewriting.programs import definition_around, reads_of
from tadc.passes.scheduling.bands.band_axes import with_all_axes
from tadc.passes.scheduling.bands.band_roots import Whole, axes_of_roots
from tadc.passes.scheduling.bands.band_stages import Axis, Roll, Side
from tadc.passes.scheduling.bands.band_windows import Window, terms_around, windows_of
from tadc.passes.scheduling.bands.rolls import roll_of
from tadc.passes.scheduling.bands.slides import longest, planes_of
from tadc.passes.scheduling.tiles.tile_analysis import bytes_of_element, constant_extent

BYTES_OF_BANDS = 1 << 18
"""Bytes of the buffers of a band: a part of a near cache, beside what a band reads and writes."""

MOST_TERMS = 64
"""Terms of an element of a stage: more have no windows, or take longer than memory does."""

TIMES_OF_REACH = 3
"""The fewest rows of a band, as a multiple of its overlap with the next one."""

FEWEST_ROWS = 8
"""The fewest rows of a band: half of them, which the last bands may have, are rows of blocks."""

FEWEST_COLUMNS = 64
"""Elements of the shortest rows of a band."""

MOST_AGAIN = 32
"""The most redundant additions for an element of the stages, where bands overlap: memory takes as
long for a vector that is written, and read again."""

MOST_AGAIN_OF_SEVERAL = 8
"""The most redundant additions for an element with several roots, or in bands that slide."""

Axes = Mapping[tix.DefineOp, Sequence[Axis | None]]
"""The range of each dimension of definitions in a band; None where a band has all values."""


@dataclass(frozen=True)
class Layout:
    """The box that a band has of each definition, and the buffers of its stages."""

    axes: Axes
    sides: Sequence[Side] = ()
    elements: int = 0
    """The elements of a buffer of stages."""
    buffers: Mapping[tix.DefineOp, int] = field(default_factory=dict[tix.DefineOp, int])
    """The number of the buffer of each stage; others are roots."""
    planes: Mapping[tix.DefineOp, int] = field(default_factory=dict[tix.DefineOp, int])
    """The planes of each stage that its circular buffer holds, if bands slide."""
    again: float = 1.0
    """The mean number of times that an element is computed, for the stage with the most."""
    roll: Roll | None = None
    """The roll of the only stage along with the root: then there are no bands."""


@contextmanager
def all_axes(ops: Sequence[tix.DefineOp]) -> Generator[Mapping[tix.DefineOp, tix.DefineOp]]:
    """Yield the definitions that have a form without merged indices, with that form.

    Copies that are made for this (`with_all_axes`) are erased on exit.
    """
    found = {op: made for op in ops if (made := with_all_axes(op)) is not None}
    try:
        yield found
    finally:
        for op, made in found.items():
            if made is not op:
                Rewriter.erase_op(made)


def stages_in(ops: Sequence[tix.DefineOp]) -> list[tix.DefineOp]:
    """The definitions that others among these read, and no other ones."""
    return [op for op in ops if _is_private(op, ops)]


def _is_private(op: tix.DefineOp, readers: Collection[tix.DefineOp]) -> bool:
    """True if all readers of a result are among these definitions, and there is one."""
    users = [use.operation for use in op.result.uses]
    return bool(users) and all(
        isinstance(u, tix.ReadOp) and definition_around(u) in readers for u in users
    )


def layouts_of(ops: Sequence[tix.DefineOp]) -> Iterator[Layout]:
    """Yield the layouts that definitions may share: a roll, or sliding bands and overlapped ones.

    Yields none where they cannot share bands, or where bands cost more than they save.
    """
    stages = stages_in(ops)
    with all_axes(ops) as whole:
        axes = _axes(whole, ops, stages) if len(whole) == len(ops) else None
        roll = _roll(ops, whole, axes) if axes is not None else None
        planes = planes_of(whole, axes, stages) if axes and stages and not roll else {}
    if axes is None or not stages:
        return
    if roll:
        none = {op: [None] * len(own) for op, own in axes.items()}
        yield Layout(none, buffers={ops[0]: 0}, roll=roll)
        return
    axes = _with_common_indices(axes)
    slides = planes and all(own[0] for own in axes.values())
    for own in [planes, {}] if slides else [{}]:
        if found := _layout(ops, stages, axes, own):
            yield found


def _with_common_indices(axes: Axes) -> Axes:
    """The ranges in a band, with all values along indices that do not move every definition."""
    found = [{axis.index for axis in own if axis} for own in axes.values()]
    common = found[0].intersection(*found[1:])
    return {
        op: [axis if axis and axis.index in common else None for axis in own]
        for op, own in axes.items()
    }


def _layout(
    ops: Sequence[tix.DefineOp],
    stages: Sequence[tix.DefineOp],
    axes: Axes,
    planes: Mapping[tix.DefineOp, int],
) -> Layout | None:
    """The layout of bands that slide with these `planes` of each stage, or of boxes.

    None where buffers have no room for a band, or where its overlap costs more than it saves.
    """
    common = sorted({axis.index for own in axes.values() for axis in own if axis})
    others = [_elements_beside(op, axes[op]) for op in stages]
    if len(common) < (2 if planes else 1) or None in others:
        return None
    buffers = {op: n for n, op in enumerate(planes)} or _buffers(ops, stages)
    room_for_all = BYTES_OF_BANDS // max(bytes_of_element(op.type) for op in stages)
    most = max(planes.values(), default=0)
    if planes:
        elements = room_for_all // sum(planes.values()) * most
    else:
        elements = room_for_all // (1 + max(buffers.values()))
    room = elements // max(1, *(n for n in others if n is not None))
    sides = _sides(common, [axes[op] for op in stages], room, most)
    if sides is None:
        return None
    again = {op: _times(axes[op], sides) for op in stages}
    alone = len(ops) == len(stages) + 1 and not planes
    most_again = MOST_AGAIN if alone else MOST_AGAIN_OF_SEVERAL
    if sum((again[op] - 1) * _cost(op) for op in stages) > most_again:
        return None
    return Layout(axes, sides, elements, buffers, planes, max(again.values()))


def _times(axes: Sequence[Axis | None], sides: Sequence[Side]) -> float:
    """The mean number of times, at most, that bands compute an element of a stage."""
    least = {side.index: side.least for side in sides}
    known = [axis for axis in axes if axis]
    return prod(
        Side.of([axis]).elements(least[axis.index]) / (axis.step * least[axis.index])
        for axis in known
    )


def _buffers(
    ops: Sequence[tix.DefineOp], stages: Sequence[tix.DefineOp]
) -> dict[tix.DefineOp, int]:
    """A buffer for each stage, which a later stage reuses once all readers have been computed."""
    last = {r.tensor: n for n, op in enumerate(ops) for r in reads_of(op)}
    found: dict[tix.DefineOp, int] = {}
    for n, op in enumerate(ops):
        if op in stages:
            taken = {found[o] for o in found if last[o.result] >= n}
            found[op] = min({*range(len(stages))} - taken)
    return found


def _roll(ops: Sequence[tix.DefineOp], whole: Whole, axes: Axes) -> Roll | None:
    """The roll of the first of two definitions along with the other one, if there is one."""
    if len(ops) != 2:
        return None
    stage, root = (whole[op] for op in ops)
    return roll_of(stage, root, ops[0].result, axes[ops[0]])


# --- the sides of bands ---------------------------------------------------------------------------


def _sides(
    indices: Sequence[int], axes: Sequence[Sequence[Axis | None]], room: int, planes: int
) -> list[Side] | None:
    """The sides of a band, of which the last one has all elements for which there is `room`.

    If there are `planes` at a time, it slides along the first one.
    """
    found = [Side.of([a for own in axes for a in own if a and a.index == n]) for n in indices]
    # of long sums an element is a band
    is_long = prod(side.elements(1) for side in found) >= FEWEST_ROWS * FEWEST_COLUMNS
    sides = found if is_long else [replace(side, least=_least(side)) for side in found]
    if planes:
        sides[0] = replace(sides[0], least=longest(sides[0].reach), planes=planes)
    last = sides[-1]
    most = last.values(room // prod(side.elements(side.least) for side in sides[:-1]))
    if most < last.least or most * last.step < FEWEST_COLUMNS:
        return None
    return [*sides[:-1], replace(last, least=most)]


def _least(side: Side) -> int:
    """The shortest side of a band that is long against its overlap with the next one."""
    return max(FEWEST_ROWS, -(-TIMES_OF_REACH * side.reach // side.step))


def _elements_beside(op: tix.DefineOp, axes: Sequence[Axis | None]) -> int | None:
    """The product of the dimensions of which a band has all values; None if one is unknown."""
    sizes = zip(op.type.shape, axes, strict=True)
    extents = [constant_extent(size) for size, axis in sizes if axis is None]
    return None if None in extents else prod(n for n in extents if n is not None)


def _cost(op: tix.DefineOp) -> int:
    """The additions of an element."""
    return sum(terms_around(o) * _additions(o) for o in op.body.walk())


def _additions(op: Operation) -> int:
    """The additions that an operation costs each time."""
    if isinstance(op, tix.UnaryOp | tix.BinaryOp):
        return 0 if isinstance(op, FREE) else weight(op)
    return int(isinstance(op, tix.YieldOp) and isinstance(op.parent_op(), tix.ReductionOp))


# --- the values of a band -------------------------------------------------------------------------


def _axes(
    whole: Whole, ops: Sequence[tix.DefineOp], stages: Collection[tix.DefineOp]
) -> dict[tix.DefineOp, list[Axis | None]] | None:
    """The range of each dimension of definitions in a band; None if they cannot share bands."""
    roots = axes_of_roots(whole, [op for op in ops if op not in stages], ops)
    if roots is None:
        return None
    found: dict[tix.DefineOp, list[Axis | None]] = {}
    for place in reversed(range(len(ops))):
        op, reached = ops[place], list[list[Axis | None]]()
        for reader in ops[place + 1 :]:
            for read in (r for r in reads_of(whole[reader]) if r.tensor is op.result):
                if tuple(read.shape) != tuple(op.type.shape):
                    return None
                windows = windows_of(read, whole[reader])
                if prod(w.uses for w in windows if w) > MOST_TERMS:
                    return None
                own = dict(zip(whole[reader].indices, found[reader], strict=True))
                reached.append([w and _axis_of(w, own[w.index]) for w in windows])
        hulls = [_hull(axes) for axes in zip(*reached, strict=True)]
        if op not in stages:
            found[op] = roots[op]
            if not all(map(_covers, found[op], hulls or found[op])):
                return None
            continue
        indices = [axis.index for axis in hulls if axis]
        found[op] = [a if a and indices.count(a.index) == 1 else None for a in hulls]
    return found


def _covers(own: Axis | None, read: Axis | None) -> bool:
    """True if a root's range in a band contains the range that later definitions read."""
    if own is None:
        return True
    if read is None or (own.index, own.step) != (read.index, read.step):
        return False
    return own.low <= read.low and read.high <= own.high


def _axis_of(window: Window, axis: Axis | None) -> Axis | None:
    """The range of a window over the range of its reader: `m (s n + l) + w` for each n."""
    if axis is None:
        return None
    step = window.step
    low, high = step * axis.low + window.low, step * axis.high + window.high
    return Axis(axis.index, step * axis.step, low, high)


def _hull(axes: Sequence[Axis | None]) -> Axis | None:
    """The smallest range around several; None unless all move with one index, by one step."""
    known = [axis for axis in axes if axis]
    if len(known) < len(axes) or len({(axis.index, axis.step) for axis in known}) > 1:
        return None
    low, high = min(a.low for a in known), max(a.high for a in known)
    return Axis(known[0].index, known[0].step, low, high)
