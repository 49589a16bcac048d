"""Quick constructors of the operations that loops consist of by the thousand.

The constructors of xDSL take operations for values, nothing for what is optional, and match all
that with the definition of the operation: five times the time of `make`, which is given it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, TypeVar, cast

from xdsl.dialects import arith, memref, scf, vector
from xdsl.dialects.builtin import DenseArrayBase, MemRefType, VectorType, i1, i64
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from tadc.dialects.quick import make, region_with

OpT = TypeVar("OpT", bound=Operation)


def constant(value: Any) -> arith.ConstantOp:
    """A constant: a number or a vector of numbers, of its attribute's type."""
    return make(arith.ConstantOp, (), (value.type,), {"value": value})


def binary(kind: type[OpT], a: SSAValue, b: SSAValue, **properties: Attribute) -> OpT:
    """An operation on two values of one type, which the result has, too."""
    return make(kind, (a, b), (a.type,), properties)


def load(source: SSAValue, position: SSAValue) -> memref.LoadOp:
    """An element of a buffer."""
    element = cast("MemRefType[Attribute]", source.type).element_type
    return make(memref.LoadOp, (source, position), (element,))


def store(value: SSAValue, target: SSAValue, position: SSAValue) -> memref.StoreOp:
    """A number, into an element of a buffer."""
    return make(memref.StoreOp, (value, target, position))


def broadcast(number: SSAValue, kind: VectorType[Attribute]) -> vector.BroadcastOp:
    """A number in all lanes."""
    return make(vector.BroadcastOp, (number,), (kind,))


def shuffle(a: SSAValue, b: SSAValue, order: Sequence[int]) -> vector.ShuffleOp:
    """Lanes of two vectors: those of the second one are counted on behind the first."""
    return make(vector.ShuffleOp, (a, b), (a.type,), {"mask": _mask(tuple(order))})


@lru_cache(maxsize=1024)
def _mask(order: tuple[int, ...]) -> DenseArrayBase[Any]:
    return DenseArrayBase.from_list(i64, order)


def first_lanes(count: SSAValue, lanes: int) -> vector.CreateMaskOp:
    """A mask of the first lanes of a vector, as many as the count."""
    return make(vector.CreateMaskOp, (count,), (VectorType(i1, [lanes]),))


def load_lanes(source: SSAValue, position: SSAValue, kind: VectorType[Attribute]) -> vector.LoadOp:
    """The elements of a buffer from a position on."""
    return make(vector.LoadOp, (source, position), (kind,))


def store_lanes(lanes: SSAValue, target: SSAValue, position: SSAValue) -> vector.StoreOp:
    """A vector, into the elements of a buffer from a position on."""
    return make(vector.StoreOp, (lanes, target, position))


def loop(
    low: SSAValue, high: SSAValue, step: SSAValue, carried: Sequence[SSAValue], body: Block
) -> scf.ForOp:
    """A loop over [low, high), which carries values."""
    types = [value.type for value in carried]
    return make(scf.ForOp, (low, high, step, *carried), types, None, [region_with(body)])


def branch(
    test: SSAValue, then: Block, otherwise: Block | None = None, types: Sequence[Attribute] = ()
) -> scf.IfOp:
    """A branch with results of these types; without an else block it has none."""
    regions = region_with(then), Region() if otherwise is None else region_with(otherwise)
    return make(scf.IfOp, (test,), types, None, regions)


def end(*values: SSAValue) -> scf.YieldOp:
    """The end of a block of a loop or a branch, with its values."""
    return make(scf.YieldOp, values)
