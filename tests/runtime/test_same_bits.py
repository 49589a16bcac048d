"""Results have the same bits on any threads, at any addresses, with any memory of calls before.

Those of other processes are compared in `tests/runtime/test_on_cpu.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pytest

import tadc
from tadc.runtime import native_plan
from tadc.runtime.buffer_pool import ALIGNMENT, BufferPool
from tests.support.campaign import CAMPAIGN, seeds
from tests.support.derivations import random_case
from tests.support.long_calls import count_all_calls_as_long, cut_all_steps
from tests.support.random_programs import EVERYTHING
from tests.support.workloads import WORKLOADS, results, workload

RUNS = 100 if CAMPAIGN else 20
THREADS = (1, 2, 7)


@pytest.fixture(autouse=True)
def threads() -> Iterator[None]:
    before = tadc.get_num_threads()
    yield
    tadc.set_num_threads(before)


def assert_same(found: Sequence[np.ndarray], expected: Sequence[np.ndarray], what: str) -> None:
    for a, b in zip(found, expected, strict=True):
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        assert a.tobytes() == b.tobytes(), what


def moved(array: np.ndarray, offset: int) -> np.ndarray:
    """A copy that begins so many bytes behind a multiple of `ALIGNMENT`."""
    memory = np.empty(array.nbytes + 2 * ALIGNMENT, np.uint8)
    begin = -memory.ctypes.data % ALIGNMENT + offset
    copy = memory[begin : begin + array.nbytes].view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy


# --- programs like those of benchmarks ------------------------------------------------------------


@pytest.mark.parametrize("name", WORKLOADS)
def test_on_any_threads(name: str):
    f, arrays = workload(name)
    expected = results(f, arrays)
    for threads in THREADS:
        tadc.set_num_threads(threads)
        for run in range(RUNS):
            assert_same(results(f, arrays), expected, f"run {run} on {threads} threads")


@pytest.mark.parametrize("name", WORKLOADS)
def test_at_any_addresses(name: str):
    f, arrays = workload(name)
    g = f.derivative()
    values = f.call(arrays, {})
    inputs = [*arrays, *values]
    gradients = g.call(inputs, {})
    for offset in range(0, ALIGNMENT, arrays[0].itemsize):
        there = [moved(a, offset) for a in inputs]
        for function, given, expected in ((f, there[: len(arrays)], values), (g, there, gradients)):
            assert_same(function.call(given, {}), expected, f"arguments at {offset}")
            out = tuple(moved(np.full_like(e, np.nan), offset) for e in expected)
            function(*given, out=out)
            assert_same(out, expected, f"results at {offset}")


@pytest.mark.parametrize("name", WORKLOADS)
def test_with_and_without_a_pool(name: str, monkeypatch: pytest.MonkeyPatch):
    f, arrays = workload(name)
    expected = results(f, arrays)
    for limit in (0, 1 << 20, None):
        monkeypatch.setattr(native_plan, "pool", BufferPool(limit))
        for _ in range(3):
            assert_same(results(f, arrays), expected, f"a pool of {limit} bytes")


# --- random programs ------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", seeds(5, of=200))
def test_random_programs(seed: int, monkeypatch: pytest.MonkeyPatch):
    """In as many parts as there can be, also where that does not pay."""
    count_all_calls_as_long(monkeypatch)
    cut_all_steps(monkeypatch)
    dtype = ("f32", "f64")[seed % 2]
    case = random_case(seed, dtype=dtype, **(EVERYTHING if seed // 2 % 2 else {}))
    derivative = case.function.derivative()
    for f, given in ((case.function, case.values), (derivative, case.inputs)):
        expected = f.call(given, {})
        for threads in THREADS:
            tadc.set_num_threads(threads)
            for offset in range(0, ALIGNMENT, 8):
                there = [moved(np.asarray(a), offset) for a in given]
                out = tuple(moved(np.full_like(e, np.nan), offset) for e in expected)
                what = f"{threads} threads, {offset}: {case.source}"
                assert_same(f.call(there, {}), expected, what)
                assert_same(f.runner.call(there, {}, out), expected, what)
