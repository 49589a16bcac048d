"""What is drawn in a picture, read out of its text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from xml.etree import ElementTree

SVG = "{http://www.w3.org/2000/svg}"


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
