"""All kernel calls of a program with their parameters, prepared once per set of sizes.

A `CommandBuffer` is made for a `Plan` at its first run. A run then fills a table with the addresses
of its arguments and buffers, and each batch of steps finds its parameters there with one lookup:

    table     addresses of arguments | addresses of buffers | sizes
    lookup    [2, 0, 1, 4,  3, 2, 1, 4]      two steps, of two buffers, one argument and a size

Short steps in a row run in one call of machine code, long ones each on all cores.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import accumulate

import numpy as np
import numpy.typing as npt

from tadc.runtime.arguments import Array
from tadc.runtime.buffer_assignment import BufferAssignment
from tadc.runtime.buffer_pool import pool
from tadc.runtime.cpu import MOST_WORK_ON_ONE_THREAD, CpuKernel, CpuModule

Words = npt.NDArray[np.int64]

BYTES_OF_A_WORD = 8
"""Bytes of an address or a size."""

FEWEST_STEPS_IN_ONE_CALL = 16
"""The number of short steps from which on they run in one call, which is compiled once."""

# The steps follow each other: entry, extent and where its parameters begin are in three arrays.
RUN_STEPS = """\
@go.on = internal constant i64 0

define void @run_steps(i64 %count, ptr %entries, ptr %extents, ptr %offsets, ptr %params) {
start:
  %some = icmp sgt i64 %count, 0
  br i1 %some, label %step, label %done
step:
  %n = phi i64 [ 0, %start ], [ %next, %step ]
  %entry.at = getelementptr inbounds i64, ptr %entries, i64 %n
  %entry = load ptr, ptr %entry.at, align 8
  %extent.at = getelementptr inbounds i64, ptr %extents, i64 %n
  %extent = load i64, ptr %extent.at, align 8
  %offset.at = getelementptr inbounds i64, ptr %offsets, i64 %n
  %offset = load i64, ptr %offset.at, align 8
  %own = getelementptr inbounds i8, ptr %params, i64 %offset
  call void %entry(ptr %own, i64 0, i64 %extent, ptr @go.on)
  %next = add nsw i64 %n, 1
  %more = icmp slt i64 %next, %count
  br i1 %more, label %step, label %done
done:
  ret void
}
"""


@cache
def _run_steps() -> tuple[CpuModule, Callable[..., None]]:
    """The loop over steps, with the module that owns its code."""
    module = CpuModule(RUN_STEPS, quick=True)
    type = ctypes.CFUNCTYPE(None, ctypes.c_int64, *[ctypes.c_void_p] * 4)
    return module, type(module.address("run_steps"))


@dataclass(frozen=True)
class Command:
    """One step: a kernel, the names of its parameters, and about how many operations it takes."""

    kernel: CpuKernel
    buffers: Sequence[str]
    sizes: Sequence[str]
    work: int


class CommandBuffer:
    """The steps of a program for given sizes, ready to run."""

    def __init__(
        self,
        arguments: Sequence[str],
        sizes: Mapping[str, int],
        assignment: BufferAssignment,
        commands: Sequence[Command],
        results: Container[int],
    ):
        self._buffers = assignment.buffers
        self._results = results
        self._first = len(arguments)  # the column of the first buffer
        count = self._first + len(assignment.buffers)
        columns = {name: n for n, name in enumerate(arguments)}
        columns |= {name: self._first + n for name, n in assignment.buffer_of.items()}
        columns |= {f"{name} =": count + n for n, name in enumerate(sizes)}
        self._table = np.zeros(count + len(sizes) + 1, np.int64)  # the last address is of nothing
        self._table[count:-1] = list(sizes.values())
        self._stretches = list(self._cut(assignment, commands, columns))

    def _cut(
        self, assignment: BufferAssignment, commands: Sequence[Command], columns: Mapping[str, int]
    ) -> Iterator[_Batch]:
        """A long step is alone; one that lets go of buffers begins a batch."""
        steps: list[_PreparedCommand] = []
        before = _Buffers()
        for command, change in zip(commands, assignment.changes, strict=True):
            if steps and (change.released or _is_long(command) or steps[-1].long):
                yield _Batch(before, steps)
                before, steps = _Buffers(), []
            before.released += change.released
            before.created += [] if change.created is None else [change.created]
            if command.buffers[0] in assignment.buffer_of:  # else there is nothing to compute
                buffer_of = [columns.get(name, -1) for name in command.buffers]
                buffer_of += [columns[f"{name} ="] for name in command.sizes]
                steps.append(_PreparedCommand(command, buffer_of, self._table))
        yield _Batch(before, steps)

    def run(self, arguments: Iterable[Array]) -> list[Array | None]:
        """Allocate and run; the buffers of results, at the end."""
        table = self._table.copy()
        table[: self._first] = [address(a) for a in arguments]
        arrays: list[Array | None] = [None] * len(self._buffers)
        for batch in self._stretches:
            for number in batch.buffers.released:
                self._let_go(arrays, number)
            for number in batch.buffers.created:
                arrays[number] = made = self._created(number)
                table[self._first + number] = address(made)
            batch.run(table)
        for number in range(len(arrays)):
            self._let_go(arrays, number)
        return arrays

    def _created(self, number: int) -> Array:
        tensor = self._buffers[number]
        if number in self._results:
            return np.empty(tensor.shape, tensor.dtype)
        return pool.take(tensor.nbytes)

    def _let_go(self, arrays: list[Array | None], number: int) -> None:
        """Let a buffer serve others, unless it is a result."""
        array = arrays[number]
        if array is not None and number not in self._results:
            pool.give(array)
            arrays[number] = None


@dataclass
class _Buffers:
    """The buffers that a batch lets go of, and those that it makes after that."""

    released: list[int] = field(default_factory=list[int])
    created: list[int] = field(default_factory=list[int])


class _PreparedCommand:
    """One step with everything that the sizes decide."""

    def __init__(self, command: Command, buffer_of: Sequence[int], table: Words):
        self.kernel, self.work = command.kernel, command.work
        self.long = _is_long(command)
        self.buffer_of = buffer_of
        words = table[np.array(buffer_of)]
        self.extent = self.kernel.extent(address(words))  # which addresses do not matter to


class _Batch:
    """Steps in a row, and what is allocated for them before the first one."""

    def __init__(self, buffers: _Buffers, steps: Sequence[_PreparedCommand]):
        self.buffers = buffers
        self.lookup = np.array([place for s in steps for place in s.buffer_of], np.intp)
        offsets = [0, *accumulate(BYTES_OF_A_WORD * len(s.buffer_of) for s in steps)][:-1]
        self.steps = [(s, offset) for s, offset in zip(steps, offsets, strict=False)]
        self.loop = _Loop(steps, offsets) if len(steps) >= FEWEST_STEPS_IN_ONE_CALL else None

    def run(self, table: Words) -> None:
        """Run the steps, in order."""
        words = table[self.lookup]
        params = address(words)
        if self.loop:
            self.loop.run(params)
        else:
            for step, offset in self.steps:
                step.kernel.run(params + offset, step.extent, step.work)


class _Loop:
    """Short steps that one call of machine code runs."""

    def __init__(self, steps: Sequence[_PreparedCommand], offsets: Sequence[int]):
        kernels = [s.kernel for s in steps]
        self.owners = list(dict.fromkeys(kernels))
        entries, extents = [k.entry for k in kernels], [s.extent for s in steps]
        self.arrays = [np.array(a, np.int64) for a in (entries, extents, offsets)]
        self.arguments = [len(steps), *(address(a) for a in self.arrays)]
        self.owner, self.function = _run_steps()

    def run(self, params: int) -> None:
        self.function(*self.arguments, params)


def _is_long(command: Command) -> bool:
    return command.work >= MOST_WORK_ON_ONE_THREAD


def address(array: Array) -> int:
    """The address of the first element of a dense array."""
    return array.__array_interface__["data"][0]
