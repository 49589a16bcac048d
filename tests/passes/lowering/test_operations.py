"""Operations of loops: the same as those that xDSL's constructors make, and they verify."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from xdsl.dialects import arith, memref, vector
from xdsl.dialects.builtin import Float32Type, FloatAttr, IndexType, IntegerAttr, MemRefType
from xdsl.ir import Block, Operation

from tadc.dialects.loops import vector_of
from tadc.passes.lowering import operations
from tadc.passes.lowering.scalars.elementary import AS_WRITTEN, CONTRACT

f32, index = Float32Type(), IndexType()
LANES = vector_of(f32, 8)
BLOCK = Block(arg_types=[index, f32, LANES, MemRefType(f32, [16])])
i, number, lanes, buffer = BLOCK.args
seven, half = IntegerAttr(7, index), FloatAttr(0.5, f32)

PAIRS: list[tuple[Callable[[], Operation], Callable[[], Operation]]] = [
    (lambda: operations.constant(seven), lambda: arith.ConstantOp(seven)),
    (lambda: operations.constant(half), lambda: arith.ConstantOp(half)),
    (lambda: operations.binary(arith.AddiOp, i, i), lambda: arith.AddiOp(i, i)),
    (lambda: operations.binary(arith.MaxSIOp, i, i), lambda: arith.MaxSIOp(i, i)),
    *(
        (
            lambda flags=flags: operations.binary(arith.MulfOp, lanes, lanes, fastmath=flags),
            lambda flags=flags: arith.MulfOp(lanes, lanes, flags),
        )
        for flags in (CONTRACT, AS_WRITTEN)
    ),
    (lambda: operations.load(buffer, i), lambda: memref.LoadOp.get(buffer, [i])),
    (lambda: operations.store(number, buffer, i), lambda: memref.StoreOp.get(number, buffer, [i])),
    (lambda: operations.broadcast(number, LANES), lambda: vector.BroadcastOp(number, LANES)),
    (lambda: operations.load_lanes(buffer, i, LANES), lambda: vector.LoadOp(buffer, [i], LANES)),
    (
        lambda: operations.store_lanes(lanes, buffer, i),
        lambda: vector.StoreOp(lanes, buffer, [i]),
    ),
]


@pytest.mark.parametrize("pair", PAIRS)
def test_they_are_those_that_constructors_make(
    pair: tuple[Callable[[], Operation], Callable[[], Operation]],
):
    made, constructed = (make() for make in pair)
    made.verify()
    assert made.is_structurally_equivalent(constructed)


def test_types_of_vectors_are_made_once():
    assert vector_of(f32, 8) is LANES
    assert vector_of(f32, 4) != LANES
