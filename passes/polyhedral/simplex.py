"""Rational feasibility of inequalities, exactly, by integer pivoting.

The system is `s_i = a_i·v + b_i ≥ 0` with v free. A dictionary writes the basic slacks with the
non-basic ones,

    D x_b = Σ_j T_bj x_j + T_b0,        D > 0,

with one common denominator. Exchanging x_r and x_c with `p = T_rc` gives

    p x_c = D x_r - Σ_{j≠c} T_rj x_j - T_r0
    p x_i = T_ic x_r + Σ_{j≠c} (p T_ij - T_ic T_rj) / D x_j + (p T_i0 - T_ic T_r0) / D,

where every division is exact, since entries are minors of (a | b) and D the minor of the basis
(Edmonds, Bareiss). The free variables enter the basis first; their rows are never read again and
are dropped, so that the dictionary has one row per inequality beyond the dimension.

With all non-basic slacks at zero, a negative T_r0 is a violated inequality. Exchange it for a
non-basic slack of positive T_rc. Where there is none, row r says "negative = sum of non-positive
terms": infeasible, by Farkas' lemma, over the rationals. Taking the lowest-numbered slack in both
choices terminates (Bland's rule; for this form Dutertre and de Moura 2006, theorem 1).
"""

from collections.abc import Sequence

from passes.polyhedral.matrix import Row


class Tableau:
    """The dictionary of `rows·(v, 1) ≥ 0`; slack i belongs to row i. Mutable, internal."""

    __slots__ = ("basic", "denominator", "nonbasic", "rows")

    def __init__(self, rows: Sequence[Row]) -> None:
        self.denominator = 1
        self.rows: list[list[int]] = [list(row) for row in rows]
        self.basic = list(range(len(rows)))
        width = len(rows[0]) - 1 if rows else 0
        # Negative numbers mark free variables that are still non-basic.
        self.nonbasic = list(range(-width, 0))
        for variable in range(-width, 0):
            self._release(self.nonbasic.index(variable))

    def rows_feasible(self) -> bool:
        """Pivot until no inequality is violated (True) or one cannot be met (False)."""
        while (r := self._violated()) is not None:
            c = self._entering(self.rows[r])
            if c is None:
                return False
            self._pivot(r, c)
        return True

    def redundant(self, slack: int) -> bool:
        """Whether the others imply `s ≥ 0` for an integer s: they exclude `s ≤ -1`."""
        trial = Tableau(())
        trial.denominator = self.denominator
        # Pivoting replaces rows and never writes into them: shallow copies suffice.
        trial.rows, trial.basic = self.rows[:], self.basic[:]
        trial.nonbasic = self.nonbasic[:]
        trial._reverse(slack)
        return not trial.rows_feasible()

    def drop(self, slack: int) -> None:
        """Forget one inequality; `rows_feasible` is to be called again."""
        if slack in self.nonbasic:
            self._release(self.nonbasic.index(slack))
            return
        r = self.basic.index(slack)
        del self.rows[r], self.basic[r]

    def _reverse(self, slack: int) -> None:
        """Replace s ≥ 0 by s' = -s - 1 ≥ 0."""
        if slack in self.basic:
            r = self.basic.index(slack)
            row = [-x for x in self.rows[r]]
            row[-1] -= self.denominator
            self.rows[r] = row
            return
        c = self.nonbasic.index(slack)
        for i, row in enumerate(self.rows):
            if row[c]:
                row = row[:]
                row[-1] -= row[c]
                row[c] = -row[c]
                self.rows[i] = row

    def _violated(self) -> int | None:
        worst = [(self.basic[i], i) for i, row in enumerate(self.rows) if row[-1] < 0]
        return min(worst)[1] if worst else None

    def _entering(self, row: list[int]) -> int | None:
        able = [(name, c) for c, name in enumerate(self.nonbasic) if row[c] > 0]
        return min(able)[1] if able else None

    def _release(self, c: int) -> None:
        """Make the non-basic x_c free: basic, its row dropped; or it occurs nowhere."""
        able = [(abs(row[c]), i) for i, row in enumerate(self.rows) if row[c]]
        if able:
            r = min(able)[1]
            self._pivot(r, c)
            del self.rows[r], self.basic[r]
            return
        del self.nonbasic[c]
        for i, row in enumerate(self.rows):
            self.rows[i] = row[:c] + row[c + 1 :]

    def _pivot(self, r: int, c: int) -> None:
        """Exchange the basic variable of row r and the non-basic one of column c."""
        d, source = self.denominator, self.rows[r]
        p = source[c]
        if p < 0:
            # Turn the row, and thereby the exchanged slack's column, to keep p > 0.
            p, source = -p, [-x for x in source]
            sign = -1
        else:
            sign = 1
        for i, row in enumerate(self.rows):
            if i != r:
                self.rows[i] = _combine(row, source, c, p, d, sign)
        self.rows[r] = [-x for x in source]
        self.rows[r][c] = sign * d
        self.denominator = p
        self.basic[r], self.nonbasic[c] = self.nonbasic[c], self.basic[r]


def _combine(row: list[int], source: list[int], c: int, p: int, d: int, sign: int) -> list[int]:
    f = row[c]
    if not f:
        return row if p == d else [p * x // d for x in row]
    if p == d == 1:
        new = [x - f * y for x, y in zip(row, source, strict=True)]
    else:
        new = [(p * x - f * y) // d for x, y in zip(row, source, strict=True)]
    new[c] = sign * f
    return new
