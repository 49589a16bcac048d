"""Values that threads ask for at once, and locks that are held while a process forks."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from tadc.once import Lock, Once, cached_property, once, once_property
from tests.runtime.stress_starts import exit_code_of_child, together

THREADS = 8


def asked_at_once(ask: Callable[[], object]) -> list[object]:
    """The answers to so many threads, which ask while the first one is being made."""
    found: list[object] = []
    together([lambda: found.append(ask())] * THREADS)
    return found


class Slow:
    """An object that takes a while to make, so that others come in the meantime."""

    made = 0

    def __init__(self, *_: object):
        Slow.made += 1
        time.sleep(0.02)


@pytest.fixture(autouse=True)
def _none_is_made(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(Slow, "made", 0)


class Owner:
    @once_property
    def slow(self) -> Slow:
        return Slow()

    @cached_property
    def quick(self) -> Slow:
        return Slow()


def test_one_thread_makes_the_value_of_a_function():
    function = once(Slow)
    (found,) = set(asked_at_once(lambda: function("a")))
    assert Slow.made == 1
    assert function("b") is not found and function("a") is found
    function.cache_clear()
    assert function("a") is not found


def test_one_thread_makes_the_value_of_a_key():
    values: Once[str, Slow] = Once()
    assert "a" not in values and values.get("a") is None
    (found,) = set(asked_at_once(lambda: values.of("a", Slow)))
    assert Slow.made == 1 and values.get("a") is found


def test_one_thread_makes_a_property():
    owner = Owner()
    (found,) = set(asked_at_once(lambda: owner.slow))
    assert Slow.made == 1 and owner.slow is found and Owner().slow is not found


def test_all_threads_get_the_property_that_was_there_first():
    owner = Owner()
    (found,) = set(asked_at_once(lambda: owner.quick))
    assert owner.quick is found


def test_an_error_is_raised_and_not_kept():
    def fail() -> Any:
        raise ZeroDivisionError

    values: Once[str, int] = Once()
    with pytest.raises(ZeroDivisionError):
        values.of("a", fail)
    assert values.of("a", lambda: 1) == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks here")
@pytest.mark.parametrize("own", [False, True])
def test_a_child_finds_locks_open_or_its_own(own: bool):
    lock, taken, over = Lock(), threading.Event(), threading.Event()

    def hold() -> None:
        with lock:
            taken.set()
            over.wait(60)

    def take() -> None:
        with lock:
            pass

    if own:
        with lock:
            assert exit_code_of_child(take) == 0
        return
    thread = threading.Thread(target=hold)
    thread.start()
    assert taken.wait(60)
    assert exit_code_of_child(take) == 0
    over.set()
    thread.join()
