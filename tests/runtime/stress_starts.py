"""First calls that come together, and forks while others compile and call.

    python -m tests.runtime.stress_starts --starts 1000 --threads 8 --forks 200

A start is a child of this process, which has imported all and called nothing: its threads call the
same functions, of sizes that change, as the first ones of their process. Then other threads of this
process compile programs that are new and call them, while it forks children that do the same. The
run ends with an error where a child ends by a signal, is wrong, or takes longer than a minute.
"""

from __future__ import annotations

import argparse
import itertools
import os
import signal
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager

import numpy as np
from numpy.testing import assert_array_equal

import tadc
from tadc import pullback
from tadc.runtime import native_plan

SECONDS_OF_A_CHILD = 60

IMPORTED = native_plan, pullback
"""Modules that a call imports; the parent imports them, so that children need not."""

CORRELATION = "x: f64[N]\nw: f64[K]\ny[i] = sum[k](w[k] * x[i + k])"
SCALED = "x: f64[N]\ny[i] = {number} * x[i]"
TWO = "x: f64[N, N]\nm[i] = sum[k](x[i, k])\ny[i, j] = {number} * m[i] * x[i, j]"


# --- children -------------------------------------------------------------------------------------


def exit_code_of_child(work: Callable[[], object]) -> int:
    """The end of a child that does this: 0, or minus the signal that ended it."""
    child = os.fork()
    if not child:
        signal.alarm(SECONDS_OF_A_CHILD)
        try:
            work()
            os._exit(0)
        except BaseException:
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def together(works: list[Callable[[], object]]) -> None:
    """Do these in a thread each, which begin at once; raises what one of them raises."""
    start, failed = threading.Barrier(len(works)), list[BaseException]()

    def run(work: Callable[[], object]) -> None:
        start.wait()
        try:
            work()
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=run, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failed:
        raise failed[0]


# --- starts ---------------------------------------------------------------------------------------


def start(threads: int) -> None:
    """Call two functions from so many threads, which are the first to do so."""
    correlation = tadc.compile(CORRELATION)
    scaled = tadc.compile(SCALED.format(number=2))

    def calls(first: int) -> None:
        for n in range(first, first + 6):
            x, w = np.arange(8.0 + n % 3), np.array([1.0, 0.5, 0.25])
            if n % 2:
                assert_array_equal(scaled(x), 2 * x)
                continue
            y, pullback = tadc.vjp(correlation, x, w)
            assert_array_equal(y, np.correlate(x, w))
            dx, _ = pullback(np.ones_like(y))
            assert_array_equal(dx, np.convolve(np.ones_like(y), w))

    together([lambda first=n: calls(first) for n in range(threads)])


def check_starts(starts: int, threads: int) -> None:
    """Raise `AssertionError` where one of so many starts fails."""
    for n in range(starts):
        code = exit_code_of_child(lambda: start(threads))
        assert code == 0, f"start {n} ended with {code}"


# --- forks ----------------------------------------------------------------------------------------


def compile_and_call(number: int, sizes: range) -> None:
    """Call a program that is new for sizes that are short and long."""
    f, g = (tadc.compile(text.format(number=number)) for text in (SCALED, TWO))
    for size in sizes:
        x = np.ones(size)
        assert_array_equal(f(x), number * x)
    x = np.ones((60, 60))
    y, pullback = tadc.vjp(g, x)
    assert_array_equal(y, 60 * number * x)
    pullback(y)


@contextmanager
def busy(threads: int) -> Generator[None]:
    """So many threads compile and call meanwhile; raises what one of them raises."""
    over, numbers, failed = threading.Event(), itertools.count(1), list[BaseException]()

    def run() -> None:
        try:
            while not over.is_set():
                compile_and_call(next(numbers), range(5, 9))
        except BaseException as error:
            failed.append(error)

    others = [threading.Thread(target=run) for _ in range(threads)]
    for thread in others:
        thread.start()
    try:
        yield
    finally:
        over.set()
        for thread in others:
            thread.join()
    if failed:
        raise failed[0]


def check_forks(forks: int, threads: int) -> None:
    """Raise `AssertionError` where one of so many children fails."""
    with busy(threads):
        for n in range(forks):
            code = exit_code_of_child(
                lambda number=1_000_000 + n: compile_and_call(number, range(7, 8))
            )
            assert code == 0, f"child {n} ended with {code}"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    for name, number in (("starts", 1000), ("threads", 8), ("forks", 200), ("callers", 4)):
        parser.add_argument(f"--{name}", type=int, default=number)
    options = parser.parse_args()
    check_starts(options.starts, options.threads)
    print(f"{options.starts} starts of {options.threads} threads")
    check_forks(options.forks, options.callers)
    print(f"{options.forks} forks beside {options.callers} threads")
