"""Recursion along the nesting of a program: on a large stack, if the usual one is too small."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import TypeVar

from tadc.once import Lock

T = TypeVar("T")

DEEPEST_CALLS = 20_000
"""The recursion limit in the thread with the large stack, in calls."""
STACK_BYTES = 256 << 20
"""The size of that stack: enough for `DEEPEST_CALLS` calls, through functions written in C too."""

_one_at_a_time = Lock()
_inside = threading.local()


def with_large_stack(work: Callable[[], T]) -> T:
    """`work()`; where the stack is too small for it, again in a thread with a large one.

    So `work` must do no harm when it is done twice. While the second attempt lasts, the recursion
    limit of the process is higher. Raises RecursionError where even that is too low, and where
    there are no threads, as in browsers.
    """
    try:
        return work()
    except RecursionError:
        if getattr(_inside, "large_stack", False):
            raise
    return _on_large_stack(work)


def _on_large_stack(work: Callable[[], T]) -> T:
    results: list[T] = []
    errors: list[BaseException] = []

    def run() -> None:
        _inside.large_stack = True
        try:
            results.append(work())
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=run, name="tadc, with a large stack", daemon=True)
    with _one_at_a_time:
        try:
            with _large_stacks():
                thread.start()
                thread.join()
        except RuntimeError as error:
            raise RecursionError(f"there is no thread with a large stack: {error}") from error
    if errors:
        raise errors[0]
    return results[0]


@contextmanager
def _large_stacks() -> Generator[None]:
    """Let threads that start have a large stack, and all threads call deeply."""
    limit, size = sys.getrecursionlimit(), threading.stack_size(STACK_BYTES)
    sys.setrecursionlimit(max(limit, DEEPEST_CALLS))
    try:
        yield
    finally:
        threading.stack_size(size)
        sys.setrecursionlimit(limit)
