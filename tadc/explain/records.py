"""The explanation of a contribution as data, and the same as text.

A record is what the passes say of one read: its equations, their solution in integers, guards and
bounds, each with what it comes from. `tadc derive --explain` prints its text, and a page or a
notebook shows its parts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from tadc.errors import Span, underlined
from tadc.explain.notation import wrapped

SEVERAL = "several of the set"
"""The origin of a condition that follows from more than one."""


class Guard(NamedTuple):
    """A condition under which a sum is there at all."""

    condition: str
    reason: str | None = None
    """The step of the solution that it is part of."""
    origin: str | None = None
    """The condition of the index set, or several, that it follows from."""

    def text(self) -> Iterator[str]:
        """The guard and its reason, line by line."""
        yield f"    guard  {with_origin(self.condition, self.origin)}"
        if self.reason:
            yield f"           {self.reason}"


class Condition(NamedTuple):
    """A condition on an index of a sum, and the one of the index set that it follows from."""

    text: str
    origin: str | None


class Bound(NamedTuple):
    """An end of the range of an index; upper ones are exclusive."""

    form: str
    origin: str | None


@dataclass(frozen=True)
class Range:
    """The range of an index of the sum that is left, as conditions and as ends."""

    index: str
    conditions: Sequence[Condition]
    lower: Sequence[Bound]
    """Their maximum is where the range begins."""
    upper: Sequence[Bound]
    """Their minimum is where it ends."""

    def text(self) -> Iterator[str]:
        """The conditions, line by line."""
        yield f"    sum over {self.index}, bounded by (Fourier-Motzkin, eq. 45)"
        yield from (f"      {with_origin(*condition)}" for condition in self.conditions)


@dataclass(frozen=True)
class Equations:
    """`A ξ = b`: the points `ξ` of the statement that read an element."""

    unknowns: Sequence[str]
    matrix: Sequence[Sequence[int]]
    left: Sequence[str]
    """Each row of `A ξ` as a form."""
    right: Sequence[str]

    def text(self) -> Iterator[str]:
        """The matrix and the right-hand side, line by line."""
        names = ", ".join(self.unknowns)
        yield f"    those that read this element solve A ({names}) = b with A, b ="
        matrix = [[str(number) for number in row] for row in self.matrix]
        widths = [max(map(len, column)) for column in zip(*matrix, strict=True)]
        for row, right in zip(matrix, self.right, strict=True):
            cells = " ".join(cell.rjust(w) for cell, w in zip(row, widths, strict=True))
            yield f"      [ {cells} ]   {right}"


@dataclass(frozen=True)
class Solution:
    """All solutions in integers: a point for any value of the free indices."""

    quotients: Sequence[str]
    """Exact quotients, as `t = p / 2`."""
    values: Sequence[str]
    """The unknowns by these and by the free indices, as `i = t - 3*z`."""
    null_space: Sequence[Sequence[int]]
    """A basis of the solutions of `A ξ = 0`: a vector for each free index."""
    free: Sequence[str]
    unknowns: int

    def text(self) -> Iterator[str]:
        """The solution and the null space, line by line."""
        yield "    solved in integers, by the Smith normal form of A (eqs. 41-45)"
        yield from (f"      {quotient}" for quotient in self.quotients)
        yield from wrapped(self.values)
        rank = self.unknowns - len(self.free)
        if not self.free:
            yield f"      as many independent equations as unknowns, {rank}: one point, no sum"
            return
        basis = " ".join(f"({', '.join(map(str, v))})" for v in self.null_space)
        yield f"      {self.unknowns} unknowns, rank {rank}: the null space of A, with the basis"
        yield f"      {basis}, is summed over: {', '.join(self.free)}"


@dataclass(frozen=True)
class Record:
    """The contribution of one read, in one convex part of its index set, to a gradient."""

    span: Span | None
    """The place of the read in the text."""
    points: Sequence[str]
    """The names of the indices of the statement that reads; none for a single read."""
    conditions: Sequence[str]
    """The index set of the statement."""
    equations: Equations | None
    """None where every point of the set contributes."""
    solution: Solution | None
    """None where there are no equations, or no integers solve them."""
    guards: Sequence[Guard]
    ranges: Sequence[Range] | None
    """None where further equations were found and solved, which the last line alone shows."""

    def text(self) -> Iterator[str]:
        """The explanation, line by line."""
        if self.span:
            yield f"  {self.span.excerpt}, line {self.span.line}"
            yield from (f"  {line}" for line in underlined(self.span))
        if not self.points:
            yield "    read once"
            yield from self._guards_and_ranges()
            return
        yield f"    read at the points ({', '.join(self.points)}) of the set"
        yield from wrapped(self.conditions)
        if self.equations is None:
            yield "    no equation: every point of the set contributes"
            yield from self._guards_and_ranges()
            return
        yield from self.equations.text()
        if self.solution is None:
            yield "    no integers solve these equations for any element: nothing is added"
            return
        yield from self.solution.text()
        yield from self._guards_and_ranges()

    def _guards_and_ranges(self) -> Iterator[str]:
        for guard in self.guards:
            yield from guard.text()
        for each in self.ranges or ():
            yield from each.text()
        if self.ranges is None:
            yield "    bounds and guards: in the last line; further equations were found and solved"


def with_origin(text: str, origin: str | None) -> str:
    """`k <= p   from i >= 0`, where that is another condition."""
    if origin in (None, text):
        return text
    return f"{text}   {'follows ' if origin == SEVERAL else ''}from {origin}"
