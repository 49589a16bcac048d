"""Operations on the lanes of vectors (`dialects/loops`): what xDSL has for numbers alone."""

from __future__ import annotations

from functools import cache
from typing import ClassVar, cast

from xdsl.dialects import vector
from xdsl.dialects.builtin import (
    I1,
    AnyFloat,
    AnyFloatConstr,
    BoolAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    MemRefType,
    StringAttr,
    VectorType,
    i1,
)
from xdsl.dialects.utils import FastMathFlag
from xdsl.dialects.vector import CombiningKindFlag
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    VarConstraint,
    base,
    operand_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import MemoryReadEffect, Pure
from xdsl.utils.exceptions import VerifyException

from tadc.dialects.quick import QuickOperation, operation

LANES = {(lanes,) for lanes in (2, 4, 8, 16, 32, 64)}
"""The shapes of vectors."""


def alignment_of(op: Operation) -> int:
    """The bytes of which an operation on memory promises its address to be a multiple, or 0."""
    promised = op.attributes.get("alignment") if op.attributes else None
    alignment = promised.value.data if isinstance(promised, IntegerAttr) else 0
    if not is_nontemporal(op) or not isinstance(op, vector.StoreOp):
        return alignment
    stored = vector_type(op.vector)
    assert isinstance(stored.element_type, AnyFloat)
    return max(alignment, min(64, stored.get_shape()[0] * stored.element_type.size))


TRUE = BoolAttr.from_bool(True)


def is_nontemporal(op: Operation) -> bool:
    """True if a store bypasses the caches."""
    return op.properties.get("nontemporal") == TRUE


def sums_in_order(op: vector.ReductionOp) -> bool:
    """True if a reduction must go from the first lane to the last, which has no form here."""
    real = isinstance(op.dest.type, AnyFloat)
    rounds = op.kind.data in (CombiningKindFlag.ADD, CombiningKindFlag.MUL)
    return real and rounds and FastMathFlag.REASSOC not in op.fastmath.data


INTEGER_PREDICATES = ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge")
FLOAT_PREDICATES = (
    *("false", "oeq", "ogt", "oge", "olt", "ole", "one", "ord"),
    *("ueq", "ugt", "uge", "ult", "ule", "une", "uno", "true"),
)
"""Comparisons by name, in the order of their numbers in `arith.cmpi` and `arith.cmpf`."""

IntegerConstr = base(IntegerType) | base(IndexType)


def vector_type(value: SSAValue | Operation) -> VectorType[Attribute]:
    """The type of a value that is a vector."""
    type_ = (value.results[0] if isinstance(value, Operation) else value).type
    assert isinstance(type_, VectorType)
    return cast("VectorType[Attribute]", type_)


@cache
def vector_of(element: Attribute, lanes: int) -> VectorType[Attribute]:
    """The type of a vector: made once, for its constructor verifies all of it."""
    return VectorType(element, [lanes])


def _like(value: SSAValue | Operation, element: Attribute) -> VectorType[Attribute]:
    """The type of a vector of as many lanes, with another element."""
    (lanes,) = vector_type(value).get_shape()
    return vector_of(element, lanes)


def _verify_same_lanes(*values: SSAValue) -> None:
    types = [vector_type(value) for value in values]
    if len({type_.shape for type_ in types}) > 1:
        raise VerifyException(f"different lanes: {', '.join(map(str, types))}")


@operation
class CompareLanesOp(QuickOperation):
    """A comparison in each lane: `loops.compare "olt" %a, %b : vector<4xf32> -> vector<4xi1>`.

    The predicates are those of `arith.cmpf` for real numbers, of `arith.cmpi` for integers.
    """

    T: ClassVar = VarConstraint("T", VectorType.constr(AnyFloatConstr | IntegerConstr))
    name = "loops.compare"
    predicate = prop_def(StringAttr)
    lhs = operand_def(T)
    rhs = operand_def(T)
    result = result_def(VectorType[I1])
    traits = traits_def(Pure())
    assembly_format = "$predicate $lhs `,` $rhs attr-dict `:` type($lhs) `->` type($result)"

    def __init__(self, predicate: str, lhs: SSAValue | Operation, rhs: SSAValue | Operation):
        super().__init__(
            operands=[SSAValue.get(lhs), SSAValue.get(rhs)],
            result_types=[_like(lhs, i1)],
            properties={"predicate": StringAttr(predicate)},
        )

    @property
    def is_real(self) -> bool:
        """True if real numbers are compared."""
        return isinstance(vector_type(self.lhs).element_type, AnyFloat)

    @property
    def number(self) -> int:
        """The number of the predicate in `arith`."""
        predicates = FLOAT_PREDICATES if self.is_real else INTEGER_PREDICATES
        return predicates.index(self.predicate.data)

    def verify_(self) -> None:
        _verify_same_lanes(self.lhs, self.result)
        known = FLOAT_PREDICATES if self.is_real else INTEGER_PREDICATES
        if self.predicate.data not in known:
            raise VerifyException(f'"{self.predicate.data}" is none of {", ".join(known)}')


@operation
class SelectLanesOp(QuickOperation):
    """A choice in each lane: `loops.select %m, %a, %b : vector<4xi1>, vector<4xf32>`."""

    T: ClassVar = VarConstraint("T", base(VectorType[Attribute]))
    name = "loops.select"
    mask = operand_def(VectorType[I1])
    lhs = operand_def(T)
    rhs = operand_def(T)
    result = result_def(T)
    traits = traits_def(Pure())
    assembly_format = "$mask `,` $lhs `,` $rhs attr-dict `:` type($mask) `,` type($result)"

    def __init__(
        self, mask: SSAValue | Operation, lhs: SSAValue | Operation, rhs: SSAValue | Operation
    ):
        operands = [SSAValue.get(v) for v in (mask, lhs, rhs)]
        super().__init__(operands=operands, result_types=[vector_type(lhs)])

    def verify_(self) -> None:
        _verify_same_lanes(self.mask, self.lhs)


@operation
class ConvertLanesOp(QuickOperation):
    """Signed integers in another type: `loops.convert %i : vector<4xindex> to vector<4xf32>`.

    To real numbers it rounds, to wider integers it keeps the sign, and narrower ones must hold the
    numbers.
    """

    name = "loops.convert"
    input = operand_def(VectorType.constr(IntegerConstr))
    result = result_def(VectorType.constr(AnyFloatConstr | IntegerConstr))
    traits = traits_def(Pure())
    assembly_format = "$input attr-dict `:` type($input) `to` type($result)"

    def __init__(self, input: SSAValue | Operation, element: Attribute):
        super().__init__(operands=[SSAValue.get(input)], result_types=[_like(input, element)])

    def verify_(self) -> None:
        _verify_same_lanes(self.input, self.result)


@operation
class StridedLoadOp(QuickOperation):
    """Elements that lie apart: `loops.strided_load %x[%i], %s : memref<?xf32>, vector<4xf32>`.

    Lane l reads `x[i + l s]`, for any stride s. A constant one of a few elements costs as many
    loads and shuffles, any other one a load for each lane.
    """

    name = "loops.strided_load"
    base = operand_def(MemRefType)
    index = operand_def(IndexType)
    stride = operand_def(IndexType)
    result = result_def(VectorType.constr(AnyFloatConstr | IntegerConstr))
    traits = traits_def(MemoryReadEffect())
    assembly_format = "$base `[` $index `]` `,` $stride attr-dict `:` type($base) `,` type($result)"

    def __init__(
        self,
        base: SSAValue | Operation,
        index: SSAValue | Operation,
        stride: SSAValue | Operation,
        type: VectorType[Attribute],
    ):
        operands = [SSAValue.get(v) for v in (base, index, stride)]
        super().__init__(operands=operands, result_types=[type])

    def verify_(self) -> None:
        held = cast("MemRefType[Attribute]", self.base.type).element_type
        if held != vector_type(self.result).element_type:
            raise VerifyException(f"elements of type {held} in a {self.result.type}")
