"""Streams: results larger than the caches, written once, whole lines at a time, past the caches.

A store first reads the line of memory that it changes into the caches. Of a large result the line
is gone before anyone reads it again, so a third of the traffic of a copy is for nothing: stores of
whole lines that bypass the caches (`nontemporal`) save it.

    y[i, j] = exp(x[i, j])                       one iteration writes a row:

    | - - 0 1 | 2 3 4 5 | 6 7 8 9 | 10 11 - - |      four lanes; y[i, 0] is in the third one

Vectors lie where lines do, wherever rows begin: the address of the row tells. Those inside the row
are written whole; a part of a line, at either end, goes through the caches, under a mask.

    for %j = -(address of y[i, 0], counted in elements) % lanes to %J step lanes
      if all lanes are elements for which all conditions hold
        vector.store f(x[%i, %j ..]) {nontemporal}
      else
        vector.maskedstore f(...) where lanes are elements

So stencils have no conditions but at their borders. All places compute the same operations on
vectors: the bits do not depend on the address. Sizes that are known at run time only decide there
whether stores bypass the caches: from the size of the machine's largest one on
(`loops.shared_cache`).

A window is a short sum of neighbours, some of whose terms are not there at borders:

    y[i, j] = sum[t in range(3)](x[i, j + t - 1] if 1 <= j + t <= N else 0)

Inside, where all terms are there for all lanes, it has no tests either: 1 <= j <= N - 2.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from math import prod

from xdsl.dialects import arith, memref, vector
from xdsl.dialects.builtin import BoolAttr, Float32Type, IndexType, VectorType, i1
from xdsl.ir import Block, BlockArgument, Operation, Region, SSAValue

from dialects import tix
from dialects.loops import ParallelOp, SharedCacheOp
from dialects.tix import Affine, Constraint
from passes.analysis.costs import COST_OF_FUNCTION, FREE, weight
from passes.analysis.index_uses import IndexUses
from passes.rewriting.programs import type_of
from passes.scheduling.body_lowering import BodyLowering
from passes.scheduling.emit import (
    all_of,
    difference,
    either,
    loop,
    quotient,
    select,
    smaller,
)
from passes.scheduling.lane_reads import MASKED_STEPS, is_there
from passes.scheduling.lanes_lowering import LanesLowering
from passes.scheduling.stream_lanes import (
    BorderLowering,
    InsideLowering,
    for_all_terms,
    is_guard,
    not_fused,
)
from passes.scheduling.sum_lengths import is_short
from passes.scheduling.tile import Tile
from passes.scheduling.tile_analysis import lanes_of, stride

FEWEST_BYTES = 32 << 20
"""The bytes of large streams: fewer stay in most machines' largest cache until the next reader
comes, so that stores past the caches are slower. From there on the machine decides."""

MOST_BYTES = 96 << 20
"""The bytes from which on code asks no more whether a cache holds them."""

FEWEST_ELEMENTS_OF_ROW = 256
"""The length of the shortest rows: two of their vectors are parts of lines."""

MOST_FUNCTIONS = 2
"""Elementary functions of an element that memory still hides."""

ELEMENTS_OF_PIECE = 1 << 14
"""The elements that an iteration writes where the result has only one index."""


@dataclass(frozen=True)
class Stream:
    """A definition that is written as a stream."""

    op: tix.DefineOp
    lanes: int
    uses: IndexUses
    guards: Sequence[tix.IfOp]
    """Choices that differ along a row."""

    @property
    def column(self) -> SSAValue:
        return self.op.indices[-1]

    @property
    def tile(self) -> Tile:
        return Tile(None, self.column, 1, self.lanes, self.lanes)

    @property
    def tests_terms(self) -> bool:
        """True if it has a window some of whose terms are not there."""
        return any(isinstance(op.parent_op(), tix.SumOp) for op in self.guards)

    @property
    def shapes(self) -> list[tuple[int, Sequence[Affine]]]:
        """The bytes of an element, and the shape, of each tensor that is read or written."""
        return _shapes(self.op)


def stream_of(op: tix.DefineOp, sizes: Mapping[str, int] | None = None) -> Stream | None:
    """The definition as a stream; None where it is none, or where a plain nest is as fast.

    That is where its elements are few, or take longer than memory does; but for choices along rows,
    and windows some of whose terms are not there, of which a stream asks at borders alone, and a
    plain nest for each element. Rows must not be short, those of windows neither for these `sizes`.
    """
    stream = possible_stream(op) if _has_long_rows(op, {}) else None
    if stream is None or (stream.tests_terms and not _has_long_rows(op, sizes or {})):
        return None
    return stream if stream.guards or (_may_be_large(op) and not _computes_much(op)) else None


def possible_stream(op: tix.DefineOp) -> Stream | None:
    """The definition as a stream, be it fast or not; None where its elements are no vectors."""
    if not op.indices:
        return None
    uses = IndexUses()
    column = op.indices[-1]
    if not all(_has_lanes(inner, column, uses) for inner in _body(op)):
        return None
    guards = [o for o in op.walk() if isinstance(o, tix.IfOp) and is_guard(o, column, uses)]
    return Stream(op, lanes_of(op), uses, guards)


def _computes_much(op: tix.DefineOp) -> bool:
    """True if functions take longer than memory does."""
    functions = [o for o in _body(op) if not isinstance(o, FREE) and weight(o) >= COST_OF_FUNCTION]
    return len(functions) > MOST_FUNCTIONS


def _shapes(op: tix.DefineOp) -> list[tuple[int, Sequence[Affine]]]:
    read = dict.fromkeys(o.tensor for o in op.walk() if isinstance(o, tix.ReadOp))
    types = [op.type, *(type_of(tensor) for tensor in read)]
    return [(_bytes_of_element(type_), list(type_.shape)) for type_ in types]


def _bytes_of_element(type_: tix.TensorType) -> int:
    return 4 if isinstance(type_.element, Float32Type) else 8


def _has_long_rows(op: tix.DefineOp, sizes: Mapping[str, int]) -> bool:
    """False if there are none, or numbers say that they are short."""
    if not op.shape:
        return False
    unknown = any(name not in sizes for name in op.shape[-1].sizes)
    return unknown or op.shape[-1].evaluate(sizes) >= FEWEST_ELEMENTS_OF_ROW


def _may_be_large(op: tix.DefineOp) -> bool:
    """False if numbers say that a result is small."""
    known = _constant_bytes(_shapes(op))
    return known is None or known >= FEWEST_BYTES


def _constant_bytes(shapes: Sequence[tuple[int, Sequence[Affine]]]) -> int | None:
    """The bytes that are read and written, as a number; None where they are known at run time only.

    The result comes first. Of larger tensors about as many elements are read as it has.
    """
    if any(size.terms for _, shape in shapes for size in shape):
        return None
    counts = [prod(max(0, n.constant) for n in shape) for _, shape in shapes]
    return sum(bytes_ * min(n, counts[0]) for (bytes_, _), n in zip(shapes, counts, strict=True))


def _body(op: Operation) -> Iterator[Operation]:
    return (inner for inner in op.walk() if inner is not op)


def _has_lanes(op: Operation, column: SSAValue, uses: IndexUses) -> bool:
    """True if an operation has a form for vectors along the column, of which lanes may be off."""
    match op:
        case tix.ConstantOp() | tix.UnaryOp() | tix.BinaryOp() | tix.YieldOp() | tix.WhereOp():
            return True
        case tix.ReadOp():
            return stride(op, column, uses) in (0, *MASKED_STEPS)
        case tix.SumOp():
            return is_short(op) and not any(isinstance(o, tix.ReductionOp) for o in _body(op))
        case tix.ReductionOp():
            return is_short(op) and not any(isinstance(o, tix.IfOp) for o in _body(op))
        case tix.IfOp():
            return not is_guard(op, column, uses) or _is_maskable(op, column, uses)
        case _:
            return column not in uses.of_operation(op) and isinstance(
                op, tix.FloorDivOp | tix.IndexToRealOp
            )


def _is_maskable(op: tix.IfOp, column: SSAValue, uses: IndexUses) -> bool:
    """True for a conjunction of indices, whose branches read neighbours alone.

    Lanes that are off do not touch these.
    """
    own = {v for disjunct in op.condition for c in disjunct for v in c.form.indices}
    return (
        len(op.condition) == 1
        and all(isinstance(v, BlockArgument) for v in own)
        and all(
            isinstance(o, tix.ConstantOp | tix.UnaryOp | tix.BinaryOp | tix.YieldOp | tix.WhereOp)
            or (isinstance(o, tix.ReadOp) and _is_read_under_masks(o, column, uses))
            for o in _body(op)
        )
    )


def _is_read_under_masks(op: tix.ReadOp, column: SSAValue, uses: IndexUses) -> bool:
    """True if vectors of a read can leave lanes out, or all lanes read what is there anyway."""
    step = stride(op, column, uses)
    return step in MASKED_STEPS or (step == 0 and is_there(op))


def streamed(outer: BodyLowering, stream: Stream) -> ParallelOp:
    """The nest of a stream: one iteration per row, or per piece of a single row."""
    op = stream.op
    *limits, extent = [outer.index.form(size) for size in op.shape]
    target = outer.buffers[op.result]
    address = outer.insert(memref.ExtractAlignedPointerAsIndexOp.get(target)).aligned_pointer
    origin = quotient(outer, address, outer.index.constant(_bytes_of_element(op.type)))
    large = _goes_past_caches(outer, stream)
    body = Block(arg_types=[IndexType()] * max(1, len(limits)))
    inner = outer.inside(body)
    for new, old in zip(body.args, op.indices[: len(limits)], strict=False):
        new.name_hint = old.name_hint
        inner.index.values[old] = new
    low, high = inner.index.constant(0), extent
    if not limits:
        piece = outer.index.constant(ELEMENTS_OF_PIECE)
        most = outer.index.add(extent, outer.index.constant(ELEMENTS_OF_PIECE - 1))
        limits = [quotient(outer, most, piece)]
        body.args[0].name_hint = "piece"
        low = inner.index.mul(body.args[0], piece)
        high = smaller(inner, extent, inner.index.add(low, piece))
    row = Row(stream, origin, low, high)
    if isinstance(large, bool):
        row.emit(inner, nontemporal=large)
    else:
        either(inner, large, lambda at: row.emit(at, True), lambda at: row.emit(at, False))
    return ParallelOp(limits, Region(body))


def _goes_past_caches(at: BodyLowering, stream: Stream) -> SSAValue | bool:
    """True if so many bytes are read and written; a test of that where numbers do not tell."""
    known = _constant_bytes(stream.shapes)
    if known is not None and not FEWEST_BYTES <= known < MOST_BYTES:
        return known >= MOST_BYTES
    cache = at.insert(SharedCacheOp()).result
    counts = [_count(at, shape) for _, shape in stream.shapes]
    total = at.index.constant(0)
    for (bytes_, _), count in zip(stream.shapes, counts, strict=True):
        elements = count if count is counts[0] else smaller(at, count, counts[0])
        total = at.index.add(total, at.index.mul(elements, at.index.constant(bytes_)))
    return _compare(at, "sge", total, cache)


def _count(at: BodyLowering, shape: Sequence[Affine]) -> SSAValue:
    """The number of elements of a shape."""
    factors = (at.index.form(size) for size in shape)
    return reduce(at.index.mul, factors, at.index.constant(1))


@dataclass(frozen=True)
class Row:
    """The elements [low, high) of a row; `origin` is the address of the result, in elements."""

    stream: Stream
    origin: SSAValue
    low: SSAValue
    high: SSAValue

    def emit(self, at: BodyLowering, nontemporal: bool) -> None:
        """The vectors of the row, from the one that holds its first element on."""
        lanes = at.index.constant(self.stream.lanes)
        at.index.values[self.low] = self.low
        first = self._position(at, Affine.of(self.low))
        place = at.index.add(self.origin, first)
        before = at.insert(arith.RemSIOp(place, lanes)).result
        begin, end = self._inside(at)
        last = difference(at, end, lanes)

        def one(inner: BodyLowering, column: SSAValue) -> None:
            inner.index.values[self.stream.column] = column
            tests = [_compare(inner, "sge", column, begin), _compare(inner, "sle", column, last)]
            either(
                inner,
                all_of(inner, tests),
                lambda at: self._whole(at, nontemporal),
                lambda at: self._part(at, column),
            )

        start = difference(at, self.low, before)
        loop(at, start, self.high, self.stream.column.name_hint, one, self.stream.lanes)

    def _position(self, at: BodyLowering, column: Affine) -> SSAValue:
        op = self.stream.op
        forms = [*(Affine.of(v) for v in op.indices[:-1]), column]
        return at.index.linear(forms, at.strides[op.result, op.shape])

    def _inside(self, at: BodyLowering) -> tuple[SSAValue, SSAValue]:
        """The range of elements for which all guards hold."""
        column = self.stream.column
        begin, end = self.low, self.high
        constraints = list(
            dict.fromkeys(c for op in self.stream.guards for d in op.condition for c in d)
        )
        constraints = [for_all_terms(part) for c in constraints for part in _inequalities(c)]
        along = [c for c in constraints if c.form[column]]
        for constraint in along:
            bound = at.index.bound(column, constraint)
            larger = constraint.form[column] > 0
            begin = at.insert(arith.MaxSIOp(begin, bound)).result if larger else begin
            end = end if larger else smaller(at, end, bound)
        others = [c for c in constraints if not c.form[column]]
        return begin, select(at, at.index.holds([others]), end, begin) if others else end

    def _whole(self, at: BodyLowering, nontemporal: bool) -> None:
        lanes = self._lanes(at, InsideLowering)
        flag = BoolAttr.from_bool(True) if nontemporal else None
        at.insert(vector.StoreOp(self._value(lanes), self._target(at), [self._here(at)], flag))

    def _part(self, at: BodyLowering, column: SSAValue) -> None:
        lanes = self._lanes(at, BorderLowering)
        lanes.mask = self._mask(lanes, column)
        value = self._value(lanes)
        at.insert(vector.MaskedStoreOp(self._target(at), [self._here(at)], lanes.mask, value))

    def _lanes(self, at: BodyLowering, kind: type[BorderLowering]) -> BorderLowering:
        """The lowering of a vector, of the same operations in the whole row."""
        stream = self.stream
        lanes = kind(at, stream.op, stream.tile, stream.uses)
        lanes.as_written = {*at.as_written, *not_fused(stream.guards)}
        return lanes

    def _mask(self, at: LanesLowering, column: SSAValue) -> SSAValue:
        """The lanes that are elements of the row."""
        kind = VectorType(i1, [self.stream.lanes])

        def below(bound: SSAValue) -> SSAValue:
            end = difference(at, bound, column)
            return at.insert(vector.CreateMaskOp([end], kind)).mask_vector

        return all_of(at, [below(self.high), at.others(below(self.low))])

    def _value(self, at: LanesLowering) -> SSAValue:
        return at.at(None, 0).lanes_of(tix.yielded(self.stream.op.body))

    def _target(self, at: BodyLowering) -> SSAValue:
        return at.buffers[self.stream.op.result]

    def _here(self, at: BodyLowering) -> SSAValue:
        return self._position(at, Affine.of(self.stream.column))


def _compare(at: BodyLowering, predicate: str, a: SSAValue, b: SSAValue) -> SSAValue:
    return at.insert(arith.CmpiOp(a, b, predicate)).result


def _inequalities(constraint: Constraint) -> list[Constraint]:
    """A constraint as inequalities: `e = 0` is `e >= 0` and `-e >= 0`."""
    both = [constraint.form, -constraint.form] if constraint.equality else [constraint.form]
    return [Constraint(form) for form in both]
