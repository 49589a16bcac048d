"""Emits definitions band by band: the loops of `passes/scheduling/bands/bands.py`.

    %z = memref.alloca()                         the elements of z that a band reads
    loops.parallel (%band) to (%bands) {
      %begin, %count = ...                       where the band begins, and how many rows it has
      scf.for %i = ... { z[%i, ..] = ... }       the rows of z, in blocks, or as a stream
      %rows = loops.part %y[...]                 the rows of the band, in the tensor
      scf.for %i = ... { rows[%i, ..] = ... }
    }

The loops of a stage are those of a definition, one iteration after the other. A band has as many
elements as the buffers of stages hold, in rows that are as long as possible; bands along an index
have about as many values each.

A band that slides (`passes/scheduling/bands/slides.py`) has a loop over planes, of which each
iteration computes one of each stage, in rings:

      scf.for %n = ... {
        %ahead = loops.part %z[...]              plane i + 4 of z, in its ring of five
        scf.for %i = ... { ahead[%i, ..] = ... } no iteration where the band has no such plane
        %plane = loops.part %y[...]              plane i of y
        scf.for %i = ... { plane[%i, ..] = ... }
      }
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce

from xdsl.dialects import arith
from xdsl.ir import SSAValue

from tadc.dialects.loops import EndOp, ParallelOp, PartOp
from tadc.dialects.quick import INDEX, block_with
from tadc.dialects.tix import Affine
from tadc.passes.lowering import operations
from tadc.passes.lowering.loop_builders import (
    at_least_one,
    buffer,
    digits,
    loop,
    quotient_up,
)
from tadc.passes.lowering.parallel import parallel
from tadc.passes.lowering.roll_loops import roll_loops
from tadc.passes.lowering.scalars.body_lowering import BodyLowering
from tadc.passes.lowering.scalars.index_lowering import Ring, Stride
from tadc.passes.scheduling.bands.band_stages import Axis, Bands, Side, Stage, count_of, first_of

Emit = Callable[[BodyLowering, Stage], ParallelOp]
"""Emits the loops of a stage, whose sizes the lowering knows."""


def band_loops(outer: BodyLowering, bands: Bands, emit: Emit) -> ParallelOp:
    """The loops of definitions that share bands: an iteration computes a band."""
    if bands.roll:
        return roll_loops(outer, bands, bands.roll)
    parts = _parts(outer, bands)
    total = parts[0].count
    for part in parts[1:]:
        total = outer.index.mul(total, part.count)
    compute = _slide if bands.slides else _fill

    def band(at: BodyLowering, places: Sequence[SSAValue]) -> None:
        compute(at, bands, _begins(at, parts, places[0]), emit)

    return parallel(outer, [total], ["band"], band)


Ends = dict[int, tuple[SSAValue, SSAValue]]
"""The bounds [begin, end) of a band along each index of the root."""


def _fill(at: BodyLowering, bands: Bands, begins: Ends, emit: Emit) -> None:
    """Compute a band stage by stage, all its elements of a stage before those of the next one."""
    made = dict[int, SSAValue]()
    for stage in bands.stages:
        _locate(at, stage, begins)
        if stage.buffer is None:
            _set_memory(at, stage, *_part_of_root(at, stage))
            continue
        if stage.buffer not in made:
            made[stage.buffer] = _buffer_of(at, stage, bands)
        _set_memory(at, stage, made[stage.buffer], at.index.strides(stage.op.shape))
    for stage in bands.stages:
        _in_order(at, emit(at, stage))


def _buffer_of(at: BodyLowering, stage: Stage, bands: Bands) -> SSAValue:
    """A buffer on the stack for the elements of a stage that a band computes."""
    elements = bands.elements
    if bands.slides:
        elements = elements // bands.sides[0].planes * stage.planes
    return buffer(at, elements, stage.of.result.name_hint or "stage")


def _part_of_root(at: BodyLowering, stage: Stage) -> tuple[SSAValue, Sequence[Stride]]:
    """The tensor of a root from the first element of a band on, and its strides."""
    strides = at.index.strides(stage.of.type.shape)
    forms = [
        Affine.of(first_of(stage.of, n)) if axis else Affine() for n, axis in enumerate(stage.axes)
    ]
    place = at.index.linear(forms, strides)
    return at.insert(PartOp(at.buffers[stage.of.result], place)).result, strides


def _set_memory(
    at: BodyLowering, stage: Stage, memory: SSAValue, strides: Sequence[Stride]
) -> None:
    """Set the buffer and the strides of a stage."""
    at.buffers = {**at.buffers, stage.op.result: memory}
    at.strides = {**at.strides, (stage.op.result, stage.op.shape): strides}


# --- bands that slide -----------------------------------------------------------------------------


@dataclass(frozen=True)
class _Planes:
    """The planes of a stage that a sliding band computes."""

    stage: Stage
    axis: Axis
    """The values of the first dimension."""
    stride: Stride
    """The stride of planes for readers: that of a ring buffer, or of the result."""
    first: SSAValue
    end: SSAValue


def _slide(at: BodyLowering, bands: Bands, begins: Ends, emit: Emit) -> None:
    """Compute a band plane by plane, one plane of each stage in each iteration.

    A stage is ahead of the root by `axis.high` planes, and begins with plane `axis.low` of a band:
    so the first one begins `lead` iterations before the root does.
    """
    along = bands.sides[0].index
    begin, end = begins[along]
    others = {index: ends for index, ends in begins.items() if index != along}
    planes = [_planes_of(at, stage, bands, (begin, end), others) for stage in bands.stages]
    lead = max(own.axis.high - own.axis.low for own in planes)

    def step(inner: BodyLowering, n: SSAValue) -> None:
        for own in planes:
            ahead = at.index.add(begin, at.index.constant(own.axis.high - lead))
            _compute_plane(inner, own, inner.index.add(n, ahead), emit)

    count = at.index.add(at.index.sub(end, begin), at.index.constant(lead))
    loop(at, at.index.constant(0), count, "n", step)


def _planes_of(
    at: BodyLowering, stage: Stage, bands: Bands, ends: tuple[SSAValue, SSAValue], others: Ends
) -> _Planes:
    """The planes of a stage in a sliding band; sets their memory for readers, a ring buffer."""
    _locate(at, stage, others)
    axis, zero = stage.axes[0], at.index.constant(0)
    assert axis
    begin, end = ends
    first = at.index.max(zero, at.index.add(begin, at.index.constant(axis.low)))
    end = at.index.add(end, at.index.constant(axis.high))
    end = at.index.min(end, at.index.form(stage.of.type.shape[0]))
    stride, *inner = at.index.strides(stage.op.shape)
    if stage.buffer is not None:
        at.index.values[first_of(stage.of, 0)] = zero
        stride = Ring(stride, stage.planes)
        _set_memory(at, stage, _buffer_of(at, stage, bands), [stride, *inner])
    return _Planes(stage, axis, stride, first, end)


def _compute_plane(at: BodyLowering, own: _Planes, plane: SSAValue, emit: Emit) -> None:
    """Emit the loops of a plane of a stage; none run behind the last plane of the band."""
    stage = own.stage
    at = at.inside(at.index.block)  # for itself, the plane is the first one, and the only one
    plane = at.index.max(plane, own.first)
    end = at.index.min(at.index.add(plane, at.index.constant(1)), own.end)
    at.index.values[first_of(stage.of, 0)] = plane
    at.index.values[count_of(stage.of, 0)] = at.index.max(
        at.index.constant(0), at.index.sub(end, plane)
    )
    if stage.buffer is None:
        _set_memory(at, stage, *_part_of_root(at, stage))
    else:
        place = at.index.linear([Affine.of(first_of(stage.of, 0))], [own.stride])
        part = at.insert(PartOp(at.buffers[stage.op.result], place)).result
        _set_memory(at, stage, part, at.index.strides(stage.op.shape))
    _in_order(at, emit(at, stage))


@dataclass(frozen=True)
class _Part:
    """The partition of an index of the last root into bands."""

    side: Side
    size: SSAValue
    """The number of values of the index."""
    most: SSAValue
    """The largest number of values in a band; others have one less."""
    count: SSAValue
    """The number of bands."""

    def begin(self, at: BodyLowering, band: SSAValue) -> SSAValue:
        """The first value of a band."""
        return at.index.quotient(at.index.mul(band, self.size), self.count)


def _parts(at: BodyLowering, bands: Bands) -> list[_Part]:
    """The partition of each index into bands, which are as long as possible along the last ones."""
    sizes = {side: _values(at, bands, side) for side in bands.sides}
    room = at.index.constant(_room(bands))
    found: list[_Part] = []
    for number, side in reversed([*enumerate(bands.sides)]):
        left = room
        for outer in bands.sides[:number]:
            least = at_least_one(at, at.index.min(sizes[outer], at.index.constant(outer.least)))
            left = at.index.quotient(left, _elements(at, bands, outer, least))
        most = at.index.constant(side.least)
        if not side.planes:
            most = at.index.sub(left, at.index.constant(side.reach))
            most = at.index.quotient(most, at.index.constant(side.step))
        part = _evenly(at, side, sizes[side], at_least_one(at, most))
        room = at.index.quotient(room, _elements(at, bands, side, part.most))
        found.append(part)
    return found[::-1]


def _values(at: BodyLowering, bands: Bands, side: Side) -> SSAValue:
    """The number of values of a side's index with which bands cover all elements of each root."""
    found: SSAValue | None = None
    for size, axis in _along(bands.roots, side):
        step = at.index.constant(axis.step)
        own = at.index.form(size) if axis.step == 1 else quotient_up(at, at.index.form(size), step)
        found = own if found is None else at.index.max(found, own)
    assert found is not None
    return found


def _along(stages: Sequence[Stage], side: Side) -> Iterator[tuple[Affine, Axis]]:
    """The size and the axis of each dimension of these stages that moves with a side's index."""
    for stage in stages:
        for size, axis in zip(stage.of.type.shape, stage.axes, strict=True):
            if axis and axis.index == side.index:
                yield size, axis


def _room(bands: Bands) -> int:
    """The elements that a buffer can hold for each point of the dimensions without bands."""
    beside = 1
    for stage in bands.stages:
        if stage.buffer is None:
            continue
        own = 1
        for size, axis in zip(stage.of.type.shape, stage.axes, strict=True):
            own *= 1 if axis else max(1, size.constant)
        beside = max(beside, own)
    return bands.elements // beside


def _elements(at: BodyLowering, bands: Bands, side: Side, values: SSAValue) -> SSAValue:
    """An upper bound on the elements of a stage along `values` values of a side's index."""
    if side.planes:
        return at.index.constant(side.planes)
    elements = at.index.mul(values, at.index.constant(side.step))
    found = at.index.add(elements, at.index.constant(side.reach))
    if side.step == 1:
        return found
    # pieces may be longer than what there is
    stages = [stage for stage in bands.stages if stage.buffer is not None]
    sizes = [at.index.form(size) for size, _ in _along(stages, side)]
    return at.index.min(found, at_least_one(at, reduce(at.index.max, sizes)))


def _evenly(at: BodyLowering, side: Side, size: SSAValue, most: SSAValue) -> _Part:
    """Partition an index evenly into the fewest bands that have at most `most` values."""
    count = at_least_one(at, quotient_up(at, size, most))
    return _Part(side, size, at_least_one(at, quotient_up(at, size, count)), count)


def _begins(at: BodyLowering, parts: Sequence[_Part], band: SSAValue) -> Ends:
    """The bounds [begin, end) of a band along each index of the root."""
    found: dict[int, tuple[SSAValue, SSAValue]] = {}
    last_first = parts[::-1]
    places = digits(at, band, [part.count for part in last_first])
    for part, place in zip(last_first, places, strict=True):
        behind = at.index.add(place, at.index.constant(1))
        found[part.side.index] = part.begin(at, place), part.begin(at, behind)
    return found


def _locate(at: BodyLowering, stage: Stage, begins: Ends) -> None:
    """Set the first element and the extent of a stage in a band, along these indices."""
    zero = at.index.constant(0)
    for n, axis in enumerate(stage.axes):
        if axis is None or axis.index not in begins:
            continue
        begin, end = begins[axis.index]
        step = at.index.constant(axis.step)
        begin = at.index.add(at.index.mul(begin, step), at.index.constant(axis.low))
        begin = at.index.max(zero, begin)
        # behind the place of the last value, (end - 1) * step + high
        behind = at.index.constant(axis.high + 1 - axis.step)
        end = at.index.add(at.index.mul(end, step), behind)
        end = at.index.min(end, at.index.form(stage.of.type.shape[n]))
        at.index.values[first_of(stage.of, n)] = begin
        at.index.values[count_of(stage.of, n)] = at.index.max(zero, at.index.sub(end, begin))


MOVABLE = (arith.AddiOp, arith.SubiOp, arith.MuliOp, arith.RemSIOp, arith.MaxSIOp, arith.MinSIOp)
"""Index arithmetic that is safe to hoist out of a loop that may have no iteration.

Remainders have constant divisors.
"""


def _in_order(at: BodyLowering, loops: ParallelOp) -> None:
    """Turn a parallel loop into a serial nest, with loop-invariant index arithmetic hoisted."""
    zero, one = at.index.constant(0), at.index.constant(1)
    blocks, levels = [at.index.block], dict[SSAValue, int]()
    for level, old in enumerate(loops.body.block.args, 1):
        blocks.append(inner := block_with([INDEX]))
        inner.args[0].name_hint = old.name_hint
        old.replace_all_uses_with(inner.args[0])
        levels[inner.args[0]] = level
    for op in list(loops.body.block.ops):
        op.detach()
        if isinstance(op, EndOp):
            continue
        level = len(blocks) - 1
        if isinstance(op, MOVABLE):
            level = max(1, *(levels.get(v, 0) for v in op.operands))
        levels |= dict.fromkeys(op.results, level)
        blocks[level].add_op(op)
    for size, around, inner in reversed([*zip(loops.sizes, blocks, blocks[1:], strict=False)]):
        inner.add_op(operations.end())
        made = operations.loop(zero, size, one, (), inner)
        made.location = at.index.location
        around.add_op(made)
    loops.erase()
