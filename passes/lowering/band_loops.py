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
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial, reduce

from xdsl.dialects import arith
from xdsl.ir import Region, SSAValue

from dialects.loops import EndOp, ParallelOp, PartOp
from dialects.quick import INDEX, block_with
from dialects.tix import Affine
from passes.lowering import operations
from passes.lowering.emit import (
    at_least_one,
    buffer,
    difference,
    digits,
    larger,
    quotient,
    smaller,
)
from passes.lowering.roll_loops import roll_loops
from passes.lowering.scalars.body_lowering import BodyLowering
from passes.scheduling.bands.band_stages import Axis, Bands, Side, Stage, count_of, first_of

Emit = Callable[[BodyLowering, Stage], ParallelOp]
"""Gives the loops of a stage, which a lowering knows the sizes of."""


def band_loops(outer: BodyLowering, bands: Bands, emit: Emit) -> ParallelOp:
    """The loops of definitions that share bands: an iteration computes a band."""
    if bands.roll:
        return roll_loops(outer, bands, bands.roll)
    parts = _parts(outer, bands)
    total = parts[0].count
    for part in parts[1:]:
        total = outer.index.mul(total, part.count)
    body = block_with([INDEX])
    body.args[0].name_hint = "band"
    at = outer.inside(body)
    begins = _begins(at, parts, body.args[0])
    buffers, strides, made = dict(outer.buffers), dict(outer.strides), dict[int, SSAValue]()
    for stage in bands.stages:
        _locate(at, stage, begins)
        own = at.index.strides(stage.op.shape)
        if stage.buffer is None:
            own = at.index.strides(stage.of.type.shape)
            forms = [
                Affine.of(first_of(stage.of, n)) if axis else Affine()
                for n, axis in enumerate(stage.axes)
            ]
            place = at.index.linear(forms, own)
            buffers[stage.op.result] = at.insert(
                PartOp(outer.buffers[stage.of.result], place)
            ).result
        else:
            if stage.buffer not in made:
                hint = stage.of.result.name_hint or "stage"
                made[stage.buffer] = buffer(at, bands.elements, hint)
            buffers[stage.op.result] = made[stage.buffer]
        strides[stage.op.result, stage.op.shape] = own
    at.buffers, at.strides = buffers, strides
    for stage in bands.stages:
        _in_order(at, emit(at, stage))
    return ParallelOp([total], Region(body))


@dataclass(frozen=True)
class _Part:
    """The bands along an index of the last root."""

    side: Side
    size: SSAValue
    """The number of its values."""
    most: SSAValue
    """The values of a band at most; others have one less."""
    count: SSAValue
    """The number of bands."""

    def begin(self, at: BodyLowering, band: SSAValue) -> SSAValue:
        """The first value of a band."""
        return quotient(at, at.index.mul(band, self.size), self.count)


def _parts(at: BodyLowering, bands: Bands) -> list[_Part]:
    """The bands along each index, in order: those of the last ones are as long as possible."""
    sizes = {side: _values(at, bands, side) for side in bands.sides}
    room = at.index.constant(_room(bands))
    found: list[_Part] = []
    for number, side in reversed([*enumerate(bands.sides)]):
        left = room
        for outer in bands.sides[:number]:
            least = at_least_one(at, smaller(at, sizes[outer], at.index.constant(outer.least)))
            left = quotient(at, left, _elements(at, bands, outer, least))
        most = difference(at, left, at.index.constant(side.reach))
        most = quotient(at, most, at.index.constant(side.step))
        part = _evenly(at, side, sizes[side], at_least_one(at, most))
        room = quotient(at, room, _elements(at, bands, side, part.most))
        found.append(part)
    return found[::-1]


def _values(at: BodyLowering, bands: Bands, side: Side) -> SSAValue:
    """The values of the index of a side, so many that bands have all elements of each root."""
    found: SSAValue | None = None
    for size, axis in _along(bands.roots, side):
        step = at.index.constant(axis.step)
        own = at.index.form(size) if axis.step == 1 else _rounded_up(at, at.index.form(size), step)
        found = own if found is None else larger(at, found, own)
    assert found is not None
    return found


def _along(stages: Sequence[Stage], side: Side) -> Iterator[tuple[Affine, Axis]]:
    """The sizes of all dimensions that a side moves, with the values of a band."""
    for stage in stages:
        for size, axis in zip(stage.of.type.shape, stage.axes, strict=True):
            if axis and axis.index == side.index:
                yield size, axis


def _room(bands: Bands) -> int:
    """The elements of a stage for which there is room, for each of those along other dimensions."""
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
    """The elements of a stage along so many values of a side, at most."""
    elements = at.index.mul(values, at.index.constant(side.step))
    found = at.index.add(elements, at.index.constant(side.reach))
    if side.step == 1:
        return found
    # pieces may be longer than what there is
    stages = [stage for stage in bands.stages if stage.buffer is not None]
    sizes = [at.index.form(size) for size, _ in _along(stages, side)]
    return smaller(at, found, at_least_one(at, reduce(partial(larger, at), sizes)))


def _evenly(at: BodyLowering, side: Side, size: SSAValue, most: SSAValue) -> _Part:
    """Bands of at most so many values, as few as there can be."""
    count = at_least_one(at, _rounded_up(at, size, most))
    return _Part(side, size, at_least_one(at, _rounded_up(at, size, count)), count)


def _rounded_up(at: BodyLowering, a: SSAValue, b: SSAValue) -> SSAValue:
    """`a / b`, rounded up."""
    return quotient(at, at.index.add(a, difference(at, b, at.index.constant(1))), b)


def _begins(
    at: BodyLowering, parts: Sequence[_Part], band: SSAValue
) -> dict[int, tuple[SSAValue, SSAValue]]:
    """The first value of a band along each index of the root, and the end of these."""
    found: dict[int, tuple[SSAValue, SSAValue]] = {}
    last_first = parts[::-1]
    places = digits(at, band, [part.count for part in last_first])
    for part, place in zip(last_first, places, strict=True):
        behind = at.index.add(place, at.index.constant(1))
        found[part.side.index] = part.begin(at, place), part.begin(at, behind)
    return found


def _locate(at: BodyLowering, stage: Stage, begins: dict[int, tuple[SSAValue, SSAValue]]) -> None:
    """Let the sizes that a stage has in a band be known."""
    zero = at.index.constant(0)
    for n, axis in enumerate(stage.axes):
        if axis is None:
            continue
        begin, end = begins[axis.index]
        step = at.index.constant(axis.step)
        begin = at.index.add(at.index.mul(begin, step), at.index.constant(axis.low))
        begin = larger(at, zero, begin)
        # behind the place of the last value, (end - 1) * step + high
        behind = at.index.constant(axis.high + 1 - axis.step)
        end = at.index.add(at.index.mul(end, step), behind)
        end = smaller(at, end, at.index.form(stage.of.type.shape[n]))
        at.index.values[first_of(stage.of, n)] = begin
        at.index.values[count_of(stage.of, n)] = larger(at, zero, difference(at, end, begin))


MOVABLE = (arith.AddiOp, arith.SubiOp, arith.MuliOp, arith.RemSIOp, arith.MaxSIOp, arith.MinSIOp)
"""Arithmetic of indices that may stand in front of a loop that may have no iteration. The divisors
of remainders are numbers."""


def _in_order(at: BodyLowering, loops: ParallelOp) -> None:
    """The iterations of loops, one after the other; what the inner ones do not move stands in front
    of them."""
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
