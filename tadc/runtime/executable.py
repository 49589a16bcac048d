"""Programs as machine code: the functions of a scheduled program, called one after another.

An `Executable` is made once per precision and runs for every size. What a call needs to know of its
sizes (shapes to allocate, work to split) is a `Plan`, kept for the sizes that came last.
"""

from __future__ import annotations

import ctypes
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import ArrayAttr, IndexType, IntegerAttr, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.utils.hints import isa

from dialects.tix import ProgramOp
from passes.expand_calls import expand_calls
from passes.programs import type_of
from passes.schedule import schedule
from passes.set_precision import set_precision
from tadc.collector import seldom
from tadc.errors import SizeError
from tadc.runtime.arguments import DTYPES, Array
from tadc.runtime.sizes import shape_of
from tadc.runtime.work import work_of
from tadc.targets.index_ranges import INT64, Ranges, indices


@dataclass(frozen=True)
class Step:
    """One function: its name, its buffers (the written one first) and its sizes, by name."""

    kernel: str
    buffers: tuple[str, ...]
    sizes: tuple[str, ...]


@dataclass(frozen=True)
class Plan:
    """What a call with given sizes allocates and runs."""

    shapes: Mapping[str, tuple[int, ...]]
    work: Mapping[str, int]


class Executable(ABC):
    """A program for one precision of its undeclared tensors."""

    tiles = False
    """Can this target use tiles?"""

    def __init__(self, program: ProgramOp, precision: str, tile: bool = True):
        self.tile = tile and self.tiles
        self.program = set_precision(program, precision)
        arguments = self.program.arguments.values()
        self.argument_dtypes = [DTYPES[type_of(v).dtype] for v in arguments]
        self.dtypes = {d.label.data: DTYPES[d.type.dtype] for d in self.program.definitions}
        self.results = [_label(self.program, v) for v in self.program.returned]
        self.example: Mapping[str, int] | None = None
        """The sizes of the first call, for which code is made best; it is right for all."""

    @cached_property
    def module(self) -> ModuleOp:
        """The scheduled program."""
        with seldom:
            return ModuleOp(schedule(expand_calls(self.program), self.tile, self.example))

    @cached_property
    def steps(self) -> list[Step]:
        """What its functions take."""
        return [_step(f) for f in self.module.ops if isinstance(f, FuncOp)]

    @cached_property
    def _large(self) -> list[tuple[FuncOp, Step]]:
        """The functions with a number so large that a product with a size may exceed 64 bits."""
        pairs = zip(self.module.ops, self.steps, strict=True)
        return [(f, step) for f, step in pairs if isinstance(f, FuncOp) and _has_large_number(f)]

    def plan(self, sizes: Mapping[str, int]) -> Plan:
        """Shapes and work of every definition for these sizes.

        Raises `SizeError` where an index, or a number on the way to it, may exceed 64 bits.
        """
        self.example = sizes if self.example is None else self.example
        for function, step in self._large:
            if not _fits(function, [sizes[s] for s in step.sizes]):
                raise SizeError(
                    f"an index of {step.buffers[0]} has numbers that exceed 64 bits",
                    hint="for such sizes its coefficients must be smaller",
                )
        definitions = self.program.definitions
        shapes = {d.label.data: shape_of(d.type, sizes) for d in definitions}
        return Plan(shapes, {d.label.data: work_of(d, sizes) for d in definitions})

    @abstractmethod
    def run(
        self, arguments: Mapping[str, Array], sizes: Mapping[str, int], plan: Plan
    ) -> list[Any]:
        """The results, in order; arguments are dense and of the declared types."""


def _step(function: FuncOp) -> Step:
    return Step(function.sym_name.data, _words(function, "buffers"), _words(function, "sizes"))


LARGE = 1 << 20
"""Times the size of an array in memory, this is far below 2**63."""


def _has_large_number(function: FuncOp) -> bool:
    """Does it hold an integer that could take an index beyond 64 bits?"""
    constants = (op.value for op in function.walk() if isinstance(op, ConstantOp))
    return any(isinstance(c, IntegerAttr) and abs(c.value.data) > LARGE for c in constants)


def _fits(function: FuncOp, sizes: Sequence[int]) -> bool:
    """Do all its indices stay within 64 bits, for the values of its sizes?"""
    arguments = [a for a in function.body.block.args if isinstance(a.type, IndexType)]
    ranges = Ranges({a: (n, n) for a, n in zip(arguments, sizes, strict=True)})
    values = map(ranges.of, indices(function))
    return all(INT64[0] <= low and high <= INT64[1] for low, high in values)


def _words(function: FuncOp, name: str) -> tuple[str, ...]:
    attribute = function.attributes[name]
    assert isa(attribute, ArrayAttr[StringAttr])
    return tuple(a.data for a in attribute)


def _label(program: ProgramOp, value: Any) -> str:
    return next(d.label.data for d in program.definitions if d.result is value)


class CpuExecutable(Executable):
    """Machine code of this machine, through LLVM."""

    tiles = True

    @cached_property
    def text(self) -> str:
        """The LLVM IR."""
        from tadc.targets.llvm import print_llvm

        with seldom:
            return print_llvm(self.module)

    @cached_property
    def code(self) -> Any:
        """The compiled module."""
        from tadc.runtime.cpu import CpuModule

        return CpuModule(self.text, quick=not self.tile)

    @cached_property
    def _kernels(self) -> list[tuple[Step, Any]]:
        return [(step, self.code.kernel(step.kernel)) for step in self.steps]

    def run(
        self, arguments: Mapping[str, Array], sizes: Mapping[str, int], plan: Plan
    ) -> list[Any]:
        """Allocate each tensor and run its function, in order."""
        buffers = dict(arguments)
        addresses = {name: _address(a) for name, a in arguments.items()}
        for step, kernel in self._kernels:
            name = step.buffers[0]
            buffers[name] = out = np.empty(plan.shapes[name], self.dtypes[name])
            addresses[name] = _address(out)
            words = [addresses[b] for b in step.buffers] + [sizes[s] for s in step.sizes]
            if out.size:
                kernel((ctypes.c_int64 * len(words))(*words), plan.work[name])
        return [buffers[name] for name in self.results]


def _address(array: Array) -> int:
    return array.__array_interface__["data"][0]


class InterpretedExecutable(Executable):
    """The reference interpreter, on the program itself."""

    def run(
        self, arguments: Mapping[str, Array], sizes: Mapping[str, int], plan: Plan
    ) -> list[Any]:
        from tadc.interpreter.tensor_index import evaluate

        return list(evaluate(self.program, arguments))


class CudaExecutable(Executable):
    """Kernels on a GPU, through NVRTC and PyCUDA; arrays are copied there and back."""

    @cached_property
    def text(self) -> str:
        """The CUDA C."""
        from tadc.targets.cuda import print_cuda

        with seldom:
            return print_cuda(self.module)

    @cached_property
    def _kernels(self) -> list[tuple[Step, Any, FuncOp]]:
        from tadc.runtime.cuda import CudaModule
        from tadc.targets.cuda import functions, kernel_names

        module = CudaModule(self.text)
        names = kernel_names(self.module)
        pairs = zip(self.steps, functions(self.module), strict=True)
        return [(step, module.kernel(names[step.kernel]), f) for step, f in pairs]

    def run(
        self, arguments: Mapping[str, Array], sizes: Mapping[str, int], plan: Plan
    ) -> list[Any]:
        """Copy the arguments to the device, run, and copy the results back."""
        from tadc.runtime.cuda import empty, to_device
        from tadc.targets.cuda import thread_count

        kernels = self._kernels
        buffers: dict[str, Any] = {name: to_device(a) for name, a in arguments.items()}
        for step, kernel, function in kernels:
            name = step.buffers[0]
            buffers[name] = empty(plan.shapes[name], self.dtypes[name])
            numbers = [sizes[s] for s in step.sizes]
            threads = thread_count(function, numbers)
            if threads:
                kernel(threads, *(buffers[b] for b in step.buffers), *numbers)
        return [buffers[name].get() for name in self.results]


TARGETS: dict[str, type[Executable]] = {
    "cpu": CpuExecutable,
    "cuda": CudaExecutable,
    "interpret": InterpretedExecutable,
}
