"""Operations that loops consist of by the thousand, made from exactly what they have.

The constructors of xDSL take operations for values, nothing for what is optional, and match all
that with the definition of the operation: three times the time of `create`, which is given it.
"""

from __future__ import annotations

from typing import Any, TypeVar, cast

from xdsl.dialects import arith, memref, vector
from xdsl.dialects.builtin import MemRefType, VectorType
from xdsl.ir import Attribute, Operation, SSAValue

OpT = TypeVar("OpT", bound=Operation)


def constant(value: Any) -> arith.ConstantOp:
    """A number or a vector of numbers, whose attribute knows its type."""
    return arith.ConstantOp.create(result_types=(value.type,), properties={"value": value})


def binary(kind: type[OpT], a: SSAValue, b: SSAValue, **properties: Attribute) -> OpT:
    """An operation on two values of one type, which the result has, too."""
    return kind.create(operands=(a, b), result_types=(a.type,), properties=properties)


def load(source: SSAValue, position: SSAValue) -> memref.LoadOp:
    """An element of a buffer."""
    element = cast("MemRefType[Attribute]", source.type).element_type
    return memref.LoadOp.create(operands=(source, position), result_types=(element,))


def store(value: SSAValue, target: SSAValue, position: SSAValue) -> memref.StoreOp:
    """A number, into an element of a buffer."""
    return memref.StoreOp.create(operands=(value, target, position))


def broadcast(number: SSAValue, kind: VectorType[Attribute]) -> vector.BroadcastOp:
    """A number in all lanes."""
    return vector.BroadcastOp.create(operands=(number,), result_types=(kind,))


def load_lanes(source: SSAValue, position: SSAValue, kind: VectorType[Attribute]) -> vector.LoadOp:
    """The elements of a buffer from a position on."""
    return vector.LoadOp.create(operands=(source, position), result_types=(kind,))


def store_lanes(lanes: SSAValue, target: SSAValue, position: SSAValue) -> vector.StoreOp:
    """A vector, into the elements of a buffer from a position on."""
    return vector.StoreOp.create(operands=(lanes, target, position))
