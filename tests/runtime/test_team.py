"""The team of threads: each piece once, whoever calls, and calls that signals end."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Iterator

import numpy as np
import pytest

import tadc
from tadc.runtime.team import team
from tests.runtime.machine_code import machine_code

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
    machine_code().region(where, entry, params.ctypes.data, extent, grain, pieces, word)


def count_regions(regions: int, seed: int) -> None:
    """Each index is counted once in each of many regions of changing sizes."""
    random = np.random.default_rng(seed)
    extents = random.integers(0, 60, regions)
    grains, pieces = random.integers(1, 9, regions), random.integers(0, 40, regions)
    numbers = np.zeros(60, np.int64)
    address, word = team.address(), ctypes.addressof(GO_ON)
    run, entry, at = machine_code().region, machine_code().count, numbers.ctypes.data
    for sizes in zip(extents, grains, pieces, strict=True):
        run(address, entry, at, *map(int, sizes), word)
    expected = (extents[:, None] > np.arange(60)).sum(0)
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
