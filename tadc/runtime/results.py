"""Several results of a call as one named tuple: in order, and by their names in the program."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]

    class Named(tuple[Array, ...]):
        """A named tuple of arrays, whose names the text of a program says."""

        _fields: tuple[str, ...]

        def __getattr__(self, name: str) -> Array: ...
        def _asdict(self) -> dict[str, Array]: ...

    class Results(Array, Named):  # pyright: ignore[reportIncompatibleMethodOverride]
        """The results of a call, for type checkers: one array, or several as a named tuple.

        Which of both, the text of the program says, which they do not read. So this is both: it can
        be computed with, indexed and unpacked, and has results by name. A method that no array has
        is a result of that name, which is an array and cannot be called.
        """


def named(names: Sequence[str], values: Sequence[Any]) -> Named:
    """A named tuple of these values, which pickles.

    A name that no attribute can have, like `_x`, is left to its position: `_0`, `_1`, ...
    """
    return kind(names)(*values)


def kind(names: Sequence[str]) -> Any:
    """The named tuples of values of these names, a class."""
    return _kind(tuple(names))


@cache
def _kind(names: tuple[str, ...]) -> Any:
    def reduced(results: tuple[Any, ...]) -> tuple[Any, ...]:
        return named, (names, tuple(results))

    made: Any = namedtuple("Results", names, rename=True)  # pyright: ignore[reportUntypedNamedTuple]
    made.__reduce__ = reduced  # pickle would look for the class by its name, which several have
    return made
