"""Memory that calls leave to each other: bounded, never shared, never that of a result."""

from __future__ import annotations

import copy
import ctypes
import gc
import pickle
import random
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import tadc
from tadc.runtime import native_plan
from tadc.runtime.buffer_pool import ALIGNMENT, FEWEST_BYTES_LEASED, PAGE, BufferPool

CHAIN = "p: f64[4000]\n" + "p[i] += 0.5 * sin(p[3999 - i])\n" * 20


def test_blocks_serve_again() -> None:
    pool = BufferPool()
    block = pool.take(4096)
    pool.give(block)
    assert pool.take(4096) is block
    assert pool.take(4096) is not block
    assert pool.take(8192).nbytes == 8192


@pytest.mark.parametrize("nbytes", [FEWEST_BYTES_LEASED, FEWEST_BYTES_LEASED + 1, 1 << 22])
def test_large_blocks_begin_at_pages(nbytes: int) -> None:
    pool = BufferPool()
    blocks = [pool.take(nbytes) for _ in range(3)]
    assert all(b.ctypes.data % PAGE == 0 and b.nbytes == nbytes for b in blocks)
    results = [pool.empty((nbytes,), np.dtype(np.uint8)) for _ in range(3)]
    assert all(r.ctypes.data % PAGE == 0 for r in results)
    assert pool.take(nbytes - nbytes // 2).ctypes.data % ALIGNMENT == 0


def test_no_more_than_the_limit_is_kept() -> None:
    pool = BufferPool(limit=10_000)
    for size in (4000, 4000, 3000, 2000, 20_000):
        pool.give(np.empty(size, np.uint8))
        assert pool.kept <= 10_000
    assert pool.take(2000).nbytes == 2000
    assert pool.kept == 3000


def test_a_forked_process_starts_anew() -> None:
    pool = BufferPool(limit=10_000)
    pool.give(np.empty(4000, np.uint8))
    pool.forget()
    assert (pool.kept, pool.limit) == (0, 10_000)
    assert pool.take(4000).nbytes == 4000


def test_results_are_not_used_again() -> None:
    f = tadc.compile(CHAIN)
    p = np.linspace(-1, 1, 4000)
    first = f(p)
    expected = first.copy()
    others = [f(p + n) for n in range(5)]
    np.testing.assert_array_equal(first, expected)
    assert not any(np.shares_memory(first, other) for other in others)


def test_threads_do_not_share() -> None:
    f = tadc.compile(CHAIN)
    inputs = [np.linspace(-n, n, 4000) for n in range(1, 9)]
    expected = [f(p) for p in inputs]
    with ThreadPoolExecutor(8) as pool:
        for _ in range(20):
            for found, wanted in zip(pool.map(f, inputs), expected, strict=True):
                np.testing.assert_array_equal(found, wanted)


# --- results that are leased ----------------------------------------------------------------------

DOUBLE = "y[i, j] = x[i, j] * 2 + s"
SHAPE = (200, 200)
NBYTES = 200 * 200 * 8


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch) -> BufferPool:
    """A pool of its own for results, which keeps nothing yet."""
    own = BufferPool(limit=1 << 30)
    monkeypatch.setattr(native_plan, "pool", own)
    return own


def through_torch(y: np.ndarray) -> Any:
    torch = pytest.importorskip("torch")
    return torch.from_numpy(y)[3:].T


HOLDERS: dict[str, Callable[[np.ndarray], Any]] = {
    "the array": lambda y: y,
    "a view": lambda y: y[5:9, ::3],
    "one row": lambda y: y[7],
    "a transpose": lambda y: y.T,
    "a shape": lambda y: y.reshape(-1, 4),
    "a dtype": lambda y: y.view(np.int64),
    "asarray": lambda y: np.asarray(y)[...],
    "a view of a view": lambda y: y[2:][::-1].T[1:],
    "a memoryview": lambda y: memoryview(y)[4:],
    "its base": lambda y: y.base,
    "a flat iterator": lambda y: y.flat,
    "a capsule of DLPack": lambda y: np.from_dlpack(y),
    "torch": through_torch,
}


@pytest.mark.parametrize("holder", HOLDERS)
def test_whoever_refers_to_a_result_keeps_its_memory(holder: str, kept: BufferPool) -> None:
    f = tadc.compile(DOUBLE)
    x = np.random.default_rng(0).standard_normal(SHAPE)
    y = f(x, 1.0)
    assert y.nbytes == NBYTES >= FEWEST_BYTES_LEASED
    address, held = y.ctypes.data, HOLDERS[holder](y)
    del y
    gc.collect()
    others = [f(x, n) for n in range(3)]
    assert kept.kept == 0
    assert address not in [other.ctypes.data for other in others]
    contents = (ctypes.c_double * x.size).from_address(address)
    np.testing.assert_array_equal(np.reshape(contents, SHAPE), 2 * x + 1)
    del held
    gc.collect()
    assert kept.kept == NBYTES
    assert f(x, 5.0).ctypes.data == address


def test_copies_let_the_memory_go(kept: BufferPool) -> None:
    f = tadc.compile(DOUBLE)
    x = np.random.default_rng(0).standard_normal(SHAPE)
    y = f(x, 1.0)
    copies = [pickle.loads(pickle.dumps(y)), copy.deepcopy(y), y.copy(), y + 0, y[np.arange(200)]]
    del y
    assert kept.kept == NBYTES
    f(x, 7.0)
    for found in copies:
        np.testing.assert_array_equal(found, 2 * x + 1)


def test_a_thread_keeps_what_it_works_on(kept: BufferPool) -> None:
    f = tadc.compile(DOUBLE)
    x = np.ones(SHAPE)
    go_on, sums = threading.Event(), []

    def work(y: np.ndarray) -> None:
        go_on.wait()
        sums.append(y.sum())

    thread = threading.Thread(target=work, args=(f(x, 1.0),))
    thread.start()
    others = [f(x, 5.0) for _ in range(3)]
    assert kept.kept == 0
    go_on.set()
    thread.join()
    del thread
    assert sums == [3.0 * x.size]
    assert all((other == 7).all() for other in others)


@pytest.mark.parametrize("threads", [1, 4])
def test_living_results_share_nothing(threads: int, kept: BufferPool) -> None:
    """Results of several sizes live for random times; each keeps its numbers as long as it does."""
    f = tadc.compile(DOUBLE)
    arrays = [np.full((rows, 300), 1.0) for rows in (120, 200, 350)]
    wrong: list[str] = []

    def work(number: int) -> None:
        choose = random.Random(number)
        alive: list[tuple[np.ndarray, float]] = []
        for turn in range(300):
            s = 1000.0 * number + turn
            y = f(choose.choice(arrays), s)
            alive.append((choose.choice([y, y[3:], y.T, y[::-1, 5:]]), s + 2))
            del y
            choose.shuffle(alive)
            del alive[choose.randrange(1, 9) :]
            wrong.extend(f"{number}, {turn}" for a, value in alive if not (a == value).all())

    with ThreadPoolExecutor(threads) as workers:
        list(workers.map(work, range(threads)))
    assert not wrong
    gc.collect()
    assert 0 < kept.kept <= threads * 10 * sum(a.nbytes for a in arrays)
