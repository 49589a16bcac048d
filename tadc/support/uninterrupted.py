"""Calls that no signal ends in between, for code that must undo what it has begun."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

_awaited: set[threading.Event] = set()
"""The ends of calls that the main thread waits for, of which handlers may begin others."""


def uninterrupted(function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """The result of a call, which goes on to its end also where a signal ends the wait for it.

    Handlers of signals run, and raise, in the main thread only: so the call has one of its own. A
    child that a handler forks off has not: there the call begins again.
    """
    if threading.current_thread() is not threading.main_thread():
        return function(*args, **kwargs)
    results: list[R] = []
    errors: list[BaseException] = []
    over = threading.Event()

    def call() -> None:
        try:
            results.append(function(*args, **kwargs))
        except BaseException as error:
            errors.append(error)
        finally:
            over.set()

    process, thread = os.getpid(), threading.Thread(target=call)
    _awaited.add(over)
    try:
        thread.start()
        over.wait()
    finally:
        _awaited.discard(over)
    if os.getpid() != process:
        thread.join()  # at once, if it is in the other process
        if not (results or errors):
            return function(*args, **kwargs)
    for error in errors:
        raise error
    return results[0]


def _after_fork() -> None:
    for over in [*_awaited]:
        over.set()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
