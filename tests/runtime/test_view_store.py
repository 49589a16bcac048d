"""Entries are found by content, whatever happens to arrays, threads, processes and memory."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from tadc.errors import ArgumentError, Span
from tadc.passes.scheduling.tiles.sum_lengths import SEGMENT_TERMS
from tadc.runtime import inspectors, view_store
from tadc.runtime.arguments import Array
from tadc.runtime.view_store import STORE, Entry, ViewStore
from tests.runtime.stress_starts import exit_code_of_child, together

LARGE = 1 << 30


@pytest.fixture
def store() -> ViewStore:
    return ViewStore(LARGE)


def random_array(seed: int, size: int = 200, below: int = 50) -> Array:
    return np.random.default_rng(seed).integers(0, below, size)


# --- by content -----------------------------------------------------------------------------------


def test_equal_arrays_have_one_entry(store: ViewStore):
    array = random_array(0)
    entry = store.entry(array, 50)
    assert store.entry(array, 50, entry) is entry
    assert store.entry(array.copy(), 50, entry) is entry
    assert store.entry(array.copy(), 50) is entry
    others = [
        store.entry(array, 51, entry),
        store.entry(array.astype(np.int32), 50, entry),
        store.entry(array.reshape(2, 100), 50, entry),
        store.entry(array[:-1].copy(), 50, entry),
        store.entry(random_array(1), 50, entry),
    ]
    assert len({id(e) for e in (entry, *others)}) == 6
    assert len({e.number for e in (entry, *others)}) == 6


def test_arrays_changed_in_place_are_noticed(store: ViewStore):
    array = random_array(0)
    first = store.entry(array, 50)
    kept = first.array.copy()
    for position in (0, 99, 199):
        before = array[position]
        array[position] = (before + 1) % 50
        second = store.entry(array, 50, first)
        assert second is not first
        np.testing.assert_array_equal(second.array, array)
        array[position] = before
        assert store.entry(array, 50, second) is first
    np.testing.assert_array_equal(first.array, kept)


def test_entries_do_not_depend_on_the_array(store: ViewStore):
    array = random_array(0)
    entry = store.entry(array, 50)
    wanted = np.argsort(array, kind="stable")
    array[:] = 0
    np.testing.assert_array_equal(entry.places, wanted)
    for made in (entry.array, entry.places, entry.starts):
        with pytest.raises(ValueError, match="read-only"):
            made[0] = 1


def test_arrays_of_one_key_replace_each_other(store: ViewStore, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(inspectors, "content", lambda array: 7)
    arrays = [random_array(seed) for seed in range(3)]
    for array in (*arrays, *arrays):
        np.testing.assert_array_equal(store.entry(array, 50).array, array)
        assert store.memory() == array.nbytes


def test_elements_are_checked_when_they_are_new(store: ViewStore):
    array = random_array(0)
    entry = store.entry(array, 50)
    array[7] = 77
    span = Span("f.tad", 1, 1, 4, "dst: range(V)[N]")
    with pytest.raises(ArgumentError, match=r"dst\[7\] is 77, but its elements") as caught:
        store.entry(array, 50, entry, "dst", lambda: span)
    assert caught.value.argument == "dst" and caught.value.span is span
    assert store.memory() == entry.nbytes
    assert store.entry(array, 78, entry).below == 78


# --- views ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
@pytest.mark.parametrize("shape", [(), (0,), (1,), (200,), (20, 30), (3, 4, 5)])
@pytest.mark.parametrize("is_sorted", [False, True])
def test_views_are_those_of_numpy(
    store: ViewStore, shape: tuple[int, ...], dtype: type, is_sorted: bool
):
    array = np.random.default_rng(5).integers(0, 50, shape).astype(dtype)
    flat = array.reshape(-1)
    if is_sorted:
        flat.sort()
    entry = store.entry(array, 50)
    order = np.argsort(flat, kind="stable")
    np.testing.assert_array_equal(entry.places, order)
    np.testing.assert_array_equal(entry.starts, np.searchsorted(flat[order], np.arange(51)))
    assert entry.is_sorted == bool(np.all(flat[1:] >= flat[:-1]))
    assert entry.longest == np.bincount(flat, minlength=50).max()
    wanted = np.unravel_index(order, shape) if shape else ()
    assert len(entry.coordinates) == len(shape)
    for own, other in zip(entry.coordinates, wanted, strict=True):
        np.testing.assert_array_equal(own, other)


def test_views_are_made_once(store: ViewStore):
    entry = store.entry(random_array(0), 50)
    assert entry.places is entry.places and entry.starts is entry.starts
    made = [entry.view("mine", lambda: np.ones(3)) for _ in range(2)]
    assert made[0] is made[1] is not entry.view("other", lambda: np.ones(3))


def test_pieces_cut_long_segments(store: ViewStore):
    lengths = [0, 1, SEGMENT_TERMS, SEGMENT_TERMS + 1, 0, 3 * SEGMENT_TERMS, 5]
    entry = store.entry(np.repeat(np.arange(7), lengths)[::-1].copy(), 7)
    first, begins = entry.pieces
    assert entry.longest == 3 * SEGMENT_TERMS
    assert first.tolist() == [0, 0, 1, 2, 4, 4, 7, 8]
    assert first.dtype == begins.dtype == entry.starts.dtype
    for value, (low, high) in enumerate(pairwise(first)):
        cuts = begins[low : high + 1]
        assert begins[low] == entry.starts[value] and begins[high] == entry.starts[value + 1]
        assert all(0 < n <= SEGMENT_TERMS for n in np.diff(cuts))
    empty = store.entry(np.zeros(0, int), 3).pieces
    assert [part.tolist() for part in empty] == [[0, 0, 0, 0], [0]]


# --- memory ---------------------------------------------------------------------------------------


def test_memory_is_that_of_copies_and_views(store: ViewStore):
    entry = store.entry(random_array(0), 50)
    assert store.memory() == entry.nbytes == 200 * 8
    assert entry.places.nbytes + entry.starts.nbytes == 200 * 4 + 51 * 4
    assert store.memory() == entry.nbytes == 200 * 8 + 200 * 4 + 51 * 4
    entry.view("several", lambda: (np.zeros(10), (np.zeros(1), 3)))
    assert entry.nbytes == 200 * 8 + 200 * 4 + 51 * 4 + 88
    store.forget()
    assert store.memory() == 0
    entry.view("later", lambda: np.zeros(10))
    assert store.memory() == 0


def test_entries_that_were_not_used_for_longest_are_forgotten():
    store = ViewStore(3 * 1600)
    arrays = [random_array(seed) for seed in range(5)]
    first, second, third = (store.entry(array, 50) for array in arrays[:3])
    store.entry(arrays[3], 50)  # all were new: the oldest goes
    assert store.memory() == 3 * 1600
    assert store.entry(arrays[1], 50, second) is second
    store.entry(arrays[4], 50)  # the third goes, as the second one was used since then
    assert store.entry(arrays[1], 50) is second
    assert store.entry(arrays[2], 50) is not third
    assert store.entry(arrays[0], 50, first) is first  # who holds it goes on with it
    np.testing.assert_array_equal(first.places, np.argsort(arrays[0], kind="stable"))
    assert store.memory() <= 3 * 1600


def test_views_count_for_the_limit():
    store = ViewStore(4000)
    entries = [store.entry(random_array(seed), 50) for seed in range(2)]
    assert store.memory() == 3200
    assert entries[1].places.size == 200
    assert store.memory() == entries[1].nbytes
    assert entries[0].view("large", lambda: np.zeros(1000)).size == 1000
    assert store.memory() == entries[1].nbytes


def test_what_is_larger_than_the_limit_is_not_kept():
    store = ViewStore(1000)
    array = random_array(0)
    entry = store.entry(array, 50)
    assert store.memory() == 0
    assert store.entry(array, 50, entry) is entry
    assert store.entry(array, 50) is not entry


def test_the_environment_says_the_limit(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TADC_VIEW_MEMORY", " 5000 ")
    assert ViewStore().limit == 5000
    monkeypatch.setenv("TADC_VIEW_MEMORY", "")
    assert 0 < ViewStore().limit <= 1 << 31
    monkeypatch.setenv("TADC_VIEW_MEMORY", "2 GB")
    with pytest.raises(ArgumentError, match="TADC_VIEW_MEMORY is '2 GB', expected a whole number"):
        ViewStore().entry(random_array(0), 50)


# --- threads and processes ------------------------------------------------------------------------


def in_threads(count: int, run: Callable[[int], Any]) -> list[Any]:
    """The results of a function in threads that begin together."""
    results: dict[int, Any] = {}

    def work(number: int) -> None:
        results[number] = run(number)

    together([partial(work, n) for n in range(count)])
    return [results[n] for n in range(count)]


def test_threads_share_entries_and_views(store: ViewStore):
    for seed in range(20):
        arrays = [random_array(seed, 3000) for _ in range(4)]

        def ask(n: int, arrays: list[Array] = arrays) -> tuple[Entry, Array]:
            entry = store.entry(arrays[n], 50)
            return entry, entry.places

        entries, places = zip(*in_threads(4, ask), strict=True)
        assert len(set(map(id, entries))) == len(set(map(id, places))) == 1
        np.testing.assert_array_equal(places[0], np.argsort(arrays[0], kind="stable"))


def test_threads_that_exceed_the_limit_lose_no_bytes():
    store = ViewStore(20_000)
    arrays = [random_array(seed) for seed in range(12)]

    def use(n: int) -> None:
        rng, last = np.random.default_rng(n), None
        for k in rng.integers(0, len(arrays), 300):
            last = store.entry(arrays[k], 50, last)
            np.testing.assert_array_equal(last.array, arrays[k])
            assert last.places.size == 200

    in_threads(4, use)
    kept = [*store._entries.values()]
    assert 0 < len(kept) < len(arrays)
    assert store.memory() == sum(entry.nbytes for entry in kept) <= store.limit


def test_an_array_that_changes_meanwhile_has_entries_in_range(store: ViewStore):
    array, over = random_array(0, 20_000), threading.Event()

    def change() -> None:
        while not over.is_set():
            array[:] = 10**9
            array[:] = 3

    thread = threading.Thread(target=change)
    thread.start()
    try:
        for _ in range(200):
            try:
                entry = store.entry(array, 50)
            except ArgumentError:
                continue
            assert 0 <= entry.array.min() <= entry.array.max() < 50
    finally:
        over.set()
        thread.join()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks here")
def test_a_child_begins_anew_while_others_hold_the_lock():
    array = random_array(3)
    entry = STORE.entry(array, 50)
    assert STORE.memory() > 0
    held, over = threading.Event(), threading.Event()

    def hold() -> None:
        with STORE._lock:
            held.set()
            over.wait(60)

    thread = threading.Thread(target=hold)
    thread.start()
    assert held.wait(60)

    def child() -> None:
        assert STORE.memory() == 0
        assert STORE.entry(array, 50, entry) is entry
        again = STORE.entry(array, 50)
        assert again is not entry
        np.testing.assert_array_equal(again.places, entry.places)

    code = exit_code_of_child(child)
    over.set()
    thread.join()
    assert code == 0


def test_the_limit_of_the_process_is_a_share_of_its_memory():
    assert STORE.limit == view_store.share_of_memory(16, 1 << 31)
