"""Polygons, lines and points against isl, and against all points of a box."""

from __future__ import annotations

import random
from fractions import Fraction
from itertools import combinations, product

import islpy as isl
import pytest

from tadc.passes.polyhedral.inequalities import tightened
from tadc.passes.polyhedral.matrix import Row, dot
from tadc.view.pictures.geometry import (
    MOST_POINTS,
    Vertex,
    common_direction,
    cut,
    edge,
    has_point,
    hull,
    line_of,
    plane_points,
    polygon,
    shadow,
    value,
)
from tests.passes.polyhedral.boxed_systems import box, brute_force, random_system
from tests.support.campaign import seeds

SQUARE = [(1, 0, 0), (-1, 0, 4), (0, 1, 0), (0, -1, 3)]


def random_plane(random_: random.Random) -> list[Row]:
    """A system of two unknowns without parameters; one with an equation now and then."""
    while True:
        rows, _, loops, parameters = random_system(random_, 2)
        if (loops, parameters) == (2, 0):
            return rows


def isl_vertices(rows: list[Row]) -> set[Vertex]:
    """The vertices of the rational set: of an integer one isl may take off corners."""
    found: set[Vertex] = set()

    def add(vertex: isl.Vertex) -> None:
        forms = vertex.get_expr()
        values = [forms.get_aff(n).get_constant_val() for n in range(2)]
        x, y = (Fraction(v.get_num_si(), v.get_den_val().to_python()) for v in values)
        found.add((x, y))

    text = " and ".join(f"{a}x + {b}y + {c} >= 0" for a, b, c in map(tightened, rows))
    isl.BasicSet(f"{{ rat: [x, y] : {text} }}").compute_vertices().foreach_vertex(add)
    return found


# --- polygons -------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", seeds(15, of=200))
def test_vertices_are_those_of_isl(seed: int) -> None:
    random_ = random.Random(seed)
    for _ in range(20):
        rows = random_plane(random_)
        assert set(polygon(rows)) == isl_vertices(rows)


@pytest.mark.parametrize("seed", seeds(10, of=100))
def test_vertices_are_corners_in_order(seed: int) -> None:
    """Each meets all rows and two of them sharply, and the next one is to the left of all."""
    random_ = random.Random(seed)
    for _ in range(20):
        rows = random_plane(random_)
        vertices = polygon(rows)
        assert vertices == hull(vertices)
        for point in brute_force(rows, 2, ()):
            for a, b in zip(vertices, [*vertices[1:], *vertices[:1]], strict=True):
                turn = (b[0] - a[0]) * (point[1] - a[1]) - (b[1] - a[1]) * (point[0] - a[0])
                assert turn >= 0
        assert bool(vertices) >= bool(brute_force(rows, 2, ()))


def test_degenerate_polygons() -> None:
    assert polygon(SQUARE) == [(0, 0), (4, 0), (4, 3), (0, 3)]
    assert polygon([*SQUARE, (1, 0, -4)]) == [(4, 0), (4, 3)]
    assert polygon([*SQUARE, (1, 1, -7)]) == [(4, 3)]
    assert polygon([*SQUARE, (1, 1, -8)]) == []
    assert polygon([*SQUARE, (0, 0, -1)]) == []
    assert polygon([*SQUARE, (-2, -2, 7)])[1] == (3, 0), "2 x + 2 y <= 7 is x + y <= 3"


def test_a_hull_has_no_points_on_its_sides() -> None:
    square = [(Fraction(x), Fraction(y)) for x in range(3) for y in range(3)]
    assert hull(square) == [(0, 0), (2, 0), (2, 2), (0, 2)]
    assert hull(square[::4]) == [(0, 0), (2, 2)]


def test_edges() -> None:
    vertices = polygon(SQUARE)
    assert edge((-1, 0, 4), vertices) == ((4, 0), (4, 3))
    assert edge((-2, 0, 9), vertices) == ((4, 0), (4, 3)), "tightened"
    assert edge((-1, -1, 7), vertices) is None, "touches a corner alone"
    assert edge((-1, 0, 9), vertices) is None


@pytest.mark.parametrize("seed", seeds(10, of=100))
def test_the_shadow_holds_the_shadows_of_points(seed: int) -> None:
    random_ = random.Random(seed)
    for _ in range(5):
        rows, _, loops, _ = random_system(random_, 4)
        rows = [(*row[:loops], row[-1]) for row in rows]
        if loops > 1:
            flat = shadow(rows)
            points = {point[:2] for point in brute_force(rows, loops, ())}
            assert all(dot(row, (*p, 1)) >= 0 for row in flat or () for p in points)
            assert flat is not None or not points


# --- lines ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", seeds(10, of=100))
def test_a_cut_ends_on_the_rows_that_it_names(seed: int) -> None:
    random_ = random.Random(seed)
    for _ in range(20):
        rows = random_plane(random_)
        line = (random_.randint(1, 3), random_.randint(-3, 3), random_.randint(-4, 4))
        part = cut(*line_of(line), rows)
        inside = [p for p in brute_force(rows, 2, ()) if dot(line, (*p, 1)) == 0]
        if part is None:
            assert not inside
            continue
        for end, row in ((part.start, part.starts_by), (part.end, part.ends_by)):
            assert value(line, end) == 0 == value(rows[row], end)
            assert all(value(row, end) >= 0 for row in rows)
        assert all(part.start <= p <= part.end for p in inside)


def test_lines() -> None:
    assert line_of((1, -2, 1)) == ((Fraction(-1, 5), Fraction(2, 5)), (2, 1))
    assert line_of((0, 2, 4)) == ((0, -2), (2, 0))
    assert line_of((-3, 0, 6)) == ((2, 0), (0, 3))
    half = cut(*line_of((2, -4, 1)), SQUARE)
    assert half and half[:2] == ((0, Fraction(1, 4)), (4, Fraction(9, 4)))
    with pytest.raises(ValueError, match="do not bound"):
        cut((Fraction(0), Fraction(0)), (Fraction(1), Fraction(1)), SQUARE[:1])


def test_the_common_direction_generates_the_lattice() -> None:
    assert common_direction([(2, -4)]) == (2, -4)
    assert common_direction([(-2, 4)]) == (2, -4)
    assert common_direction([(0, -3)]) == (0, 3)
    assert common_direction([(4, 6), (0, 0), (-6, -9)]) == (2, 3)
    assert common_direction([(1, 0), (0, 1)]) is None
    assert common_direction([(0, 0)]) is None
    for a, b in combinations(range(1, 7), 2):
        step = common_direction([(2 * a, 3 * a), (-2 * b, -3 * b)])
        assert step
        reached = {x * a - y * b for x, y in product(range(-9, 10), repeat=2)}
        assert step[0] // 2 == min(n for n in reached if n > 0)


# --- points ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", seeds(10, of=100))
def test_points_are_those_that_have_one_above(seed: int) -> None:
    random_ = random.Random(seed)
    for _ in range(10):
        rows, _, loops, _ = random_system(random_, 4)
        rows = [(*row[:loops], row[-1]) for row in rows]
        whole = brute_force(rows, loops, ())
        assert has_point(rows) == bool(whole)
        if loops > 1:
            assert plane_points(rows) == sorted({point[:2] for point in whole})


def test_too_many_points_are_none() -> None:
    wide = [(1, 0, 0), (-1, 0, MOST_POINTS - 1), (0, 1, 0), (0, -1, 0)]
    assert len(plane_points(wide) or ()) == MOST_POINTS
    assert plane_points([(1, 0, 0), (-1, 0, MOST_POINTS), (0, 1, 0), (0, -1, 0)]) is None


def test_a_search_in_vain_ends() -> None:
    """Between 10 and 11 times three there is much room, and no point."""
    rows = [*box(3, 0, 10**6), (3, 3, 3, -10), (-3, -3, -3, 11)]
    assert plane_points([*rows]) is None or plane_points(rows) == []
