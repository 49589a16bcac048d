"""Programs as machine code: the functions of a scheduled program, called one after another.

An `Executable` is made once per precision and runs for every size. What a call needs to know of its
sizes (shapes to allocate, work to split) is a `Plan`, kept for the sizes that came last.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import IndexType, IntegerAttr, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from dialects.loops import CallOp
from dialects.tix import DefineOp, ProgramOp
from passes.expand_calls import expand_calls
from passes.rewriting.programs import type_of
from passes.schedule import forms_of, names_in, schedule
from passes.set_precision import set_precision
from tadc.errors import SizeError
from tadc.runtime.arguments import DTYPES, Array
from tadc.runtime.buffer_assignment import BufferAssignment, Tensor, assign_buffers
from tadc.runtime.cost import work_of
from tadc.sizes import shape_of
from tadc.support.garbage import rarely_collecting
from tadc.targets.index_ranges import INT64, Ranges, indices


@dataclass(frozen=True)
class Step:
    """A run of one function: its name, its buffers (the written one first) and its sizes."""

    kernel: str
    buffers: tuple[str, ...]
    sizes: tuple[str, ...]


@dataclass(frozen=True)
class Plan:
    """What a call with given sizes allocates and runs."""

    tensors: Mapping[str, Tensor]
    """All but the arguments."""
    work: Mapping[str, int]
    """About how many operations each kernel takes."""
    assignment: BufferAssignment
    command_buffers: list[Any] = field(default_factory=list[Any])
    """What the first run prepared for others."""

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Of all tensors but the arguments."""
        return {name: t.shape for name, t in self.tensors.items()}


class Executable(ABC):
    """A program for one precision of its undeclared tensors."""

    tiles = False
    """Can this target use tiles?"""
    reuses_buffers = True
    """Does a tensor take the buffer of a dead one?"""

    def __init__(self, program: ProgramOp, precision: str, tile: bool = True):
        self.tile = tile and self.tiles
        self.program = set_precision(program, precision)
        arguments = self.program.arguments.values()
        self.argument_dtypes = [DTYPES[type_of(v).dtype] for v in arguments]
        self.results = [_label(v) for v in self.program.returned]
        self.example: Mapping[str, int] | None = None
        """The sizes of the first call, for which code is made best; it is right for all."""

    @cached_property
    def module(self) -> ModuleOp:
        """The scheduled program."""
        with rarely_collecting:
            return ModuleOp(schedule(expand_calls(self.program), self.tile, self.example))

    @cached_property
    def steps(self) -> list[Step]:
        """What runs for each definition, in order."""
        sizes = {f.sym_name.data: tuple(names_in(f, "sizes")) for f in self._functions}
        steps: list[Step] = []
        for op in self.module.ops:
            name, buffers = _kernel_of(op)
            steps.append(Step(name, tuple(buffers), sizes[name]))
        return steps

    @property
    def _functions(self) -> list[FuncOp]:
        return [f for f in self.module.ops if isinstance(f, FuncOp)]

    @cached_property
    def _large(self) -> list[FuncOp]:
        """The functions with a number so large that a product with a size may exceed 64 bits."""
        return [f for f in self._functions if _has_large_number(f)]

    def plan(self, sizes: Mapping[str, int]) -> Plan:
        """Shapes and work of every definition for these sizes, and buffers for all.

        Raises `SizeError` where an index, or a number on the way to it, may exceed 64 bits.
        """
        self.example = sizes if self.example is None else self.example
        for function in self._large:
            if not _fits(function, [sizes[s] for s in names_in(function, "sizes")]):
                written = names_in(function, "buffers")[0]
                raise SizeError(
                    f"an index of {written} has numbers that exceed 64 bits",
                    hint="for such sizes its coefficients must be smaller",
                )
        with rarely_collecting:
            tensors = self._tensors(sizes)
            steps = [step.buffers for step in self.steps]
            assignment = assign_buffers(steps, tensors, self.results, self.reuses_buffers)
            return Plan(tensors, self._work(sizes), assignment)

    def _tensors(self, sizes: Mapping[str, int]) -> dict[str, Tensor]:
        """What each definition makes."""
        kinds = {d.type for d in self.program.definitions}
        known = {t: Tensor(shape_of(t, sizes), DTYPES[t.dtype]) for t in kinds}
        return {d.label.data: known[d.type] for d in self.program.definitions}

    def _work(self, sizes: Mapping[str, int]) -> dict[str, int]:
        """The work of each kernel: alike definitions take the same."""
        pairs = zip(self.steps, self.program.definitions, strict=True)
        ones = {step.kernel: definition for step, definition in reversed(list(pairs))}
        return {kernel: work_of(definition, sizes) for kernel, definition in ones.items()}

    @abstractmethod
    def run(
        self, arguments: Mapping[str, Array], sizes: Mapping[str, int], plan: Plan
    ) -> list[Any]:
        """The results, in order; arguments are dense and of the declared types."""


def _kernel_of(op: Operation) -> tuple[str, list[str]]:
    """The function that runs there, and on which buffers."""
    if isinstance(op, CallOp):
        return op.kernel.root_reference.data, [b.data for b in op.buffers]
    assert isinstance(op, FuncOp)
    return op.sym_name.data, names_in(op, "buffers")


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


def _label(value: SSAValue) -> str:
    assert isinstance(value.owner, DefineOp)
    return value.owner.label.data


class CpuExecutable(Executable):
    """Machine code of this machine, through LLVM."""

    tiles = True

    @cached_property
    def text(self) -> str:
        """The LLVM IR."""
        from tadc.targets.llvm import print_llvm

        with rarely_collecting:
            return print_llvm(self.module)

    @cached_property
    def code(self) -> Any:
        """The compiled module."""
        from tadc.runtime.cpu import CpuModule

        return CpuModule(self.text, quick=not self.tile)

    def run(
        self, arguments: Mapping[str, Array], sizes: Mapping[str, int], plan: Plan
    ) -> list[Any]:
        """Allocate as the assignment says, and run the steps in order."""
        if not plan.command_buffers:
            plan.command_buffers.append(self._command_buffer(sizes, plan))
        arrays = plan.command_buffers[0].run(arguments.values())
        return [_result(arrays, plan, name) for name in self.results]

    def _command_buffer(self, sizes: Mapping[str, int], plan: Plan) -> Any:
        from tadc.runtime.command_buffer import Command, CommandBuffer

        names = dict.fromkeys(step.kernel for step in self.steps)
        kernels = {name: self.code.kernel(name) for name in names}
        commands = [
            Command(kernels[s.kernel], s.buffers, s.sizes, plan.work[s.kernel]) for s in self.steps
        ]
        buffer_of = plan.assignment.buffer_of
        results = {buffer_of[name] for name in self.results if name in buffer_of}
        return CommandBuffer(
            list(self.program.arguments), sizes, plan.assignment, commands, results
        )


def _result(arrays: Sequence[Any], plan: Plan, name: str) -> Any:
    """What lies in the buffer of a result; what has no elements has none."""
    number = plan.assignment.buffer_of.get(name)
    tensor = plan.tensors[name]
    return np.empty(tensor.shape, tensor.dtype) if number is None else arrays[number]


class InterpretedExecutable(Executable):
    """The reference interpreter, on the program itself."""

    reuses_buffers = False

    @cached_property
    def steps(self) -> list[Step]:
        """One for each definition; there are no functions."""
        return [Step(d.label.data, (d.label.data,), ()) for d in self.program.definitions]

    @cached_property
    def _large(self) -> list[FuncOp]:
        forms = (form for op in self.program.walk() for form in forms_of(op))
        numbers = (n for form in forms for n in (*form.terms.values(), form.constant))
        return super()._large if any(abs(n) > LARGE for n in numbers) else []

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

        with rarely_collecting:
            return print_cuda(self.module)

    @cached_property
    def _kernels(self) -> dict[str, tuple[Any, FuncOp]]:
        from tadc.runtime.cuda import CudaModule
        from tadc.targets.cuda import kernel_names

        module, names = CudaModule(self.text), kernel_names(self.module)
        functions = {f.sym_name.data: f for f in self._functions}
        return {name: (module.kernel(names[name]), f) for name, f in functions.items()}

    def run(
        self, arguments: Mapping[str, Array], sizes: Mapping[str, int], plan: Plan
    ) -> list[Any]:
        """Copy the arguments to the device, run, and copy the results back."""
        from tadc.runtime.cuda import empty, to_device

        launch, assignment = self._launches(sizes), plan.assignment
        fixed = {name: to_device(a) for name, a in arguments.items()}
        none = {n: t for n, t in plan.tensors.items() if n not in assignment.buffer_of}
        fixed |= {name: empty(t.shape, t.dtype) for name, t in none.items()}
        made: list[Any] = [None] * len(assignment.buffers)

        def array(name: str) -> Any:
            return fixed[name] if name in fixed else made[assignment.buffer_of[name]]

        for step, change in zip(self.steps, assignment.changes, strict=True):
            for number in change.released:
                made[number] = None
            if change.created is not None:
                tensor = assignment.buffers[change.created]
                made[change.created] = empty(tensor.shape, tensor.dtype)
            launch[step.kernel](*map(array, step.buffers))
        return [array(name).get() for name in self.results]

    def _launches(self, sizes: Mapping[str, int]) -> dict[str, Callable[..., None]]:
        """For each kernel, a function of its buffers that starts it for these sizes."""
        from tadc.targets.cuda import thread_count

        def launch(kernel: Any, function: FuncOp) -> Callable[..., None]:
            numbers = [sizes[s] for s in names_in(function, "sizes")]
            threads = thread_count(function, numbers)
            return lambda *buffers: kernel(threads, *buffers, *numbers)

        return {name: launch(*made) for name, made in self._kernels.items()}


TARGETS: dict[str, type[Executable]] = {
    "cpu": CpuExecutable,
    "cuda": CudaExecutable,
    "interpret": InterpretedExecutable,
}
