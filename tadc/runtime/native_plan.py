"""`NativePlan`: a program for given sizes as one call of machine code.

The record that `plan_runner` runs is made once per set of sizes. A call then allocates its results,
and hands their addresses over with those of the arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tadc.errors import ArgumentError
from tadc.runtime.arguments import Array, dense, strides_of
from tadc.runtime.buffer_assignment import Tensor
from tadc.runtime.buffer_pool import FEWEST_BYTES_LEASED, pool
from tadc.runtime.executable import Executable, KernelCall, Plan, Strides
from tadc.runtime.machine import machine
from tadc.runtime.plan_layout import SUPERVISED
from tadc.runtime.plan_record import Places, Step, address, mode, record
from tadc.runtime.plan_runner import MOST_WORKSPACE_ON_STACK, arrays_are_readable, plan_runner
from tadc.runtime.team import team
from tadc.runtime.thread_count import MOST_THREADS
from tadc.runtime.turns import Extents, Round, rounds
from tadc.sizes import shape_of

if TYPE_CHECKING:
    from tadc.runtime.cpu import Kernel

MOST_TIMES_AS_MUCH = 1.02
"""The memory that a plan may take for turns, as a multiple of what it takes without: small tensors
live longer, large ones must not."""

Call = Callable[..., Any]
"""A function that runs a plan; a builtin one answers 0 where its values do not fit."""


class NativePlan(Plan):
    """A program for given sizes, as a record in memory that one call of machine code runs.

    `plan.run(*addresses)` runs it on the addresses of arguments and results, in their order: dense
    arrays in row-major order, of the types and shapes in `plan.arguments` and `plan.results`, apart
    from each other; arguments have the strides that the plan was made for, if any.
    `plan.function` is the address of the C function that does so,
    `void (void *record, void **addresses)`, and `plan.address` that of the record: for whoever
    calls it without Python. Both hold as long as the plan lives. It takes a workspace of
    `plan.workspace` bytes by itself, runs on the threads of `tadc.set_num_threads`, and may be
    called from several threads at once.
    """

    def __init__(
        self,
        executable: Executable,
        kernels: Mapping[str, Kernel],
        sizes: Mapping[str, int],
        strides: Strides | None = None,
    ):
        super().__init__(executable, sizes)
        inputs = executable.summary.inputs
        shapes = (shape_of(t.type, sizes) for t in inputs)
        self.arguments = list(map(Tensor, shapes, executable.argument_dtypes))
        if len(set(executable.results)) < len(executable.results):
            raise ValueError("two results are the same tensor")
        self._is_strided = strides is not None
        self.results = [self.tensors[name] for name in executable.results]
        numbers = executable.numbers(sizes, strides)
        rounds = self._rounds(kernels, numbers)
        places = Places(self.assignment, [t.name for t in inputs], executable.results, numbers)
        self.workspace = places.workspace
        """Bytes that a run takes beside arguments and results."""
        steps = [step for round in rounds for step in self._steps(round, kernels, places)]
        tensors = [*self.arguments, *self.results]
        self._record = record(steps, tensors, strides, self.workspace, team.load().team)
        self.address = address(self._record)
        """The address of the record, for `tadc_run_plan`: see `plan_runner`."""
        runner = plan_runner()
        self.function = runner.address
        """The address of `void tadc_run_plan(record, addresses)`."""
        self._call = runner.on_arrays(self.address) if arrays_are_readable() else _refuse
        self._call_at = runner.on_addresses(self.address)
        self._outputs = [(t.shape, t.dtype) for t in self.results]
        self._block = self.workspace if self.workspace > MOST_WORKSPACE_ON_STACK else 0
        self._is_small = not (
            self._block
            or any(step.parts > 1 for step in steps)
            or mode(steps) == SUPERVISED
            or any(t.nbytes >= FEWEST_BYTES_LEASED for t in self.results)
        )

    def _rounds(self, kernels: Mapping[str, Kernel], numbers: Mapping[str, int]) -> list[Round]:
        """The steps, of which some take turns if that takes hardly more memory."""
        calls = self.executable.steps
        inputs = (t.name for t in self.executable.summary.inputs)
        tensors = {**dict(zip(inputs, self.arguments, strict=True)), **self.tensors}
        extents = Extents(
            {name: t.nbytes for name, t in tensors.items()},
            self.work,
            {c.kernel: _grains(kernels[c.kernel], c, numbers) for c in calls},
            machine().shared_cache or 0,
        )
        found = list(rounds(calls, extents))
        assignment = self.assigned([round.calls for round in found])
        if assignment.peak > MOST_TIMES_AS_MUCH * self.assignment.peak:
            return [Round([call]) for call in calls]
        self.assignment = assignment
        return found

    def _steps(self, round: Round, kernels: Mapping[str, Kernel], places: Places) -> Iterator[Step]:
        """The steps of a round, in order: those of a turn, and then those of the next one."""
        calls = [c for c in round.calls if any(self.tensors[t].nbytes for t in c.written)]
        whole = [self._step(call, kernels[call.kernel], places) for call in calls]
        ordered = (kernels[call.kernel].supersteps for call in calls)
        turns = max([round.turns, *ordered])  # where there are supersteps, a step is alone
        for turn in range(turns):
            yield from (step.turn(turn, turns) for step in whole)

    def _step(self, call: KernelCall, kernel: Kernel, places: Places) -> Step:
        operands = list(places.operands(call))
        words = np.array([addend for _, addend in operands] or [0], np.int64)
        extent = kernel.extent(address(words))
        return Step(kernel.entry, 0, extent, kernel.grain, operands, self.work[call.kernel])

    @property
    def peak(self) -> int:
        return self.workspace + sum(t.nbytes for t in self.results)

    def readable(self, array: Array, dtype: np.dtype[Any]) -> Array:
        return array if self._is_strided and strides_of(array, dtype) else dense(array, dtype)

    def try_run(self, arrays: Sequence[Any]) -> list[Array] | None:
        """The results, or None where these are not dense arrays of the plan's types and shapes."""
        if len(arrays) != len(self.arguments):
            return None
        if self._is_small:
            results = [np.empty(shape, dtype) for shape, dtype in self._outputs]
            return results if self._call(*arrays, *results) else None
        results = [pool.empty(shape, dtype) for shape, dtype in self._outputs]
        return results if self._run_arrays(arrays, results) else None

    def run_on(self, arrays: Sequence[Array], out: Sequence[Array] | None = None) -> list[Array]:
        """The results for dense arrays, in arrays `out` of the caller where there are some."""
        results = list(out or (pool.empty(shape, dtype) for shape, dtype in self._outputs))
        if not self._run_arrays(arrays, results):
            self.run(*map(address, (*arrays, *results)))
        return results

    def _run_arrays(self, arrays: Sequence[Any], results: Sequence[Array]) -> int:
        return self._run(self._call, (*arrays, *results), lambda block: block)

    def run(self, *addresses: int, threads: int = MOST_THREADS) -> None:
        """Run on the addresses of arguments and results; raises `ArgumentError` for too few.

        At most so many threads work on it, and no more than `tadc.set_num_threads` allows.
        """
        wanted = len(self.arguments) + len(self.results)
        if len(addresses) != wanted:
            raise ArgumentError(f"the plan takes {wanted} addresses, here are {len(addresses)}")
        if self._is_small:
            self._call_at(*addresses)
        else:
            self._run(self._call_at, addresses, address, threads)

    def caller(self, threads: Callable[[], int]) -> Call:
        """A function like `run` for those who count the addresses themselves: a builtin one, if the
        plan is small, else one that asks `threads` for the limit of each call."""
        if self._is_small:
            return self._call_at
        return lambda *addresses: self.run(*addresses, threads=threads()) or 1

    def _run(
        self,
        call: Call,
        values: Sequence[Any],
        as_value: Callable[[Array], Any],
        threads: int = MOST_THREADS,
    ) -> int:
        """The answer of a builtin function for these values and a block of workspace."""
        team.address(threads)  # they begin with the first call that may want them
        if not self._block:
            return call(*values)
        block = pool.take(self._block)
        try:
            return call(*values, as_value(block))
        finally:
            pool.give(block)


def _grains(kernel: Kernel, call: KernelCall, sizes: Mapping[str, int]) -> int:
    """The parts that the loops of a step may be cut into at most, in any order."""
    if kernel.supersteps > 1:
        return 1
    words = np.array([*[0] * len(call.buffers), *(sizes[name] for name in call.sizes)], np.int64)
    return -(-kernel.extent(address(words)) // kernel.grain)


def _refuse(*_: object) -> int:
    """The answer of a plan that cannot look into arrays: it runs on addresses alone."""
    return 0
