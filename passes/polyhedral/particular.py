"""A particular solution of index equations while it is being found: `ξ = offset (p, 1) + Σ terms`.

`offset` is an integer matrix. A term is an integer vector times a quotient
`row·(p, 1) / modulus`, which is an integer wherever there are solutions. Zero guards are rows that
vanish there: any row may be replaced by one of equal value.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tadc.passes.polyhedral.division import nearest
from tadc.passes.polyhedral.matrix import Matrix, Row, add_multiple


@dataclass(frozen=True, slots=True)
class QuotientTerm:
    """`coefficients` times the quotient t of `row·(p, 1)` by `modulus`: one summand of ξ."""

    row: Row
    modulus: int
    coefficients: Row

    def plus(self, vector: Row, factor: int) -> "QuotientTerm":
        """The term whose coefficients are greater by `factor * vector`."""
        return replace(self, coefficients=add_multiple(self.coefficients, factor, vector))


@dataclass(frozen=True, slots=True)
class Particular:
    """`ξ = offset (p, 1) + Σ terms`; `offset` has a row per unknown."""

    offset: Matrix
    terms: tuple[QuotientTerm, ...]

    def plus(self, vector: Row, row: Row) -> "Particular":
        """ξ greater by `vector` times the integer `row·(p, 1)`."""
        pairs = zip(self.offset, vector, strict=True)
        return replace(self, offset=tuple(add_multiple(x, c, row) for x, c in pairs))

    def along(self, direction: Row, row: Row, factors: Sequence[int]) -> "Particular":
        """ξ greater by `direction` times the integer `row·(p, 1) + factors·t`, t the quotients.

        With a direction of the null space this is another particular solution.
        """
        pairs = zip(self.terms, factors, strict=True)
        terms = tuple(term.plus(direction, factor) for term, factor in pairs)
        return replace(self.plus(direction, row), terms=terms)


@dataclass(frozen=True, slots=True)
class ZeroGuards:
    """Independent rows g with `g·(p, 1) = 0` wherever there are solutions.

    They are in Hermite form: `pivots` are parameters, one for each row, and the rows after it are
    zero there.
    """

    rows: Matrix
    pivots: tuple[int, ...]

    def reduce(self, row: Row) -> Row:
        """A row of equal value wherever the guards hold, small in the pivot parameters."""
        for zero, pivot in zip(self.rows, self.pivots, strict=True):
            row = add_multiple(row, -nearest(row[pivot], zero[pivot]), zero)
        return row
