"""Calls that no signal ends in between, for code that must undo what it has begun."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


def uninterrupted(function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """The result of a call, which goes on to its end also where a signal ends the wait for it.

    Handlers of signals run, and raise, in the main thread only: so the call has one of its own.
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

    threading.Thread(target=call).start()
    over.wait()
    for error in errors:
        raise error
    return results[0]
