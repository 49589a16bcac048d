"""Constraints on indices and sizes as rows for the exact mathematics of `passes/polyhedral`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dialects.tix import Affine, Constraint, Key
from passes.polyhedral.inequalities import feasible, implied
from passes.polyhedral.matrix import Row


class Space:
    """Numbered columns for keys: the `first` ones, then all that `constraints` mention, then 1."""

    def __init__(self, first: Sequence[Key], constraints: Iterable[Constraint]):
        used = (k for c in constraints for k in c.form.terms)
        self.keys = list(dict.fromkeys([*first, *used]))

    def rows(self, constraints: Iterable[Constraint]) -> list[Row]:
        """Rows `row·(keys, 1) >= 0`; an equality gives two."""
        rows: list[Row] = []
        for c in constraints:
            row = (*(c.form[k] for k in self.keys), c.form.constant)
            rows += [row, tuple(-x for x in row)] if c.equality else [row]
        return rows

    def sizes_not_negative(self) -> list[Row]:
        columns = [n for n, key in enumerate(self.keys) if isinstance(key, str)]
        return [tuple(int(m == n) for m in range(len(self.keys) + 1)) for n in columns]

    def constraint(self, row: Row) -> Constraint:
        return Constraint(Affine(dict(zip(self.keys, row[:-1], strict=True)), row[-1]))

    def implied(self, constraint: Constraint, known: Sequence[Row]) -> bool:
        """Does `constraint` hold wherever the rows `known` do?"""
        return all(implied(row, known) for row in self.rows([constraint]))


def possible(constraints: Sequence[Constraint]) -> bool:
    """False where no point meets all constraints, as far as rational numbers can tell."""
    space = Space([], constraints)
    return feasible(space.rows(constraints) + space.sizes_not_negative())
