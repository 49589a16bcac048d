"""`Scene`: what a picture shows, in coordinates of the lattice, before it is drawn."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import ceil, floor
from typing import Literal, TypeAlias

from tadc.passes.polyhedral.matrix import Row
from tadc.view.pictures.geometry import Vertex

DotKind: TypeAlias = Literal["hit", "outside", "inside"]
"""A point that reads the element, one that solves the equations alone, one of the set alone."""

LineKind: TypeAlias = Literal["equation", "bound", "element"]
"""The solutions of an equation, a side that bounds a sum, the element that is looked at."""

TickKind: TypeAlias = Literal["read", "guarded", "unread"]
"""An element that some point reads, one that a guard excludes, one that no point is left for."""


@dataclass(frozen=True)
class Axis:
    """A coordinate, and the integers that a picture shows of it, both ends included."""

    name: str
    least: int
    most: int

    @staticmethod
    def around(name: str, values: Iterable[Fraction | int]) -> Axis:
        """An axis with room for these values, and for one more on each side."""
        values = [*values] or [0]
        return Axis(name, floor(min(values)) - 1, ceil(max(values)) + 1)

    def __contains__(self, value: int) -> bool:
        return self.least <= value <= self.most


def frame(x: Axis, y: Axis) -> list[Row]:
    """The rectangle of both axes."""
    return [(1, 0, -x.least), (-1, 0, x.most), (0, 1, -y.least), (0, -1, y.most)]


@dataclass(frozen=True)
class Dot:
    """An integer point; `values` has what it stands for, by name."""

    kind: DotKind
    x: int
    y: int
    values: Mapping[str, int]
    label: str = ""
    """A number beside it, the value of the new index."""


@dataclass(frozen=True)
class Line:
    """A segment; `says` is the condition that it stands for."""

    kind: LineKind
    start: Vertex
    end: Vertex
    says: str
    active: bool = False
    """True for a bound that is the greatest lower or the least upper one at the element."""


@dataclass(frozen=True)
class Arrow:
    """A vector of the basis of the null space, from a solution to the next one."""

    start: tuple[int, int]
    end: tuple[int, int]
    name: str
    """The new index that counts along it."""


@dataclass(frozen=True)
class Mark:
    """An end of the line of the equations inside of the set: the paper's l and h."""

    at: Vertex
    name: str
    says: str


@dataclass(frozen=True)
class Tick:
    """An element on the horizontal axis, and what becomes of it."""

    kind: TickKind
    at: int
    says: str


@dataclass(frozen=True)
class Scene:
    """A picture: its words, its axes, and what lies between them."""

    link: str | None
    """The read that it explains, if it is one of the text."""
    title: str
    description: str
    x: Axis
    y: Axis
    polygon: Sequence[Vertex]
    dots: Sequence[Dot] = ()
    lines: Sequence[Line] = ()
    arrows: Sequence[Arrow] = ()
    marks: Sequence[Mark] = ()
    ticks: Sequence[Tick] = ()
    legend: Mapping[DotKind, str] = field(default_factory=dict[DotKind, str])
    tick_legend: Mapping[TickKind, str] = field(default_factory=dict[TickKind, str])
    notes: Sequence[str] = ()
    """Lines of text below."""
