"""From `tix` bodies to `scf`, `arith`, `math` and `memref`: what `schedule` emits inside a loop."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from typing import Self, TypeAlias

from xdsl.dialects import arith
from xdsl.dialects.builtin import Float64Type, f32, f64, i64
from xdsl.ir import Block, Operation, Region, SSAValue

from tadc.dialects import tix
from tadc.dialects.quick import INDEX, block_with
from tadc.dialects.tix import Affine, TensorType
from tadc.passes.lowering import operations
from tadc.passes.lowering.scalars.elementary import (
    AS_WRITTEN,
    CONTRACT,
    REASSOCIATED,
    SIGNLESS,
    ScalarLowering,
)
from tadc.passes.lowering.scalars.index_lowering import IndexLowering, Stride
from tadc.passes.rewriting.failure import place
from tadc.passes.rewriting.shallow_copy import shallow_copy
from tadc.passes.scheduling.tiles.sum_lengths import constraints_of

Strides: TypeAlias = Mapping[tuple[SSAValue, tuple[Affine, ...]], Sequence[Stride]]
"""The strides of each tensor, in each shape in which it is read."""


class BodyLowering(ScalarLowering):
    """Emits the scalars of one block of a body.

    `buffers` maps tensors to their memory, and `strides` a tensor in a shape to its strides; the
    rows of `strided` tensors need not be contiguous. `scalars` maps values to what was emitted for
    them. Operations in `as_written` keep their order, without fused products. `ranges` maps indices
    that run over a part of their range to its bounds.
    """

    def __init__(
        self,
        index: IndexLowering,
        type: TensorType,
        buffers: Mapping[SSAValue, SSAValue],
        strides: Strides,
        scalars: Mapping[SSAValue, SSAValue] | None = None,
        as_written: Set[Operation] = frozenset(),
        strided: Set[SSAValue] = frozenset(),
    ):
        super().__init__(index, f64 if isinstance(type.element, Float64Type) else f32)
        self.buffers = buffers
        self.strides = strides
        self.scalars = dict(scalars or {})
        self.as_written = as_written
        self.strided = strided
        self.ranges: dict[SSAValue, tuple[SSAValue, SSAValue]] = {}

    def inside(self, block: Block) -> Self:
        """The lowering of a nested block, in which all values computed so far are available."""
        inner = shallow_copy(self)
        inner.index = self.index.inside(block)
        inner.scalars = dict(self.scalars)
        inner.ranges = dict(self.ranges)
        return inner

    def region(self, region: Region) -> SSAValue:
        """Emit a body and give its value."""
        for op in region.block.ops:
            if not isinstance(op, tix.YieldOp):
                self.operation(op)
        return self.scalars[tix.yielded(region)]

    def operation(self, op: Operation) -> None:
        """Emit one operation of a body."""
        self.index.location = op.location
        self.flags = AS_WRITTEN if op in self.as_written else CONTRACT
        if isinstance(op, tix.FloorDivOp):
            self.index.values[op.result] = self.index.floordiv(op.form, op.divisor.data)
            return
        if isinstance(op, tix.AtOp):
            self.index.values[op.result] = self.element_of_indices(op)
            return
        self.scalars[op.results[0]] = self._scalar(op)

    def element_of_indices(self, op: tix.AtOp) -> SSAValue:
        """An element of a tensor of indices, as an index."""
        forms = op.forms
        if op.is_clamped:
            forms = [self._clamped(f, size) for f, size in zip(forms, op.shape, strict=True)]
        at = self.index.linear(forms, self.strides[op.tensor, op.shape])
        value = self.insert(operations.load(self.buffers[op.tensor], at)).res
        return self.insert(arith.IndexCastOp(value, INDEX)).result

    def _clamped(self, form: Affine, size: Affine) -> Affine:
        """The nearest place in a dimension."""
        last, first = self.index.form(size - 1), self.index.constant(0)
        place = self.index.max(first, self.index.min(last, self.index.form(form)))
        self.index.values[place] = place
        return Affine.of(place)

    def _scalar(self, op: Operation) -> SSAValue:
        match op:
            case tix.ConstantOp():
                return self.constant(op.value.data)
            case tix.ReadOp():
                return self._read(op)
            case tix.IndexToRealOp():
                whole = self.insert(arith.IndexCastOp(self.index.form(op.form), i64)).result
                return self.insert(arith.SIToFPOp(whole, self.element)).result
            case tix.SumOp():
                return self._sum(op)
            case tix.ReductionOp():
                return self.reduce(op, op.indices, self.constant(op.IDENTITY))
            case tix.IfOp():
                return self._choose(self.index.holds(op.condition), op)
            case tix.WhereOp():
                return self._choose(self._compare(op), op)
            case tix.UnaryOp() | tix.BinaryOp():
                return self.elementwise(op, [self.scalars[v] for v in op.operands])
            case _:
                raise ValueError(f"{place(op.location)}{op.name} cannot stand in a body")

    def _read(self, op: tix.ReadOp) -> SSAValue:
        at = self.index.linear(op.forms, self.strides[op.tensor, op.shape])
        value = self.insert(operations.load(self.buffers[op.tensor], at)).res
        if value.type == self.element:
            return value
        widen = isinstance(self.element, Float64Type)
        cast = (arith.ExtFOp if widen else arith.TruncFOp)(value, self.element)
        return self.insert(cast).result

    def _sum(self, op: tix.SumOp) -> SSAValue:
        """The loops of a sum."""
        return self.reduce(op, op.indices, self.constant(0.0))

    def bounds(self, op: tix.ReductionOp, own: Sequence[SSAValue]) -> tuple[SSAValue, SSAValue]:
        """The bounds [first, end) of the first of `own`.

        `own` are the last indices of a reduction; those before them are known.
        """
        index = own[0]
        if index not in self.ranges:
            low, high = self.index.bounds(index, constraints_of(op, own))
            return low, high
        return self.ranges[index]

    def reduce(self, op: tix.ReductionOp, own: Sequence[SSAValue], start: SSAValue) -> SSAValue:
        """Emit the loops over the indices `own` of a reduction, with the initial value `start`."""
        if not own:
            inner = shallow_copy(self)
            inner.scalars = dict(self.scalars)
            return self.combined(op, start, inner.region(op.body))
        index, *rest = own
        low, high = self.bounds(op, own)
        body = block_with([INDEX, self.element])
        body.args[0].name_hint, body.args[1].name_hint = index.name_hint, "sum"
        inner = self.inside(body)
        inner.index.values[index] = body.args[0]
        total = inner.reduce(op, rest, body.args[1])
        body.add_op(operations.end(total))
        loop = operations.loop(low, high, self.index.constant(1), [start], body)
        return self.insert(loop).results[0]

    def combined(self, op: tix.ReductionOp, x: SSAValue, y: SSAValue) -> SSAValue:
        """Combine two terms, or two partial results, of a reduction."""
        flags = AS_WRITTEN if op in self.as_written else REASSOCIATED
        match op:
            case tix.SumOp():
                return self.insert(operations.binary(arith.AddfOp, x, y, fastmath=flags)).result
            case tix.ProdOp():
                return self.insert(operations.binary(arith.MulfOp, x, y, fastmath=flags)).result
            case tix.MaxOp():
                return self.insert(arith.MaximumfOp(x, y, SIGNLESS)).result
            case _:
                return self.insert(arith.MinimumfOp(x, y, SIGNLESS)).result

    def _compare(self, op: tix.WhereOp) -> SSAValue:
        predicate = "une" if op.comparison == "ne" else f"o{op.comparison}"
        return self.insert(
            arith.CmpfOp(self.scalars[op.lhs], self.scalars[op.rhs], predicate)
        ).result

    def _choose(self, condition: SSAValue, op: tix.IfOp | tix.WhereOp) -> SSAValue:
        then, otherwise = self._branch(op.then), self._branch(op.otherwise)
        branch = operations.branch(condition, then, otherwise, [self.element])
        return self.insert(branch).results[0]

    def _branch(self, region: Region) -> Block:
        block = Block()
        block.add_op(operations.end(self.inside(block).region(region)))
        return block
