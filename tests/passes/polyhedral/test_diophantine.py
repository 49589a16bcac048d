"""The solver against brute force: every solution once, no other, and guards that are exact."""

import random
from itertools import product

import islpy as isl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tadc.passes.polyhedral.diophantine import Quotient, Solution, solve
from tadc.passes.polyhedral.matrix import Matrix, apply, dot, hstack, multiply, negate, transpose

exact = settings(derandomize=True, deadline=None, max_examples=250)


def expand(solution: Solution, p: tuple[int, ...]) -> tuple[int, ...] | None:
    """ξ at z = 0, or None if a guard fails."""
    point = (*p, 1)
    numerators = [dot(q.row, point) for q in solution.quotients]
    moduli = [q.modulus for q in solution.quotients]
    if solution.empty or any(apply(solution.zero, point)):
        return None
    if any(x % m for x, m in zip(numerators, moduli, strict=True)):
        return None
    t = [x // m for x, m in zip(numerators, moduli, strict=True)]
    parts = zip(solution.particular, solution.quotient_coefficients, strict=True)
    return tuple(dot(a, point) + dot(c, t) for a, c in parts)


def coordinates(solution: Solution, start: tuple[int, ...], xi: tuple[int, ...]) -> bool:
    """True if `xi - start` is an integer combination of the basis: by forward substitution."""
    rest = [x - y for x, y in zip(xi, start, strict=True)]
    for c, pivot in enumerate(solution.pivots):
        z, remainder = divmod(rest[pivot], solution.basis[pivot][c])
        if remainder:
            return False
        rest = [x - z * row[c] for x, row in zip(rest, solution.basis, strict=True)]
    return not any(rest)


def check(
    m: Matrix, h: Matrix, unknowns: int, parameters: int, preference: tuple[int, ...]
) -> None:
    solution = solve(m, h, unknowns, parameters, preference)
    check_form(solution, m, unknowns, parameters)
    assert solution.empty == solvable_nowhere(m, h, unknowns, parameters)
    reach = {0: 1, 1: 7, 2: 4, 3: 2}[parameters]
    box = {0: 1, 1: 9, 2: 5, 3: 3, 4: 2}[unknowns]
    images: dict[tuple[int, ...], list[tuple[int, ...]]] = {}
    for xi in product(range(-box, box + 1), repeat=unknowns):
        images.setdefault(apply(m, xi), []).append(xi)
    for p in product(range(-reach, reach + 1), repeat=parameters):
        start = expand(solution, p)
        target = apply(h, (*p, 1))
        found = images.get(target, [])
        assert start is not None or not found, "a guard rejects a solution"
        if start is not None:
            # No false acceptance, and nothing fractional: start is an integer solution.
            assert apply(m, start) == target
            assert all(coordinates(solution, start, xi) for xi in found)


def solvable_nowhere(m: Matrix, h: Matrix, unknowns: int, parameters: int) -> bool:
    """True if isl finds that no integers ξ and p satisfy the equations."""
    names = [*(f"x{j}" for j in range(unknowns)), *(f"p{j}" for j in range(parameters)), "1"]
    rows = [(*a, *(-x for x in b)) for a, b in zip(m, h, strict=True)]
    texts = [" + ".join(f"{x}*{n}" for x, n in zip(r, names, strict=True)) for r in rows]
    conditions = " and ".join(f"{text} = 0" for text in texts) or "true"
    return isl.BasicSet(f"{{ [{', '.join(names[:-1])}] : {conditions} }}").is_empty()


def check_form(solution: Solution, m: Matrix, unknowns: int, parameters: int) -> None:
    width = len(solution.pivots)
    if solution.empty:
        return
    assert not any(any(row) for row in multiply(m, solution.basis, width))
    assert all(q.modulus > 1 and len(q.row) == parameters + 1 for q in solution.quotients)
    assert all(any(x % q.modulus for x in q.row[:-1]) for q in solution.quotients)
    columns = transpose(solution.basis, width)
    parts = transpose(hstack(solution.particular, solution.quotient_coefficients))
    for column, pivot in zip(columns, solution.pivots, strict=True):
        if column[pivot] == 1:
            assert sum(map(abs, solution.basis[pivot])) == 1
            assert not any(part[pivot] for part in parts)
    if width == 1 and columns[0][solution.pivots[0]] != 1:
        # Nothing nearer to zero is another solution.
        (k,) = columns
        assert all(2 * abs(dot(part, k)) <= dot(k, k) for part in parts)
    shapes = (solution.particular, solution.quotient_coefficients, solution.basis)
    assert all(len(part) == unknowns for part in shapes)


@st.composite
def systems(draw: st.DrawFn) -> tuple[Matrix, Matrix, int, int, tuple[int, ...]]:
    equations, unknowns = draw(st.integers(0, 4)), draw(st.integers(0, 4))
    parameters = draw(st.integers(0, 3))
    entry = st.sampled_from([0, 0, 0, 1, 1, -1, 2, -2, 3, 4, 6])
    m = [tuple(draw(entry) for _ in range(unknowns)) for _ in range(equations)]
    h = [tuple(draw(entry) for _ in range(parameters + 1)) for _ in range(equations)]
    if equations > 2 and draw(st.booleans()):
        # Rank deficiency: the last equation is a combination of the first two, or almost.
        m[-1] = tuple(x - 2 * y for x, y in zip(m[0], m[1], strict=True))
    preference = tuple(draw(st.permutations(range(unknowns))))
    return tuple(m), tuple(h), unknowns, parameters, preference


@exact
@given(systems())
def test_every_solution_exactly_once(
    case: tuple[Matrix, Matrix, int, int, tuple[int, ...]],
) -> None:
    check(*case)


@pytest.mark.parametrize("seed", range(100))
def test_index_maps_are_solved_exactly(seed: int) -> None:
    """Reads x[A α + a] with β = p: the case of the compiler, p in general position."""
    random_ = random.Random(seed)
    unknowns, parameters = random_.randint(1, 4), random_.randint(1, 3)
    m = tuple(tuple(random_.randint(-3, 3) for _ in range(unknowns)) for _ in range(parameters))
    h = tuple(
        (*(int(i == j) for j in range(parameters)), random_.randint(-3, 3))
        for i in range(parameters)
    )
    check(m, h, unknowns, parameters, tuple(random_.sample(range(unknowns), unknowns)))


@exact
@given(systems(), st.randoms(use_true_random=False))
def test_the_answer_does_not_depend_on_the_order_of_equations(
    case: tuple[Matrix, Matrix, int, int, tuple[int, ...]], random_: random.Random
) -> None:
    m, h, unknowns, parameters, preference = case
    order = random_.sample(range(len(m)), len(m))
    mixed = solve(
        tuple(m[i] for i in order),
        tuple(h[i] for i in order),
        unknowns,
        parameters,
        preference,
    )
    solution = solve(m, h, unknowns, parameters, preference)
    assert (mixed.empty, mixed.zero) == (solution.empty, solution.zero)
    assert mixed.pivots == solution.pivots
    columns = [transpose(s.basis, len(s.pivots)) for s in (mixed, solution)]
    for a, b in zip(*columns, strict=True):
        # The order may decide in which direction solutions are numbered, if they are.
        assert a == b or (a == negate(b) and all(a[p] != 1 for p in solution.pivots))


def test_a_shifted_read_sums_over_the_preferred_index() -> None:
    """d[i + k], k preferred: i = p - z, k = z."""
    solution = solve(((1, 1),), ((1, 0),), 2, 1, (1, 0))
    assert solution == Solution((), (), ((1, 0), (0, 0)), ((), ()), ((-1,), (1,)), (1,))


def test_solutions_without_a_unit_pivot_are_numbered_upwards() -> None:
    """x[2*i + 3*j]: i = 3 z - p, j = p - 2 z, with z from p / 3 to p / 2."""
    solution = solve(((2, 3),), ((1, 0),), 2, 1, (1, 0))
    assert solution == Solution((), (), ((-1, 0), (1, 0)), ((), ()), ((3,), (-2,)), (1,))
    # x[2*i - 3*j]: i = 3 z - p, j = 2 z - p, nearer to zero than i = 2 p + 3 z, j = p + 2 z.
    solution = solve(((2, -3),), ((1, 0),), 2, 1, (1, 0))
    assert (solution.particular, solution.basis) == (((-1, 0), (-1, 0)), ((3,), (2,)))
    # x[6*i + 10*j + 15*k]: j = p - 3 z, k = p - 2 y, both numbers grow with p.
    solution = solve(((6, 10, 15),), ((1, 0),), 3, 1, (2, 1, 0))
    assert solution.particular == ((-4, 0), (1, 0), (1, 0))
    assert sorted(transpose(solution.basis)) == [(5, -3, 0), (5, 0, -2)]
    # x[4*i + 6*j] is the same for the quotient p / 2.
    solution = solve(((4, 6),), ((1, 0),), 2, 1, (1, 0))
    assert solution.quotients == (Quotient((1, 0), 2),)
    assert (solution.quotient_coefficients, solution.basis) == (((-1,), (1,)), ((3,), (-2,)))


def test_a_strided_read_has_a_divisibility_guard() -> None:
    """x[2*i + 1]: the guard that equation (46) of the paper forgets."""
    solution = solve(((2,),), ((1, -1),), 1, 1)
    assert solution.quotients == (Quotient((1, -1), 2),)
    assert solution.particular == ((0, 0),) and solution.quotient_coefficients == ((1,),)


def test_coupled_reads_name_their_quotient_after_an_unknown() -> None:
    """x[i + j, i - j]: t = (p + q) / 2, i = t, j = p - t."""
    solution = solve(((1, 1), (1, -1)), ((1, 0, 0), (0, 1, 0)), 2, 2)
    assert solution.quotients == (Quotient((1, 1, 0), 2),)
    assert solution.particular == ((0, 0, 0), (1, 0, 0))
    assert solution.quotient_coefficients == ((1,), (-1,))


def test_a_diagonal_read_has_a_zero_guard() -> None:
    solution = solve(((1,), (1,)), ((1, 0, 0), (0, 1, 0)), 1, 2)
    assert solution.zero == ((1, -1, 0),) and not solution.quotients
    assert solution.particular == ((1, 0, 0),)


def test_independent_strides_have_independent_quotients() -> None:
    """x[2*i, 3*j] is i = p / 2, j = q / 3 and not a quotient by 6."""
    solution = solve(((2, 0), (0, 3)), ((1, 0, 0), (0, 1, 0)), 2, 2)
    assert solution.quotients == (Quotient((1, 0, 0), 2), Quotient((0, 1, 0), 3))
    assert solution.quotient_coefficients == ((1, 0), (0, 1))


def test_equal_quotients_are_one() -> None:
    solution = solve(((2, 0), (0, 2), (0, 0)), ((1, 0, 0), (0, 1, 0), (1, -1, 4)), 2, 2)
    assert len(solution.quotients) == 1 and len(solution.zero) == 1
    # p / 4 gives p / 2.
    solution = solve(((2, 0), (0, 4)), ((1, 0), (1, 0)), 2, 1)
    assert solution.quotients == (Quotient((1, 0), 4),)
    assert solution.quotient_coefficients == ((2,), (1,))


def test_multiples_of_a_quotient_are_no_quotients() -> None:
    # p + 3 q = 5 (p + q) - 2 (2 p + q): j = p + q - 2 i.
    m, h = ((5, 0), (0, 5)), ((2, 1, 0), (1, 3, 0))
    solution = solve(m, h, 2, 2)
    assert solution.quotients == (Quotient((2, 1, 0), 5),)
    assert solution.particular == ((0, 0, 0), (1, 1, 0))
    assert solution.quotient_coefficients == ((1,), (-2,))
    check(m, h, 2, 2, ())


def test_an_equality_can_decide_a_divisibility() -> None:
    # 2 p = 3 q makes q even: i = q / 2 = 2 q - p … without a guard.
    solution = solve(((0,), (2,)), ((2, -3, 0), (0, 1, 0)), 1, 2)
    assert solution.zero == ((2, -3, 0),) and not solution.quotients
    assert expand(solution, (3, 2)) == (1,)


@pytest.mark.parametrize(
    ("m", "h", "unknowns", "parameters"),
    [
        (((0,),), ((2, 1),), 1, 1),  # 0 = 2 p + 1
        (((2,),), ((4, 1),), 1, 1),  # 2 i = 4 p + 1
        (((2,), (2,)), ((1, 0), (1, 1)), 1, 1),  # 2 i = p = p + 1
        (((2, 0), (0, 2)), ((1, 0), (1, 1)), 2, 1),  # p even and odd
        (((4, 0), (0, 2)), ((1, 0), (1, 1)), 2, 1),  # 4 | p and p odd
        # p + q, q + r and p + r + 1 are even; 2 p = 3 q and 4 | q + 1
        (((2, 0, 0), (0, 2, 0), (0, 0, 2)), ((1, 1, 0, 0), (0, 1, 1, 0), (1, 0, 1, 1)), 3, 3),
        (((0,), (4,)), ((2, -3, 0), (0, 1, 1)), 1, 2),
        (((0,), (0,)), ((1, 1, 0), (1, -1, 1)), 1, 2),  # p + q = 0, p - q = -1
    ],
)
def test_contradictions_have_no_solution(
    m: Matrix, h: Matrix, unknowns: int, parameters: int
) -> None:
    assert solve(m, h, unknowns, parameters).empty


def test_systems_without_equations_or_without_unknowns_are_solved() -> None:
    free = solve((), (), 3, 1, (2,))
    assert free.pivots == (2, 0, 1) and free.particular == ((0, 0),) * 3
    assert solve((), (), 0, 0) == Solution((), (), (), (), (), ())
    assert solve(((),), ((3, 6),), 0, 1).zero == ((1, 2),)


def test_misshapen_systems_are_refused() -> None:
    with pytest.raises(ValueError, match="right-hand sides"):
        solve(((1,),), (), 1, 0)
    with pytest.raises(ValueError, match="2 coefficients"):
        solve(((1,),), ((0,),), 2, 0)
    with pytest.raises(ValueError, match=r"1 \+ 1 coefficients"):
        solve(((1,),), ((0,),), 1, 1)
