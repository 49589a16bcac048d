"""The meaning of scheduled programs: `func`, `scf`, `arith`, `math`, `memref` and `loops`.

    run(module, "y", [y, x], [n])    what the function `@y` writes is in `y` afterwards

One element after another, in plain Python: slow, and free of everything that code for machines
gets wrong. A load or store outside its buffer, an integer that its type does not hold and two
iterations of a parallel loop that write the same element are errors.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from xdsl.dialects import arith, func, memref, scf
from xdsl.dialects.builtin import (
    Float32Type,
    Float64Type,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    MemRefType,
    ModuleOp,
    i1,
)
from xdsl.ir import Attribute, Block, Operation, SSAValue

from dialects.loops import EndOp, LibmOp, ParallelOp
from dialects.tix.elementary import Array
from tadc.interpreter.loops_scalars import LIBRARY, SCALAR, compare_floats, compare_integers

INDEX_BITS = 64

FLOATS: dict[type[Attribute], Callable[[Any], Any]] = {
    Float32Type: np.float32,
    Float64Type: np.float64,
}


class LoopsError(Exception):
    """An operation that has no meaning with the values it was given."""

    def __init__(self, op: Operation, message: str):
        self.op = op
        super().__init__(f"{message}: {op}")


def run(module: ModuleOp, name: str, buffers: Sequence[Array], sizes: Sequence[int]) -> None:
    """Execute the function `name` of a scheduled module."""
    (function,) = (
        op for op in module.ops if isinstance(op, func.FuncOp) and op.sym_name.data == name
    )
    values = [*buffers, *sizes]
    execution = _Execution(dict(zip(function.body.block.args, values, strict=True)))
    with np.errstate(all="ignore"):
        execution.block(function.body.block)


class _Execution:
    """Values of the SSA values in scope, and who wrote what."""

    def __init__(self, values: dict[SSAValue, Any]):
        self.values = values
        self.iteration: tuple[int, ...] | None = None
        self.writers: dict[tuple[int, int], tuple[int, ...]] = {}
        self.stack: dict[int, Any] = {}

    def block(self, block: Block) -> list[Any]:
        """Execute a block; the operands of its terminator."""
        for op in block.ops:
            if isinstance(op, TERMINATORS):
                return self.read(op.operands)
            handler = HANDLERS.get(type(op), _Execution.scalar)
            results = handler(self, op)
            for result, value in zip(op.results, results, strict=True):
                self.values[result] = _of_type(op, result.type, value)
        return []

    def read(self, operands: Sequence[SSAValue]) -> list[Any]:
        return [self.values[operand] for operand in operands]

    def scalar(self, op: Operation) -> list[Any]:
        if type(op) not in SCALAR:
            raise LoopsError(op, f"{op.name} has no meaning here")
        return [SCALAR[type(op)](*self.read(op.operands))]

    def library(self, op: LibmOp) -> list[Any]:
        if op.function.data not in LIBRARY:
            raise LoopsError(op, f"{op.function.data} has no meaning here")
        return [LIBRARY[op.function.data](*self.read(op.operands))]

    def constant(self, op: arith.ConstantOp) -> list[Any]:
        assert isinstance(op.value, IntegerAttr | FloatAttr)
        return [op.value.value.data]

    def compare_integers(self, op: arith.CmpiOp) -> list[Any]:
        return [compare_integers(op.predicate.value.data, *self.read(op.operands))]

    def compare_floats(self, op: arith.CmpfOp) -> list[Any]:
        return [compare_floats(op.predicate.value.data, *self.read(op.operands))]

    def alloca(self, op: memref.AllocaOp) -> list[Any]:
        """A buffer of this iteration alone, full of NaN until it is written."""
        assert isinstance(op.memref.type, MemRefType)
        round_to = FLOATS[type(op.memref.type.element_type)]
        buffer = np.full(op.memref.type.get_shape(), round_to(np.nan))
        self.stack[id(buffer)] = buffer
        return [buffer]

    def load(self, op: memref.LoadOp) -> list[Any]:
        buffer, position = self._element(op, op.memref, op.indices)
        return [buffer[position]]

    def store(self, op: memref.StoreOp) -> list[Any]:
        buffer, position = self._element(op, op.memref, op.indices)
        buffer[position] = self.values[op.value]
        if self.iteration is not None and id(buffer) not in self.stack:
            writer = self.writers.setdefault((id(buffer), position), self.iteration)
            if writer != self.iteration:
                raise LoopsError(op, f"{writer} and {self.iteration} both write {position}")
        return []

    def _element(
        self, op: Operation, memref: SSAValue, indices: Sequence[SSAValue]
    ) -> tuple[Array, int]:
        buffer = self.values[memref]
        (position,) = self.read(indices)
        if not 0 <= position < buffer.size:
            raise LoopsError(op, f"element {position} of {buffer.size}")
        return buffer, position

    def for_loop(self, op: scf.ForOp) -> list[Any]:
        low, high, step, *carried = self.read(op.operands)
        index, *arguments = op.body.block.args
        for i in range(low, high, step):
            self.values[index] = i
            self.values.update(zip(arguments, carried, strict=True))
            carried = self.block(op.body.block)
        return carried

    def if_else(self, op: scf.IfOp) -> list[Any]:
        region = op.true_region if self.values[op.cond] else op.false_region
        return self.block(region.block) if region.blocks else []

    def parallel(self, op: ParallelOp) -> list[Any]:
        for iteration in itertools.product(*map(range, self.read(op.sizes))):
            self.iteration = iteration
            self.values.update(zip(op.body.block.args, iteration, strict=True))
            self.block(op.body.block)
        self.iteration = None
        return []


def _of_type(op: Operation, type_: Attribute, value: Any) -> Any:
    """Round floats to their precision; integers must fit."""
    if convert := FLOATS.get(type(type_)):
        return convert(value)
    if type_ == i1:
        return bool(value)
    if isinstance(type_, IntegerType | IndexType):
        bits = type_.bitwidth if isinstance(type_, IntegerType) else INDEX_BITS
        if not -(1 << (bits - 1)) <= value < 1 << (bits - 1):
            raise LoopsError(op, f"{value} does not fit {bits} bits")
        return int(value)
    return value


TERMINATORS = (scf.YieldOp, func.ReturnOp, EndOp)

HANDLERS: dict[type[Operation], Callable[[_Execution, Any], list[Any]]] = {
    arith.ConstantOp: _Execution.constant,
    arith.CmpiOp: _Execution.compare_integers,
    arith.CmpfOp: _Execution.compare_floats,
    memref.AllocaOp: _Execution.alloca,
    memref.LoadOp: _Execution.load,
    memref.StoreOp: _Execution.store,
    scf.ForOp: _Execution.for_loop,
    scf.IfOp: _Execution.if_else,
    ParallelOp: _Execution.parallel,
    LibmOp: _Execution.library,
}
