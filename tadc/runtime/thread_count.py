"""The number of threads that a call may use: as asked for, or one for each processor."""

from __future__ import annotations

import os

from tadc.errors import ArgumentError

VARIABLE = "TADC_NUM_THREADS"
"""The variable of the environment that says how many."""

MOST_THREADS = 1024
"""The largest number that can be asked for."""


def checked_thread_count(count: object, name: str) -> int:
    """The number of threads that `name` says; raises `ArgumentError` for what is none."""
    if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= MOST_THREADS:
        raise ArgumentError(
            f"{name} is {count!r}, expected a whole number from 1 to {MOST_THREADS}",
            hint="1 means no thread beside the one that calls",
        )
    return count


def default_thread_count() -> int:
    """The number in the environment, else of the processors that this process may run on."""
    text = os.environ.get(VARIABLE, "").strip()
    if text:
        return checked_thread_count(int(text) if text.isdecimal() else text, VARIABLE)
    return min(MOST_THREADS, processors())


def processors() -> int:
    """The number of processors that this process may run on."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not Linux
        return os.cpu_count() or 1
