"""The operations on vectors of scheduled programs: a vector is a tuple of the numbers in its lanes.

The caller gives each lane the type of the result.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, TypeGuard

import numpy as np
from xdsl.dialects import arith, vector
from xdsl.dialects.builtin import VectorType
from xdsl.dialects.vector import CombiningKindFlag as Kind
from xdsl.ir import Operation

from tadc.dialects.loops import (
    LANES,
    CompareLanesOp,
    ConvertLanesOp,
    SelectLanesOp,
    sums_in_order,
    vector_type,
)
from tadc.interpreter.loops_scalars import (
    SCALAR,
    Function,
    LoopsError,
    compare_floats,
    compare_integers,
    fused,
    maximum,
    minimum,
    select,
)

Lanes: TypeAlias = tuple[Any, ...]


def is_vector(value: Any) -> TypeGuard[Lanes]:
    return isinstance(value, tuple)


COMBINE: dict[Kind, Function] = {
    Kind.ADD: operator.add,
    Kind.MUL: operator.mul,
    Kind.MAXIMUMF: maximum,
    Kind.MINIMUMF: minimum,
    Kind.MAXNUMF: np.fmax,
    Kind.MINNUMF: np.fmin,
    Kind.MAXSI: max,
    Kind.MINSI: min,
    Kind.AND: SCALAR[arith.AndIOp],
    Kind.OR: SCALAR[arith.OrIOp],
    Kind.XOR: SCALAR[arith.XOrIOp],
}
"""The operations by which `vector.reduction` combines two lanes."""


def lanes_of(op: Operation, type: VectorType[Any]) -> int:
    """The number of lanes of a vector type that programs may use."""
    if type.get_shape() not in LANES:
        raise LoopsError(op, f"no vector has the type {type}")
    return type.get_shape()[0]


def by_lanes(function: Function, operands: Sequence[Any]) -> Any:
    """The value of a function of numbers, in each lane where operands are vectors."""
    counts = {len(v) for v in operands if is_vector(v)}
    if not counts:
        return function(*operands)
    (count,) = counts
    columns = [v if is_vector(v) else (v,) * count for v in operands]
    return tuple(function(*lane) for lane in zip(*columns, strict=True))


def compare(op: CompareLanesOp, a: Lanes, b: Lanes) -> Lanes:
    relation = compare_floats if op.is_real else compare_integers
    return tuple(relation(op.number, *lane) for lane in zip(a, b, strict=True))


def choose(_op: SelectLanesOp, mask: Lanes, a: Lanes, b: Lanes) -> Lanes:
    return by_lanes(select, (mask, a, b))


def convert(_op: ConvertLanesOp, x: Lanes) -> Lanes:
    return x


def broadcast(op: vector.BroadcastOp, x: Any) -> Lanes:
    if is_vector(x):
        raise LoopsError(op, "only a number can be in all lanes")
    return (x,) * lanes_of(op, vector_type(op.vector))


def shuffle(op: vector.ShuffleOp, a: Lanes, b: Lanes) -> Lanes:
    positions = op.mask.get_values()
    if -1 in positions:
        raise LoopsError(op, "a lane is undefined")
    return tuple((a + b)[position] for position in positions)


def _position(op: vector.ExtractOp | vector.InsertOp) -> int:
    """The lane, which must be known."""
    match op.get_mixed_position():
        case [int(position)]:
            return position
        case _:
            raise LoopsError(op, "the position must be one number")


def extract(op: vector.ExtractOp, x: Lanes, *_: int) -> Any:
    return x[_position(op)]


def insert(op: vector.InsertOp, value: Any, x: Lanes, *_: int) -> Lanes:
    position = _position(op)
    return (*x[:position], value, *x[position + 1 :])


def create_mask(op: vector.CreateMaskOp, end: int) -> Lanes:
    return tuple(lane < end for lane in range(lanes_of(op, vector_type(op.mask_vector))))


def multiply_add(_op: vector.FMAOp, a: Lanes, b: Lanes, c: Lanes) -> Lanes:
    return by_lanes(fused, (a, b, c))


def reduction(op: vector.ReductionOp, x: Lanes, *start: Any) -> Any:
    """Half by half, as the `loops` dialect says; the start, if there is one, comes last."""
    combine = COMBINE.get(op.kind.data)
    if combine is None:
        raise LoopsError(op, f"{op.kind.data} has no meaning here")
    if sums_in_order(op):
        raise LoopsError(op, "it must say fastmath<reassoc>")
    lanes = list(x)
    while len(lanes) > 1:
        half = len(lanes) // 2
        lanes = list(map(combine, lanes[:half], lanes[half:]))
    return combine(*start, *lanes) if start else lanes[0]


VECTOR: dict[type[Operation], Callable[..., Any]] = {
    CompareLanesOp: compare,
    ConvertLanesOp: convert,
    SelectLanesOp: choose,
    vector.BroadcastOp: broadcast,
    vector.CreateMaskOp: create_mask,
    vector.ExtractOp: extract,
    vector.FMAOp: multiply_add,
    vector.InsertOp: insert,
    vector.ReductionOp: reduction,
    vector.ShuffleOp: shuffle,
}
"""The value of an operation, of itself and its operands."""
