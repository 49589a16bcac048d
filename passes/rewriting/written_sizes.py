"""Sizes as options of passes have them: `N=512`, and `N=M` for a size that equals another."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from xdsl.utils.exceptions import PassFailedException


def parse_sizes(texts: Iterable[str]) -> dict[str, int]:
    """The sizes by name; raises `PassFailedException` where a text is not such a size."""
    return dict(map(_size, texts))


def parse_values(texts: Iterable[str]) -> dict[str, int | str]:
    """Numbers or other sizes by name; raises `PassFailedException` where a text is neither."""
    return dict(map(_value, texts))


def write_sizes(sizes: Mapping[str, int] | Mapping[str, int | str]) -> tuple[str, ...]:
    """The texts that `parse_sizes` and `parse_values` take."""
    return tuple(f"{name}={size}" for name, size in sizes.items())


def _size(text: str) -> tuple[str, int]:
    name, _, number = text.partition("=")
    if not (name and number.isdecimal()):
        raise PassFailedException(f"a size is written as N=512, not {text!r}")
    return name, int(number)


def _value(text: str) -> tuple[str, int | str]:
    name, _, other = text.partition("=")
    return (name, other) if name and other.isidentifier() else _size(text)
