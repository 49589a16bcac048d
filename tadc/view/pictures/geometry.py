"""Exact geometry of the plane and of lattices: vertices, shadows, integer points, cut lines.

A row `(a, ..., c)` stands for the half space `a·v + c >= 0`, as everywhere in
`tadc.passes.polyhedral`. Coordinates are `int` or `Fraction`, nothing is rounded.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import combinations
from math import gcd
from typing import NamedTuple, TypeAlias

from tadc.passes.polyhedral.division import lower_bound, upper_bound
from tadc.passes.polyhedral.fourier_motzkin import project
from tadc.passes.polyhedral.inequalities import tightened
from tadc.passes.polyhedral.loop_nests import LoopNest, loop_nest
from tadc.passes.polyhedral.matrix import Row

Vertex: TypeAlias = tuple[Fraction, Fraction]
Lattice: TypeAlias = tuple[int, ...]
"""An integer point."""


# --- polygons -------------------------------------------------------------------------------------


def polygon(rows: Iterable[Row]) -> list[Vertex]:
    """The vertices of a bounded set `{v : row·(v, 1) >= 0}` of the plane, counterclockwise.

    A bounded polygon is the hull of its vertices, and a vertex is where the boundaries of two
    rows meet and all other rows hold; so all pairs of rows are tried, which is cubic in their
    number. A segment has two vertices, a point one, the empty set none. The first vertex is the
    leftmost, of several the lowest. Rows are tightened, which keeps all integer points.
    """
    rows = list(dict.fromkeys(map(tightened, rows)))
    if any(row[-1] < 0 for row in rows if not any(row[:-1])):
        return []
    meetings = (_meeting(a, b) for a, b in combinations(rows, 2))
    return hull(v for v in meetings if v and all(value(row, v) >= 0 for row in rows))


def _meeting(a: Row, b: Row) -> Vertex | None:
    """The point on the boundaries of both rows, by Cramer's rule; None where they are parallel."""
    determinant = a[0] * b[1] - a[1] * b[0]
    if not determinant:
        return None
    x, y = a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2]
    return Fraction(x, determinant), Fraction(y, determinant)


def value(row: Row, v: Sequence[Fraction | int]) -> Fraction:
    """`row·(v, 1)`."""
    return Fraction(sum(a * x for a, x in zip(row[:-1], v, strict=True)) + row[-1])


def hull(points: Iterable[Vertex]) -> list[Vertex]:
    """The corners of the convex hull of points, counterclockwise from the least one.

    The monotone chain of Andrew (1979, "Another efficient algorithm for convex hulls in two
    dimensions"): lower and upper side are found by one sweep each, which drops whatever makes no
    turn to the left. O(n log n) for n points.
    """
    ordered = sorted(set(points))
    if len(ordered) < 2:
        return ordered
    lower, upper = _chain(ordered), _chain(ordered[::-1])
    return [*lower[:-1], *upper[:-1]]


def _chain(points: Sequence[Vertex]) -> list[Vertex]:
    kept: list[Vertex] = []
    for point in points:
        while len(kept) > 1 and _turn(kept[-2], kept[-1], point) <= 0:
            kept.pop()
        kept.append(point)
    return kept


def _turn(a: Vertex, b: Vertex, c: Vertex) -> Fraction:
    """Twice the signed area of a triangle: positive where a, b, c turn to the left."""
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])


def edge(row: Row, vertices: Sequence[Vertex]) -> tuple[Vertex, Vertex] | None:
    """The side of a polygon on the boundary of a row; None where there is no such side."""
    on = sorted(v for v in vertices if value(tightened(row), v) == 0)
    return (on[0], on[-1]) if len(on) > 1 else None


def shadow(rows: Sequence[Row]) -> list[Row] | None:
    """The projection of a set to its first two columns, as rows over these; None where it is empty.

    It is the rational shadow: not every integer point of it has one of the set above.
    """
    columns = len(rows[0]) - 1
    if columns == 2:
        return list(rows)
    projected = project(rows, range(2, columns))
    return None if projected is None else [(row[0], row[1], row[-1]) for row in projected]


# --- lines ----------------------------------------------------------------------------------------


class Cut(NamedTuple):
    """The part of a line inside of a polygon, and the number of the row that ends it there."""

    start: Vertex
    end: Vertex
    starts_by: int
    ends_by: int


def cut(point: Vertex, direction: Vertex, rows: Sequence[Row]) -> Cut | None:
    """The part of the line `point + s direction` where all rows hold; None where it is empty.

    With `g = a·direction` and `h = row·(point, 1)` a row says `g s + h >= 0`: `s >= -h / g` for
    positive g, `s <= -h / g` for negative g, and else that h is not negative. Of rows that end the
    line in the same point the first one counts. Raises ValueError where nothing bounds the line.
    """
    starts: list[tuple[Fraction, int]] = []
    ends: list[tuple[Fraction, int]] = []
    for number, row in enumerate(rows):
        slope, here = value((*row[:-1], 0), direction), value(row, point)
        if slope:
            (starts if slope > 0 else ends).append((-here / slope, number))
        elif here < 0:
            return None
    if not starts or not ends:
        raise ValueError("the rows do not bound the line")
    (low, start), (high, end) = max(starts, key=lambda s: (s[0], -s[1])), min(ends)
    if low > high:
        return None
    return Cut(_along(point, direction, low), _along(point, direction, high), start, end)


def _along(point: Vertex, direction: Vertex, s: Fraction) -> Vertex:
    return point[0] + s * direction[0], point[1] + s * direction[1]


def line_of(row: Row) -> tuple[Vertex, Vertex]:
    """A point and a direction, to the right or up, of the line `a x + b y + c = 0` that a row is.

    The point is the one nearest to the origin, `-c (a, b) / (a^2 + b^2)`.
    """
    a, b, c = row
    near = Fraction(-c, a * a + b * b)
    direction = (Fraction(b), Fraction(-a))
    forward = 1 if direction > (Fraction(0), Fraction(0)) else -1
    return (near * a, near * b), (forward * direction[0], forward * direction[1])


def common_direction(vectors: Iterable[Sequence[int]]) -> Lattice | None:
    """The generator of the lattice that parallel integer vectors of the plane span.

    It is `gcd(c) u` for vectors `c_k u` with u primitive, and leads to the right, or up. None where
    vectors are not parallel, or all zero.
    """
    vectors = [v for v in vectors if any(v)]
    if not vectors or any(v[0] * vectors[0][1] != v[1] * vectors[0][0] for v in vectors):
        return None
    step = gcd(*vectors[0])
    primitive = vectors[0][0] // step, vectors[0][1] // step
    factor = gcd(*(gcd(*v) for v in vectors)) * (1 if primitive > (0, 0) else -1)
    return factor * primitive[0], factor * primitive[1]


# --- integer points -------------------------------------------------------------------------------


MOST_POINTS = 2000
"""The number of points up to which a picture shows them, not the polygon alone."""
MOST_STEPS = 50_000
"""The number of values of loops that are tried to find them."""


def plane_points(rows: Sequence[Row]) -> list[Lattice] | None:
    """The values that the first two columns take at integer points of a bounded set, in order.

    The loops of the set run outermost first; those inside of the first two stop at the first
    point. None where there are more than `MOST_POINTS`, or it takes more than `MOST_STEPS`.
    """
    nest = loop_nest(rows, len(rows[0]) - 1)
    return [] if nest.empty else _Walk(nest).plane()


def has_point(rows: Sequence[Row]) -> bool:
    """True if a bounded set has an integer point; False too where `MOST_STEPS` find none."""
    nest = loop_nest(rows, len(rows[0]) - 1)
    return not nest.empty and _Walk(nest).goes_on(())


class _Walk:
    """A walk through a loop nest without parameters."""

    def __init__(self, nest: LoopNest):
        self._nest = nest
        self._steps = 0

    def plane(self) -> list[Lattice] | None:
        """The values of the first two loops that have a point; None if there are too many."""
        found: list[Lattice] = []
        for a in self._values(()):
            for b in self._values((a,)):
                if self.goes_on((a, b)):
                    found.append((a, b))
                if len(found) > MOST_POINTS:
                    return None
        return found if self._steps <= MOST_STEPS else None

    def goes_on(self, outer: Lattice) -> bool:
        """True if an integer point begins with these values."""
        if len(outer) == len(self._nest.lower):
            return True
        return any(self.goes_on((*outer, v)) for v in self._values(outer))

    def _values(self, outer: Lattice) -> Iterator[int]:
        """The values of the next loop, none any more once there were too many."""
        j = len(outer)
        padded = (*outer, *[0] * (len(self._nest.lower) - j))
        low = max(lower_bound(row, j, padded) for row in self._nest.lower[j])
        high = min(upper_bound(row, j, padded) for row in self._nest.upper[j])
        for v in range(low, high + 1):
            self._steps += 1
            if self._steps > MOST_STEPS:
                return
            yield v
