"""All integer solutions of linear equations with parameters, and the guards for there being any.

To solve `M ξ = h (p, 1)` for integers ξ, take the Smith form `U M V = S` and substitute
`ξ = V y`: then `s_i y_i = (U h)_i (p, 1)`. Hence (arXiv:1711.01348, section 4)

- `(U h)_i (p, 1) = 0` for every i past the rank: the cokernel, a Kronecker delta;
- `s_i | (U h)_i (p, 1)` where `s_i > 1`. The paper's equation (46) drops this condition and then
  reads x[2*i] at half-integers. It is also all that integrality asks for, V being unimodular;
- `t_i = (U h)_i (p, 1) / s_i` exactly, and `ξ = V[:, :rank] t + V[:, rank:] z` with z free.

Three liberties remain and make the answer canonical: the basis of the null space (`lattice`), the
particular solution (chosen zero in unit pivot rows, elsewhere near the origin) and each t, to which
integer rows may be added (chosen equal to an unknown).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import gcd, lcm

from passes.polyhedral.division import nearest
from passes.polyhedral.lattice import normal_basis, shortest
from passes.polyhedral.matrix import (
    Matrix,
    Row,
    dot,
    hstack,
    identity,
    multiply,
    negate,
    transpose,
    unit,
    zeros,
)
from passes.polyhedral.smith import Smith, smith_normal_form


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
    state = _State(zeros(unknowns, parameters + 1), ())
    basis: list[Row] = []
    for rows, columns in _components(m, unknowns):
        form = smith_normal_form(tuple(tuple(m[i][j] for j in columns) for i in rows), len(columns))
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
    return _finish(state, zero, basis, [*preference, *range(unknowns)])


class _NoSolutionError(Exception):
    """The guards hold for no integer parameters."""


@dataclass(frozen=True, slots=True)
class _Term:
    """`coefficients` times the quotient of `row·(p, 1)` by `modulus`: a part of ξ."""

    row: Row
    modulus: int
    coefficients: Row


@dataclass(frozen=True, slots=True)
class _State:
    """`ξ = offset (p, 1) + Σ terms`, one solution under way."""

    offset: Matrix
    terms: tuple[_Term, ...]

    def plus(self, coefficients: Row, row: Row) -> "_State":
        """Add `coefficients` times the integer `row·(p, 1)`."""
        return replace(self, offset=_add_outer(self.offset, coefficients, row))


@dataclass(frozen=True, slots=True)
class _Zero:
    """Independent rows g with `g·(p, 1) = 0`, in Hermite form, and their pivot parameters."""

    rows: Matrix
    pivots: tuple[int, ...]

    def reduce(self, row: Row) -> Row:
        """A row of equal value wherever the guards hold, small in the pivot parameters."""
        for zero, pivot in zip(self.rows, self.pivots, strict=True):
            row = _subtract(row, zero, nearest(row[pivot], zero[pivot]))
        return row


def _add_component(state: _State, form: Smith, right: Matrix, directions: list[Row]) -> _State:
    """Append `y_i V_i`, where y_i is the row itself for s_i = 1 and a quotient otherwise."""
    for s, row, direction in zip(form.diagonal, right, directions, strict=False):
        if s == 1:
            state = state.plus(direction, row)
        else:
            state = replace(state, terms=(*state.terms, _Term(row, s, direction)))
    return state


def _components(m: Matrix, unknowns: int) -> list[tuple[list[int], list[int]]]:
    """The equations and unknowns of each connected component of m, by least unknown.

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


def _zero_guards(rows: list[Row], parameters: int) -> _Zero:
    """The guards `rows·(p, 1) = 0`, saturated and in Hermite form; later parameters go first.

    With `G p = -g` and `U G V = S`, row i of `U G = S V⁻¹` is s_i times an integer row, and so
    must its constant be. The quotients span every integer form that vanishes with G.
    """
    rows = [row for row in rows if any(row)]
    if not rows:
        return _Zero((), ())
    form = smith_normal_form(tuple(row[:-1] for row in rows), parameters)
    turned = multiply(form.u, tuple(rows), parameters + 1)
    if any(row[-1] for row in turned[form.rank :]):
        raise _NoSolutionError
    saturated = tuple(
        _exact(row, s) for row, s in zip(turned[: form.rank], form.diagonal, strict=True)
    )
    columns, pivots = normal_basis(
        transpose(saturated, parameters + 1), tuple(reversed(range(parameters)))
    )
    return _Zero(transpose(columns, len(pivots)), pivots)


def _exact(row: Row, divisor: int) -> Row:
    if any(x % divisor for x in row):
        raise _NoSolutionError
    return tuple(x // divisor for x in row)


def _simplify(state: _State, zero: _Zero) -> _State:
    """Cancel common divisors of row and modulus; integers leave the terms for the offset."""
    terms: list[_Term] = []
    for term in state.terms:
        row = _divisible(zero.reduce(term.row), term.modulus, zero)
        g = gcd(*row[:-1], term.modulus)
        row, modulus = _exact(row, g), term.modulus // g
        if modulus == 1:
            state = state.plus(term.coefficients, row)
        else:
            terms.append(_Term(row, modulus, term.coefficients))
    return replace(state, terms=tuple(terms))


def _divisible(row: Row, modulus: int, zero: _Zero) -> Row:
    """A row of equal value that the modulus divides, if the zero guards provide one.

    Is there λ with `row + λ G = modulus μ`? That is an equation for (λ, μ) with no parameters.
    With unit pivots the reduced row is the only candidate.
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


def _merge(state: _State) -> _State:
    """Express each quotient that is an integer multiple of another by that other.

    With m' | m and `row' = v row + m' e` for an integer v and an integer row e, the quotient is
    `t' = v (m / m') t + e·(p, 1)`.
    """
    kept: list[_Term] = []
    for term in sorted(state.terms, key=lambda term: -term.modulus):
        for i, other in enumerate(kept):
            v = _multiple(term, other)
            if v is None:
                continue
            rest = _exact(_subtract(term.row, other.row, v), term.modulus)
            factor = v * (other.modulus // term.modulus)
            kept[i] = replace(
                other, coefficients=_subtract(other.coefficients, term.coefficients, -factor)
            )
            state = state.plus(term.coefficients, rest)
            break
        else:
            kept.append(term)
    return replace(state, terms=tuple(kept))


def _multiple(term: _Term, other: _Term) -> int | None:
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


def _check_guards(zero: _Zero, terms: Sequence[_Term], parameters: int) -> None:
    """Raise unless some integer parameters meet all guards.

    One guard of each kind was settled by its gcd. Several may contradict each other: solve
    `G p = -g` and `R p - modulus t = -r` for (p, t).
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


def _finish(state: _State, zero: _Zero, basis: list[Row], preference: list[int]) -> Solution:
    """Fix the basis, the particular solution and the quotients."""
    unknowns = len(state.offset)
    columns = transpose(tuple(basis), unknowns)
    normal, pivots = normal_basis(columns, tuple(dict.fromkeys(preference)))
    directions = transpose(normal, len(pivots))
    state = _shift(state, directions, pivots)
    state = _name_quotients(state, normal, pivots, zero)
    state = _shift(state, directions, pivots)
    state = replace(state, offset=tuple(zero.reduce(row) for row in state.offset))
    numbering = [c for c, pivot in enumerate(pivots) if normal[pivot][c] > 1]
    state = _center(state, [directions[c] for c in numbering])
    turned = _upwards(state, [directions[c] for c in numbering])
    directions = [
        turned[numbering.index(c)] if c in numbering else direction
        for c, direction in enumerate(directions)
    ]
    terms = sorted(state.terms, key=_position)
    return Solution(
        zero=tuple(_leading_positive(row) for row in zero.rows),
        quotients=tuple(Quotient(term.row, term.modulus) for term in terms),
        particular=state.offset,
        quotient_coefficients=transpose(tuple(t.coefficients for t in terms), unknowns),
        basis=transpose(tuple(directions), unknowns),
        pivots=pivots,
    )


def _shift(state: _State, directions: Matrix, pivots: tuple[int, ...]) -> _State:
    """Substitute z so that offset and terms are reduced modulo each pivot.

    Later columns are zero in earlier pivot rows, so that one pass in order suffices.
    """
    for direction, pivot in zip(directions, pivots, strict=True):
        g = direction[pivot]
        steps = tuple(-nearest(x, g) for x in state.offset[pivot])
        terms = tuple(
            replace(t, coefficients=_subtract(t.coefficients, direction, nearest(c, g)))
            for t in state.terms
            for c in (t.coefficients[pivot],)
        )
        state = replace(state.plus(direction, steps), terms=terms)
    return state


def _center(state: _State, directions: Sequence[Row]) -> _State:
    """Move offset and terms along the directions that number solutions, each near to zero."""

    def steps(vector: Row) -> list[int]:
        return [nearest(z.numerator, z.denominator) for z in shortest(directions, vector)]

    columns = [steps(column) for column in transpose(state.offset)]
    moved = [(term, steps(term.coefficients)) for term in state.terms]
    for c, direction in enumerate(directions):
        state = state.plus(direction, tuple(column[c] for column in columns))
        moved = [
            (replace(t, coefficients=_subtract(t.coefficients, direction, -z[c])), z)
            for t, z in moved
        ]
    return replace(state, terms=tuple(t for t, _ in moved))


def _upwards(state: _State, directions: Sequence[Row]) -> list[Row]:
    """Each direction or its opposite, such that solutions near to zero have no negative z for
    parameters above zero.
    """
    scale = lcm(*(term.modulus for term in state.terms))
    ones = tuple(
        scale * sum(row[:-1])
        + sum(scale // t.modulus * t.coefficients[n] * sum(t.row[:-1]) for t in state.terms)
        for n, row in enumerate(state.offset)
    )
    signs = shortest(directions, ones)
    return [negate(d) if z < 0 else d for d, z in zip(directions, signs, strict=True)]


def _name_quotients(state: _State, basis: Matrix, pivots: tuple[int, ...], zero: _Zero) -> _State:
    """Let each t be the value at z = 0 of one unknown, where some unknown allows it.

    Unknowns without z come first, then in order; those with a z that numbers solutions are
    nothing at z = 0, and so are pivots. Other quotients are reduced to small residues.
    """
    unnamed = set(range(len(state.terms)))
    numbering = [c for c, pivot in enumerate(pivots) if basis[pivot][c] > 1]
    allowed = [
        j for j, row in enumerate(basis) if j not in pivots and not any(row[c] for c in numbering)
    ]
    for j in sorted(allowed, key=lambda j: (any(basis[j]), j)):
        i = _nameable(state.terms, unnamed, j)
        if i is not None:
            state = _name(state, i, j, zero)
            unnamed.remove(i)
    for i in unnamed:
        state = _reduce_residues(state, i)
    return state


def _nameable(terms: tuple[_Term, ...], unnamed: set[int], j: int) -> int | None:
    """A quotient that ξ_j can replace: with coefficient ±1, beside divisors of its modulus only."""
    used = [term for term in terms if term.coefficients[j]]
    for i in sorted(unnamed):
        term = terms[i]
        if abs(term.coefficients[j]) == 1 and all(term.modulus % t.modulus == 0 for t in used):
            return i
    return None


def _name(state: _State, i: int, j: int, zero: _Zero) -> _State:
    """Replace t_i by `t' = offset_j (p, 1) + Σ_l c_lj t_l`, where `c_ij = ±1`.

    Its numerator over m_i is `m_i offset_j + Σ_l c_lj (m_i / m_l) row_l`. Conversely
    `t_i = c_ij (t' - offset_j (p, 1) - Σ_{l≠i} c_lj t_l)`.
    """
    term, offset = state.terms[i], state.offset[j]
    modulus, sign = term.modulus, term.coefficients[j]
    shares = [
        tuple(t.coefficients[j] * modulus // t.modulus * x for x in t.row) for t in state.terms
    ]
    row = tuple(map(sum, zip(*shares, (modulus * x for x in offset), strict=True)))
    own = tuple(sign * c for c in term.coefficients)
    terms = [
        replace(t, coefficients=_subtract(t.coefficients, own, t.coefficients[j]))
        for t in state.terms
    ]
    terms[i] = _Term(zero.reduce(row), modulus, own)
    return replace(state.plus(own, negate(offset)), terms=tuple(terms))


def _reduce_residues(state: _State, i: int) -> _State:
    """`t = t' + e·(p, 1)` with the numerator of t' reduced modulo the modulus."""
    term = state.terms[i]
    steps = tuple(nearest(x, term.modulus) for x in term.row)
    row = _subtract(term.row, steps, term.modulus)
    terms = (*state.terms[:i], replace(term, row=row), *state.terms[i + 1 :])
    return replace(state.plus(term.coefficients, steps), terms=terms)


def _position(term: _Term) -> tuple[int, int, Row]:
    first = next((j for j, c in enumerate(term.coefficients) if c), -1)
    return first, term.modulus, term.row


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


def _subtract(row: Row, other: Row, factor: int) -> Row:
    if not factor:
        return row
    return tuple(x - factor * y for x, y in zip(row, other, strict=True))


def _add_outer(a: Matrix, column: Row, row: Row) -> Matrix:
    return tuple(_subtract(x, row, -c) for x, c in zip(a, column, strict=True))


def _check_shapes(m: Matrix, h: Matrix, unknowns: int, parameters: int) -> None:
    if len(m) != len(h):
        raise ValueError(f"{len(m)} equations with {len(h)} right-hand sides")
    if any(len(row) != unknowns for row in m):
        raise ValueError(f"every equation must have {unknowns} coefficients")
    if any(len(row) != parameters + 1 for row in h):
        raise ValueError(f"every right-hand side must have {parameters} + 1 coefficients")
