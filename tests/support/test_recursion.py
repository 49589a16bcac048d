"""Deep recursion goes on in a thread with a large stack, and ends where there is none."""

from __future__ import annotations

import sys
import threading

import pytest

from tadc.support.recursion import with_large_stack


def depth(n: int) -> int:
    return 1 + depth(n - 1) if n else 0


def test_what_is_too_deep_here_is_not_in_a_thread():
    limit = sys.getrecursionlimit()
    assert with_large_stack(lambda: depth(2 * limit)) == 2 * limit
    assert sys.getrecursionlimit() == limit


def test_without_threads_it_is_a_recursion_error(monkeypatch):
    def start(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    limit = sys.getrecursionlimit()
    monkeypatch.setattr(threading.Thread, "start", start)
    with pytest.raises(RecursionError, match="can't start new thread"):
        with_large_stack(lambda: depth(2 * limit))
    assert sys.getrecursionlimit() == limit
