"""Sizes as options of passes have them: `N=512`, and `N=M` or `N=M+8`, where M is another size."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from xdsl.utils.exceptions import PassFailedException

from tadc.dialects.tix import Affine


def parse_sizes(texts: Iterable[str]) -> dict[str, int]:
    """The sizes by name; raises `PassFailedException` where a text is not such a size."""
    return dict(map(_size, texts))


def parse_values(texts: Iterable[str]) -> dict[str, int | Affine]:
    """Numbers, or forms of other sizes, by name; raises `PassFailedException` where a text is
    neither a number nor another size, and a number more."""
    return dict(map(_value, texts))


def write_sizes(sizes: Mapping[str, int] | Mapping[str, int | str]) -> tuple[str, ...]:
    """The texts that `parse_sizes` and `parse_values` take."""
    return tuple(f"{name}={size}" for name, size in sizes.items())


def _size(text: str) -> tuple[str, int]:
    name, _, number = text.partition("=")
    if not (name and number.isdecimal()):
        raise PassFailedException(f"a size is written as N=512, not {text!r}")
    return name, int(number)


def _value(text: str) -> tuple[str, int | Affine]:
    name, _, value = text.partition("=")
    other, _, more = value.partition("+")
    if name and other.isidentifier() and (more.isdecimal() or value == other):
        return name, Affine.of(other) + int(more or 0)
    return _size(text)
