"""`Executable`: a program as code of a target, made once per precision, right for every size.

`on_cpu`, `on_gpu` and `interpreted` hold one for each target. A `Plan` holds what a call needs to
know of its sizes: shapes to allocate, work to split.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import IndexType, IntegerAttr, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from dialects.loops import CallOp
from dialects.tix import ProgramOp
from passes.pipeline import code_passes
from passes.rewriting.programs import label_of, type_of
from passes.run_passes import run_passes
from passes.schedule import names_in
from passes.set_precision import set_precision
from tadc.errors import SizeError
from tadc.runtime.arguments import DTYPES, Array
from tadc.runtime.buffer_assignment import BufferAssignment, Tensor, assign_buffers
from tadc.runtime.cost import work_of
from tadc.sizes import shape_of
from tadc.support.garbage import rarely_collecting
from tadc.support.ir_text import context
from tadc.support.stopwatch import timed
from tadc.targets.index_ranges import INT64, Ranges, indices


@dataclass(frozen=True)
class KernelCall:
    """A run of one function: its name, its buffers (the written one first) and its sizes."""

    kernel: str
    buffers: tuple[str, ...]
    sizes: tuple[str, ...]


@dataclass(frozen=True)
class Plan:
    """Everything that a call with given sizes allocates and runs."""

    tensors: Mapping[str, Tensor]
    """All tensors but the arguments."""
    work: Mapping[str, int]
    """About how many operations each kernel takes."""
    assignment: BufferAssignment
    command_buffers: list[Any] = field(default_factory=list[Any])
    """Command buffers that the first run prepared for later ones."""

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The shapes of all tensors but the arguments."""
        return {name: t.shape for name, t in self.tensors.items()}


class Executable(ABC):
    """A program for one precision of its undeclared tensors."""

    tiles = False
    """True if this target can use tiles."""
    reuses_buffers = True
    """True if a tensor takes the buffer of a dead one."""

    def __init__(
        self,
        program: ProgramOp,
        precision: str,
        tile: bool = True,
        example: Mapping[str, int] | None = None,
    ):
        """`example` holds the sizes for which the code is made best; it is right for all."""
        self.tile = tile and self.tiles
        self.example = example
        self.precision = precision
        self.program = set_precision(program, precision)
        arguments = self.program.arguments.values()
        self.argument_dtypes = [DTYPES[type_of(v).dtype] for v in arguments]
        self.results = [label_of(v) for v in self.program.returned]

    @cached_property
    def module(self) -> ModuleOp:
        """The scheduled program."""
        passes = code_passes(self.precision, self.tile, self.example).passes
        with rarely_collecting:
            # a copy: passes replace the program, and several threads may come here at once
            module = ModuleOp([self.program.clone()])
            run_passes(passes, context(), module, timed)
        return module

    @cached_property
    def steps(self) -> list[KernelCall]:
        """The kernel calls for each definition, in order."""
        sizes = {f.sym_name.data: tuple(names_in(f, "sizes")) for f in self.functions}
        steps: list[KernelCall] = []
        for op in self.module.ops:
            name, buffers = kernel_of(op)
            steps.append(KernelCall(name, tuple(buffers), sizes[name]))
        return steps

    @property
    def functions(self) -> list[FuncOp]:
        """The functions of the scheduled program, in order."""
        return [f for f in self.module.ops if isinstance(f, FuncOp)]

    @cached_property
    def large_functions(self) -> list[FuncOp]:
        """The functions with a number so large that a product with a size may exceed 64 bits."""
        return [f for f in self.functions if _has_large_number(f)]

    def plan(self, sizes: Mapping[str, int]) -> Plan:
        """Shapes and work of every definition for these sizes, and buffers for all.

        Raises `SizeError` where an index, or a number on the way to it, may exceed 64 bits.
        """
        for function in self.large_functions:
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
        """Shape and dtype of the tensor that each definition makes."""
        kinds = {d.type for d in self.program.definitions}
        known = {t: Tensor(shape_of(t, sizes), DTYPES[t.dtype]) for t in kinds}
        return {d.label.data: known[d.type] for d in self.program.definitions}

    def _work(self, sizes: Mapping[str, int]) -> dict[str, int]:
        """The work of each kernel: equivalent definitions take the same."""
        pairs = zip(self.steps, self.program.definitions, strict=True)
        ones = {step.kernel: definition for step, definition in reversed(list(pairs))}
        return {kernel: work_of(definition, sizes) for kernel, definition in ones.items()}

    @cached_property
    def text(self) -> str:
        """The code for the target, as text."""
        with rarely_collecting:
            return self._print()

    @abstractmethod
    def _print(self) -> str: ...

    @abstractmethod
    def run(
        self, arguments: Mapping[str, Array], sizes: Mapping[str, int], plan: Plan
    ) -> list[Any]:
        """The results, in order; arguments are dense and of the declared types."""


def kernel_of(op: Operation) -> tuple[str, list[str]]:
    """The function that runs there, and on which buffers."""
    if isinstance(op, CallOp):
        return op.kernel.root_reference.data, [b.data for b in op.buffers]
    assert isinstance(op, FuncOp)
    return op.sym_name.data, names_in(op, "buffers")


LARGEST_SAFE_FACTOR = 1 << 20
"""Times the size of an array in memory, this is far below 2**63."""


def _has_large_number(function: FuncOp) -> bool:
    """True if a function holds an integer that could take an index beyond 64 bits."""
    constants = (op.value for op in function.walk() if isinstance(op, ConstantOp))
    return any(
        isinstance(c, IntegerAttr) and abs(c.value.data) > LARGEST_SAFE_FACTOR for c in constants
    )


def _fits(function: FuncOp, sizes: Sequence[int]) -> bool:
    """True if all indices of a function stay within 64 bits, for these values of its sizes."""
    arguments = [a for a in function.body.block.args if isinstance(a.type, IndexType)]
    ranges = Ranges({a: (n, n) for a, n in zip(arguments, sizes, strict=True)})
    values = map(ranges.of, indices(function))
    return all(INT64[0] <= low and high <= INT64[1] for low, high in values)
