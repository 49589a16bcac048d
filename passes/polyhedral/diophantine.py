"""All integer solutions of linear equations with parameters, and the guards: when there are any.

To solve `M ξ = h (p, 1)` for integers ξ, take the Smith form `U M V = S` and substitute
`ξ = V y`: then `s_i y_i = (U h)_i (p, 1)`. Hence (arXiv:1711.01348, section 4)

- `(U h)_i (p, 1) = 0` for every i past the rank: the cokernel, a Kronecker delta;
- `s_i | (U h)_i (p, 1)` where `s_i > 1`. The paper's equation (46) drops this condition and then
  reads x[2*i] at half-integers. It is also all that integrality asks for, V being unimodular;
- `t_i = (U h)_i (p, 1) / s_i` exactly, and `ξ = V[:, :rank] t + V[:, rank:] z` with z free.

Schrijver, *Theory of Linear and Integer Programming* (1986), chapter 4, has the theory
without parameters. Of the many ways to write down the solutions, `canonical` chooses one.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import gcd

from tadc.passes.polyhedral.canonical import canonicalize
from tadc.passes.polyhedral.division import nearest
from tadc.passes.polyhedral.lattice import normal_basis
from tadc.passes.polyhedral.matrix import (
    Matrix,
    Row,
    add_multiple,
    dot,
    hstack,
    identity,
    multiply,
    negate,
    transpose,
    unit,
    zeros,
)
from tadc.passes.polyhedral.particular import Particular, QuotientTerm, ZeroGuards
from tadc.passes.polyhedral.smith import Smith, smith_normal_form


@dataclass(frozen=True, slots=True)
class Quotient:
    """The guard `modulus | row·(p, 1)`, and then the exact quotient; modulus > 1."""

    row: Row
    modulus: int


@dataclass(frozen=True, slots=True)
class Solution:
    """Every integer solution ξ, once, as `particular (p, 1) + quotient_coefficients t + basis z`.

    There are solutions at p if and only if all guards hold: `zero (p, 1) = 0` and
    `modulus | row·(p, 1)` for each quotient. Then t are the quotients and z ranges over Z^k.

    With n unknowns, P parameters and q quotients: `zero` has P + 1 columns and independent rows,
    whose coefficients of p have no common divisor; `particular` is n x (P + 1),
    `quotient_coefficients` n x q, `basis` n x k. `pivots[c]` is the pivot row of column c. If its
    entry is one, ξ_pivot is z_c: all else is zero there. Other columns are those of
    `normal_basis` up to sign: z_c only numbers solutions, and does so upwards with the
    parameters, from multiples of the column that bring particular and quotient coefficients near
    zero. So `2 i + 3 j = p` has the solutions `i = 3 z - p, j = p - 2 z`.

    `empty`: no integer p whatever allows a solution; all else is then without meaning.
    """

    zero: Matrix
    quotients: tuple[Quotient, ...]
    particular: Matrix
    quotient_coefficients: Matrix
    basis: Matrix
    pivots: tuple[int, ...]
    empty: bool = False


def solve(
    m: Matrix, h: Matrix, unknowns: int, parameters: int, preference: Sequence[int] = ()
) -> Solution:
    """The integer solutions of `m ξ = h (p, 1)`: m is e x `unknowns`, h e x (`parameters` + 1).

    Unknowns are preferred as summation variables in the order of `preference`; those missing in
    it come last. Equations that share no unknown are solved apart, so that `2 i = p, 3 j = q`
    gives p / 2 and q / 3 and not a quotient by 6. Raises ValueError for misshapen matrices.
    One Smith form per component, of the component's size, and one of the guards if there are
    several.
    """
    _check_shapes(m, h, unknowns, parameters)
    guards: list[Row] = []
    state = Particular(zeros(unknowns, parameters + 1), ())
    basis: list[Row] = []
    for rows, columns in _components(m, unknowns):
        form = smith_normal_form(tuple(tuple(m[i][j] for j in columns) for i in rows), len(columns))
        # S y = U h (p, 1) with ξ = V y: rows past the rank are guards, the other y are given,
        # and those past the rank are free.
        right = multiply(form.u, tuple(h[i] for i in rows), parameters + 1)
        guards += right[form.rank :]
        directions = [_scatter(v, columns, unknowns) for v in transpose(form.v, len(columns))]
        basis += directions[form.rank :]
        state = _add_component(state, form, right, directions)
    try:
        zero = _zero_guards(guards, parameters)
        state = _merge(_simplify(state, zero))
        _check_guards(zero, state.terms, parameters)
    except _NoSolutionError:
        return _no_solution(unknowns, parameters)
    order = tuple(dict.fromkeys([*preference, *range(unknowns)]))
    return _solution(zero, *canonicalize(state, zero, basis, order))


class _NoSolutionError(Exception):
    """Guards that hold for no integer parameters."""


def _add_component(
    state: Particular, form: Smith, right: Matrix, directions: list[Row]
) -> Particular:
    """Append `y_i V_i`, where y_i is the row itself for s_i = 1 and a quotient otherwise."""
    for s, row, direction in zip(form.diagonal, right, directions, strict=False):
        if s == 1:
            state = state.plus(direction, row)
        else:
            state = replace(state, terms=(*state.terms, QuotientTerm(row, s, direction)))
    return state


def _components(m: Matrix, unknowns: int) -> list[tuple[list[int], list[int]]]:
    """The equations and unknowns of each connected component of m, by its least unknown.

    Unknowns in no equation form components without rows, equations without unknowns one
    without columns.
    """
    label = list(range(unknowns))
    for row in m:
        touched = {label[j] for j, x in enumerate(row) if x}
        label = [min(touched) if x in touched else x for x in label]
    owner = [next((label[j] for j, x in enumerate(row) if x), -1) for row in m]
    names = sorted(set(label)) + ([-1] if -1 in owner else [])
    return [
        (
            [i for i, x in enumerate(owner) if x == name],
            [j for j, x in enumerate(label) if x == name],
        )
        for name in names
    ]


def _zero_guards(rows: list[Row], parameters: int) -> ZeroGuards:
    """The guards `rows·(p, 1) = 0`, saturated and in Hermite form; later parameters go first.

    With `G p = -g` and `U G V = S`, row i of `U G = S V⁻¹` is s_i times an integer row, and so
    must its constant be. The quotients span every integer form that vanishes with G.

    Of `2 p + 2 q = 0` and `2 q + 4 = 0`, this gives `p - 2 = 0` and `q + 2 = 0`.
    """
    rows = [row for row in rows if any(row)]
    if not rows:
        return ZeroGuards((), ())
    form = smith_normal_form(tuple(row[:-1] for row in rows), parameters)
    turned = multiply(form.u, tuple(rows), parameters + 1)
    # Past the rank, U G is zero: what is left is "constant = 0".
    if any(row[-1] for row in turned[form.rank :]):
        raise _NoSolutionError
    saturated = tuple(
        _exact(row, s) for row, s in zip(turned[: form.rank], form.diagonal, strict=True)
    )
    # The normal form of columns, turned: each pivot parameter is zero in the rows after its own.
    columns, pivots = normal_basis(
        transpose(saturated, parameters + 1), tuple(reversed(range(parameters)))
    )
    return ZeroGuards(transpose(columns, len(pivots)), pivots)


def _exact(row: Row, divisor: int) -> Row:
    """`row / divisor`. Raises _NoSolutionError where that is not an integer row."""
    if any(x % divisor for x in row):
        raise _NoSolutionError
    return tuple(x // divisor for x in row)


def _simplify(state: Particular, zero: ZeroGuards) -> Particular:
    """Cancel common divisors of row and modulus; integers leave the terms for the offset.

    `(2 p + 4) / 6` becomes `(p + 2) / 3`, and `4 p / 2` becomes 2 p.
    """
    terms: list[QuotientTerm] = []
    for term in state.terms:
        row = _divisible(zero.reduce(term.row), term.modulus, zero)
        g = gcd(*row[:-1], term.modulus)
        row, modulus = _exact(row, g), term.modulus // g
        if modulus == 1:
            state = state.plus(term.coefficients, row)
        else:
            terms.append(QuotientTerm(row, modulus, term.coefficients))
    return replace(state, terms=tuple(terms))


def _divisible(row: Row, modulus: int, zero: ZeroGuards) -> Row:
    """A row of equal value that the modulus divides, if the zero guards provide one.

    Integers λ and μ are wanted with `row + λ G = modulus μ`: equations without parameters. Where
    all pivots of G are one, the reduced row is the only candidate.
    """
    if all(g[pivot] == 1 for g, pivot in zip(zero.rows, zero.pivots, strict=True)):
        return row
    width = len(row)
    scaled = tuple(tuple(-modulus * x for x in e) for e in identity(width))
    found = solve(
        hstack(transpose(zero.rows), scaled),
        tuple((-x,) for x in row),
        len(zero.rows) + width,
        0,
    )
    if found.empty:
        return row
    factors = [found.particular[i][0] for i in range(len(zero.rows))]
    columns = transpose(zero.rows)
    return tuple(x + dot(factors, column) for x, column in zip(row, columns, strict=True))


def _merge(state: Particular) -> Particular:
    """Express each quotient that is an integer multiple of another by that other.

    With m' | m and `row' = v row + m' e` for an integer v and an integer row e, the quotient is
    `t' = v (m / m') t + e·(p, 1)`. So p / 2 is 2 t where t = p / 4.
    """
    kept: list[QuotientTerm] = []
    for term in sorted(state.terms, key=lambda term: -term.modulus):
        for i, other in enumerate(kept):
            v = _multiple(term, other)
            if v is None:
                continue
            rest = _exact(add_multiple(term.row, -v, other.row), term.modulus)
            kept[i] = other.plus(term.coefficients, v * (other.modulus // term.modulus))
            state = state.plus(term.coefficients, rest)
            break
        else:
            kept.append(term)
    return replace(state, terms=tuple(kept))


def _multiple(term: QuotientTerm, other: QuotientTerm) -> int | None:
    """v with `term.row ≡ v other.row` modulo `term.modulus`, constants aside.

    The coefficients of `other.row` and the modulus have no common divisor, so that some
    combination a of them is 1 and v is the same combination of `term.row`.
    """
    modulus = term.modulus
    if other.modulus % modulus:
        return None
    v, g = 0, modulus
    for x, y in zip(other.row[:-1], term.row[:-1], strict=True):
        # Invariant: g = (some combination of other.row) and v the same of term.row, mod modulus.
        g, a, b = _bezout(g, x)
        v = a * v + b * y
    v = _residue(v, modulus)
    pairs = zip(term.row[:-1], other.row[:-1], strict=True)
    return v if all((y - v * x) % modulus == 0 for y, x in pairs) else None


def _residue(x: int, modulus: int) -> int:
    """The residue r of x with `-modulus < 2 r ≤ modulus`."""
    return x - modulus * nearest(x, modulus)


def _bezout(a: int, b: int) -> tuple[int, int, int]:
    """(g, x, y) with `x a + y b = g = gcd(a, b) ≥ 0`."""
    x, y, u, v = 1, 0, 0, 1
    while b:
        q = a // b
        a, b, x, y, u, v = b, a - q * b, u, v, x - q * u, y - q * v
    return (a, x, y) if a >= 0 else (-a, -x, -y)


def _check_guards(zero: ZeroGuards, terms: Sequence[QuotientTerm], parameters: int) -> None:
    """Raise unless some integer parameters meet all guards.

    A single guard was settled by its gcd. Several may contradict each other: all of
    `G p = -g` and `R p - modulus t = -r` must have a solution (p, t) in integers.
    """
    if not terms or len(zero.rows) + len(terms) < 2:
        return
    rows = [(*row[:-1], *(0 for _ in terms)) for row in zero.rows]
    rows += [
        (*term.row[:-1], *(-term.modulus * x for x in unit(len(terms), i)))
        for i, term in enumerate(terms)
    ]
    constants = tuple((-row[-1],) for row in (*zero.rows, *(t.row for t in terms)))
    form = smith_normal_form(tuple(rows), parameters + len(terms))
    right = multiply(form.u, constants, 1)
    if any(row[0] for row in right[form.rank :]):
        raise _NoSolutionError
    if any(row[0] % s for row, s in zip(right, form.diagonal, strict=False)):
        raise _NoSolutionError


def _solution(
    zero: ZeroGuards, state: Particular, directions: Matrix, pivots: tuple[int, ...]
) -> Solution:
    unknowns = len(state.offset)
    return Solution(
        zero=tuple(_leading_positive(row) for row in zero.rows),
        quotients=tuple(Quotient(term.row, term.modulus) for term in state.terms),
        particular=state.offset,
        quotient_coefficients=transpose(tuple(t.coefficients for t in state.terms), unknowns),
        basis=transpose(directions, unknowns),
        pivots=pivots,
    )


def _leading_positive(row: Row) -> Row:
    return row if next(x for x in row if x) > 0 else negate(row)


def _no_solution(unknowns: int, parameters: int) -> Solution:
    nothing: Matrix = ((),) * unknowns
    return Solution((), (), zeros(unknowns, parameters + 1), nothing, nothing, (), empty=True)


def _scatter(values: Row, places: Sequence[int], size: int) -> Row:
    full = [0] * size
    for place, value in zip(places, values, strict=True):
        full[place] = value
    return tuple(full)


def _check_shapes(m: Matrix, h: Matrix, unknowns: int, parameters: int) -> None:
    if len(m) != len(h):
        raise ValueError(f"{len(m)} equations with {len(h)} right-hand sides")
    if any(len(row) != unknowns for row in m):
        raise ValueError(f"every equation must have {unknowns} coefficients")
    if any(len(row) != parameters + 1 for row in h):
        raise ValueError(f"every right-hand side must have {parameters} + 1 coefficients")
