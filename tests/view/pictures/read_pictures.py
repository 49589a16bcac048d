"""What pictures are drawn of, and what is drawn in one, read out of its text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from xml.etree import ElementTree

from tadc.explain.contribution import Contribution
from tadc.explain.gradients import explanation
from tadc.function import Function

SVG = "{http://www.w3.org/2000/svg}"


def contributions(function: Function) -> list[Contribution]:
    """The sums that reads add to the gradients of a function."""
    return [c for gradient in explanation(function).gradients for c in gradient.contributions]


def groups(picture: Mapping[str, Any], kind: str) -> Iterator[ElementTree.Element]:
    root = ElementTree.fromstring(picture["svg"])
    return (group for group in root.iter(f"{SVG}g") if group.get("class") == kind)


def dots(picture: Mapping[str, Any], kind: str) -> list[dict[str, int]]:
    """The values of the dots of a kind, by name; there is a `-` for a prime."""
    return [
        {k.removeprefix("data-"): int(v) for k, v in circle.attrib.items() if k[:5] == "data-"}
        for group in groups(picture, kind)
        for circle in group.iter(f"{SVG}circle")
    ]
