"""Pieces of a sum that are bands: boxes of what is summed over, beside what one of them reads.

    y[s] = sum[i, j](x[i, j] * z[i + s, j])       s in range(5), and z is read by nobody else

    pieces of 128 x 128 terms                     read boxes of z of 132 x 128

A definition like `z` is a stage of the pieces (`bands`): a buffer near the cache holds a box of it,
for a piece. The sides of a piece are numbers, so that the order of additions depends on sizes
alone. They are longest where boxes of neighbours overlap, of what their room leaves to them.

Other sums over boxes of these sizes have the same pieces: they may share bands, as several roots.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod

from xdsl.ir import SSAValue

from tadc.dialects import tix
from tadc.dialects.tix.affine import SizeValues
from tadc.passes.index_sets.sets import boxed_indices
from tadc.passes.rewriting.programs import definition_around, reads_of
from tadc.passes.scheduling.bands.band_layout import FEWEST_COLUMNS
from tadc.passes.scheduling.bands.band_stages import Axis, Side
from tadc.passes.scheduling.bands.band_windows import windows_by
from tadc.passes.scheduling.bands.bands import has_few_terms
from tadc.passes.scheduling.tiles.tile_analysis import constant_extent

ELEMENTS_OF_BOX = 1 << 15
"""Elements of the box of a stage that a piece reads: in f64 as many as a band has room for."""

MOST_COLUMNS = 1 << 9
"""Terms of a piece side by side at most: with more, pieces are long and narrow."""

ELEMENTS_OF_RUN = 1 << 10
"""Elements side by side that a piece reads at least, if there is room: of a page of memory."""

ALIKE = 4
"""Lengths are alike that differ by at most `1 / ALIKE` of the longer one."""

FEWEST_ELEMENTS = 3 << 16
"""Elements of the smallest stages that leave near caches, in f32."""


def stages_of_pieces(op: tix.DefineOp) -> list[tix.DefineOp]:
    """The definitions that this one alone reads, and that may be stages of its bands."""
    read = dict.fromkeys(r.tensor.owner for r in reads_of(op))
    return [d for d in read if isinstance(d, tix.DefineOp) and _is_stage(d, op)]


def _is_stage(op: tix.DefineOp, reader: tix.DefineOp) -> bool:
    users = [use.operation for use in op.result.uses]
    return (
        op.view is None
        and has_few_terms(op)
        and all(isinstance(u, tix.ReadOp) and definition_around(u) is reader for u in users)
        and not any(isinstance(o, tix.FloorDivOp) for o in op.body.walk())
    )


@dataclass(frozen=True)
class Boxes:
    """The parts of large tensors that a sum over boxes reads, piece by piece."""

    sides: Sequence[Side]
    """The sides of a piece of one value, outermost first, by index of the reduction."""
    lengths: Sequence[int]
    """The number of values of the index of each side."""
    beside: int
    """The product, at most, of the dimensions that no index of the reduction moves."""

    def is_like(self, other: Boxes) -> bool:
        """True if both have as many sides, of lengths that are alike (`ALIKE`)."""
        pairs = [*zip(self.lengths, other.lengths, strict=False)]
        return len(self.lengths) == len(other.lengths) and all(
            ALIKE * abs(a - b) <= max(a, b) for a, b in pairs
        )


def boxes_of(
    op: tix.ReductionOp, tensors: Sequence[SSAValue], sizes: Mapping[str, int]
) -> Boxes | None:
    """The boxes that a reduction reads of these tensors; None where they are small, or where no
    number says how much of one a piece reads."""
    reads = [r for r in op.walk() if isinstance(r, tix.ReadOp) and r.tensor in tensors]
    boxes = boxed_indices(op)
    needed = {name for form in boxes.values() for name in form.sizes}
    needed |= {name for r in reads for form in r.shape for name in form.sizes}
    if not needed or not needed <= sizes.keys():
        return None
    known = SizeValues(sizes)
    counts = {r: prod(max(0, n.evaluate(known)) for n in r.shape) for r in reads}
    found = [_box(r, op) for r in reads if counts[r] >= FEWEST_ELEMENTS]
    if not found or None in found:
        return None
    axes = [axis for box in found if box for axis in box.axes]
    numbers = dict.fromkeys(axis.index for axis in axes)
    sides = [Side.of([axis for axis in axes if axis.index == n]) for n in numbers]
    lengths = [boxes[op.indices[n]].evaluate(known) for n in numbers]
    return Boxes(sides, lengths, max(1, *(box.beside for box in found if box)))


def sides_of_pieces(own: Boxes, others: Sequence[Boxes]) -> list[Side]:
    """The sides of pieces that are bands, each with the number of an index and, as its least
    values, those of a piece; none where there is no room for one.

    Sums over `others` have pieces of the same sides, so that they may share bands: then what any of
    them reaches over counts, and rows are whole for all sizes that are like these.
    """
    every = [own, *others]
    reaches = [
        max(side.reach for side in same) for same in zip(*(b.sides for b in every), strict=True)
    ]
    lengths = [max(same) for same in zip(*(b.lengths for b in every), strict=True)]
    if others:
        lengths[-1] *= 2
    sides = [replace(side, reach=reach) for side, reach in zip(own.sides, reaches, strict=True)]
    room = ELEMENTS_OF_BOX // max(box.beside for box in every)
    return _with_heights(sides, {s.index: n for s, n in zip(sides, lengths, strict=True)}, room)


@dataclass(frozen=True)
class _Box:
    """The elements of a stage that a piece reads."""

    axes: Sequence[Axis]
    """The ranges of the dimensions that move with an index of the reduction."""
    beside: int
    """The product of the other dimensions."""


def _box(read: tix.ReadOp, op: tix.ReductionOp) -> _Box | None:
    """The box of a stage that a piece reads; None if a whole dimension has an unknown size, or if
    the last dimension does not move with the terms."""
    definition, boxes = definition_around(op), boxed_indices(op)
    own = dict(zip(definition.indices, definition.shape, strict=True))
    windows = [
        window if window and window.index in boxes else None
        for window in windows_by(read, {**own, **boxes})
    ]
    sizes = zip(read.shape, windows, strict=True)
    whole = [constant_extent(size) for size, window in sizes if window is None]
    if not windows or windows[-1] is None or None in whole:
        return None
    axes = [Axis(op.indices.index(w.index), w.step, w.low, w.high) for w in windows if w]
    return _Box(axes, prod(n for n in whole if n is not None))


def _with_heights(sides: Sequence[Side], lengths: Mapping[int, int], room: int) -> list[Side]:
    """The sides with the values of a piece, powers of two; none where there is no room for one, or
    where terms side by side are few.

    The last one goes first, for vectors, and then the one along which pieces share most, beside
    runs of some length.
    """
    *outer, columns = sides
    if lengths[columns.index] < FEWEST_COLUMNS:
        return []
    found: list[Side] = []
    order = [columns, *sorted(outer, key=lambda side: -side.reach)]
    for place, side in enumerate(order):
        run = ELEMENTS_OF_RUN // found[0].least if found else 1
        others = [o.elements(max(1, run) if o is outer[-1] else 1) for o in order[place + 1 :]]
        left = room // prod(others)
        most = min(side.values(left), MOST_COLUMNS if outer and side is columns else left)
        if most < 1:
            return []
        height = min(1 << most.bit_length() - 1, 1 << (lengths[side.index] - 1).bit_length())
        found.append(replace(side, least=height))
        room //= side.elements(height)
    return found
