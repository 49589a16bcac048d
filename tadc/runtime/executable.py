"""`Executable`: a program as code of a target, made once per precision and class of sizes.

`on_cpu`, `on_gpu` and `interpreted` hold one for each target. A `Plan` holds what a call needs to
know of its sizes: shapes to allocate, work to split. Code needs no NumPy, so that texts of it are
there without; a plan does.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import IndexType, IntegerAttr, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from tadc.dialects.loops import CallOp
from tadc.dialects.loops.functions import names_in, results_of, stride_names
from tadc.dialects.quick import dissolve, walk
from tadc.dialects.tix import AVX_512, ProgramOp, Registers
from tadc.errors import SizeError
from tadc.once import cached_property
from tadc.passes.analysis.index_ranges import INT64, Ranges, indices
from tadc.passes.run_passes import run_passes
from tadc.program import Program
from tadc.runtime.buffer_assignment import BufferAssignment, Tensor, assign_buffers
from tadc.runtime.size_class import LONG_CALLS, SizeClass
from tadc.sizes import shape_of
from tadc.support.garbage import rarely_collecting
from tadc.support.ir_text import context
from tadc.support.stopwatch import timed

if TYPE_CHECKING:
    import numpy as np

    from tadc.runtime.arguments import Array

Strides = Sequence[tuple[int, ...]]
"""The strides of each argument, in bytes."""


@dataclass(frozen=True)
class KernelCall:
    """A run of one function: its name, its buffers (the written ones first) and its sizes."""

    kernel: str
    buffers: tuple[str, ...]
    sizes: tuple[str, ...]
    results: int = 1
    """The number of buffers that it writes."""

    @property
    def written(self) -> tuple[str, ...]:
        """The buffers that it writes."""
        return self.buffers[: self.results]

    @property
    def read(self) -> tuple[str, ...]:
        """The buffers that it reads."""
        return self.buffers[self.results :]


class Plan(ABC):
    """Everything that a call with given sizes allocates and runs."""

    def __init__(self, executable: Executable, sizes: Mapping[str, int]):
        self.executable = executable
        self.sizes = sizes
        self.tensors = executable.tensors(sizes)
        """All tensors but the arguments."""
        self.work = executable.work(sizes)
        """About how many operations each kernel takes."""
        self.assignment = self.assigned([[step] for step in executable.steps])

    def assigned(self, rounds: Sequence[Sequence[KernelCall]]) -> BufferAssignment:
        """Buffers for steps of which some run at once."""
        steps = [
            ([name for step in steps for name in step.written], [n for s in steps for n in s.read])
            for steps in rounds
        ]
        executable = self.executable
        return assign_buffers(steps, self.tensors, executable.results, executable.reuses_buffers)

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The shapes of all tensors but the arguments."""
        return {name: t.shape for name, t in self.tensors.items()}

    @property
    def peak(self) -> int:
        """The bytes of all buffers at the worst moment."""
        return self.assignment.peak

    def readable(self, array: Array, dtype: np.dtype[Any]) -> Array:
        """The array as a run can read it, copied if need be."""
        from tadc.runtime.arguments import dense

        return dense(array, dtype)

    def try_run(self, arrays: Sequence[Any]) -> list[Any] | None:
        """The results, if that takes no look at the arguments by Python; else None."""
        return None

    @abstractmethod
    def run_on(self, arrays: Sequence[Array], out: Sequence[Array] | None = None) -> list[Any]:
        """The results, in order, for arguments that are `readable`.

        They are the arrays `out` where there are some: dense ones, of the results' types and
        shapes, apart from each other and from the arguments.
        """


def into(results: list[Any], out: Sequence[Array] | None) -> list[Any]:
    """The results, copied into the arrays `out` where there are some."""
    if out is None:
        return results
    for array, result in zip(out, results, strict=True):
        array[...] = result
    return list(out)


class Executable(ABC):
    """A program for one precision of its undeclared tensors, and one class of sizes."""

    tiles = False
    """True if this target can use tiles."""
    largest_example = 0
    """The largest example of a size that code is made best for; 0 if all sizes share code."""
    strided = False
    """True if this target can read arrays whose rows lie apart."""
    locates_elements = True
    """True if sums over places of index tensors run along segments."""
    factors_sums = True
    """True if sums may be computed in other orders, with fewer operations."""
    many_threads = False
    """True if each element is computed by a thread of its own, of which there should be many."""
    reuses_buffers = True
    """True if a tensor takes the buffer of a dead one."""

    def __init__(self, program: Program, precision: str, sizes: SizeClass = LONG_CALLS):
        """The code is right for all calls of the class `sizes`."""
        self.program = program
        self.sizes = sizes if self.largest_example else SizeClass()
        self.precision = precision
        self.summary = program.summary.with_precision(precision)
        self.results = self.summary.result_labels

    @classmethod
    def registers(cls) -> Registers:
        """The vector registers that tiles are made for."""
        return AVX_512

    @classmethod
    def expect(cls, definitions: int, long: bool) -> bool:
        """Prepare for code that is about to be made of so many definitions, for long calls or for
        short ones; False if there is nothing to."""
        return False

    @cached_property
    def argument_dtypes(self) -> Sequence[np.dtype[Any]]:
        """The types of elements of the arguments, in order."""
        from tadc.runtime.arguments import DTYPES

        return [DTYPES[t.type.dtype] for t in self.summary.inputs]

    @cached_property
    def module(self) -> ModuleOp:
        """The scheduled program."""
        return self._after(self._passes)

    @property
    def shaped(self) -> ModuleOp:
        """The program right before it is scheduled: what a plan of loops is about."""
        return self._after(self._before_scheduling)

    @property
    def is_tiled(self) -> bool:
        """True if these loops may have tiles."""
        return self.tiles and self.sizes.tiles

    @property
    def _passes(self) -> Sequence[ModulePass]:
        # here, for code from the disk needs none of all the passes
        from tadc.passes.code_pipeline import code_passes

        sizes, plan = self.sizes, self.program.loop_plan
        example = self.summary.with_derived(dict(sizes.example))
        most = sizes.most_of_variables(self.largest_example)
        threads = self.many_threads and sizes.tiles
        options = sizes.values, sizes.strided, plan, sizes.least, most, threads, self.registers()
        return code_passes(self.precision, self.is_tiled, example, *options).passes

    @property
    def _before_scheduling(self) -> Sequence[ModulePass]:
        from tadc.passes.lowering.schedule import SchedulePass

        return list(takewhile(lambda p: not isinstance(p, SchedulePass), self._passes))

    def _after(self, passes: Sequence[ModulePass]) -> ModuleOp:
        """The module that passes make of the program."""
        with rarely_collecting:
            # a copy: passes replace the program, and several threads may come here at once
            module = ModuleOp([self.program.op.clone()])
            run_passes(passes, context(), module, timed)
        return module

    @cached_property
    def steps(self) -> Sequence[KernelCall]:
        """The kernel calls, in order: one for each definition, or for several of them."""
        return kernel_calls(self.module)

    @property
    def functions(self) -> list[FuncOp]:
        """The functions of the scheduled program, in order."""
        return [f for f in self.module.ops if isinstance(f, FuncOp)]

    def steps_made(self) -> Iterator[FuncOp | CallOp]:
        """The functions and calls of the scheduled program, each as soon as it is made."""
        from tadc.passes.lowering.schedule import SchedulePass

        (program,) = self._after(self._before_scheduling).ops
        program.detach()
        schedule = self._passes[-1]
        assert isinstance(schedule, SchedulePass) and isinstance(program, ProgramOp)
        yield from schedule.steps(program)
        dissolve(program)

    @cached_property
    def large_functions(self) -> Sequence[FuncOp]:
        """The functions with a number so large that a product with a size may exceed 64 bits."""
        return functions_with_large_numbers(self.functions)

    def plan(self, sizes: Mapping[str, int], strides: Strides | None = None) -> Plan:
        """Shapes and work of every definition for these sizes, and buffers for all.

        `strides` are those of the arguments, for code of a strided class.

        Raises `SizeError` where an index, or a number on the way to it, may exceed 64 bits.
        """
        sizes = self.summary.with_derived(sizes)
        large = self.large_functions
        numbers = self.numbers(sizes, strides) if large else {}
        for function in large:
            if not _fits(function, [numbers[s] for s in names_in(function, "sizes")]):
                written = names_in(function, "buffers")[0]
                raise SizeError(
                    f"an index of {written} has numbers that exceed 64 bits",
                    hint="for such sizes its coefficients must be smaller",
                )
        with rarely_collecting:
            return self._plan(sizes, strides)

    @abstractmethod
    def _plan(self, sizes: Mapping[str, int], strides: Strides | None) -> Plan: ...

    def numbers(self, sizes: Mapping[str, int], strides: Strides | None) -> dict[str, int]:
        """The sizes and, where arguments have some in bytes, the strides of all tensors by name.

        These are in elements.
        """
        from tadc.runtime.arguments import dense_strides

        numbers = dict(sizes)
        if strides is None:
            return numbers
        for t, dtype, own in zip(self.summary.inputs, self.argument_dtypes, strides, strict=True):
            in_elements = (n // dtype.itemsize for n in own)
            numbers.update(zip(stride_names(t.name, len(own)), in_elements, strict=False))
        for name, tensor in self.tensors(sizes).items():
            own = dense_strides(tensor.shape, 1)
            numbers.update(zip(stride_names(name, len(tensor.shape)), own, strict=False))
        return numbers

    def tensors(self, sizes: Mapping[str, int]) -> dict[str, Tensor]:
        """Shape and dtype of the tensor that each definition makes."""
        from tadc.runtime.arguments import DTYPES

        definitions = self.summary.definitions
        known = {
            t: Tensor(shape_of(t, sizes), DTYPES[t.dtype]) for t in {d.type for d in definitions}
        }
        return {d.label: known[d.type] for d in definitions}

    def work(self, sizes: Mapping[str, int]) -> dict[str, int]:
        """The work of each kernel: equivalent definitions take the same.

        A definition that has no memory is computed where a later one is, the next one that has.
        """
        stored = {name for step in self.steps for name in step.written}
        work: dict[str, int] = {}
        waiting = 0
        for definition, own in zip(self.summary.definitions, self.summary.work(sizes), strict=True):
            waiting += own
            if definition.label in stored:
                work[definition.label], waiting = waiting, 0
        return {step.kernel: sum(map(work.__getitem__, step.written)) for step in self.steps}

    @cached_property
    def text(self) -> str:
        """The code for the target, as text."""
        with rarely_collecting:
            return self._print()

    @abstractmethod
    def _print(self) -> str: ...


def kernel_calls(module: ModuleOp) -> Sequence[KernelCall]:
    """The calls that a scheduled program makes."""
    functions = {f.sym_name.data: f for f in module.ops if isinstance(f, FuncOp)}
    steps: list[KernelCall] = []
    for op in module.ops:
        name, buffers = kernel_of(op)
        own, sizes = (names_in(functions[name], kind) for kind in ("buffers", "sizes"))
        other = dict(zip(own, buffers, strict=True))
        renamed = tuple(_renamed(s, other) for s in sizes)
        steps.append(KernelCall(name, tuple(buffers), renamed, results_of(functions[name])))
    return steps


def _renamed(size: str, other: Mapping[str, str]) -> str:
    """The name of a size where a function is called on other tensors, whose strides differ."""
    tensor, stride, dimension = size.partition(" stride ")
    return f"{other[tensor]}{stride}{dimension}" if stride else size


def kernel_of(op: Operation) -> tuple[str, list[str]]:
    """The function that runs there, and on which buffers."""
    if isinstance(op, CallOp):
        return op.kernel.root_reference.data, [b.data for b in op.buffers]
    assert isinstance(op, FuncOp)
    return op.sym_name.data, names_in(op, "buffers")


LARGEST_SAFE_FACTOR = 1 << 20
"""Times the size of an array in memory, this is far below 2**63."""


def functions_with_large_numbers(functions: Sequence[FuncOp]) -> Sequence[FuncOp]:
    """The functions in which a product with a size may exceed 64 bits."""
    return [f for f in functions if _has_large_number(f)]


def _has_large_number(function: FuncOp) -> bool:
    """True if a function holds an integer that could take an index beyond 64 bits."""
    constants = [op.value for op in walk(function) if type(op) is ConstantOp]
    return any(
        isinstance(c, IntegerAttr) and abs(c.value.data) > LARGEST_SAFE_FACTOR for c in constants
    )


def _fits(function: FuncOp, sizes: Sequence[int]) -> bool:
    """True if all indices of a function stay within 64 bits, for these values of its sizes."""
    arguments = [a for a in function.body.block.args if isinstance(a.type, IndexType)]
    ranges = Ranges({a: (n, n) for a, n in zip(arguments, sizes, strict=True)})
    values = map(ranges.of, indices(function))
    return all(INT64[0] <= low and high <= INT64[1] for low, high in values)
