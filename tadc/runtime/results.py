"""Several results of a call as one named tuple: in order, and by their names in the program."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Sequence
from functools import cache
from typing import Any


def named(names: Sequence[str], values: Sequence[Any]) -> tuple[Any, ...]:
    """A named tuple of these values, which pickles.

    A name that no attribute can have, like `_x`, is left to its position: `_0`, `_1`, ...
    """
    return kind(names)(*values)


def kind(names: Sequence[str]) -> type[tuple[Any, ...]]:
    """The named tuples of values of these names."""
    return _kind(tuple(names))


@cache
def _kind(names: tuple[str, ...]) -> Any:
    def reduced(results: tuple[Any, ...]) -> tuple[Any, ...]:
        return named, (names, tuple(results))

    made: Any = namedtuple("Results", names, rename=True)  # pyright: ignore[reportUntypedNamedTuple]
    made.__reduce__ = reduced  # pickle would look for the class by its name, which several have
    return made
