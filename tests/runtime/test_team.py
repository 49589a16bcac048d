"""The team of threads: each piece once, whoever calls, and calls that signals end."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
import pytest

import tadc
from tadc.errors import ArgumentError
from tadc.runtime.team import team
from tadc.runtime.thread_count import MOST_THREADS
from tests.runtime.machine_code import machine_code
from tests.support.paths import ROOT

GO_ON = ctypes.c_int64(0)


@pytest.fixture(autouse=True)
def threads() -> Iterator[None]:
    before = tadc.get_num_threads()
    yield
    tadc.set_num_threads(before)


def region(
    entry: int,
    params: np.ndarray,
    extent: int,
    grain: int = 1,
    pieces: int = 1,
    stop: ctypes.c_int64 = GO_ON,
    address: int | None = None,
) -> None:
    """A region on the team, or on the one at another address."""
    where = team.address() if address is None else address
    word = ctypes.addressof(stop)
    machine_code().region(where, entry, params.ctypes.data, 0, extent, grain, pieces, word)


def count_regions(regions: int, seed: int) -> None:
    """Each index is counted once in each of many regions of changing sizes."""
    random = np.random.default_rng(seed)
    ends = random.integers(0, 60, regions)
    begins = random.integers(0, ends + 1)
    grains, pieces = random.integers(1, 9, regions), random.integers(0, 40, regions)
    numbers = np.zeros(60, np.int64)
    address, word = team.address(), ctypes.addressof(GO_ON)
    run, entry, at = machine_code().region, machine_code().count, numbers.ctypes.data
    for sizes in zip(begins, ends, grains, pieces, strict=True):
        run(address, entry, at, *map(int, sizes), word)
    index = np.arange(60)
    expected = ((begins[:, None] <= index) & (ends[:, None] > index)).sum(0)
    assert np.array_equal(numbers, expected)


@pytest.mark.parametrize("threads", [1, 2, 7])
def test_every_index_is_run_once(threads: int):
    tadc.set_num_threads(threads)
    count_regions(100_000 if threads == 2 else 20_000, seed=threads)


def test_without_a_team_the_caller_runs_all_pieces():
    numbers = np.zeros(100, np.int64)
    region(machine_code().count, numbers, 100, grain=3, pieces=9, address=0)
    assert np.all(numbers == 1)


def test_more_callers_than_slots():
    tadc.set_num_threads(3)
    failed: list[BaseException] = []

    def count(seed: int) -> None:
        try:
            count_regions(3000, seed)
        except BaseException as error:
            failed.append(error)

    callers = [threading.Thread(target=count, args=(seed,)) for seed in range(12)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert not failed


def test_pieces_call_regions():
    tadc.set_num_threads(3)
    words = np.zeros(1 + 64 * 10, np.int64)
    words[0] = team.address()
    for _ in range(2000):
        region(machine_code().nested, words, 10, pieces=10)
    assert np.all(words[1:] == 2000)


def test_other_pieces_are_not_run_once_stopped():
    numbers = np.zeros(50, np.int64)
    region(machine_code().count, numbers, 50, pieces=50, stop=ctypes.c_int64(1))
    assert not numbers.any()


def test_the_number_of_threads_changes_while_regions_run():
    going = threading.Event()

    def change() -> None:
        while not going.is_set():
            for count in (1, 4, 2, 7):
                tadc.set_num_threads(count)

    thread = threading.Thread(target=change)
    thread.start()
    count_regions(20_000, seed=0)
    going.set()
    thread.join()


def begun_at_once(threads: int, most: int = MOST_THREADS) -> int:
    """The number of pieces of one region that are running at the same time, of 10."""
    tadc.set_num_threads(threads)
    return running_at_once(team.address(most), min(threads, most))


def running_at_once(address: int, expected: int) -> int:
    """The number of pieces that a team runs at the same time, waiting for as many as expected."""
    numbers, stop = np.zeros(10, np.int64), ctypes.c_int64(0)
    entry = machine_code().until_stopped
    caller = threading.Thread(target=region, args=(entry, numbers, 10, 1, 10, stop, address))
    caller.start()
    before = time.monotonic()
    while numbers.sum() < expected and time.monotonic() < before + 30:
        time.sleep(0.01)
    time.sleep(0.05)  # for more than there should be
    stop.value = 1
    caller.join()
    return int(numbers.sum())


ONE_THEN_THREE = """
from tests.runtime.test_team import running_at_once, team
team.count = 1
address = team.address()
team.count = 3
print(running_at_once(address, 3))
"""


def test_threads_begin_when_there_may_be_more():
    """Also for callers that never ask Python for the address again."""
    done = subprocess.run(
        [sys.executable, "-c", ONE_THEN_THREE], capture_output=True, text=True, cwd=ROOT, check=True
    )
    assert int(done.stdout) == 3


def test_so_many_threads_work_as_are_set():
    for threads in (1, 3, 5, 2, 4):
        # a helper that has just looked at the number may still take a piece
        assert any(begun_at_once(threads) == threads for _ in range(3))


def test_a_caller_may_limit_the_threads_of_its_calls():
    for most in (1, 3, 2, 7):
        assert any(begun_at_once(4, most) == min(4, most) for _ in range(3))
        assert tadc.get_num_threads() == 4
    with pytest.raises(ArgumentError, match="the limit of threads is 0"):
        team.address(0)
    assert any(begun_at_once(4) == 4 for _ in range(3))


def test_callers_of_different_limits():
    tadc.set_num_threads(4)
    limits = [1, 2, 3, MOST_THREADS] * 50
    callers = [threading.Thread(target=team.address, args=(most,)) for most in limits]
    for caller in callers:
        caller.start()
    count_regions(5000, seed=0)
    for caller in callers:
        caller.join()
    assert any(begun_at_once(4) == 4 for _ in range(3))


# --- signals --------------------------------------------------------------------------------------


class Call:
    """A call of a region with `until_stopped`, as one function of one argument."""

    def __init__(self, pieces: int = 4):
        self.numbers = np.zeros(pieces, np.int64)
        self.stop = ctypes.c_int64(0)
        self.word = ctypes.addressof(self.stop)
        data, entry = self.numbers.ctypes.data, machine_code().until_stopped
        words = team.address(), entry, data, 0, pieces, 1, pieces, self.word
        self.words = (ctypes.c_int64 * len(words))(*words)

    def run(self) -> int:
        words = ctypes.addressof(self.words)
        return team.supervise(team.address(), machine_code().call, words, self.word)


@contextmanager
def handled(number: int, handler: Callable[[], object], after: float = 0.1) -> Iterator[None]:
    """A signal with its handler, sent to this process in a moment."""
    before = signal.signal(number, lambda *_: handler())
    sender = threading.Timer(after, os.kill, (os.getpid(), number))
    sender.start()
    try:
        yield
    finally:
        sender.join()
        signal.signal(number, before)


def fail() -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize("threads", [1, 3])
def test_a_handler_that_raises_ends_the_call(threads: int):
    tadc.set_num_threads(threads)
    call = Call()
    with handled(signal.SIGINT, fail), pytest.raises(KeyboardInterrupt):
        call.run()
    assert call.stop.value == 1
    count_regions(1000, seed=0)


def test_a_handler_that_does_not_raise_lets_the_call_go_on():
    call, seen = Call(), []

    def handler() -> None:
        assert call.stop.value == 0
        seen.append(call)
        call.stop.value = 1

    with handled(signal.SIGUSR1, handler):
        assert call.run() == 0
    assert seen


def test_a_handler_makes_calls_of_its_own():
    outer, inner = Call(), Call()
    inner.stop.value = 1

    def handler() -> None:
        assert inner.run() == 0
        count_regions(100, seed=0)
        outer.stop.value = 1

    with handled(signal.SIGUSR1, handler):
        assert outer.run() == 0


def test_a_handler_forks():
    call, children = Call(pieces=1), []

    def handler() -> None:
        assert call.numbers == 1
        child = os.fork()
        if not child:
            threading.Timer(0.1, setattr, (call.stop, "value", 1)).start()
            return
        children.append(child)
        call.stop.value = 1

    process = os.getpid()
    with handled(signal.SIGUSR1, handler):
        result = call.run()
    if os.getpid() != process:  # in the child, where the call has begun again
        os._exit(int((result, call.numbers) != (0, 2)))
    assert (result, call.numbers) == (0, 1)
    assert os.waitpid(children[0], 0)[1] == 0


def test_a_signal_goes_to_the_main_thread_while_another_calls():
    call = Call()
    with busy(1), handled(signal.SIGINT, fail), pytest.raises(KeyboardInterrupt):
        call.run()


# --- processes ------------------------------------------------------------------------------------


def exit_code_of_child(work: Callable[[], object]) -> int:
    child = os.fork()
    if not child:
        try:
            work()
            os._exit(0)
        except BaseException:
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@contextmanager
def busy(callers: int) -> Iterator[None]:
    """Regions run in other threads meanwhile."""
    calls = [Call(40) for _ in range(callers)]
    threads = [threading.Thread(target=call.run) for call in calls]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        for call in calls:
            call.stop.value = 1
        for thread in threads:
            thread.join()


@pytest.mark.parametrize("callers", [0, 1, 10])
def test_a_forked_child_has_a_team_of_its_own(callers: int):
    tadc.set_num_threads(3)
    count_regions(100, seed=0)
    with busy(callers):
        for _ in range(5):
            assert exit_code_of_child(lambda: count_regions(500, seed=1)) == 0


def test_a_forked_child_has_threads_and_takes_signals():
    tadc.set_num_threads(3)
    with busy(1):
        assert exit_code_of_child(lambda: begun_at_once(3) == 3 or fail()) == 0
        assert exit_code_of_child(lambda: test_a_handler_that_raises_ends_the_call(3)) == 0


ENDS = {
    "helpers sleep": "time.sleep(0.1)",
    "helpers spin": "",
    "in a call of a daemon thread": (
        "threading.Thread(target=t.Call().run, daemon=True).start(); time.sleep(0.1)"
    ),
    "as a call of a daemon thread ends": """
call = t.Call()
threading.Thread(target=call.run, daemon=True).start()
time.sleep(0.1)
class Last:
    def __del__(self):
        call.stop.value = 1
        time.sleep(0.05)
sys.modules["last"] = Last()
""",
    "by a signal that is not handled": """
signal.signal(signal.SIGTERM, signal.SIG_DFL)
threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGTERM)).start()
t.Call().run()
""",
}
CODES = {"by a signal that is not handled": -signal.SIGTERM}


def ends(text: str) -> tuple[int, str]:
    """The exit code of a process that runs the text, and its errors."""
    imports = (
        "import os, signal, sys, threading, time\nimport tadc\nimport tests.runtime.test_team as t"
    )
    command = [sys.executable, "-X", "faulthandler", "-c", f"{imports}\n{text}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, cwd=ROOT)
    return done.returncode, done.stderr


@pytest.mark.parametrize("end", ENDS)
def test_a_process_ends_cleanly(end: str):
    text = f"tadc.set_num_threads(3)\nt.count_regions(100, 0)\n{ENDS[end]}"
    assert ends(text) == (CODES.get(end, 0), "")


ELSEWHERE = """
import tadc.runtime.team as team
team.sys = type("System", (), {"platform": "another"})
t.count_regions(2000, 0)
t.test_so_many_threads_work_as_are_set()
t.test_a_handler_that_raises_ends_the_call(3)
t.test_a_forked_child_has_threads_and_takes_signals()
"""


def test_threads_sleep_where_there_is_no_futex():
    assert ends(ELSEWHERE) == (0, "")
