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

On exit no equation holds an own index of its sum.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass

from dialects import tix
from dialects.tix import Affine, Constraint, Variable
from passes.index_sets.disjuncts import with_equations
from passes.index_sets.space import require_short_numbers
from passes.polyhedral.diophantine import Quotient, Solution, solve
from passes.polyhedral.matrix import Row
from passes.rewriting.builder import BodyBuilder, whole_part
from passes.rewriting.cloner import Cloner
from passes.rewriting.programs import copy_program, has_reductions, rewrite_programs

MOST_VALUES_OF_A_SHORT_LOOP = 8
"""The number of values of an index up to which a loop over it is preferred to one over others."""


@dataclass(frozen=True)
class SolveIndexKernelsPass(ModulePass):
    """`solve-index-kernels`: no options."""

    name = "solve-index-kernels"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        rewrite_programs(op, solve_index_kernels)


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

    def solve(self) -> Solution:
        """Every integer solution; those indices are preferred to stay that have few values."""
        m = tuple(tuple(f[v] for v in self.own) for f in self.equations)
        h = tuple((*(-f[k] for k in self.parameters), -f.constant) for f in self.equations)
        preference = _preference(self.own, self.rest)
        return solve(m, h, len(self.own), len(self.parameters), preference)

    def indices(
        self, solution: Solution, quotients: Sequence[Affine], free: Mapping[int, Affine]
    ) -> dict[Variable, Affine]:
        """The own indices at these quotients, and at these values of the columns of the basis."""
        return {
            xi: form_of(solution.particular[n], self.parameters)
            + Affine.sum(q * c for q, c in zip(quotients, coefficients, strict=True))
            + Affine.sum(free[c] * solution.basis[n][c] for c in free)
            for n, (xi, coefficients) in enumerate(
                zip(self.own, solution.quotient_coefficients, strict=True)
            )
        }


@dataclass(frozen=True)
class _Exact:
    """A quotient `t` that is exact where the guard `row == divisor * t` holds."""

    t: SSAValue
    row: Affine
    divisor: int

    @property
    def guard(self) -> Constraint:
        return Constraint(self.row - Affine.of(self.t) * self.divisor, equality=True)

    def clear(self, constraint: Constraint) -> Constraint:
        """The constraint without `t`: multiplied by the divisor, which is positive."""
        c = constraint.form[self.t]
        if not c:
            return constraint
        rest = constraint.form - Affine.of(self.t) * c
        return Constraint(rest * self.divisor + self.row * c, constraint.equality)


class _Solver(Cloner):
    def copy_reduction(self, op: tix.ReductionOp) -> SSAValue:
        constraints = self.constraints(op.constraints)  # own indices stay the old ones here
        system = System.of(op.indices, constraints)
        if not system.equations:
            return super().copy_reduction(op)
        solution = system.solve()
        if solution.empty:
            return self.builder.constant(op.IDENTITY)
        return self._solved_sum(op, system, solution)

    def _solved_sum(
        self,
        op: tix.ReductionOp,
        system: System,
        solution: Solution,
    ) -> SSAValue:
        parameters = system.parameters
        quotients, exact = self._quotients(solution.quotients, parameters)
        zero = [Constraint(form_of(row, parameters), equality=True) for row in solution.zero]
        free = free_columns(solution)

        def old_indices(own: list[SSAValue]) -> dict[Variable, Affine]:
            z = {c: Affine.of(v) for c, v in zip(free, own, strict=True)}
            return system.indices(solution, quotients, z)

        def domain(own: list[SSAValue]) -> list[Constraint]:
            indices = old_indices(own)
            solved = [c.substitute(indices) for c in system.rest]
            for quotient in exact:
                solved = [quotient.clear(c) for c in solved]
            return [*zero, *(q.guard for q in exact), *solved]

        def body(e: BodyBuilder, own: list[SSAValue]) -> SSAValue:
            indices = old_indices(own)
            require_short_numbers(op.location, indices.values())
            cloner = self.inner(e)
            cloner.indices.update(indices)
            return cloner.copy_body(op.body)

        names = [name_of(solution, c, op.indices) for c in free]
        return self.builder.reduce(type(op), names, domain, body)

    def _quotients(
        self, quotients: Sequence[Quotient], parameters: Sequence[Variable]
    ) -> tuple[list[Affine], list[_Exact]]:
        """Emit `t = row // s` for each quotient; multiples of `s` in the row need no operation."""
        values: list[Affine] = []
        exact: list[_Exact] = []
        for quotient in quotients:
            row, divisor = form_of(quotient.row, parameters), quotient.modulus
            # Wherever the division is exact, that by rounding down a constant less is the same.
            whole = whole_part(row + (divisor - 1), divisor)
            rest = row - whole * divisor
            t = self.builder.floordiv(rest - rest.constant, divisor).single_index
            assert t is not None, f"{rest} has a multiple of {divisor}"
            values.append(whole + Affine.of(t))
            exact.append(_Exact(t, rest, divisor))
        return values, exact


def name_of(solution: Solution, column: int, own: Sequence[SSAValue]) -> str | None:
    """The name of the index that a new one equals, or `z` where it numbers the solutions."""
    pivot = solution.pivots[column]
    return own[pivot].name_hint if solution.basis[pivot][column] == 1 else "z"


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


def free_columns(solution: Solution) -> list[int]:
    """The columns of the basis in the order of the summation indices that they become."""
    return sorted(range(len(solution.pivots)), key=lambda c: solution.pivots[c])


def form_of(row: Row, parameters: Sequence[Variable]) -> Affine:
    """The affine form of a row over the parameters, the constant last."""
    return Affine(dict(zip(parameters, row[:-1], strict=True)), row[-1])
