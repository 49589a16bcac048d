"""`solve-index-kernels`: replace the equations of a sum by their integer solutions.

A sum over `{ ξ : M ξ = h, R ξ + r >= 0 }`, where `h` is affine in the indices around it, becomes a
sum over `{ z : R (P + Q t + K z) + r >= 0 }` with `ξ = P + Q t + K z` in its body (paper, 4.1 and
eqs. 41-45; `passes/polyhedral/diophantine.py` derives the solution). What the equations ask of the
outer indices stays in the set as constraints without own indices: `g = 0` for the cokernel, and
`row = s t` with `t = row // s` where an elementary divisor `s` exceeds 1. Equation (46) of the
paper drops the latter, which reads adjoints at fractional indices.

    %2 = tix.sum (%i, %j) in (%p == 2 * %i + 4 * %j, %i >= 0, ...) {
      %3 = tix.read %df[%i, %j]

becomes

    %t = tix.floordiv (%p) by 2
    %2 = tix.sum (%j) in (%p == 2 * %t, %p >= 4 * %j, ...) {
      %3 = tix.read %df[%t - 2 * %j, %j]

Summation indices keep the names of the indices that they equal: of those that could stay, indices
with few values, then the last ones. Where none can, as for `2 * i + 3 * j == p`, a new index `z`
numbers the solutions, `i = 3 z - p` and `j = p - 2 z`. In the constraints `s t` is written
as the row that it equals, so that bounds divide once.

Two opposite inequalities are an equation: an index with one value needs no loop.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue

from tadc.dialects import tix
from tadc.dialects.tix import Affine, Constraint, Variable
from tadc.passes.analysis.properties import equations_solved
from tadc.passes.index_sets.disjuncts import with_equations
from tadc.passes.index_sets.space import require_short_numbers
from tadc.passes.polyhedral.diophantine import Solution, solve
from tadc.passes.polyhedral.matrix import Row
from tadc.passes.rewriting.builder import BodyBuilder, whole_part
from tadc.passes.rewriting.cloner import Cloner
from tadc.passes.rewriting.program_pass import LocalPass
from tadc.passes.rewriting.programs import copy_program, has_reductions

MOST_VALUES_OF_A_SHORT_LOOP = 8
"""The number of values of an index up to which a loop over it is preferred to one over others."""


@dataclass(frozen=True)
class SolveIndexKernelsPass(LocalPass):
    """`solve-index-kernels`: no options."""

    name = "solve-index-kernels"
    leaves = (equations_solved,)

    def rewrite(self, program: tix.ProgramOp) -> tix.ProgramOp:
        return solve_index_kernels(program)


def solve_index_kernels(program: tix.ProgramOp) -> tix.ProgramOp:
    """The program without equations in own indices; itself where there are no reductions."""
    if not has_reductions(program):
        return program
    return copy_program(program, _Solver)


@dataclass(frozen=True)
class System:
    """The equations that determine own indices, over parameters, and the other constraints."""

    own: Sequence[SSAValue]
    equations: Sequence[Affine]
    rest: Sequence[Constraint]
    parameters: Sequence[Variable]

    @staticmethod
    def of(own: Sequence[SSAValue], constraints: Sequence[Constraint]) -> System:
        """The system of a reduction over `own` with these constraints."""
        constraints = with_equations(constraints)
        equations = [c.form for c in constraints if c.equality and _holds(c, own)]
        rest = [c for c in constraints if not (c.equality and _holds(c, own))]
        parameters = list(dict.fromkeys(k for f in equations for k in f.terms if k not in own))
        return System(own, equations, rest, parameters)

    def solve(self) -> Derivation:
        """Every integer solution; those indices are preferred to stay that have few values."""
        m = tuple(tuple(f[v] for v in self.own) for f in self.equations)
        h = tuple((*(-f[k] for k in self.parameters), -f.constant) for f in self.equations)
        preference = _preference(self.own, self.rest)
        return Derivation(self, solve(m, h, len(self.own), len(self.parameters), preference))


@dataclass(frozen=True)
class Exact:
    """A quotient `t` that is exact where the guard `row == divisor * t` holds."""

    t: Variable
    row: Affine
    divisor: int

    @property
    def guard(self) -> Constraint:
        """The divisor divides the row."""
        return Constraint(self.row - Affine.of(self.t) * self.divisor, equality=True)

    def clear(self, constraint: Constraint) -> Constraint:
        """The constraint without `t`: multiplied by the divisor, which is positive."""
        c = constraint.form[self.t]
        if not c:
            return constraint
        rest = constraint.form - Affine.of(self.t) * c
        return Constraint(rest * self.divisor + self.row * c, constraint.equality)


@dataclass(frozen=True)
class Derivation:
    """The equations of a reduction and their solution, in terms of its indices.

    The pass carries it out, and `tadc derive --explain` prints it.
    """

    system: System
    solution: Solution

    @property
    def empty(self) -> bool:
        """True if no integers solve the equations, whatever the parameters are."""
        return self.solution.empty

    @property
    def zero(self) -> list[Constraint]:
        """Guards without own indices, from the rows past the rank of the equations."""
        return [Constraint(self._form(row), equality=True) for row in self.solution.zero]

    @property
    def quotients(self) -> list[tuple[Affine, int]]:
        """A row and its elementary divisor for each exact quotient `t`."""
        return [(self._form(q.row), q.modulus) for q in self.solution.quotients]

    @property
    def null_space(self) -> list[list[int]]:
        """A basis of the solutions of `M ξ = 0`: a vector for each new summation index."""
        return [[row[c] for row in self.solution.basis] for c in self._free]

    @property
    def kept(self) -> list[SSAValue | None]:
        """For each new summation index the own index that it equals, where there is one."""
        pivots = [(self.solution.pivots[c], c) for c in self._free]
        return [self.system.own[p] if self.solution.basis[p][c] == 1 else None for p, c in pivots]

    @property
    def names(self) -> list[str | None]:
        """For each new summation index the name of the one that it equals; `z` if it numbers
        solutions."""
        return ["z" if v is None else v.name_hint for v in self.kept]

    def indices(self, quotients: Sequence[Affine], z: Sequence[Affine]) -> dict[Variable, Affine]:
        """The own indices, `ξ = P + Q t + K z`."""
        return {
            xi: self._form(self.solution.particular[n])
            + Affine.sum(t * c for t, c in zip(quotients, coefficients, strict=True))
            + Affine.sum(v * self.solution.basis[n][c] for c, v in zip(self._free, z, strict=True))
            for n, (xi, coefficients) in enumerate(
                zip(self.system.own, self.solution.quotient_coefficients, strict=True)
            )
        }

    def rest(
        self, indices: Mapping[Variable, Affine], quotients: Sequence[Exact]
    ) -> list[Constraint]:
        """The constraints that are no equations at these own indices, without the quotients."""
        solved = [c.substitute(indices) for c in self.system.rest]
        for quotient in quotients:
            solved = [quotient.clear(c) for c in solved]
        return solved

    @property
    def _free(self) -> list[int]:
        """The columns of the basis in the order of the summation indices that they become."""
        pivots = self.solution.pivots
        return sorted(range(len(pivots)), key=lambda c: pivots[c])

    def _form(self, row: Row) -> Affine:
        """The affine form of a row over the parameters, the constant last."""
        return Affine(dict(zip(self.system.parameters, row[:-1], strict=True)), row[-1])


class _Solver(Cloner):
    def copy_reduction(self, op: tix.ReductionOp) -> SSAValue:
        constraints = self.constraints(op.constraints)  # own indices stay the old ones here
        system = System.of(op.indices, constraints)
        if not system.equations:
            return super().copy_reduction(op)
        derivation = system.solve()
        if derivation.empty:
            return self.builder.constant(op.IDENTITY)
        return self._solved_sum(op, derivation)

    def _solved_sum(self, op: tix.ReductionOp, derivation: Derivation) -> SSAValue:
        quotients, exact = self._quotients(derivation.quotients)

        def old_indices(own: list[SSAValue]) -> dict[Variable, Affine]:
            return derivation.indices(quotients, [Affine.of(v) for v in own])

        def domain(own: list[SSAValue]) -> list[Constraint]:
            guards = [q.guard for q in exact]
            return [*derivation.zero, *guards, *derivation.rest(old_indices(own), exact)]

        def body(e: BodyBuilder, own: list[SSAValue]) -> SSAValue:
            indices = old_indices(own)
            require_short_numbers(op.location, indices.values())
            cloner = self.inner(e)
            cloner.indices.update(indices)
            return cloner.copy_body(op.body)

        return self.builder.reduce(type(op), derivation.names, domain, body)

    def _quotients(
        self, quotients: Sequence[tuple[Affine, int]]
    ) -> tuple[list[Affine], list[Exact]]:
        """Emit `t = row // s` for each quotient; multiples of `s` in the row need no operation."""
        values: list[Affine] = []
        exact: list[Exact] = []
        for row, divisor in quotients:
            # Wherever the division is exact, that by rounding down a constant less is the same.
            whole = whole_part(row + (divisor - 1), divisor)
            rest = row - whole * divisor
            t = self.builder.floordiv(rest - rest.constant, divisor).single_index
            assert t is not None, f"{rest} has a multiple of {divisor}"
            values.append(whole + Affine.of(t))
            exact.append(Exact(t, rest, divisor))
        return values, exact


def _holds(constraint: Constraint, own: Sequence[SSAValue]) -> bool:
    return any(constraint.form[v] for v in own)


def _preference(own: Sequence[SSAValue], constraints: Sequence[Constraint]) -> list[int]:
    """The own indices in the order in which they should stay: few values first, then the last."""

    def rank(n: int) -> tuple[bool, int]:
        alone = [c.form for c in constraints if list(c.form.terms) == [own[n]]]
        low = [-f.constant for f in alone if f[own[n]] == 1]
        high = [f.constant for f in alone if f[own[n]] == -1]
        return not low or not high or min(high) - max(low) >= MOST_VALUES_OF_A_SHORT_LOOP, -n

    return sorted(range(len(own)), key=rank)
