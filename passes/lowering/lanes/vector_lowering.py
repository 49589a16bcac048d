"""Arithmetic on vectors: operations on numbers and vectors together, integers along the lanes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from xdsl.dialects import arith, vector
from xdsl.dialects.builtin import (
    I1,
    DenseIntOrFPElementsAttr,
    Float64Type,
    IntegerType,
    VectorType,
    i1,
    i32,
    i64,
)
from xdsl.dialects.vector import CombiningKindAttr, CombiningKindFlag
from xdsl.ir import Attribute, Operation, SSAValue

from tadc.dialects import tix
from tadc.dialects.loops import CompareLanesOp, SelectLanesOp, vector_of, vector_type
from tadc.dialects.tix import Affine
from tadc.passes.lowering import operations
from tadc.passes.lowering.scalars.elementary import AS_WRITTEN, CONTRACT, REASSOCIATED, SIGNLESS
from tadc.passes.lowering.scalars.segments import SegmentLowering
from tadc.passes.scheduling.tiles.tile import Tile

KINDS: dict[type[tix.ReductionOp], CombiningKindFlag] = {
    tix.SumOp: CombiningKindFlag.ADD,
    tix.ProdOp: CombiningKindFlag.MUL,
    tix.MaxOp: CombiningKindFlag.MAXIMUMF,
    tix.MinOp: CombiningKindFlag.MINIMUMF,
}


class VectorLowering(SegmentLowering):
    """Emits operations on vectors and numbers; a number among vectors is broadcast to all lanes."""

    tile: Tile

    @property
    def lanes(self) -> int:
        """The number of elements of a vector."""
        return self.tile.lanes

    @property
    def type(self) -> VectorType[Attribute]:
        """The type of a vector of real numbers."""
        return vector_of(self.element, self.lanes)

    def splat(self, number: SSAValue) -> SSAValue:
        """Broadcast a number to all lanes; a vector stays as it is."""
        if isinstance(number.type, VectorType):
            return number
        kind = vector_of(number.type, self.lanes)
        return self.index.once(("splat", number), lambda: operations.broadcast(number, kind))

    def unified(self, operands: Sequence[SSAValue]) -> list[SSAValue]:
        """The operands of an operation: vectors if one of them is."""
        if any(isinstance(v.type, VectorType) for v in operands):
            return [self.splat(v) for v in operands]
        return list(operands)

    def arith(self, kind: Callable[..., Operation], *operands: SSAValue) -> SSAValue:
        return super().arith(kind, *self.unified(operands))

    def math(self, kind: Callable[..., Operation], *operands: SSAValue) -> SSAValue:
        return super().math(kind, *self.unified(operands))

    def select(self, predicate: str, a: SSAValue, b: SSAValue, x: SSAValue, y: SSAValue):
        a, b, x, y = self.unified([a, b, x, y])
        if not isinstance(a.type, VectorType):
            return super().select(predicate, a, b, x, y)
        test = self.insert(CompareLanesOp(predicate, a, b)).result
        return self.insert(SelectLanesOp(test, x, y)).result

    def add(self, a: SSAValue, b: SSAValue, op: tix.ReductionOp) -> SSAValue:
        """Combine two partial results of a reduction lane by lane, in the order given."""
        if not isinstance(op, tix.SumOp):
            return self.combined(op, a, b)
        flags = AS_WRITTEN if op in self.as_written else CONTRACT
        return self.insert(operations.binary(arith.AddfOp, a, b, fastmath=flags)).result

    def all_lanes(self, op: tix.ReductionOp, lanes: SSAValue) -> SSAValue:
        """Reduce the lanes of a vector to one number."""
        properties: dict[str, Attribute] = {
            "kind": CombiningKindAttr(KINDS[type(op)]),
            "fastmath": SIGNLESS if isinstance(op, tix.ExtremumOp) else REASSOCIATED,
        }
        # the constructor of xDSL gives the result the type of the vector
        combined = vector.ReductionOp.create(
            operands=[lanes], result_types=[self.element], properties=properties
        )
        return self.insert(combined).results[0]

    def reversed(self, lanes: SSAValue) -> SSAValue:
        """The lanes from the last to the first."""
        return self.shuffled(lanes, lanes, range(self.lanes)[::-1])

    def shuffled(self, a: SSAValue, b: SSAValue, order: Sequence[int]) -> SSAValue:
        """Shuffle the lanes of two vectors; those of the second follow in number."""
        return self.insert(operations.shuffle(a, b, order)).result

    def picked(self, vectors: Sequence[SSAValue], places: Sequence[tuple[int, int]]) -> SSAValue:
        """Gather lanes of two or more vectors; a place is a vector's number and a lane of it."""
        width = self.lanes
        order = [lane + width * (which == 1) for which, lane in places]
        found = self.shuffled(vectors[0], vectors[1], order)
        for n, more in list(enumerate(vectors))[2:]:
            own = [width + lane if which == n else k for k, (which, lane) in enumerate(places)]
            found = self.shuffled(found, more, own)
        return found

    def transposed(self, rows: Sequence[SSAValue]) -> list[SSAValue]:
        """Transpose a square of vectors, of a power of two rows: lane c of row r is lane r of
        vector c.

        It takes log n rounds for n rows. A round interleaves vector v with vector v + n/2 lane by
        lane: what stands in lane l of vector v, an address of bits (v, l), comes to the address
        with all bits rotated by one place, as the highest bit of v becomes the lowest of the lane,
        and the highest of l the lowest of the vector. After log n rounds v and l have changed
        places. Each element takes part in log n shuffles of n lanes.
        """
        count = len(rows)
        low, high = (
            [half * count // 2 + lane // 2 + count * (lane % 2) for lane in range(count)]
            for half in range(2)
        )
        found = list(rows)
        for _ in range(count.bit_length() - 1):
            pairs = zip(found[: count // 2], found[count // 2 :], strict=True)
            found = [self.shuffled(a, b, order) for a, b in pairs for order in (low, high)]
        return found

    def widened(self, lanes: SSAValue) -> SSAValue:
        """Convert elements to the precision of the result."""
        if vector_type(lanes).element_type == self.element:
            return lanes
        kind = arith.ExtFOp if isinstance(self.element, Float64Type) else arith.TruncFOp
        return self.insert(kind(lanes, self.type)).result

    # --- constants, integers and masks ---

    def zeros(self, element: Any) -> SSAValue:
        """Real zeros of this precision."""
        numbers = DenseIntOrFPElementsAttr.from_list(VectorType(element, [self.lanes]), [0.0])
        return self.index.once(("zeros", element), lambda: arith.ConstantOp(numbers))

    def lane_integers(self, numbers: Sequence[int], element: IntegerType = i64) -> SSAValue:
        """A vector of integers: one number for each lane, or a single one for all of them."""
        key = "integers", element, *numbers
        return self.index.once(key, lambda: _integers(tuple(numbers), element, self.lanes))

    def integers(self, form: Affine) -> SSAValue:
        """An affine form in all lanes; the column grows along them."""
        first = self.insert(arith.IndexCastOp(self.index.form(form), i64)).result
        steps = [form[self.tile.column_index] * lane for lane in range(self.lanes)]
        return self.insert(arith.AddiOp(self.splat(first), self.lane_integers(steps))).result

    def holds_in(self, form: Affine, equality: bool) -> SSAValue:
        """The lanes in which `form >= 0`, or `form == 0`.

        Where the form grows by one from lane to lane, it holds from lane `-form` on; where it falls
        by one, up to lane `form`. Such a number, kept between 0 and the number of lanes, is short.
        """
        placed = form.substitute(self.index.places)
        return self.index.once(("holds", placed, equality), lambda: self._compared(form, equality))

    def _compared(self, form: Affine, equality: bool) -> Operation:
        if equality:
            zeros = self.lane_integers([0] * self.lanes)
            return CompareLanesOp("eq", self.integers(form), zeros)
        return self.compared_at_end(form)

    def compared_at_end(self, form: Affine) -> Operation:
        """The lanes in which a form that grows or falls along them is not negative."""
        step = form[self.tile.column_index]
        if step > 0:
            first = self.index.floordiv(step - 1 - form, step)
        elif step < 0:
            first = self.index.floordiv(form - step, -step)
        else:
            first = self.index.form(-form * self.lanes)
        zero, lanes = self.index.constant(0), self.index.constant(self.lanes)
        bounded = self.insert(operations.binary(arith.MaxSIOp, first, zero)).result
        bounded = self.insert(operations.binary(arith.MinSIOp, bounded, lanes)).result
        limit = self.splat(self.insert(arith.IndexCastOp(bounded, i32)).result)
        numbers = self.lane_integers(range(self.lanes), i32)
        return CompareLanesOp("slt" if step < 0 else "sge", numbers, limit)

    def others(self, mask: SSAValue) -> SSAValue:
        """The complement of a mask."""
        kind: VectorType[I1] = VectorType(i1, [self.lanes])
        ones = DenseIntOrFPElementsAttr.from_list(kind, [1])
        every = self.index.once(("every lane", self.lanes), lambda: arith.ConstantOp(ones))
        return self.index.once(("not", mask), lambda: operations.binary(arith.XOrIOp, mask, every))


def _integers(numbers: tuple[int, ...], element: IntegerType, lanes: int) -> arith.ConstantOp:
    return operations.constant(_dense(numbers, element, lanes))


@lru_cache(maxsize=1024)
def _dense(
    numbers: tuple[int, ...], element: IntegerType, lanes: int
) -> DenseIntOrFPElementsAttr[IntegerType]:
    return DenseIntOrFPElementsAttr.from_list(VectorType(element, [lanes]), numbers)


def load_vector(at: VectorLowering, source: SSAValue, position: SSAValue) -> SSAValue:
    """The vector that begins at a position."""
    return at.insert(operations.load_lanes(source, position, at.type)).result


def store_vector(at: VectorLowering, value: SSAValue, target: SSAValue, position: SSAValue) -> None:
    at.insert(operations.store_lanes(value, target, position))
