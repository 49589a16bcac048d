"""The vectors that an inverse mode takes, one for each result: given in order, by name or bare."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from tadc.errors import ArgumentError, unknown_name


def by_name(given: Mapping[str, Any], names: Sequence[str], what: str) -> list[Any]:
    """The values in the order of `names`, None where there is none."""
    for name in given:
        if name not in names:
            raise unknown_name(what, name, names)
    return [given.get(name) for name in names]


def vectors(results: Sequence[str], given: Any, what: str) -> Sequence[Any]:
    """One vector per result: those given in order or by name, or a single one.

    Raises `ArgumentError` for other numbers of them; `what` is the word for one.
    """
    if isinstance(given, Mapping):
        found = by_name(cast("Mapping[str, Any]", given), results, "result")
        several = [v for v in found if v is not None]
    else:
        several = _sequence(given)
    if len(results) == 1 and len(several) != 1:
        return [given]
    if len(several) != len(results):
        raise ArgumentError(
            f"{len(results)} {what}s are needed, here are {len(several)}",
            hint=f"one for each tensor that the program updates: {', '.join(results)}",
        )
    return several


def _sequence(given: Any) -> list[Any]:
    return list(given) if isinstance(given, tuple | list) else [given]  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
