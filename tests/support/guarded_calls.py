"""Calls of random programs on arrays between pages that must not be touched.

    python -X faulthandler -m tests.support.guarded_calls 17 18 19

Whoever touches such a page ends the process: the last line that it printed names the call. Each
seed is a program with its values and gradients, of a precision, a class of sizes and arguments,
dense or in rows that lie apart, that the seed decides. Every plan runs with all arrays before such
a page, and with all behind one: arguments, results, and each tensor in the workspace. Memory is NaN
before, and what is beside an array must stay so; results have the bits of an ordinary call.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest

import tadc
from tadc.runtime import arguments, native_plan, plan_record
from tadc.runtime.native_plan import NativePlan
from tadc.runtime.runner import Runner
from tadc.runtime.workspace import Lifetime
from tests.support.derivations import random_case
from tests.support.guarded_memory import PAGE, Guarded, whole_pages, with_locked_pages
from tests.support.long_calls import count_all_calls_as_long, cut_all_steps
from tests.support.random_programs import EVERYTHING


class GuardedWorkspace:
    """Workspaces in which every tensor lies in pages of its own, between locked ones."""

    def __init__(self, at_end: bool):
        self._at_end = at_end
        self._locked: dict[int, list[int]] = {}
        """The offsets of the locked pages in a workspace of so many bytes."""

    def pack(self, buffers: Sequence[Lifetime]) -> tuple[list[int], int]:
        """As `tadc.runtime.workspace.pack`, without sharing; no two workspaces have one length."""
        offsets: list[int] = []
        locked, end = [0], PAGE
        for buffer in buffers:
            used = whole_pages(buffer.nbytes)
            offsets.append(end + (used - buffer.nbytes if self._at_end else 0))
            locked.append(end + used)
            end += used + PAGE
        if not buffers:
            return [], 0
        while end in self._locked:
            end += PAGE
        self._locked[end] = locked
        return offsets, end

    def take(self, nbytes: int) -> np.ndarray:
        """As `BufferPool.take`."""
        return with_locked_pages(nbytes, self._locked[nbytes])

    def use(self, patch: pytest.MonkeyPatch) -> None:
        """Plans that are made from now on have such workspaces, however small."""
        patch.setattr(plan_record, "pack", self.pack)
        patch.setattr(native_plan, "MOST_WORKSPACE_ON_STACK", 0)
        patch.setattr(native_plan.pool, "take", self.take)
        patch.setattr(native_plan.pool, "give", _forget)


def _forget(block: np.ndarray) -> None:
    """As `BufferPool.give` of a pool that keeps nothing."""


def check_seed(seed: int) -> None:
    """Values and gradients of the program of a seed; raises `AssertionError` where bits differ."""
    options: dict[str, object] = {"dtype": ("f32", "f64")[seed % 2]}
    if seed // 2 % 2:
        options |= EVERYTHING
    with pytest.MonkeyPatch.context() as patch:
        if seed // 4 % 2:
            count_all_calls_as_long(patch)
            cut_all_steps(patch)
        gap = 3 * (seed // 8 % 2)
        for name, runner, values in calls(seed, options):
            check(f"seed {seed}, {options}, gap {gap}, {name}", runner, values, gap)


def calls(seed: int, options: dict[str, object]) -> Iterator[tuple[str, Runner, list[Any]]]:
    """The programs that run for the program of a seed, with their arguments."""
    case = random_case(seed, **options)
    f, values = case.function, case.values
    yield "value", f.runner, values
    both = f.pullback_of(values, {})
    computed = both.value.call(values, {})
    yield "value for gradients", both.value, values
    yield "gradients", both.gradients, [*values, *both.saved_of(computed), *case.adjoints]


def check(what: str, runner: Runner, values: Sequence[Any], gap: int = 0) -> None:
    """Run the plan for these arguments, whose rows lie so far apart, in all ways."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(arguments, "FEWEST_BYTES_NOT_COPIED", 0)
        print(f"{what}, as usual", flush=True)
        expected = runner.call([guarded(v, True, gap).array for v in values], {})
        for at_end in (True, False):
            where = f"{what}, {'before' if at_end else 'behind'} a page"
            print(where, flush=True)
            GuardedWorkspace(at_end).use(patch)
            # a new runner plans anew, with the same code
            check_plan(where, Runner(runner.program, "cpu"), values, expected, at_end, gap)


def check_plan(
    what: str,
    runner: Runner,
    values: Sequence[Any],
    expected: Sequence[Any],
    at_end: bool,
    gap: int,
) -> None:
    """Run the plan on addresses and on arrays."""
    inputs = [guarded(v, at_end, gap) for v in values]
    plan, arrays = runner.prepare([i.array for i in inputs], {})
    assert isinstance(plan, NativePlan)
    for runs_on_arrays in (False, True):
        outputs = [Guarded(t.shape, t.dtype, at_end) for t in plan.results]
        results = [o.array for o in outputs]
        if runs_on_arrays:
            plan.run_on(arrays, results)
        else:
            plan.run(*(a.ctypes.data for a in (*arrays, *results)))
        for found, wanted in zip(results, expected, strict=True):
            np.testing.assert_array_equal(found, wanted, err_msg=what, strict=True)
        for array, value in zip(arrays, values, strict=True):
            np.testing.assert_array_equal(array, value, err_msg=f"{what}: an argument")
        assert all(g.is_intact for g in (*inputs, *outputs)), f"{what}: written beside an array"


def guarded(array: np.ndarray, at_end: bool, gap: int) -> Guarded:
    """A copy of an array at a locked page."""
    copy = Guarded(array.shape, array.dtype, at_end, gap)
    copy.array[...] = array
    return copy


if __name__ == "__main__":
    tadc.set_num_threads(2)
    for word in sys.argv[1:]:
        check_seed(int(word))
