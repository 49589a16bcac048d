"""Cuts the index set of a reduction by the conditions in its body into disjoint convex cells.

    { k : 0 <= k < N }  by  k >= i            { 0 <= k < N, k >= i }      k >= i holds
                                              { 0 <= k < N, k < i }       it does not

A local quotient `q = e // m` in a condition is eliminated where it stands alone, by
`q >= c  <=>  e >= m c`. Otherwise it becomes one more index of the cell, with `0 <= e - m q < m`:
as many points as before, since `e` determines it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue

from tadc.dialects import tix
from tadc.dialects.tix import Affine, Constraint
from tadc.passes.index_sets.conditional_constants import (
    Condition,
    ConditionalConstants,
    owner_of,
    set_conditions,
)
from tadc.passes.index_sets.context import ContextCloner
from tadc.passes.index_sets.disjuncts import Disjunct, complement, disjoint
from tadc.passes.index_sets.sets import elements_of, quotient_constraints
from tadc.passes.index_sets.space import implied_by

MOST_CUTS = 32
"""The number of cuts on the way to the cells of one reduction."""

WIDEST_BORDER = 16
"""The number of values of an index in a border."""

MOST_CANDIDATES = 16
"""The number of conditions among which the one to cut by next is chosen."""


@dataclass(frozen=True)
class Cell:
    """A convex part of an index set, in which some conditions are decided.

    Constraints are in the old own indices, and in the new indices around the reduction.
    """

    domain: tuple[Constraint, ...]
    known: Mapping[Condition, bool]
    """True for conditions that hold in all of the cell, False for those that hold nowhere in it."""


class Cutter:
    """Cuts the set of `op` in the place where `cloner` copies it.

    `size` is the number of operations that one more cell copies.
    """

    def __init__(
        self,
        op: tix.ReductionOp,
        cloner: ContextCloner,
        known: Mapping[Condition, bool],
    ):
        self.op = op
        self.cloner = cloner
        left = [c for c in op.constraints if c not in _known_constraints(op, known)]
        self.start = Cell(tuple(cloner.constraints(left)), known)
        self.size = sum(1 for _ in op.body.walk())

    def cells(self, values: Sequence[SSAValue], most: int) -> list[Cell] | None:
        """Convex cells in each of which every condition is decided.

        Cells where all `values` of the body are the identity are dropped. None where there would be
        more than `most` cells.
        """
        return self._cut(values, most, only_vanishing=False)

    def cells_of_vanishing(self, values: Sequence[SSAValue], most: int) -> list[Cell]:
        """Cells, cut only where one side of a condition vanishes: others stay undecided."""
        cells = self._cut(values, most, only_vanishing=True)
        return [self.start] if cells is None else cells

    def cells_by_borders(self, values: Sequence[SSAValue], most: int) -> list[Cell] | None:
        """The inside of the set, where no condition changes that does so near an end of a long
        index, and the borders, where others stay undecided. None where there are no borders, or
        more cells than `most`."""
        inside, borders = self.start, list[Cell]()
        outcomes = ConditionalConstants(self.op.body, inside.known)
        for condition in self.own_conditions(outcomes, values)[:MOST_CANDIDATES]:
            sides = self._sides(inside, condition, values)
            large = [side for side in sides if not self._is_border(side)]
            if len(large) == 1:
                borders += [side for side in sides if side is not large[0]]
                inside = large[0]
            if len(borders) >= most:
                return None
        return [inside, *borders] if borders else None

    def _is_border(self, cell: Cell) -> bool:
        """True if a cell has few of the values of an index, at an end that others are far from."""
        whole = [*self.cloner.known, *self.start.domain]
        ends = [c.form for c in self.start.domain if any(c.form[v] for v in self.op.indices)]
        near = [Constraint(WIDEST_BORDER - 1 - distance) for distance in ends]
        context = [*self.cloner.known, *cell.domain]
        return any(implied_by(c, context) and not implied_by(c, whole) for c in near)

    def own_conditions(
        self, known: ConditionalConstants, values: Iterable[SSAValue]
    ) -> list[Condition]:
        """The undecided conditions of these values on own indices, none of sums inside."""
        return [c for c in known.undecided(values, self.op.body) if self._is_own(c)]

    def _is_own(self, condition: Condition) -> bool:
        forms = [c.form for disjunct in condition.disjuncts for c in disjunct]
        if any(self.op.is_ancestor(at) for at in elements_of(forms)):
            return False  # no constraint of the set can say it
        return any(v in self.op.indices for v in condition.indices) and not is_inside(
            condition, self.op
        )

    def _cut(
        self, values: Sequence[SSAValue], most: int, only_vanishing: bool
    ) -> list[Cell] | None:
        done: list[Cell] = []
        pending = [self.start]
        for _ in range(MOST_CUTS):
            if not pending:
                return done
            cell = pending.pop(0)
            condition = self._next(cell, values, only_vanishing)
            if condition is None:
                done.append(cell)
            else:
                pending[:0] = self._sides(cell, condition, values)
            if len(done) + len(pending) > most:
                return None
        return None

    def _next(
        self, cell: Cell, values: Sequence[SSAValue], only_vanishing: bool
    ) -> Condition | None:
        """The condition to cut by, first one of which a side vanishes."""
        outcomes = ConditionalConstants(self.op.body, cell.known)
        choices = self.own_conditions(outcomes, values)[:MOST_CANDIDATES]
        for condition in choices:
            if any(self._vanishes({**cell.known, condition: h}, values) for h in (True, False)):
                return condition
        return None if only_vanishing or not choices else choices[0]

    def _vanishes(self, known: Mapping[Condition, bool], values: Sequence[SSAValue]) -> bool:
        numbers = ConditionalConstants(self.op.body, known).numbers
        return all(numbers.get(v) == self.op.IDENTITY for v in values)

    def _sides(self, cell: Cell, condition: Condition, values: Sequence[SSAValue]) -> list[Cell]:
        """The parts of a cell where the condition holds and where it does not, as far as they
        count."""
        disjuncts = [self._without_quotients(disjunct) for disjunct in condition.disjuncts]
        context = [*self.cloner.known, *cell.domain]
        context += self._quotient_facts(
            [*context, *(c for disjunct in disjuncts for c in disjunct)]
        )
        simple = len(disjuncts) == 1 and not self._quotients(disjuncts[0])
        found: list[Cell] = []
        for holds, side, other in ((True, disjoint, complement), (False, complement, disjoint)):
            known = {**cell.known, condition: holds}
            if self._vanishes(known, values):
                continue
            parts: list[Disjunct] = side(disjuncts, context)
            if parts and not simple and not other(disjuncts, context):
                parts = [[]]  # it holds in all of the cell
            found += [Cell((*cell.domain, *part), known) for part in parts]
        return found

    # --- quotients ---

    def domain(self, cell: Cell) -> tuple[list[tix.FloorDivOp], list[Constraint]]:
        """The quotients that become indices of the cell, and all its constraints."""
        constraints = dict.fromkeys([*cell.domain, *self._quotient_facts(cell.domain)])
        return self._quotients(cell.domain), list(constraints)

    def _quotients(self, constraints: Iterable[Constraint]) -> list[tix.FloorDivOp]:
        """The quotients in the body that the constraints mention, also through each other."""
        found: dict[tix.FloorDivOp, None] = {}
        pending = [v for c in constraints for v in c.form.indices]
        while pending:
            op = pending.pop().owner
            if isinstance(op, tix.FloorDivOp) and self.op.is_ancestor(op) and op not in found:
                found[op] = None
                pending += self.cloner.form(op.form).indices
        return list(found)

    def _quotient_facts(self, constraints: Iterable[Constraint]) -> list[Constraint]:
        """`0 <= e - m q < m` for each of these quotients."""
        quotients = self._quotients(constraints)
        return [f for q in quotients for f in self.cloner.constraints(quotient_constraints(q))]

    def _without_quotients(self, disjunct: Sequence[Constraint]) -> Disjunct:
        """Constraints with the points of `disjunct`, but with fewer quotients."""
        done: Disjunct = []
        pending = self.cloner.constraints(disjunct)
        while pending:
            constraint = pending.pop(0)
            alone = [
                q for q in self._quotients([constraint]) if abs(constraint.form[q.result]) == 1
            ]
            if alone:
                pending[:0] = self._eliminated(constraint, alone[0])
            else:
                done.append(constraint)
        return done

    def _eliminated(self, constraint: Constraint, quotient: tix.FloorDivOp) -> list[Constraint]:
        """`q >= c` is `e >= m c`, and `q <= c` is `e <= m c + m - 1`."""
        q, m = Affine.of(quotient.result), quotient.divisor.data
        e = self.cloner.form(quotient.form)
        sign = constraint.form[quotient.result]
        c = (constraint.form - q * sign) * -sign
        at_least, at_most = Constraint(e - c * m), Constraint(c * m + (m - 1) - e)
        if constraint.equality:
            return [at_least, at_most]
        return [at_least] if sign == 1 else [at_most]


def is_inside(condition: Condition, op: tix.ReductionOp) -> bool:
    """True if the condition mentions an index of a reduction within `op`."""
    owners = [owner_of(v) for v in condition.indices]
    return any(o is not None and o is not op and op.is_ancestor(o) for o in owners)


def _known_constraints(op: tix.ReductionOp, known: Mapping[Condition, bool]) -> set[Constraint]:
    """The constraints of the set on indices outside that are known to hold."""
    held = [c for c in set_conditions(op) if known.get(c)]
    return {constraint for c in held for disjunct in c.disjuncts for constraint in disjunct}
