"""Sizes as options of passes have them: `N=512`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from xdsl.utils.exceptions import PassFailedException


def parse_sizes(texts: Iterable[str]) -> dict[str, int]:
    """The sizes by name; raises `PassFailedException` where a text is not such a size."""
    return dict(map(_size, texts))


def write_sizes(sizes: Mapping[str, int]) -> tuple[str, ...]:
    """The texts that `parse_sizes` takes."""
    return tuple(f"{name}={size}" for name, size in sizes.items())


def _size(text: str) -> tuple[str, int]:
    name, _, number = text.partition("=")
    if not (name and number.isdecimal()):
        raise PassFailedException(f"a size is written as N=512, not {text!r}")
    return name, int(number)
