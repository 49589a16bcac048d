"""The canonical form of the solutions of index equations: one answer of the many that are right.

`ξ = offset (p, 1) + Σ_i c_i t_i + K z` leaves three liberties: the basis K of the null space, the
particular solution (any integer multiple of a column of K may be added to `offset` and to each
c_i), and each quotient t_i (any integer form of p may be added to it).

Bounds, strides and printed text depend on the choice. Steps of `canonicalize` are shown there with
one running example.
"""

from collections.abc import Sequence
from dataclasses import replace
from math import lcm

from tadc.passes.polyhedral.division import nearest
from tadc.passes.polyhedral.lattice import normal_basis, shortest
from tadc.passes.polyhedral.matrix import Matrix, Row, add_multiple, negate, transpose
from tadc.passes.polyhedral.particular import Particular, QuotientTerm, ZeroGuards


def canonicalize(
    state: Particular, zero: ZeroGuards, basis: Sequence[Row], preference: Sequence[int]
) -> tuple[Particular, Matrix, tuple[int, ...]]:
    """The particular solution, the directions K_c of the null space, and the pivot row of each.

    `basis` holds any independent directions that span the null space, as rows. Pivots are unknowns,
    by `preference`. A *unit* pivot, where K_c is one, makes its unknown the summation variable
    itself. Other directions only *number* solutions.

    The example: `3 i + 2 j + k = q` and `2 k = p` where `p = q`, for ξ = (i, j, k). It arrives as

        ξ = (0, 0, q) + (1, -1, -1) t,    t = p / 2,    K = (-2, 3, 0),    guard q - p = 0.
    """
    # The basis in normal form. No unknown can have a unit pivot; i has the smallest, 2:
    #     K = (2, -3, 0)
    normal, pivots = normal_basis(transpose(tuple(basis), len(state.offset)), preference)
    directions = transpose(normal, len(pivots))
    units = _units(directions, pivots)
    # Pivot rows are reduced by multiples of K, those of unit pivots to zero. In the example, row i
    # has 0 in `offset` and 1 as coefficient of t, and -2 < 2 x ≤ 2 holds for both already.
    state = _shift(state, directions, pivots)
    # Quotients get the value of an unknown. Here k = q - t can be t', since t = q - t':
    #     ξ = (q, -q, 0) + (-1, 1, 1) t',    t' = (2 q - p) / 2 = p / 2 by the guard
    state = _name_quotients(state, directions, pivots, units, zero)
    # That has changed pivot rows. The coefficient -1 of i becomes 1:
    #     ξ = (q, -q, 0) + (1, -2, 1) t'
    state = _shift(state, directions, pivots)
    # Rows that are equal wherever the guards hold become equal. Here p stands for q:
    #     ξ = (p, -p, 0) + (1, -2, 1) t'
    state = replace(state, offset=tuple(zero.reduce(row) for row in state.offset))
    # Along directions that number solutions, each vector goes to where it is shortest, whatever
    # its pivot row. (1, -2, 1) - K = (-1, 1, 1) has length √3 instead of √6:
    #     ξ = (p, -p, 0) + (-1, 1, 1) t'
    state = _center(state, directions[units:])
    # Numbers are to rise with the parameters. At t' = p / 2, ξ = (p, -p, p) / 2 + z (2, -3, 0) is
    # shortest for z = -5 p / 26, so that K is turned:
    #     ξ = (p, -p, 0) + (-1, 1, 1) t' + (-2, 3, 0) z
    directions = (*directions[:units], *_upwards(state, directions[units:]))
    return replace(state, terms=tuple(sorted(state.terms, key=_position))), directions, pivots


def _units(directions: Matrix, pivots: tuple[int, ...]) -> int:
    """The number of unit pivots, which come first."""
    return sum(d[pivot] == 1 for d, pivot in zip(directions, pivots, strict=True))


def _shift(state: Particular, directions: Matrix, pivots: tuple[int, ...]) -> Particular:
    """Reduce each number x in a pivot row modulo the pivot g: `-g < 2 x ≤ g`, and zero for g = 1.

    Later directions are zero in earlier pivot rows, so that one pass in order suffices.
    """
    for direction, pivot in zip(directions, pivots, strict=True):
        g = direction[pivot]
        steps = tuple(-nearest(x, g) for x in state.offset[pivot])
        factors = [-nearest(term.coefficients[pivot], g) for term in state.terms]
        state = state.along(direction, steps, factors)
    return state


def _center(state: Particular, directions: Sequence[Row]) -> Particular:
    """Move each column of `offset` and each term near to zero along `directions`.

    The real minimum is rounded, in one step (Babai 1986, "On Lovász' lattice reduction and the
    nearest lattice point problem": the rounding-off procedure).
    """

    def steps(vector: Row) -> list[int]:
        return [nearest(z.numerator, z.denominator) for z in shortest(directions, vector)]

    columns = [steps(column) for column in transpose(state.offset)]
    terms = [steps(term.coefficients) for term in state.terms]
    for c, direction in enumerate(directions):
        state = state.along(direction, tuple(z[c] for z in columns), [z[c] for z in terms])
    return state


def _upwards(state: Particular, directions: Sequence[Row]) -> list[Row]:
    """Each direction, or its opposite if solutions near to zero have a negative z otherwise.

    The growth of ξ where every parameter grows by one is `Σ_j offset_j` and, for each term,
    `c Σ_j row_j / modulus`; a common multiple of the moduli makes it integer. The z that undoes the
    growth best is that of `shortest`.
    """
    scale = lcm(*(term.modulus for term in state.terms))
    growth = tuple(scale * sum(row[:-1]) for row in state.offset)
    for term in state.terms:
        factor = scale // term.modulus * sum(term.row[:-1])
        growth = add_multiple(growth, factor, term.coefficients)
    numbers = shortest(directions, growth)
    return [negate(d) if z < 0 else d for d, z in zip(directions, numbers, strict=True)]


# --- quotients as unknowns ------------------------------------------------------------------------


def _name_quotients(
    state: Particular, directions: Matrix, pivots: tuple[int, ...], units: int, zero: ZeroGuards
) -> Particular:
    """Let each t be the value at z = 0 of one unknown, where some unknown allows it.

    Unknowns without z come first, then in order. Pivots are out, being zero at z = 0 or near to it,
    and so are unknowns with a z that numbers solutions, whose value at z = 0 means nothing.
    Quotients that are left have their numerators reduced.
    """
    numbered = {j for d in directions[units:] for j, x in enumerate(d) if x}
    summed = {j for d in directions for j, x in enumerate(d) if x}
    allowed = set(range(len(state.offset))) - numbered - {*pivots}
    unnamed = set(range(len(state.terms)))
    for j in sorted(allowed, key=lambda j: (j in summed, j)):
        i = _nameable(state.terms, unnamed, j)
        if i is not None:
            state = _name(state, i, j, zero)
            unnamed.remove(i)
    for i in unnamed:
        state = _reduce_numerator(state, i)
    return state


def _nameable(terms: tuple[QuotientTerm, ...], unnamed: set[int], j: int) -> int | None:
    """A quotient that ξ_j can replace: with coefficient ±1, beside divisors of its modulus only."""
    used = [term for term in terms if term.coefficients[j]]
    for i in sorted(unnamed):
        term = terms[i]
        if abs(term.coefficients[j]) == 1 and all(term.modulus % t.modulus == 0 for t in used):
            return i
    return None


def _name(state: Particular, i: int, j: int, zero: ZeroGuards) -> Particular:
    """Replace t_i by the value of ξ_j, `t' = offset_j (p, 1) + Σ_l c_lj t_l`, where `c_ij = ±1`.

    With `t_l = row_l (p, 1) / m_l` for all l, the numerator of t' over m_i is

        row' = m_i offset_j + Σ_l c_lj (m_i / m_l) row_l.

    Conversely, `t_i = c_ij (t' - offset_j (p, 1) - Σ_{l≠i} c_lj t_l)`, since `c_ij² = 1`. In ξ,
    this stands in `c_i t_i`: with `own = c_ij c_i` as the coefficients of t',

        offset' = offset - own offset_j    and    c_l' = c_l - c_lj own for l ≠ i.
    """
    term, offset = state.terms[i], state.offset[j]
    row = tuple(term.modulus * x for x in offset)
    for t in state.terms:
        row = add_multiple(row, t.coefficients[j] * term.modulus // t.modulus, t.row)
    own = tuple(term.coefficients[j] * c for c in term.coefficients)
    terms = [t.plus(own, -t.coefficients[j]) for t in state.terms]
    terms[i] = QuotientTerm(zero.reduce(row), term.modulus, own)
    return replace(state.plus(own, negate(offset)), terms=tuple(terms))


def _reduce_numerator(state: Particular, i: int) -> Particular:
    """Reduce the numerator of t_i modulo m_i: `row = row' + m_i e` gives `t_i = t' + e·(p, 1)`."""
    term = state.terms[i]
    steps = tuple(nearest(x, term.modulus) for x in term.row)
    row = add_multiple(term.row, -term.modulus, steps)
    terms = (*state.terms[:i], replace(term, row=row), *state.terms[i + 1 :])
    return replace(state.plus(term.coefficients, steps), terms=terms)


def _position(term: QuotientTerm) -> tuple[int, int, Row]:
    """The order of quotients: by the first unknown that they occur in, then by modulus."""
    first = next((j for j, c in enumerate(term.coefficients) if c), -1)
    return first, term.modulus, term.row
