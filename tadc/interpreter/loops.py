"""The meaning of scheduled programs: `func`, `scf`, `arith`, `math`, `memref`, `vector`, `loops`.

    run(module, "y", [y, x], [n])    what the function `@y` writes is in `y` afterwards

One element after another, in plain Python: slow, and free of everything that code for machines
gets wrong. A load or store outside its buffer, an address that is not aligned as promised, an
integer that its type does not hold and two iterations of a superstep that write the same element
are errors, and so is one that reads what another one has written.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from math import prod
from typing import Any, cast

import numpy as np
from xdsl.dialects import arith, func, memref, scf, vector
from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    Float32Type,
    Float64Type,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    MemRefType,
    ModuleOp,
    VectorType,
    i1,
)
from xdsl.ir import Attribute, Block, Operation, SSAValue

from tadc.dialects.loops import (
    EndOp,
    FenceOp,
    LibmOp,
    ParallelOp,
    PartOp,
    PrefetchOp,
    SharedCacheOp,
    StridedLoadOp,
    alignment_of,
    vector_type,
)
from tadc.interpreter.arrays import Array
from tadc.interpreter.loops_scalars import (
    LIBRARY,
    SCALAR,
    LoopsError,
    compare_floats,
    compare_integers,
)
from tadc.interpreter.loops_vectors import VECTOR, Lanes, by_lanes, lanes_of

INDEX_BITS = 64

FLOATS: dict[type[Attribute], Callable[[Any], Any]] = {
    Float32Type: np.float32,
    Float64Type: np.float64,
}

STACK_ALIGNMENT = 64
"""The bytes of which the addresses of stack buffers are multiples."""


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
        self.writers: dict[int, tuple[int, ...]] = {}
        """The iterations that wrote at addresses, in this superstep."""
        self.in_supersteps = False
        self.stack: dict[int, Any] = {}

    def block(self, block: Block) -> list[Any]:
        """Execute a block; the operands of its terminator."""
        for op in block.ops:
            if isinstance(op, TERMINATORS):
                return self.read(op.operands)
            handler = HANDLERS.get(type(op), _Execution.operation)
            results = handler(self, op)
            for result, value in zip(op.results, results, strict=True):
                self.values[result] = _of_type(op, result.type, value)
        return []

    def read(self, operands: Sequence[SSAValue]) -> list[Any]:
        return [self.values[operand] for operand in operands]

    def operation(self, op: Operation) -> list[Any]:
        if type(op) in VECTOR:
            return [VECTOR[type(op)](op, *self.read(op.operands))]
        if type(op) not in SCALAR:
            raise LoopsError(op, f"{op.name} has no meaning here")
        return [by_lanes(SCALAR[type(op)], self.read(op.operands))]

    def library(self, op: LibmOp) -> list[Any]:
        if op.function.data not in LIBRARY:
            raise LoopsError(op, f"{op.function.data} has no meaning here")
        return [by_lanes(LIBRARY[op.function.data], self.read(op.operands))]

    def constant(self, op: arith.ConstantOp) -> list[Any]:
        if isinstance(op.value, DenseIntOrFPElementsAttr):
            return [tuple(op.value.iter_values())]
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
        buffer = _aligned(np.full(op.memref.type.get_shape(), round_to(np.nan)))
        self.stack[id(buffer)] = buffer
        return [buffer]

    def address(self, op: memref.ExtractAlignedPointerAsIndexOp) -> list[Any]:
        return [self.values[op.source].ctypes.data]

    def part(self, op: PartOp) -> list[Any]:
        buffer, first = self._place(op, op.base, [op.index])
        return [buffer[first:]]

    def load(self, op: memref.LoadOp) -> list[Any]:
        return [self._get(op, *self._place(op, op.memref, op.indices))]

    def store(self, op: memref.StoreOp) -> list[Any]:
        self._put(op, *self._place(op, op.memref, op.indices), self.values[op.value])
        return []

    def load_lanes(self, op: vector.LoadOp) -> list[Any]:
        buffer, first = self._place(op, op.base, op.indices)
        lanes = range(lanes_of(op, vector_type(op.result)))
        return [tuple(self._get(op, buffer, first + lane) for lane in lanes)]

    def store_lanes(self, op: vector.StoreOp) -> list[Any]:
        self._put_lanes(op, self.values[op.vector])
        return []

    def shared_cache(self, op: SharedCacheOp) -> list[Any]:
        return [SHARED_CACHE]

    def hint(self, op: PrefetchOp | FenceOp) -> list[Any]:
        return []

    def load_strided(self, op: StridedLoadOp) -> list[Any]:
        buffer, first = self._place(op, op.base, [op.index])
        stride, lanes = self.values[op.stride], range(lanes_of(op, vector_type(op.result)))
        return [tuple(self._get(op, buffer, first + lane * stride) for lane in lanes)]

    def load_where(self, op: vector.MaskedLoadOp) -> list[Any]:
        buffer, first = self._place(op, op.base, op.indices)
        lanes = enumerate(zip(*self.read([op.mask, op.pass_thru]), strict=True), first)
        return [tuple(self._get(op, buffer, i) if on else other for i, (on, other) in lanes)]

    def store_where(self, op: vector.MaskedStoreOp) -> list[Any]:
        self._put_lanes(op, self.values[op.value_to_store], self.values[op.mask])
        return []

    def _place(
        self, op: Operation, memref: SSAValue, indices: Sequence[SSAValue]
    ) -> tuple[Array, int]:
        """A buffer and a position, which may lie outside; its address is as aligned as promised."""
        buffer = self.values[memref]
        (position,) = self.read(indices)
        alignment = alignment_of(op)
        if alignment and (buffer.ctypes.data + position * buffer.itemsize) % alignment:
            raise LoopsError(op, f"the address is no multiple of {alignment} bytes")
        return buffer, position

    def _get(self, op: Operation, buffer: Array, position: int) -> Any:
        _check_inside(op, buffer, position)
        if self.in_supersteps:  # elsewhere iterations do not read what they write
            writer = self.writers.get(_address(buffer, position), self.iteration)
            if writer != self.iteration:
                raise LoopsError(op, f"{self.iteration} reads {position}, which {writer} writes")
        return buffer[position]

    def _put(self, op: Operation, buffer: Array, position: int, value: Any) -> None:
        _check_inside(op, buffer, position)
        buffer[position] = value
        if self.iteration is not None and id(buffer) not in self.stack:
            writer = self.writers.setdefault(_address(buffer, position), self.iteration)
            if writer != self.iteration:
                raise LoopsError(op, f"{writer} and {self.iteration} both write {position}")

    def _put_lanes(
        self, op: vector.StoreOp | vector.MaskedStoreOp, values: Lanes, mask: Lanes | None = None
    ) -> None:
        buffer, first = self._place(op, op.base, op.indices)
        for lane, value in enumerate(values):
            if mask is None or mask[lane]:
                self._put(op, buffer, first + lane, value)

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
        """Execute all iterations, of which each superstep forgets who wrote in the one before."""
        sizes, supersteps = self.read(op.sizes), op.supersteps.value.data
        self.in_supersteps = supersteps > 1
        if self.in_supersteps and sizes[0] % supersteps:
            raise LoopsError(op, f"{sizes[0]} iterations have no {supersteps} equal parts")
        for number, iteration in enumerate(itertools.product(*map(range, sizes))):
            if self.in_supersteps and number * supersteps % prod(sizes) == 0:
                self.writers.clear()
            self.iteration = iteration
            self.values.update(zip(op.body.block.args, iteration, strict=True))
            self.block(op.body.block)
        self.iteration = None
        return []


def _address(buffer: Array, position: int) -> int:
    return buffer.ctypes.data + position * buffer.itemsize


def _check_inside(op: Operation, buffer: Array, position: int) -> None:
    if not 0 <= position < buffer.size:
        raise LoopsError(op, f"element {position} of {buffer.size}")


def _aligned(array: Array) -> Array:
    """A copy at an address as aligned as those of stack buffers."""
    memory = np.empty(array.nbytes + STACK_ALIGNMENT, np.uint8)
    first = -memory.ctypes.data % STACK_ALIGNMENT
    copy = memory[first : first + array.nbytes].view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy


def _of_type(op: Operation, type_: Attribute, value: Any) -> Any:
    """Round floats to their precision; integers must fit."""
    if convert := FLOATS.get(type(type_)):
        return convert(value)
    if isinstance(type_, VectorType):
        type_ = cast("VectorType[Attribute]", type_)
        lanes_of(op, type_)
        return tuple(_of_type(op, type_.element_type, lane) for lane in value)
    if type_ == i1:
        return bool(value)
    if isinstance(type_, IntegerType | IndexType):
        bits = type_.bitwidth if isinstance(type_, IntegerType) else INDEX_BITS
        if not -(1 << (bits - 1)) <= value < 1 << (bits - 1):
            raise LoopsError(op, f"{value} does not fit {bits} bits")
        return int(value)
    return value


SHARED_CACHE = 1 << 25
"""Bytes: any number would do."""

TERMINATORS = (scf.YieldOp, func.ReturnOp, EndOp)

HANDLERS: dict[type[Operation], Callable[[_Execution, Any], list[Any]]] = {
    arith.ConstantOp: _Execution.constant,
    arith.CmpiOp: _Execution.compare_integers,
    arith.CmpfOp: _Execution.compare_floats,
    memref.AllocaOp: _Execution.alloca,
    memref.ExtractAlignedPointerAsIndexOp: _Execution.address,
    memref.LoadOp: _Execution.load,
    memref.StoreOp: _Execution.store,
    vector.LoadOp: _Execution.load_lanes,
    vector.MaskedLoadOp: _Execution.load_where,
    vector.MaskedStoreOp: _Execution.store_where,
    vector.StoreOp: _Execution.store_lanes,
    scf.ForOp: _Execution.for_loop,
    scf.IfOp: _Execution.if_else,
    ParallelOp: _Execution.parallel,
    PartOp: _Execution.part,
    FenceOp: _Execution.hint,
    PrefetchOp: _Execution.hint,
    SharedCacheOp: _Execution.shared_cache,
    StridedLoadOp: _Execution.load_strided,
    LibmOp: _Execution.library,
}
