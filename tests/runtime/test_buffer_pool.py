"""Memory that calls leave to each other: bounded, never shared, never that of a result."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np

import tadc
from tadc.runtime.buffer_pool import BufferPool

CHAIN = "p: f64[4000]\n" + "p[i] += 0.5 * sin(p[3999 - i])\n" * 20


def test_blocks_serve_again() -> None:
    pool = BufferPool()
    block = pool.take(4096)
    pool.give(block)
    assert pool.take(4096) is block
    assert pool.take(4096) is not block
    assert pool.take(8192).nbytes == 8192


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
