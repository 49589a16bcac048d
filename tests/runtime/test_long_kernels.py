"""Signals end kernels that would run for minutes, wherever their time goes."""

from __future__ import annotations

import ctypes
import gc
import os
import re
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
import pytest

import tadc
from tadc.passes.splitting.cut_reductions import MOST_PIECES
from tadc.runtime.cpu import CpuModule
from tadc.runtime.team import team
from tests.runtime.machine_code import machine_code
from tests.runtime.test_team import fail, handled
from tests.support.campaign import CAMPAIGN

PROGRAMS = {
    "one long sum": "s = sum[k in range(10**12)](1/(k + 1))",
    "one long maximum": "s = max[k in range(10**12)](sin(0.5*k))",
    "a product of sums": "s = prod[j in range(10**6)](sum[k in range(10**6)](cos(0.5*j*k)))",
    "short sums in long ones": "s = sum[j in range(10**12), l in range(7)](1/(j + l + 1))",
    "long elements": "y[i in range(4)] = sum[j in range(10**6), k in range(10**6)](exp(-i*j*k))",
    "elements of one piece": (
        "y[i in range(3), j in range(3)] = sum[k in range(10**12)](1/(i + j*k + 1))"
    ),
}


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_signal_ends_it(program: str):
    text = re.sub(r"10\*\*(\d+)", lambda m: str(10 ** int(m[1])), PROGRAMS[program])
    module = CpuModule(tadc.compile(text).emit("llvm"))
    y, stop = np.empty(9 * MOST_PIECES), ctypes.c_int64(0)
    params, word = (ctypes.c_int64 * 1)(y.ctypes.data), ctypes.addressof(stop)
    # the pieces that the reduction is cut into take all of the time
    kernel, at = module.kernel(f"{text[0]}_pieces"), ctypes.addressof(params)
    n = kernel.extent(params)
    words = (ctypes.c_int64 * 8)(team.address(), kernel.entry, at, 0, n, 1, n, word)
    with handled(signal.SIGINT, fail), pytest.raises(KeyboardInterrupt):
        team.supervise(team.address(), machine_code().call, ctypes.addressof(words), word)


# --- calls of functions ---------------------------------------------------------------------------

MOST_SECONDS = 2
"""Far more than it takes until a call ends, 0.03 seconds for the most part."""

CALLS = {
    "elements": "y[i] = sum[j, k](sin(x[i] + x[j] * x[k]))",
    "one element": "y = sum[i, j, k](sin(x[i] + x[j] * x[k]))",
    "after a step that ends": "u[i] = cos(x[i])\ny[i] = sum[j, k](sin(u[i] + u[j] * u[k]))",
    "many steps": "y[i] = x[i] + 1\n" + "y[i] += sum[j](sin(y[j] * x[i]))\n" * 40,
    "a range of many times a size": "x: f64[N]\ny[i] = max[k in range(100000*N)](sin(x[i] * k))",
}
LONG, SHORT = np.linspace(0, 1, 60_000), np.linspace(0, 1, 5)


@pytest.fixture(params=[1, 3])
def threads(request: pytest.FixtureRequest) -> Iterator[int]:
    before = tadc.get_num_threads()
    tadc.set_num_threads(request.param)
    yield request.param
    tadc.set_num_threads(before)


@contextmanager
def interrupted() -> Iterator[None]:
    """A context whose body gets a SIGINT in a moment, raises `KeyboardInterrupt`, and ends soon.

    Its body collects no garbage: Python ignores exceptions in functions that watch collections
    (Hypothesis has one), so that a signal that arrives in them would be lost.
    """
    sent: list[float] = []
    begun = threading.Event()

    def send() -> None:
        begun.wait()  # on a busy machine, the start of this thread may take long
        time.sleep(0.05)
        sent.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    sender = threading.Thread(target=send)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    gc.collect()
    gc.disable()
    sender.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            begun.set()
            yield
        assert time.monotonic() < sent[0] + MOST_SECONDS
    finally:
        sender.join()
        signal.signal(signal.SIGINT, before)
        gc.enable()


TIMES = 10 if CAMPAIGN else 4


def check_ends(long: Callable[[], object], short: Callable[[], object], times: int = TIMES) -> None:
    """A signal ends the long call each time, and the short one after it gives the same."""
    expected = short()
    for _ in range(times):
        with interrupted():
            long()
        np.testing.assert_array_equal(short(), expected)


@pytest.mark.usefixtures("threads")
@pytest.mark.parametrize("program", CALLS)
def test_a_signal_ends_a_call(program: str):
    f = tadc.compile(CALLS[program])
    expected = f.with_target("interpret")(SHORT)
    np.testing.assert_allclose(f(SHORT), expected, rtol=1e-12)
    f.plan([LONG.shape])  # compiled, which signals would end
    check_ends(lambda: f(LONG), lambda: f(SHORT))


@pytest.mark.usefixtures("threads")
def test_a_signal_ends_a_pullback():
    """A product takes a step for each factor, its gradients one for each pair of them."""
    f = tadc.compile("y = prod[j, k](x[j] + x[k])")
    (_, long), (_, short) = (tadc.vjp(f, np.full(n, 0.5)) for n in (1500, 6))
    check_ends(lambda: long(1.0), lambda: short(1.0)[0])
    derivative = f.derivative()
    with interrupted():
        derivative(np.full(1500, 0.5), 1.0)
    np.testing.assert_array_equal(short(2.0)[0], np.full(6, 2.0 * 2 * 6))


def test_a_signal_ends_a_call_into_given_arrays():
    f = tadc.compile(CALLS["elements"])
    y, short = np.empty_like(LONG), f(SHORT)
    check_ends(lambda: f(LONG, out=y), lambda: f(SHORT, out=y[:5]))
    np.testing.assert_array_equal(y[:5], short)


@pytest.mark.usefixtures("threads")
def test_a_signal_ends_a_call_while_another_thread_calls():
    f, g = (tadc.compile(CALLS[name]) for name in ("elements", "one element"))
    x = np.linspace(-1, 1, 200)  # long enough for the team
    expected, wrong, over = g(x), [], threading.Event()

    def call() -> None:
        while not over.is_set():
            found = g(x)
            if found != expected:
                wrong.append(found)

    caller = threading.Thread(target=call)
    caller.start()
    try:
        check_ends(lambda: f(LONG), lambda: f(SHORT))
    finally:
        over.set()
        caller.join()
    assert not wrong


@pytest.mark.usefixtures("threads")
def test_a_signal_for_the_main_thread_leaves_calls_of_others_alone():
    f = tadc.compile(CALLS["elements"])
    x = np.linspace(-1, 1, 300)
    expected, found = f(x), []
    over = threading.Event()

    def call() -> None:
        while not over.is_set():
            found.append(f(x))

    caller = threading.Thread(target=call)
    caller.start()
    try:
        for _ in range(5):
            with interrupted():
                time.sleep(100)
    finally:
        over.set()
        caller.join()
    assert found
    for y in found:
        np.testing.assert_array_equal(y, expected)
