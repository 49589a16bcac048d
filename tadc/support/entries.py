"""Functions that users call: their errors come as from themselves, without the frames inside.

A `TadcError` says by itself what is wrong and where. In a traceback of Python, the line of the user
that called stands right above it. Whatever else is raised is a bug of tadc, and keeps its frames.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import currentframe
from typing import ParamSpec, TypeVar

from tadc.errors import TadcError

P = ParamSpec("P")
R = TypeVar("R")


def entry(function: Callable[P, R]) -> Callable[P, R]:
    """A function that users call: see above."""

    @wraps(function)
    def called(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except TadcError as error:
            raise outside(error) from error.__cause__

    return called


def outside(error: TadcError) -> TadcError:
    """An error without the frames that it came through."""
    return error.with_traceback(None)


def frames_of_tadc() -> int:
    """The number of innermost frames, as warnings count them, that are not the caller's."""
    count, frame = 0, currentframe()
    while frame and frame.f_globals.get("__name__", "").partition(".")[0] == "tadc":
        count, frame = count + 1, frame.f_back
    return count
