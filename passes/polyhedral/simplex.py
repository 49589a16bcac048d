"""Rational feasibility of inequalities, exactly, by integer pivoting.

The system is `s_i = a_i·v + b_i ≥ 0` with v free. A dictionary writes the basic slacks with the
non-basic ones,

    D x_b = Σ_j T_bj x_j + T_b0,        D > 0,

with one common denominator. Exchanging x_r and x_c with `p = T_rc` gives

    p x_c = D x_r - Σ_{j≠c} T_rj x_j - T_r0
    p x_i = T_ic x_r + Σ_{j≠c} (p T_ij - T_ic T_rj) / D x_j + (p T_i0 - T_ic T_r0) / D,

where every division is exact, since entries are minors of (a | b) and D the minor of the basis
(Edmonds 1967, "Systems of distinct representatives and linear algebra"; Bareiss 1968, "Sylvester's
identity and multistep integer-preserving Gaussian elimination"). The free variables enter the basis
first; their rows are never read again and are dropped, so that the dictionary has one row per
inequality beyond the dimension.

With all non-basic slacks at zero, a negative T_r0 is a violated inequality. Exchange it for a
non-basic slack of positive T_rc. Where there is none, row r says "negative = sum of non-positive
terms": infeasible, by Farkas' lemma, over the rationals. Taking the lowest-numbered slack in both
choices terminates (Bland 1977, "New finite pivoting rules for the simplex method"; for this form
Dutertre and de Moura 2006, "A fast linear-arithmetic solver for DPLL(T)", theorem 1).

For example, `v ≥ 1` and `-v ≥ 0` are s_0 = v - 1 and s_1 = -v. With v exchanged for s_0, the row of
v is dropped and s_1 = -s_0 - 1 is left: at s_0 = 0 it is violated, and no entry is positive.
"""

from collections.abc import Sequence

from tadc.passes.polyhedral.matrix import Row


class Tableau:
    """The dictionary of `rows·(v, 1) ≥ 0`, where slack i belongs to row i. Mutable.

    `rows[r]` holds T_r and then T_r0, for the slack `basic[r]`; column c belongs to the slack
    `nonbasic[c]`, the last one to the constants. `denominator` is D.
    """

    __slots__ = ("basic", "denominator", "nonbasic", "rows")

    def __init__(self, rows: Sequence[Row]) -> None:
        # At first slacks are basic, by their definition s = a·v + b, and D = 1.
        self.denominator = 1
        self.rows: list[list[int]] = [list(row) for row in rows]
        self.basic = list(range(len(rows)))
        width = len(rows[0]) - 1 if rows else 0
        # Negative numbers mark free variables that are still non-basic.
        self.nonbasic = list(range(-width, 0))
        for variable in range(-width, 0):
            self._release(self.nonbasic.index(variable))

    def make_feasible(self) -> bool:
        """Pivot until no inequality is violated, and return True; False if one cannot be met.

        True is a proof of a rational point, False that there is none.
        """
        while (r := self._violated()) is not None:
            c = self._entering(self.rows[r])
            if c is None:
                return False
            self._pivot(r, c)
        return True

    def redundant(self, slack: int) -> bool:
        """True if the other inequalities exclude `s ≤ -1`: they imply `s ≥ 0` for an integer s."""
        trial = Tableau(())
        trial.denominator = self.denominator
        # Pivoting replaces rows and never writes into them: shallow copies suffice.
        trial.rows, trial.basic = self.rows[:], self.basic[:]
        trial.nonbasic = self.nonbasic[:]
        trial._reverse(slack)
        return not trial.make_feasible()

    def drop(self, slack: int) -> None:
        """Forget one inequality. What the dictionary says holds again after `make_feasible`."""
        if slack in self.nonbasic:
            # Without its inequality the slack is a free variable.
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
        # T s = -T s' - T, in each row.
        for i, row in enumerate(self.rows):
            if row[c]:
                row = row[:]
                row[-1] -= row[c]
                row[c] = -row[c]
                self.rows[i] = row

    def _violated(self) -> int | None:
        """The row of the lowest-numbered slack that is negative; None if there is none."""
        negative = [(self.basic[i], i) for i, row in enumerate(self.rows) if row[-1] < 0]
        return min(negative)[1] if negative else None

    def _entering(self, row: list[int]) -> int | None:
        """The column of the lowest-numbered slack that can raise a row; None if there is none."""
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
    """Row i after the exchange, `(p T_ij - T_ic T_rj) / D`, and T_ic in column c, if p > 0.

    `source` is row r, negated along with p and the `sign` if p was negative.
    """
    f = row[c]
    if not f:
        return row if p == d else [p * x // d for x in row]
    if p == d == 1:
        new = [x - f * y for x, y in zip(row, source, strict=True)]
    else:
        new = [(p * x - f * y) // d for x, y in zip(row, source, strict=True)]
    new[c] = sign * f
    return new
