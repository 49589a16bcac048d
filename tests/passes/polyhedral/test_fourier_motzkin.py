"""Loop nests against brute force and isl, their irredundance, size and speed."""

import random
import time
from collections.abc import Iterator, Sequence
from itertools import product

import islpy as isl
import numpy as np
import pytest

import tadc
from dialects import tix
from passes.polyhedral.diophantine import solve
from passes.polyhedral.division import lower_bound, upper_bound
from passes.polyhedral.fourier_motzkin import (
    BudgetError,
    LoopNest,
    Unbounded,
    integer_point,
    loop_nest,
    project,
    project_bounds,
)
from passes.polyhedral.inequalities import implied, normalize
from passes.polyhedral.matrix import Matrix, Row, dot, negate

Point = tuple[int, ...]


def span(nest: LoopNest, j: int, values: Sequence[int]) -> range:
    low = max(lower_bound(row, j, values) for row in nest.lower[j])
    return range(low, min(upper_bound(row, j, values) for row in nest.upper[j]) + 1)


def run(nest: LoopNest, p: Point, depth: int | None = None) -> Iterator[Point]:
    """The points that the first `depth` loops run through, in order."""
    loops = len(nest.lower)
    if nest.empty or any(dot(row, (*[0] * loops, *p, 1)) < 0 for row in nest.guards):
        return
    yield from _run(nest, p, (), loops if depth is None else depth)


def _run(nest: LoopNest, p: Point, outer: Point, depth: int) -> Iterator[Point]:
    if len(outer) == depth:
        yield outer
        return
    padded = (*outer, *[0] * (len(nest.lower) - len(outer)), *p)
    for value in span(nest, len(outer), padded):
        yield from _run(nest, p, (*outer, value), depth)


def box(loops: int, parameters: int, reach: int) -> list[Row]:
    """`-reach ≤ z ≤ reach`, with different corners."""
    rows: list[Row] = []
    for j in range(loops):
        linear = [0] * (loops + parameters)
        linear[j] = 1
        rows += [(*linear, reach), (*(-x for x in linear), reach)]
    return rows


def random_system(random_: random.Random, most: int) -> tuple[list[Row], list[Row], int, int]:
    loops, parameters = random_.randint(1, most), random_.randint(0, 2)
    width, big = loops + parameters, random_.choice([1, 1, 2, 3])
    rows = box(loops, parameters, {1: 6, 2: 4, 3: 3, 4: 2}.get(loops, 1))
    for _ in range(random_.randint(0, 2 * loops + 1)):
        linear = [random_.choice([0, random_.randint(-big, big)]) for _ in range(width)]
        rows.append((*linear, random_.randint(-2, 6)))
    if random_.random() < 0.2:
        equation = rows[-1]
        rows.append(negate(equation))
    context: list[Row] = []
    if parameters and random_.random() < 0.7:
        context.append((*[0] * loops, 1, *[0] * (parameters - 1), random_.randint(-1, 1)))
    random_.shuffle(rows)
    return rows, context, loops, parameters


def brute_force(rows: list[Row], loops: int, p: Point) -> list[Point]:
    grid = np.array(list(product(range(-6, 7) if loops == 1 else range(-4, 5), repeat=loops)))
    table = np.array(rows)
    constants = table[:, loops:] @ np.array([*p, 1])
    keep = np.all(grid @ table[:, :loops].T + constants >= 0, axis=1)
    return [tuple(int(x) for x in point) for point in grid[keep]]


def parameter_points(context: list[Row], loops: int, parameters: int) -> list[Point]:
    points = product(range(-2, 6), repeat=parameters)
    return [p for p in points if all(dot(r, (*[0] * loops, *p, 1)) >= 0 for r in context)]


def irredundant_as_promised(nest: LoopNest, context: list[Row]) -> bool:
    known = [normalize(row) for row in context]
    known += nest.guards
    for lower, upper in zip(nest.lower, nest.upper, strict=True):
        level = [*lower, *upper]
        for row in level:
            if implied(row, [*known, *(other for other in level if other != row)]):
                return False
        known += level
    return True


@pytest.mark.parametrize("seed", range(50))
def test_the_nest_runs_through_exactly_the_points(seed: int) -> None:
    """1,000 random systems of up to four loops and two parameters."""
    random_ = random.Random(seed)
    for _ in range(20):
        rows, context, loops, parameters = random_system(random_, 4)
        nest = loop_nest(rows, loops, context)
        assert irredundant_as_promised(nest, context)
        assert all(not any(row[:loops]) for row in nest.guards)
        points = parameter_points(context, loops, parameters)
        for p in random_.sample(points, min(len(points), 6)):
            assert list(run(nest, p)) == brute_force(rows, loops, p)


def to_isl(rows: list[Row], loops: int, parameters: int) -> isl.BasicSet:
    z, p = [f"z{j}" for j in range(loops)], [f"p{j}" for j in range(parameters)]
    texts = [
        " + ".join(f"{x}*{name}" for x, name in zip(row, [*z, *p, "1"], strict=True)) + " >= 0"
        for row in rows
    ]
    return isl.BasicSet(f"[{', '.join(p)}] -> {{ [{', '.join(z)}] : {' and '.join(texts)} }}")


@pytest.mark.parametrize("seed", range(12))
def test_the_kept_rows_are_isl_s_set(seed: int) -> None:
    """Equality of parametric integer sets, up to five loops."""
    random_ = random.Random(1000 + seed)
    for _ in range(10):
        rows, context, loops, parameters = random_system(random_, 5)
        nest = loop_nest(rows, loops, context)
        original = to_isl([*rows, *context], loops, parameters)
        if nest.empty:
            assert original.is_empty()
            continue
        levels = [row for side in (*nest.lower, *nest.upper) for row in side]
        ours = to_isl([*nest.guards, *levels, *context], loops, parameters)
        assert ours.is_equal(original)


@pytest.mark.parametrize("seed", range(10))
def test_differences_have_no_empty_loops(seed: int) -> None:
    """Rows z_i - z_j + c: eliminations are exact, and the projection is the only condition."""
    random_ = random.Random(seed)
    loops = 4
    for _ in range(10):
        rows = box(loops, 1, 3)
        for _ in range(6):
            i, j = random_.sample(range(loops + 1), 2)
            linear = [0] * (loops + 1)
            linear[i], linear[j] = 1, -1
            rows.append((*linear, random_.randint(-1, 3)))
        domain = project(rows, range(loops))
        if domain is None:
            assert loop_nest(rows, loops).empty
            continue
        nest = loop_nest(rows, loops, domain)
        assert not nest.guards
        for p in parameter_points([], loops, 1):
            inside = all(dot(row, (*[0] * loops, *p, 1)) >= 0 for row in domain)
            whole = brute_force(rows, loops, p)
            assert bool(whole) == inside
            for depth in range(1, loops + 1) if inside else ():
                assert list(run(nest, p, depth)) == sorted({point[:depth] for point in whole})


def test_a_triangle() -> None:
    """0 ≤ j ≤ i < N: the loop over i is empty for N ≤ 0, which needs no guard."""
    rows = [(1, 0, 0, 0), (-1, 0, 1, -1), (0, 1, 0, 0), (1, -1, 0, 0), (0, 0, 1, -1)]
    nest = loop_nest(rows, 2)
    assert nest == LoopNest(
        guards=(),
        lower=(((1, 0, 0, 0),), ((0, 1, 0, 0),)),
        upper=(((-1, 0, 1, -1),), ((1, -1, 0, 0),)),
    )


def test_guards() -> None:
    # p ≥ 3 is about parameters alone and does not follow from 0 ≤ z < N.
    rows = [(1, 0, 0, 0), (-1, 1, 0, -1), (0, 0, 1, -3)]
    assert loop_nest(rows, 1).guards == ((0, 0, 1, -3),)
    assert loop_nest(rows, 1, [(0, 0, 1, -4)]).guards == ()
    # Without loops, everything is a guard.
    assert loop_nest([(1, -3), (1, -2)], 0) == LoopNest(((1, -3),), (), ())


def test_the_context_prunes() -> None:
    """A convolution: p - z in [0, N), z in [0, K). With N ≥ K and p < K only two rows stay."""
    rows = [(-1, 1, 0, 0, 0), (1, -1, 1, 0, -1), (1, 0, 0, 0, 0), (-1, 0, 0, 1, -1)]
    nest = loop_nest(rows, 1)
    assert [len(nest.lower[0]), len(nest.upper[0])] == [2, 2]
    context = [(0, 0, 1, -1, 0), (0, -1, 0, 1, -1)]
    nest = loop_nest(rows, 1, context)
    assert nest.lower == (((1, 0, 0, 0, 0),),) and nest.upper == (((-1, 1, 0, 0, 0),),)


def test_unbounded_loops() -> None:
    with pytest.raises(Unbounded, match="variable 0 has no upper bound") as caught:
        loop_nest([(1, 0, 0), (0, 1, 0), (1, -1, 0)], 2)
    assert (caught.value.variable, caught.value.direction) == (0, "upper")
    with pytest.raises(Unbounded) as caught:
        loop_nest([(1, 0, 0), (-1, 0, 5), (0, -1, 3)], 2)
    assert (caught.value.variable, caught.value.direction) == (1, "lower")


def test_empty_systems() -> None:
    # Also where a loop is unbounded.
    assert loop_nest([(1, 0), (-1, -1)], 1).empty
    assert loop_nest([(0, -1)], 1).empty
    # 2 z = 1: integer tightening.
    assert loop_nest([(2, -1), (-2, 1)], 1).empty
    assert loop_nest([(1, 0, 0), (-1, 1, 0)], 1, [(0, -1, -1)]).empty


def blow_up(seed: int) -> Iterator[tuple[list[Row], int]]:
    """Boxes over six indices, two dense index equations, four summation variables."""
    random_ = random.Random(seed)
    m = tuple(tuple(random_.randint(-2, 2) for _ in range(6)) for _ in range(2))
    solution = solve(m, ((1, 0, 0), (0, 1, 0)), 6, 2)
    if solution.quotients or len(solution.pivots) != 4:
        return
    rows: list[Row] = []
    for particular, basis in zip(solution.particular, solution.basis, strict=True):
        low = (*basis, *particular)
        high = negate(low)
        rows += [low, (*high[:-1], high[-1] + random_.randint(5, 20))]
    yield rows, 4


def test_dense_null_spaces_do_not_blow_up() -> None:
    seen = 0
    for seed in range(30):
        for rows, loops in blow_up(seed):
            seen += 1
            start = time.perf_counter()
            nest = loop_nest(rows, loops)
            assert time.perf_counter() - start < 1
            assert irredundant_as_promised(nest, [])
            assert all(
                len(low) + len(high) <= 20 for low, high in zip(nest.lower, nest.upper, strict=True)
            )
    assert seen > 10


@pytest.mark.parametrize(
    "read",
    [
        "i + j, k + l",
        "i + j + k, l + m + n",
        "i + m, j + n",
        "i + j, j + k",
        "i - j + 2*k, l + m",
        "2*i + j, 3*k + l",
        "i + 2*j + m, k + n",
        "i + j + k + l, m - n",
        "i + 2*j + 4*k, l + 2*m + 4*n",
        "2*i + 3*j, 2*k + 3*l",
        "i + j + k + l + m + n, i - j + k - l + m - n",
    ],
)
def test_two_equations_of_six_indices_end_in_few_inequalities(read: str) -> None:
    """The gradient of `f[i, j, k, l, m, n] = x[read]` sums over a lattice of four dimensions."""
    names, sizes = "ijklmn", (5, 4, 3, 6, 2, 7)
    ranges = ", ".join(f"{v} in range({n})" for v, n in zip(names, sizes, strict=True))
    module = tadc.compile(f"f[{ranges}] = pad(x[{read}])\n").at("bounded")
    (loops,) = (op for op in module.walk() if isinstance(op, tix.SumOp))
    assert len(loops.indices) == 4 and len(loops.constraints) <= 20


def test_elimination_has_a_budget() -> None:
    """Between two paraboloids, each given by 36 tangent planes: none of them is redundant."""
    tangents = [(-2 * a, -2 * b, a * a + b * b) for a in range(-3, 3) for b in range(-3, 3)]
    rows = [(x, y, 1, c) for x, y, c in tangents] + [(x, y, -1, c + 100) for x, y, c in tangents]
    with pytest.raises(BudgetError):
        loop_nest(rows, 3, budget=36 * 36 - 1)


@pytest.mark.parametrize("seed", range(20))
def test_projected_bounds_are_tight(seed: int) -> None:
    random_ = random.Random(seed)
    for _ in range(10):
        rows, context, loops, parameters = random_system(random_, 3)
        v = random_.randrange(loops)
        lower, upper = project_bounds(rows, v, range(loops), context)
        for row in (*lower, *upper):
            assert row[v] and not any(row[:v]) and not any(row[v + 1 : loops])
        for p in parameter_points(context, loops, parameters):
            found = [point[v] for point in brute_force(rows, loops, p)]
            values = (*[0] * loops, *p)
            for x in found:
                assert max(lower_bound(row, v, values) for row in lower) <= x
                assert min(upper_bound(row, v, values) for row in upper) >= x


def test_projected_bounds() -> None:
    # i + 2 k for 0 ≤ i < N, 0 ≤ k < 3, as v in column 2 with N in column 3.
    rows = [(1, 0, 0, 0, 0), (-1, 0, 0, 1, -1), (0, 1, 0, 0, 0), (0, -1, 0, 0, 2)]
    rows += [(1, 2, -1, 0, 0), (-1, -2, 1, 0, 0)]
    lower, upper = project_bounds(rows, 2, (0, 1))
    assert lower == ((0, 0, 1, 0, 0),) and upper == ((0, 0, -1, 1, 3),)
    # One-sided, and none.
    assert project_bounds([(1, 0, 0), (0, 1, 0)], 0, (1,)) == (((1, 0, 0),), ())
    assert project_bounds([], 0, ()) == ((), ())
    assert project_bounds([(1, 0), (-1, -1)], 0, ()) == (((1, -1),), ((-1, 0),))


@pytest.mark.parametrize("seed", range(25))
def test_integer_points_are_isl_s(seed: int) -> None:
    random_ = random.Random(seed)
    for _ in range(16):
        variables = random_.randint(1, 5)
        rows = box(variables, 0, random_.choice([2, 10, 1000]))
        big = random_.choice([1, 3, 9])
        for _ in range(random_.randint(0, 4)):
            row = (*(random_.randint(-big, big) for _ in range(variables)), random_.randint(-5, 5))
            rows.append(row)
            if random_.random() < 0.4:
                rows.append(negate(row))
        point = integer_point(rows, variables)
        assert (point is None) == to_isl(rows, variables, 0).is_empty()
        if point is not None:
            assert all(dot(row, (*point, 1)) >= 0 for row in rows)


N = 10**6


@pytest.mark.parametrize(
    ("rows", "variables", "expected"),
    [
        # 0 ≤ i, j ≤ N and 2 i + 3 j ≥ N + 5.
        ([(1, 0, 0), (-1, 0, N), (0, 1, 0), (0, -1, N), (2, 3, -N - 5)], 2, (0, 333335)),
        # 2 i - 2 j = 1.
        ([(1, 0, 0), (-1, 0, N), (0, 1, 0), (2, -2, -1), (-2, 2, 1)], 2, None),
        # x + y = 2 a and x - y = 2 b + 1: no parity fits, and no loop shows it.
        (
            [
                *[(1, 0, 0, 0, 0), (-1, 0, 0, 0, N), (0, 1, 0, 0, 0), (0, -1, 0, 0, N)],
                *[(1, 1, -2, 0, 0), (-1, -1, 2, 0, 0), (1, -1, 0, -2, -1), (-1, 1, 0, 2, 1)],
            ],
            4,
            None,
        ),
        # x mod 4 in {0, 1} and in {2, 3}: the order x, a, b would scan all x.
        (
            [
                *[(1, 0, 0, 0), (-1, 0, 0, N)],
                *[(1, -4, 0, 0), (-1, 4, 0, 1), (1, 0, -4, -2), (-1, 0, 4, 3)],
            ],
            3,
            None,
        ),
        ([], 0, ()),
        ([(-1,)], 0, None),
    ],
)
def test_large_extents(rows: list[Row], variables: int, expected: Row | None) -> None:
    start = time.perf_counter()
    assert integer_point(rows, variables) == expected
    assert time.perf_counter() - start < 0.2


def test_points_are_least() -> None:
    rows = [(1, 0, 0), (-1, 0, 5), (0, 1, 0), (0, -1, 5), (1, 1, -3)]
    assert integer_point(rows, 2) == (0, 3)


def test_unbounded_points() -> None:
    with pytest.raises(Unbounded):
        integer_point([(1, 0)], 1)


def test_typical_times() -> None:
    """A strided convolution, solved and bounded, stays far below five milliseconds."""
    m, h = ((2, 1, 0, 0), (0, 0, 2, 1)), ((1, 0, 0, 0, 1), (0, 1, 0, 0, 1))
    best = min(_seconds(m, h) for _ in range(5))
    assert best < 0.02


def _seconds(m: Matrix, h: Matrix) -> float:
    """x[2 i + k - 1, 2 j + l - 1] with 0 ≤ i < N, 0 ≤ j < M and 0 ≤ k, l < 3."""
    start = time.perf_counter()
    solution = solve(m, h, 4, 4, (1, 3, 0, 2))
    extents = ((0, 0, 0, 0, 1, 0, 0), (0,) * 6 + (3,), (0, 0, 0, 0, 0, 1, 0), (0,) * 6 + (3,))
    rows: list[Row] = []
    for particular, basis, extent in zip(solution.particular, solution.basis, extents, strict=True):
        low = (*basis, *particular)
        high = tuple(y - x for x, y in zip(low, extent, strict=True))
        rows += [low, (*high[:-1], high[-1] - 1)]
    loop_nest(rows, 2, [(0, 0, 0, 0, 1, 0, -1), (0, 0, 0, 0, 0, 1, -1)])
    return time.perf_counter() - start
