"""The inverse of reverse mode, `J⁻ᵀ x̄`: from adjoints of the arguments to those of the results.

Lumps are solved first one first. In each, the adjoints of `ins` and `others` before it are known,
those of `outs` and `others` after it are not:

    Aᵀ d_outs = d_ins,     d_others after = d_others before - Bᵀ d_outs

    p[i] = p[i] * s[i] + t[i]      dp_1[i] = dp[i] / s[i]
                                     ds[i] -= p[i] * dp_1[i],  dt[i] -= dp_1[i]

Each method of the system does so for one structure of `A`; that for the system that is not
transposed has the same name in `passes/derive/inversion/inverse_forward.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue

from tadc.dialects import tix
from tadc.passes.derive.differentiation.forward_sweep import ForwardSweep
from tadc.passes.derive.differentiation.names import adjoint_names
from tadc.passes.derive.differentiation.reverse_scalars import Negated
from tadc.passes.derive.differentiation.reverse_sweep import ReverseSweep
from tadc.passes.derive.inversion.inverse_program import (
    InverseBuilder,
    InverseProgram,
    elements_of,
    index_names,
)
from tadc.passes.derive.inversion.inverse_systems import LumpSystem
from tadc.passes.derive.inversion.lump_matrix import LumpMatrix
from tadc.passes.derive.inversion.structures import Diagonal, DiagonalPlusNilpotent
from tadc.passes.rewriting.programs import location_of, reads_of


def inverse_vjp(program: tix.ProgramOp, keep_pivots: bool) -> InverseProgram:
    """The program of `J⁻ᵀ x̄`; with `keep_pivots` it also returns what it divides by.

    Raises `PassFailure` where the program has no inverse modes.
    """
    made = InverseBuilder(program, adjoint_names(program))
    state = _StateAdjoints(made)
    for matrix in made.matrices:
        state.pass_lump(matrix)
    return made.finish(state.of_results(), keep_pivots)


class _StateAdjoints:
    """The adjoints of the state between two lumps, at first of the one before all lumps.

    `sweep.seeds` maps each of its tensors to its adjoint so far; what lumps that it stays in have
    contributed since waits in the sweep, that of derived tensors until it is needed.
    """

    def __init__(self, made: InverseBuilder):
        self.made = made
        self.sweep = ReverseSweep(made.labels, made.tensors)
        self.sweep.seeds.update(zip(made.state, made.seeds, strict=True))
        self.waiting: set[tix.DefineOp] = set()
        """Derived tensors with contributions that what they read has not got yet."""

    def pass_lump(self, matrix: LumpMatrix) -> None:
        """Go from the state before a lump to the one after it."""
        lump, sweep = matrix.lump, self.sweep
        if any(read.tensor in lump.ins for op in self.waiting for read in reads_of(op)):
            self._hand_on()
        d_ins = [_total(self.made, sweep, v, self.made.names_of[v]) for v in lump.ins]
        for tensor in lump.ins:
            sweep.forget(tensor)
        d_outs = _AdjointSystem(self.made, matrix, d_ins).solve()
        # d_others -= Bᵀ d_outs; of the same visits, -Aᵀ d_outs goes to `ins` and is dropped
        sweep.seeds.update((v, Negated(d)) for v, d in zip(lump.outs, d_outs, strict=True))
        for op in reversed(lump.definitions):
            sweep.visit(op)
        for tensor in lump.ins:
            sweep.forget(tensor)
        sweep.seeds.update(zip(lump.outs, d_outs, strict=True))
        self.waiting.update(lump.derived)

    def of_results(self) -> list[SSAValue]:
        """The adjoints of the results, after all lumps."""
        self._hand_on()
        made = self.made
        return [_total(made, self.sweep, v, made.names_of[v]) for v in made.program.returned]

    def _hand_on(self) -> None:
        """Hand on what was contributed to derived tensors, last one first."""
        for op in reversed([op for op in self.made.program.definitions if op in self.waiting]):
            self.sweep.visit(op)
        self.waiting.clear()


def _total(made: InverseBuilder, sweep: ReverseSweep, tensor: SSAValue, name: str) -> SSAValue:
    """The seed of a tensor and what was contributed to it, as a tensor."""
    seed = sweep.seeds.get(tensor)
    if isinstance(seed, SSAValue) and not sweep.has_contributions(tensor):
        return seed
    names = sweep.index_names(tensor)
    return sweep.gather(made.labels.fresh(f"d{name}"), tensor, names, location_of(tensor))


@dataclass(frozen=True)
class _AdjointSystem(LumpSystem):
    """`Aᵀ d_outs = d_ins` of one lump."""

    d_ins: Sequence[SSAValue]

    def divided(
        self, structure: Diagonal | DiagonalPlusNilpotent, solution: SSAValue | None
    ) -> SSAValue:
        """`D⁻ᵀ (d_in - Oᵀ d_out)`, by elements of `out`."""
        d_in = self.d_ins[0] if solution is None else self._without_rest(solution)
        image = structure.permutation.image
        return self.by_divisors(0, self._name(0), lambda e, element: e.read(d_in, image(element)))

    def _without_rest(self, d_out: SSAValue) -> SSAValue:
        """`d_in - Oᵀ d_out`."""
        (op,), (tensor,) = self.definitions, self.matrix.lump.ins
        made = self.made
        sweep = ReverseSweep(made.labels, made.tensors)
        sweep.seeds[op.result] = Negated(d_out)
        sweep.seeds[tensor] = self.d_ins[0]
        sweep.visit(op, self.matrix.off_diagonal)
        for other in reversed(self.matrix.lump.definitions):
            if other is not op:
                sweep.visit(other)
        return _total(made, sweep, tensor, f"{made.names_of[tensor]}_rest")

    def solve_monomial(self) -> list[SSAValue]:
        """`d_outs = (A d_ins) / a²`."""
        sweep = ForwardSweep(self.made.labels, self.made.tensors)
        sweep.seed(self.matrix.lump.ins, self.d_ins)
        self.matrix.visit_inside(sweep)
        return [
            self.by_divisors(
                k, self._name(k), lambda e, element, op=op: sweep.element(e, op, element)
            )
            for k, op in enumerate(self.definitions)
        ]

    def solve_matrix(self) -> list[SSAValue]:
        """`Aᵀ d_outs = d_ins`, as a linear system between two programs."""
        made, matrix = self.made, self.matrix
        rhs = [self._in_columns(j) for j in range(len(matrix.lump.ins))]
        solutions = made.solve(matrix, rhs, transposed=True)
        solved = zip(self.definitions, matrix.out_axes, solutions, strict=True)
        return [
            made.define(self._name(k), op.result, elements_of(found, axes.split), index_names(op))
            for k, (op, axes, found) in enumerate(solved)
        ]

    def _in_columns(self, j: int) -> SSAValue:
        """The adjoint of `ins[j]`, with the dimensions of the columns of the matrix."""
        made, matrix, tensor = self.made, self.matrix, self.matrix.lump.ins[j]
        return made.right_hand_side(
            f"d{made.names_of[tensor]}_rhs",
            like=tensor,
            sizes=matrix.column_sizes(j),
            element=elements_of(self.d_ins[j], matrix.in_axes[j].join),
        )

    def _name(self, k: int) -> str:
        """The name of the adjoint of `outs[k]`."""
        return f"d{self.definitions[k].label.data}"
