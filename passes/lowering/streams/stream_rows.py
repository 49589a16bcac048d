"""Rows of a stream: vectors inside, where no guard changes sides, and at borders, under masks.

    for %t = ... step lanes
      if all lanes are elements for which no guard changes sides
        vector.store f(...)
      else
        vector.maskedstore f(...) where lanes are elements

Past the caches, vectors lie where lines of memory do, wherever the row begins. Through them, and
in several phases, which lie side by side, they begin with the row; where no guard is in the way,
the last one ends with it, and has elements of the one before.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from xdsl.dialects import arith, memref, vector
from xdsl.dialects.builtin import BoolAttr
from xdsl.ir import Block, SSAValue

from tadc.dialects import tix
from tadc.dialects.tix import Affine, Constraint, Variable
from tadc.passes.index_sets.context import stays_inside
from tadc.passes.index_sets.sets import quotient_constraints, quotients_of, within
from tadc.passes.lowering.emit import (
    Fill,
    all_of,
    either,
    loop,
    select,
)
from tadc.passes.lowering.lanes.vector_lowering import VectorLowering
from tadc.passes.lowering.scalars.body_lowering import BodyLowering
from tadc.passes.lowering.streams.stream_lanes import BorderLowering, InsideLowering, not_fused
from tadc.passes.lowering.tails import lanes_before
from tadc.passes.rewriting.programs import forms_of
from tadc.passes.scheduling.streams.stream_guards import for_all_terms
from tadc.passes.scheduling.streams.stream_phases import Phase
from tadc.passes.scheduling.tiles.tile import Tile
from tadc.passes.scheduling.tiles.tile_analysis import bytes_of_element, points_of


def origin_of(outer: BodyLowering, op: tix.DefineOp) -> SSAValue:
    """The address of the result of a definition, counted in elements."""
    target = outer.buffers[op.result]
    address = outer.insert(memref.ExtractAlignedPointerAsIndexOp.get(target)).aligned_pointer
    return outer.index.quotient(address, outer.index.constant(bytes_of_element(op.type)))


Loaded = dict[object, SSAValue]
"""Elements that are loaded, as `LaneReads` keeps them."""

MOST_SPLATS = 8
"""Elements that stay in registers along a row: half of those that the fewest processors have."""


@dataclass(frozen=True)
class Row:
    """The elements [low, high) of a row, each of which is one column of each phase."""

    op: tix.DefineOp
    phases: Sequence[Phase]
    lanes: int
    origin: SSAValue
    """The address of the result, in elements."""
    low: SSAValue
    high: SSAValue

    def emit(self, at: BodyLowering, nontemporal: bool) -> None:
        """The vectors of the row, past the caches or through them."""
        begin, end = self._inside(at)
        loaded = [self._for_all_columns(at, phase) for phase in self.phases]
        last = at.index.sub(end, at.index.constant(self.lanes))
        if not nontemporal and self._modulus == 1 and (begin, end) == (self.low, self.high):
            self._whole_vectors(at, loaded, last)
        else:
            self._vectors(at, loaded, (begin, last), nontemporal)

    def _whole_vectors(self, at: BodyLowering, loaded: Sequence[Loaded], last: SSAValue) -> None:
        """Vectors from the first element on, none beyond the `last` one for which there is room; a
        part of one where there is none."""

        def one(inner: BodyLowering, column: SSAValue) -> None:
            inner.index.values[self.phases[0].column] = inner.index.min(column, last)
            self._whole(inner, loaded, nontemporal=False)

        def short(inner: BodyLowering) -> None:
            inner.index.values[self.phases[0].column] = self.low
            self._part(inner, loaded, self.low, is_aligned=False)

        has_room = _compare(at, "sle", self.low, last)
        either(at, has_room, lambda inner: self._loop(inner, self.low, one), short)

    def _vectors(
        self,
        at: BodyLowering,
        loaded: Sequence[Loaded],
        inside: tuple[SSAValue, SSAValue],
        nontemporal: bool,
    ) -> None:
        """Emits all vectors of the row. With stores past the caches they begin at lines of memory.
        Those between the bounds `inside` are whole, and need no mask."""
        is_aligned = nontemporal and self._modulus == 1
        start = at.index.sub(self.low, self.columns_before(at)) if is_aligned else self.low
        begin, last = inside

        def one(inner: BodyLowering, column: SSAValue) -> None:
            for phase in self.phases:
                inner.index.values[phase.column] = column
            tests = [] if begin is start else [_compare(inner, "sge", column, begin)]
            tests.append(_compare(inner, "sle", column, last))
            either(
                inner,
                all_of(inner, tests),
                lambda at: self._whole(at, loaded, nontemporal),
                lambda at: self._part(at, loaded, column, is_aligned),
            )

        self._loop(at, start, one)

    def _loop(self, at: BodyLowering, start: SSAValue, one: Fill) -> None:
        """A loop over the columns from the start on, a vector at a time."""
        loop(at, start, self.high, self.op.indices[-1].name_hint, one, self.lanes)

    @property
    def _modulus(self) -> int:
        return len(self.phases)

    @property
    def _end(self) -> Affine:
        """The number of columns of a whole row."""
        return self.op.shape[-1]

    def columns_before(self, at: BodyLowering) -> SSAValue:
        """The elements of a line of memory that come before the first one of the row."""
        at.index.values[self.low] = self.low
        place = at.index.add(self.origin, self._position(at, Affine.of(self.low)))
        return at.insert(arith.RemSIOp(place, at.index.constant(self.lanes))).result

    def _position(self, at: BodyLowering, column: Affine) -> SSAValue:
        forms = [*(Affine.of(v) for v in self.op.indices[:-1]), column]
        return at.index.linear(forms, at.strides[self.op.result, self.op.shape])

    def _inside(self, at: BodyLowering) -> tuple[SSAValue, SSAValue]:
        """The range of elements for which no guard changes sides, in all phases."""
        begin, end = self.low, self.high
        if self._modulus > 1:
            end = at.index.min(end, at.index.floordiv(self._end, self._modulus))
        others: list[Constraint] = []
        for phase in self.phases:
            parts = (part for c in phase.inside.tests for part in _inequalities(c))
            for constraint in _hardest(map(for_all_terms, parts)):
                _provide_quotients(at, constraint.form)
                step = constraint.form[phase.column]
                if not step:
                    others.append(constraint)
                    continue
                bound = at.index.bound(phase.column, constraint)
                begin = at.insert(arith.MaxSIOp(begin, bound)).result if step > 0 else begin
                end = end if step > 0 else at.index.min(end, bound)
        return begin, select(at, at.index.holds([others]), end, begin) if others else end

    def _for_all_columns(self, at: BodyLowering, phase: Phase) -> Loaded:
        """Load, into vectors, the first elements that are the same for all columns."""
        lanes = self._lowering(at, phase, InsideLowering)
        for read, places in islice(_reads_of_row(self.op, phase), MOST_SPLATS // len(self.phases)):
            lanes.index = at.index.placed(places)
            lanes.splat(lanes.number(read))
        return lanes.loaded

    def _whole(self, at: BodyLowering, loaded: Sequence[Loaded], nontemporal: bool) -> None:
        lanes = self._lowerings(at, loaded, InsideLowering)
        flag = BoolAttr.from_bool(True) if nontemporal else None
        for value, place in self._stored(at, lanes):
            place = self._position(at, place)
            at.insert(vector.StoreOp(value, at.buffers[self.op.result], [place], flag))

    def _part(
        self, at: BodyLowering, loaded: Sequence[Loaded], first: SSAValue, is_aligned: bool
    ) -> None:
        lanes = self._lowerings(at, loaded, BorderLowering)
        pairs = zip(lanes, self.phases, strict=True)
        masks = [self._mask(own, phase, first, is_aligned) for own, phase in pairs]
        for own, mask in zip(lanes, masks, strict=True):
            own.mask = mask
        target = at.buffers[self.op.result]
        for value, place in self._stored(at, lanes):
            mask = masks[0]
            if self._modulus > 1:
                mask = lanes_before(lanes[0], at.index.form(self._end), at.index.form(place))
            at.insert(vector.MaskedStoreOp(target, [self._position(at, place)], mask, value))

    def _stored(
        self, at: BodyLowering, lanes: Sequence[BorderLowering]
    ) -> Iterator[tuple[SSAValue, Affine]]:
        """The vectors to store, each with its first column."""
        pairs = zip(self.phases, lanes, strict=True)
        values = [own.at(None, 0).lanes_of(tix.yielded(p.op.body)) for p, own in pairs]
        first = Affine.of(self.phases[0].column) * self._modulus
        for n, value in enumerate(_interleaved(lanes[0], values)):
            yield value, first + n * self.lanes

    def _lowerings(
        self, at: BodyLowering, loaded: Sequence[Loaded], kind: type[BorderLowering]
    ) -> list[BorderLowering]:
        """The lowerings of the vectors of all phases, which know what is loaded."""
        lanes = [self._lowering(at, phase, kind) for phase in self.phases]
        for own, found in zip(lanes, loaded, strict=True):
            own.loaded = dict(found)
        return lanes

    def _lowering(
        self, at: BodyLowering, phase: Phase, kind: type[BorderLowering]
    ) -> BorderLowering:
        """The lowering of a vector, of the same operations in the whole row."""
        tile = Tile(None, phase.column, 1, self.lanes, self.lanes)
        lanes = kind(at, phase.op, tile, phase.uses)
        if isinstance(lanes, InsideLowering):
            lanes.sides = phase.inside.sides
        lanes.as_written = {*phase.as_written, *not_fused(phase.guards)}
        return lanes

    def _mask(
        self, at: VectorLowering, phase: Phase, first: SSAValue, is_aligned: bool
    ) -> SSAValue:
        """The lanes of a phase that are elements of the row; a vector that is aligned may begin
        before its first element."""
        if self._modulus > 1:
            rest = self._end - phase.residue + (self._modulus - 1)
            return lanes_before(at, at.index.floordiv(rest, self._modulus), first)
        there = lanes_before(at, self.high, first)
        if not is_aligned:
            return there
        return all_of(at, [there, at.others(lanes_before(at, self.low, first))])


def _provide_quotients(at: BodyLowering, form: Affine) -> None:
    """Compute the quotients in a form, which are the same for all columns."""
    for v in form.indices:
        op = v.owner
        if isinstance(op, tix.FloorDivOp) and v not in at.index.values:
            _provide_quotients(at, op.form)
            at.index.values[v] = at.index.floordiv(op.form, op.divisor.data)


def _compare(at: BodyLowering, predicate: str, a: SSAValue, b: SSAValue) -> SSAValue:
    return at.insert(arith.CmpiOp(a, b, predicate)).result


def _inequalities(constraint: Constraint) -> list[Constraint]:
    """A constraint as inequalities: `e = 0` is `e >= 0` and `-e >= 0`."""
    both = [constraint.form, -constraint.form] if constraint.equality else [constraint.form]
    return [Constraint(form) for form in both]


def _hardest(constraints: Iterable[Constraint]) -> Iterable[Constraint]:
    """Of inequalities that differ in numbers alone, the one that the others follow from."""
    found: dict[Affine, Constraint] = {}
    for constraint in constraints:
        rest = constraint.form - constraint.form.constant
        if rest not in found or constraint.form.constant < found[rest].form.constant:
            found[rest] = constraint
    return found.values()


def _reads_of_row(
    op: tix.DefineOp, phase: Phase
) -> Iterator[tuple[tix.ReadOp, dict[Variable, Affine]]]:
    """The reads of a phase that are the same for all columns, and certainly there.

    Those in short reductions come with the indices of each term.
    """
    program = op.parent_op()
    assert isinstance(program, tix.ProgramOp)
    pairs = [(Affine.of(v), n) for v, n in zip(phase.op.indices, op.shape, strict=True)]
    inside = (form for o in phase.op.body.walk() for form in forms_of(o))
    quotients = (c for q in quotients_of(inside) for c in quotient_constraints(q))
    known = [*within(pairs, program), *quotients]

    def found(block: Block, around: Sequence[Constraint]) -> list[tix.ReadOp]:
        reads = (o for o in block.ops if isinstance(o, tix.ReadOp))
        apart = (r for r in reads if phase.column not in phase.uses.of_operation(r))
        return [r for r in apart if stays_inside(r, [*known, *around])]

    body = phase.op.body.block
    yield from ((read, {}) for read in found(body, ()))
    for inner in (o for o in body.ops if isinstance(o, tix.ReductionOp)):
        reads = found(inner.body.block, inner.constraints)
        yield from ((read, places) for places in points_of(inner) for read in reads)


def _interleaved(at: VectorLowering, vectors: Sequence[SSAValue]) -> list[SSAValue]:
    """The elements of one vector or more in turns, as so many vectors."""
    if len(vectors) == 1:
        return list(vectors)
    count, width = len(vectors), at.lanes
    turns = [(place % count, place // count) for place in range(count * width)]
    return [at.picked(vectors, turns[n : n + width]) for n in range(0, count * width, width)]
