"""Marks in a printed program: which of its characters an operation wrote.

The printer puts the text of a marked operation between two characters of Unicode's private use,
with its name: neither a name nor a number of the language can hold them. So marks go through
whatever makes text of texts, and are taken out in the end.
"""

from __future__ import annotations

import re
from typing import NamedTuple

FIRST, SECOND, LAST = "\ue000", "\ue001", "\ue002"
_EITHER = re.compile(f"{FIRST}([^{SECOND}]*){SECOND}|{LAST}")


class Mark(NamedTuple):
    """A part of a text by its characters, `end` exclusive, and the name that it was marked with."""

    start: int
    end: int
    name: str


def marked(text: str, name: str) -> str:
    """The text with a mark around it."""
    return f"{FIRST}{name}{SECOND}{text}{LAST}"


def unmarked(text: str) -> tuple[str, list[Mark]]:
    """The text without its marks, and these in the order in which they begin, outer ones first."""
    pieces: list[str] = []
    marks: list[Mark] = []
    open_marks: list[int] = []
    length = position = 0
    for found in _EITHER.finditer(text):
        pieces.append(text[position : found.start()])
        length, position = length + len(pieces[-1]), found.end()
        if found[0] == LAST:
            number = open_marks.pop()
            marks[number] = marks[number]._replace(end=length)
        else:
            open_marks.append(len(marks))
            marks.append(Mark(length, length, found[1]))
    return "".join([*pieces, text[position:]]), marks
