"""`absorb-conditions`: conditions inside a reduction become part of its index set.

    sum over S of (if P { A } else { B })  =  sum over S ∩ P of A  +  sum over S \\ P of B

so that no loop tests what its bounds can say. `P` holds indices of the reduction itself. It is cut
into disjoint convex disjuncts, each with a reduction of its own; a disjunct in which the body is
the number that an empty reduction gives (0 for a sum) vanishes.

    %0 = tix.sum (%k) in (%k >= 0, %k <= 4) {
      %1 = tix.if (%k >= %i) {
        %2 = tix.read %x[%k]
        tix.yield %2
      } else {
        %3 = tix.constant 0.0
        tix.yield %3
      }
      tix.yield %1
    }

becomes

    %0 = tix.sum (%k) in (%k >= 0, %k <= 4, %k >= %i) {
      %2 = tix.read %x[%k]
      tix.yield %2
    }

The kind of the condition decides what becomes of the loop:

An inequality bounds an index.

    sum over k in {0 <= k < N} of (x[k] if k >= i else 0)      sum over k in {i <= k < N} of x[k]

An equality (a Kronecker delta) joins the equations and removes a loop.

    sum over k in {0 <= k < N} of (x[k] if k == i else 0)      sum over {0 <= i < N} of x[i]

Divisibility, `e == m q` with `q = e // m`, makes `q` an index of the set, which the equation then
determines: the loop runs over a residue class. An inequality in `q` alone needs no `q`, since
`q >= c` is `e >= m c`.

    sum over k in {0 <= k < N} of                              sum over q in {0 <= 3 q < N}
        (x[k] if k == 3 * (k // 3) else 0)                         of x[3 q]

A condition on indices outside of the reduction moves outside. Within another reduction it is a
condition of that one, and so are the constraints of the inner reduction's set on outer indices.

    sum over k of (x[k] if i >= 2 else 0)                      sum over k of x[k] if i >= 2 else 0

A condition may stand anywhere in the body, also in a factor or under a function: it is the set that
is cut. Terms of a sum under different conditions become sums of their own where that takes fewer
disjuncts. A point at which a condition makes a factor 0 does not belong to the sum: what stands
beside that 0 does not count, not even if it is infinite. Conditions stay where cutting would take
too many disjuncts, and in values that must round identically (`passes/analysis/rounding.py`);
extrema stay whole, since ties are shared by all their terms.

With `by_borders`, as code wants it, those that change near the ends of a long index, as boundaries
do, are decided in all but a few points even so: these become sets of their own, in which conditions
stay.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass

from xdsl.ir import Operation, SSAValue

from tadc.dialects import tix
from tadc.dialects.tix import Constraint
from tadc.dialects.tix import elementwise as ew
from tadc.passes.analysis.properties import equations_solved
from tadc.passes.analysis.rounding import must_round_identically
from tadc.passes.derive.infer_ranges import infer_ranges
from tadc.passes.derive.solve_index_kernels import solve_index_kernels
from tadc.passes.index_sets.cells import MOST_CANDIDATES, Cell, Cutter, is_inside
from tadc.passes.index_sets.conditional_constants import (
    Condition,
    ConditionalConstants,
    set_conditions,
)
from tadc.passes.index_sets.context import ContextCloner
from tadc.passes.index_sets.disjuncts import Disjunct, complement, disjoint, with_equations
from tadc.passes.rewriting.builder import Body, BodyBuilder
from tadc.passes.rewriting.cloner import Cloner
from tadc.passes.rewriting.program_pass import LocalPass
from tadc.passes.rewriting.programs import (
    ProgramBuilder,
    copy_definition,
    copy_program,
)
from tadc.passes.rewriting.terms import Term, add_terms, terms_of
from tadc.passes.simplify.simplify_sums import simplify_sums

MOST_ROUNDS = 4
"""The number of times that a program is rewritten: an inner reduction that absorbs a condition may
leave one on the indices of the reduction around it.

Programs mean the same after every round, and a condition that is left is tested in its loop: so
stopping early costs time and nothing else, while to raise would refuse programs that are right."""

MOST_CELLS = 8
"""The number of reductions that one becomes."""

MOST_TERMS_TO_GROUP = 64
"""The number of terms of a sum up to which those under the same conditions are looked for."""


@dataclass(frozen=True)
class AbsorbConditionsPass(LocalPass):
    """`absorb-conditions`: no options."""

    name = "absorb-conditions"
    requires = leaves = (equations_solved,)

    def rewrite(self, program: tix.ProgramOp) -> tix.ProgramOp:
        return absorb_conditions(program)


def absorb_conditions(program: tix.ProgramOp, by_borders: bool = False) -> tix.ProgramOp:
    """The program with conditions in index sets; itself where there are none."""
    budgets: dict[str, _Budget] = {}
    for _ in range(MOST_ROUNDS):
        if not _has_work(program):
            break
        run = _Run(must_round_identically(program), budgets, by_borders)
        program = solve_index_kernels(_absorbed(program, run))
        if not run.changed:
            break
    return program


def bounded_without_conditions(program: tix.ProgramOp, by_borders: bool = False) -> tix.ProgramOp:
    """A bounded program with conditions in index sets, bounded again; itself without conditions."""
    if not _has_work(program):
        return program
    return simplify_sums(infer_ranges(absorb_conditions(program, by_borders)))


def _has_work(program: tix.ProgramOp) -> bool:
    """True if there is a condition inside a loop, or a loop over a single point."""
    loops = [op for op in program.walk() if isinstance(op, tix.ReductionOp) and op.indices]
    return any(_hidden_equations(op) or any(map(_tests_indices, op.body.walk())) for op in loops)


def _tests_indices(op: Operation) -> bool:
    """True for `tix.if`, and for reductions whose set constrains outer indices."""
    return isinstance(op, tix.IfOp) or (
        isinstance(op, tix.ReductionOp) and bool(set_conditions(op))
    )


def _hidden_equations(op: tix.ReductionOp) -> bool:
    """True if inequalities of the set amount to an equation in its own indices."""
    found = with_equations(op.constraints)
    return any(c.equality and any(c.form[v] for v in op.indices) for c in found)


@dataclass
class _Budget:
    """The cost that cutting may have in one definition, in all rounds together."""

    operations: int = 600
    """The number of operations by which the definition may grow."""
    failures: int = 8
    """The number of sets that may turn out to need too many cells."""

    def most_cells(self, size: int) -> int:
        """The number of cells of a set that can be paid, if one more takes `size` operations."""
        return min(MOST_CELLS, self.operations // size + 1)


@dataclass
class _Run:
    """One round: one rewriting of a program."""

    whole: Set[Operation]
    """The reductions that must round identically wherever they are computed: these stay whole."""
    budgets: dict[str, _Budget]
    """The budget of each definition, by label."""
    by_borders: bool
    """True if few points near ends leave where not all conditions can be decided."""
    changed: bool = False


def _absorbed(program: tix.ProgramOp, run: _Run) -> tix.ProgramOp:
    def define(builder: ProgramBuilder, tensors: Cloner, op: tix.DefineOp) -> SSAValue:
        budget = run.budgets.setdefault(op.label.data, _Budget())
        return copy_definition(builder, _Absorber(tensors, run, budget), op)

    return copy_program(program, define=define)


class _Absorber(ContextCloner):
    """Copies; reductions are cut on the way."""

    outcomes: Mapping[Condition, bool] = {}
    """The conditions that are decided here: True for those that hold."""
    numbers: Mapping[SSAValue, float] = {}
    """The values of the old body that are numbers here."""

    def __init__(self, tensors: Cloner, run: _Run, budget: _Budget):
        super().__init__(tensors.builder, tensors.values)
        self.run = run
        self.budget = budget

    def copy(self, op: Operation) -> None:
        result = op.results[0]
        if result in self.numbers:
            self.values[result] = self.builder.constant(self.numbers[result])
        elif not (isinstance(op, tix.FloorDivOp) and result in self.indices):
            super().copy(op)

    def copy_if(self, op: tix.IfOp) -> SSAValue:
        holds = self.outcomes.get(Condition.of(op))
        if holds is None:
            return super().copy_if(op)
        return self.inner(self.builder).copy_body(op.then if holds else op.otherwise)

    def copy_reduction(self, op: tix.ReductionOp) -> SSAValue:
        outcomes = ConditionalConstants(op.body, self.outcomes)
        value = tix.yielded(op.body)
        if outcomes.numbers.get(value) == op.IDENTITY:
            return self.builder.constant(op.IDENTITY)
        if op.indices:
            outside = [c for c in outcomes.undecided([value], op.body) if _is_outside(c, op)]
            for condition in outside[:MOST_CANDIDATES]:
                if found := self._outside(op, condition):
                    return found
        return self._inside(op, outcomes)

    # --- conditions on indices around the reduction ---

    def _outside(self, op: tix.ReductionOp, condition: Condition) -> SSAValue | None:
        """The reduction within a condition; None where that would copy too much, or read ahead."""
        forms = [c.form for disjunct in condition.disjuncts for c in disjunct]
        if not self.can_read_ahead(forms, op):
            return None
        self._require(condition)
        disjuncts = [self.constraints(disjunct) for disjunct in condition.disjuncts]
        outside = complement(disjuncts, self.known)
        if not outside or not disjoint(disjuncts, self.known):
            return self._with(condition, not outside).copy_reduction(op)
        if not self._one_vanishes(op, condition):
            size = sum(1 for _ in op.body.walk())
            if size > self.budget.operations:
                return None
            self.budget.operations -= size
        self.run.changed = True

        def branch(holds: bool, known: Sequence[Disjunct]) -> Body:
            def body(e: BodyBuilder, own: list[SSAValue]) -> SSAValue:
                cloner = self.inner(e)._with(condition, holds)
                cloner.assume(known[0] if len(known) == 1 else ())
                return cloner.copy_reduction(op)

            return body

        return self.builder.choose(disjuncts, branch(True, disjuncts), branch(False, outside))

    def _require(self, condition: Condition) -> None:
        """Copy the quotients that a condition uses."""
        for disjunct in condition.disjuncts:
            for v in (v for c in disjunct for v in c.form.indices):
                self.fetch(v)

    def _with(self, condition: Condition, holds: bool) -> _Absorber:
        cloner = self.inner(self.builder)
        cloner.outcomes = {**self.outcomes, condition: holds}
        return cloner

    def _one_vanishes(self, op: tix.ReductionOp, condition: Condition) -> bool:
        sides = (
            ConditionalConstants(op.body, {**self.outcomes, condition: h}) for h in (True, False)
        )
        return any(side.numbers.get(tix.yielded(op.body)) == op.IDENTITY for side in sides)

    # --- conditions on indices of the reduction ---

    def _inside(self, op: tix.ReductionOp, outcomes: ConditionalConstants) -> SSAValue:
        """The reductions over the cells of the set, as one value."""
        cutter = Cutter(op, self, self.outcomes)
        whole = [Term(tix.yielded(op.body))]
        parts = [(whole, [cutter.start])]
        if op.indices and not isinstance(op, tix.ExtremumOp) and op not in self.run.whole:
            parts = self._parts(cutter, outcomes)
        cells = [(terms, cell) for terms, cells in parts for cell in cells]
        self.run.changed |= [cell for _, cell in cells] != [cutter.start] or _hidden_equations(op)
        self.budget.operations -= max(0, len(cells) - 1) * cutter.size
        if not cells:
            return self.builder.constant(op.IDENTITY)
        values = [self._cell(cutter, terms, cell) for terms, cell in cells]
        total = values[0]
        for value in values[1:]:
            total = self.builder.binary(_COMBINED[type(op)], total, value)
        return total

    def _parts(
        self, cutter: Cutter, outcomes: ConditionalConstants
    ) -> list[tuple[list[Term], list[Cell]]]:
        """The cells of all terms together, or of groups of terms where these have fewer."""
        groups = _groups(cutter, outcomes)
        parts: list[tuple[list[Term], list[Cell]]] = []
        for terms in groups:
            values = [t.value for t in terms]
            cells = self._cells(cutter, values, MOST_CELLS)
            if cells is None:
                most = self.budget.most_cells(cutter.size)
                cells = cutter.cells_by_borders(values, most) if self.run.by_borders else None
                cells = cells or cutter.cells_of_vanishing(values, most)
            parts.append((terms, cells))
        if len(groups) > 1:
            whole = [Term(tix.yielded(cutter.op.body))]
            most = sum(len(cells) for _, cells in parts)
            together = self._cells(cutter, [whole[0].value], most)
            return parts if together is None else [(whole, together)]
        return parts

    def _cells(self, cutter: Cutter, values: Sequence[SSAValue], most: int) -> list[Cell] | None:
        """At most so many cells, in which every condition is decided; None beyond the budget."""
        if not self.budget.failures:
            return None
        cells = cutter.cells(values, min(most, self.budget.most_cells(cutter.size)))
        self.budget.failures -= cells is None
        return cells

    def _cell(self, cutter: Cutter, terms: Sequence[Term], cell: Cell) -> SSAValue:
        """The reduction of the terms over one cell."""
        op = cutter.op
        quotients, constraints = cutter.domain(cell)
        old = [*(q.result for q in quotients), *op.indices]
        outcomes = ConditionalConstants(op.body, cell.known)

        def domain(own: list[SSAValue]) -> list[Constraint]:
            return self.inner(self.builder, old, own).constraints(constraints)

        def body(e: BodyBuilder, own: list[SSAValue]) -> SSAValue:
            cloner = self.inner(e, old, own)
            cloner.outcomes, cloner.numbers = cell.known, outcomes.numbers
            cloner.assume(cloner.constraints(constraints))
            return add_terms(cloner, terms)

        names = [
            *(q.result.name_hint or "q" for q in quotients),
            *(v.name_hint for v in op.indices),
        ]
        return self.builder.reduce(type(op), names, domain, body)


_COMBINED: Mapping[type[tix.ReductionOp], type[tix.BinaryOp]] = {
    tix.SumOp: ew.AddOp,
    tix.ProdOp: ew.MulOp,
}


def _is_outside(condition: Condition, op: tix.ReductionOp) -> bool:
    return not any(v in op.indices for v in condition.indices) and not is_inside(condition, op)


def _groups(cutter: Cutter, outcomes: ConditionalConstants) -> list[list[Term]]:
    """The terms of a sum, together where they stand under the same conditions."""
    op = cutter.op
    value = tix.yielded(op.body)
    whole = [Term(value)]
    if not isinstance(op, tix.SumOp) or not cutter.own_conditions(outcomes, [value]):
        return [whole]
    terms = [t for t in terms_of(value, op.body.block) if outcomes.numbers.get(t.value) != 0]
    if len(terms) > MOST_TERMS_TO_GROUP:
        return [whole]
    found: dict[frozenset[Condition], list[Term]] = {}
    for term in terms:
        conditions = frozenset(cutter.own_conditions(outcomes, [term.value]))
        found.setdefault(conditions, []).append(term)
    return list(found.values()) if len(found) > 1 else [whole]
