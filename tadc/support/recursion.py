"""Recursion along the nesting of a program: on a large stack, if the usual one is too small."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

DEEPEST_CALLS = 20_000
"""The recursion limit in the thread with the large stack, in calls."""
STACK_BYTES = 256 << 20
"""The size of that stack: enough for `DEEPEST_CALLS` calls, through functions written in C too."""

_one_at_a_time = threading.Lock()
_inside = threading.local()


def with_large_stack(work: Callable[[], T]) -> T:
    """`work()`; where the stack is too small for it, again in a thread with a large one.

    So `work` must do no harm when it is done twice. While the second attempt lasts, the recursion
    limit of the process is higher. Raises RecursionError where even that is too low.
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

    with _one_at_a_time:
        limit, size = sys.getrecursionlimit(), threading.stack_size(STACK_BYTES)
        try:
            thread = threading.Thread(target=run, name="tadc, with a large stack", daemon=True)
            sys.setrecursionlimit(max(limit, DEEPEST_CALLS))
            thread.start()
            thread.join()
        finally:
            threading.stack_size(size)
            sys.setrecursionlimit(limit)
    if errors:
        raise errors[0]
    return results[0]
