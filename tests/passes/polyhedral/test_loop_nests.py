"""Loop nests against brute force and isl, their irredundance, size and speed."""

import random
import time
from collections.abc import Iterator

import pytest

import tadc
from tadc.dialects import tix
from tadc.passes.polyhedral.diophantine import solve
from tadc.passes.polyhedral.fourier_motzkin import BudgetError, project
from tadc.passes.polyhedral.loop_nests import LoopNest, Unbounded, loop_nest
from tadc.passes.polyhedral.matrix import Matrix, Row, dot, negate
from tests.passes.polyhedral.boxed_systems import (
    box,
    brute_force,
    irredundant_as_promised,
    parameter_points,
    random_system,
    run,
    to_isl,
)
from tests.support.campaign import seeds


@pytest.mark.parametrize("seed", seeds(18, of=50))
def test_the_nest_runs_through_exactly_the_points(seed: int) -> None:
    """Random systems of up to four loops and two parameters."""
    random_ = random.Random(seed)
    for _ in range(20):
        rows, context, loops, parameters = random_system(random_, 4)
        nest = loop_nest(rows, loops, context)
        assert irredundant_as_promised(nest, context)
        assert all(not any(row[:loops]) for row in nest.guards)
        points = parameter_points(context, loops, parameters)
        for p in random_.sample(points, min(len(points), 6)):
            assert list(run(nest, p)) == brute_force(rows, loops, p)


@pytest.mark.parametrize("seed", range(12))
def test_the_kept_rows_are_the_same_set_for_isl(seed: int) -> None:
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


@pytest.mark.parametrize("seed", seeds(5, of=10))
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


def test_a_triangle_needs_no_guard() -> None:
    """0 ≤ j ≤ i < N: the loop over i is empty for N ≤ 0, which needs no guard."""
    rows = [(1, 0, 0, 0), (-1, 0, 1, -1), (0, 1, 0, 0), (1, -1, 0, 0), (0, 0, 1, -1)]
    nest = loop_nest(rows, 2)
    assert nest == LoopNest(
        guards=(),
        lower=(((1, 0, 0, 0),), ((0, 1, 0, 0),)),
        upper=(((-1, 0, 1, -1),), ((1, -1, 0, 0),)),
    )


def test_guards_are_rows_on_parameters_that_nothing_implies() -> None:
    # p ≥ 3 is about parameters alone and does not follow from 0 ≤ z < N.
    rows = [(1, 0, 0, 0), (-1, 1, 0, -1), (0, 0, 1, -3)]
    assert loop_nest(rows, 1).guards == ((0, 0, 1, -3),)
    assert loop_nest(rows, 1, [(0, 0, 1, -4)]).guards == ()
    # Without loops, everything is a guard.
    assert loop_nest([(1, -3), (1, -2)], 0) == LoopNest(((1, -3),), (), ())


def test_the_context_prunes_bounds() -> None:
    """A convolution: p - z in [0, N), z in [0, K). With N ≥ K and p < K only two rows stay."""
    rows = [(-1, 1, 0, 0, 0), (1, -1, 1, 0, -1), (1, 0, 0, 0, 0), (-1, 0, 0, 1, -1)]
    nest = loop_nest(rows, 1)
    assert [len(nest.lower[0]), len(nest.upper[0])] == [2, 2]
    context = [(0, 0, 1, -1, 0), (0, -1, 0, 1, -1)]
    nest = loop_nest(rows, 1, context)
    assert nest.lower == (((1, 0, 0, 0, 0),),) and nest.upper == (((-1, 1, 0, 0, 0),),)


def test_the_innermost_unbounded_loop_is_named() -> None:
    with pytest.raises(Unbounded, match="variable 0 has no upper bound") as caught:
        loop_nest([(1, 0, 0), (0, 1, 0), (1, -1, 0)], 2)
    assert (caught.value.variable, caught.value.direction) == (0, "upper")
    with pytest.raises(Unbounded) as caught:
        loop_nest([(1, 0, 0), (-1, 0, 5), (0, -1, 3)], 2)
    assert (caught.value.variable, caught.value.direction) == (1, "lower")


def test_empty_systems_are_recognized() -> None:
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
            start = time.process_time()
            nest = loop_nest(rows, loops)
            assert time.process_time() - start < 1
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
    module = tadc.compile(f"f[{ranges}] = pad(x[{read}])\n").module_at("bounded")
    (loops,) = (op for op in module.walk() if isinstance(op, tix.SumOp))
    assert len(loops.indices) == 4 and len(loops.constraints) <= 20


def test_elimination_has_a_budget() -> None:
    """Between two paraboloids, each given by 36 tangent planes: none of them is redundant."""
    tangents = [(-2 * a, -2 * b, a * a + b * b) for a in range(-3, 3) for b in range(-3, 3)]
    rows = [(x, y, 1, c) for x, y, c in tangents] + [(x, y, -1, c + 100) for x, y, c in tangents]
    with pytest.raises(BudgetError):
        loop_nest(rows, 3, budget=36 * 36 - 1)


def test_a_strided_convolution_is_solved_and_bounded_in_milliseconds() -> None:
    """A strided convolution, solved and bounded, stays far below five milliseconds."""
    m, h = ((2, 1, 0, 0), (0, 0, 2, 1)), ((1, 0, 0, 0, 1), (0, 1, 0, 0, 1))
    best = min(_seconds(m, h) for _ in range(5))
    assert best < 0.02


def _seconds(m: Matrix, h: Matrix) -> float:
    """x[2 i + k - 1, 2 j + l - 1] with 0 ≤ i < N, 0 ≤ j < M and 0 ≤ k, l < 3."""
    start = time.process_time()
    solution = solve(m, h, 4, 4, (1, 3, 0, 2))
    extents = ((0, 0, 0, 0, 1, 0, 0), (0,) * 6 + (3,), (0, 0, 0, 0, 0, 1, 0), (0,) * 6 + (3,))
    rows: list[Row] = []
    for particular, basis, extent in zip(solution.particular, solution.basis, extents, strict=True):
        low = (*basis, *particular)
        high = tuple(y - x for x, y in zip(low, extent, strict=True))
        rows += [low, (*high[:-1], high[-1] - 1)]
    loop_nest(rows, 2, [(0, 0, 0, 0, 1, 0, -1), (0, 0, 0, 0, 0, 1, -1)])
    return time.process_time() - start
