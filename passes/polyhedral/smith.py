"""The Smith normal form of an integer matrix.

Row and column operations over the integers bring any matrix to a diagonal whose entries divide
one another: `U A V = S` (Smith 1861, "On systems of linear indeterminate equations and
congruences"; Cohen, *A Course in Computational Algebraic Number Theory*, 1993, section 2.4). The
solver of `diophantine` reads the integer solutions of `A ξ = h` off the three factors
(arXiv:1711.01348, section 4.1).

For example, of diag(2, 3) the pivot 2 does not divide 3. Adding row 2 to row 1 gives (2 3; 0 3),
and subtracting column 1 from column 2 gives (2 1; 0 3): the remainder 1 is the next pivot, and the
end is diag(1, 6).
"""

from dataclasses import dataclass
from typing import TypeAlias

from tadc.passes.polyhedral.division import nearest
from tadc.passes.polyhedral.matrix import Matrix, identity, matrix, transpose

_Rows: TypeAlias = list[list[int]]


@dataclass(frozen=True, slots=True)
class Smith:
    """The factors of `u @ a @ v == s`: u (m x m), v (n x n) unimodular, s (m x n) diagonal.

    The first `rank` diagonal entries are positive and each divides the next; the rest are zero.
    """

    u: Matrix
    s: Matrix
    v: Matrix
    rank: int

    @property
    def diagonal(self) -> tuple[int, ...]:
        """The `rank` positive entries s_1 | s_2 | …"""
        return tuple(self.s[i][i] for i in range(self.rank))


def smith_normal_form(a: Matrix, columns: int) -> Smith:
    """The Smith form of `a`, m x `columns`; m and `columns` may be zero.

    The pivot is always an entry of least absolute value and quotients are rounded to the
    nearest integer, which keeps u and v small (dense 8 x 8: 14 digits instead of 24). s is
    unique, u and v are not. Raises ValueError where a row has another length than `columns`.
    About min(m, n) · log|a| sweeps of O(m n) operations on integers of growing length.
    """
    if any(len(row) != columns for row in a):
        raise ValueError(f"every row must have {columns} entries")
    work = _Work(a, columns)
    rank = 0
    while work.clear(rank):
        rank += 1
    return Smith(matrix(work.u), matrix(work.s), transpose(matrix(work.vt)), rank)


class _Work:
    """The three factors under way; `vt` is the transpose of v, so that a column is a list."""

    def __init__(self, a: Matrix, columns: int) -> None:
        self.s: _Rows = [list(row) for row in a]
        self.u: _Rows = [list(row) for row in identity(len(a))]
        self.vt: _Rows = [list(row) for row in identity(columns)]

    def clear(self, k: int) -> bool:
        """Make s_kk the gcd of the block s[k:, k:], alone in its row and column.

        Each turn leaves remainders of at most half the pivot, or is the last: a remainder
        is the next pivot. Returns False where the block is zero, else True.
        """
        while self._choose(k):
            pivot = self.s[k][k]
            self._reduce_column(k, pivot)
            self._reduce_row(k, pivot)
            if any(self.s[k][k + 1 :]) or any(row[k] for row in self.s[k + 1 :]):
                continue
            stray = self._indivisible(k, pivot)
            if stray is None:
                return True
            # s_kk must divide the whole block: bring the stray row in, and a remainder
            # below the pivot appears in row k.
            self._add_row(k, stray, 1)
            self._reduce_row(k, pivot)
        return False

    def _choose(self, k: int) -> bool:
        """Swap the least entry of the block into place k, positive; False where there is none."""
        found = _least(self.s, k)
        if found is None:
            return False
        i, j = found
        _swap(self.s, i, k)
        _swap(self.u, i, k)
        if j != k:
            _swap(self.vt, j, k)
            for row in self.s:
                row[j], row[k] = row[k], row[j]
        if self.s[k][k] < 0:
            self.s[k] = [-x for x in self.s[k]]
            self.u[k] = [-x for x in self.u[k]]
        return True

    def _reduce_column(self, k: int, pivot: int) -> None:
        """Leave remainders below the pivot, by subtracting multiples of its row."""
        for i in range(k + 1, len(self.s)):
            if self.s[i][k]:
                self._add_row(i, k, -nearest(self.s[i][k], pivot))

    def _reduce_row(self, k: int, pivot: int) -> None:
        """Leave remainders to the right of the pivot, by subtracting multiples of its column."""
        for j in range(k + 1, len(self.vt)):
            if self.s[k][j]:
                self._add_column(j, k, -nearest(self.s[k][j], pivot))

    def _indivisible(self, k: int, pivot: int) -> int | None:
        """The first row of the block with an entry that the pivot does not divide, if any."""
        if pivot == 1:
            return None
        block = range(k + 1, len(self.s))
        return next((i for i in block if any(x % pivot for x in self.s[i][k:])), None)

    def _add_row(self, target: int, source: int, factor: int) -> None:
        _add(self.s, target, source, factor)
        _add(self.u, target, source, factor)

    def _add_column(self, target: int, source: int, factor: int) -> None:
        if factor:
            for row in self.s:
                row[target] += factor * row[source]
            _add(self.vt, target, source, factor)


def _least(s: _Rows, k: int) -> tuple[int, int] | None:
    """The place of the non-zero entry of least absolute value in the block s[k:, k:]."""
    best, place = 0, None
    for i in range(k, len(s)):
        for j, x in enumerate(s[i][k:], k):
            if x and (place is None or abs(x) < best):
                best, place = abs(x), (i, j)
                if best == 1:
                    return place
    return place


def _swap(rows: _Rows, i: int, k: int) -> None:
    rows[i], rows[k] = rows[k], rows[i]


def _add(rows: _Rows, target: int, source: int, factor: int) -> None:
    if factor:
        pairs = zip(rows[target], rows[source], strict=True)
        rows[target] = [x + factor * y for x, y in pairs]
