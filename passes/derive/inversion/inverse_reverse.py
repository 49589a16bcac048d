"""The inverse of reverse mode, `J⁻ᵀ x̄`: from adjoints of the arguments to those of the results.

Lumps are solved first one first. In each, the adjoints of `ins` and `others` before it are known,
those of `outs` and `others` after it are not:

    Aᵀ d_outs = d_ins,     d_others after = d_others before - Bᵀ d_outs

    p[i] = p[i] * s[i] + t[i]      dp_1[i] = dp[i] / s[i]
                                     ds[i] -= p[i] * dp_1[i],  dt[i] -= dp_1[i]

Each `solve_...` below does so for one structure of `A`; that for the system that is not transposed
has the same name in `passes/derive/inversion/inverse_forward.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue

from tadc.dialects import tix
from tadc.dialects.tix import Affine
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
from tadc.passes.derive.inversion.lump_matrix import LumpMatrix
from tadc.passes.derive.inversion.structures import Diagonal, DiagonalPlusNilpotent, Monomial
from tadc.passes.rewriting.builder import BodyBuilder
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
        d_outs = _solve(_AdjointSystem(self.made, matrix, d_ins))
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
class _AdjointSystem:
    """`Aᵀ d_outs = d_ins` of one lump."""

    made: InverseBuilder
    matrix: LumpMatrix
    d_ins: Sequence[SSAValue]

    @property
    def definitions(self) -> list[tix.DefineOp]:
        """The definitions of `outs`."""
        return self.matrix.definitions


def _solve(system: _AdjointSystem) -> list[SSAValue]:
    """The adjoints of `outs`."""
    match system.matrix.structure:
        case Diagonal() as structure:
            return [solve_diagonal(system, structure)]
        case DiagonalPlusNilpotent() as structure:
            return [solve_diagonal_plus_nilpotent(system, structure)]
        case Monomial():
            return solve_monomial(system)
        case _:
            return solve_matrix(system)


def solve_diagonal(system: _AdjointSystem, structure: Diagonal) -> SSAValue:
    """`d_out = D⁻ᵀ d_in`."""
    return _divided(system, structure, system.d_ins[0])


def solve_diagonal_plus_nilpotent(
    system: _AdjointSystem, structure: DiagonalPlusNilpotent
) -> SSAValue:
    """`d_out = D⁻ᵀ (d_in - Oᵀ d_out)`, `depth` times, first for `d_out = 0`."""
    d_out = _divided(system, structure, system.d_ins[0])
    for _ in range(structure.depth - 1):
        d_out = _divided(system, structure, _without_rest(system, d_out))
    return d_out


def _divided(
    system: _AdjointSystem, structure: Diagonal | DiagonalPlusNilpotent, d_in: SSAValue
) -> SSAValue:
    """`D⁻ᵀ d_in`, by elements of `out`."""
    (op,) = system.definitions

    def body(e: BodyBuilder, own: list[SSAValue]) -> SSAValue:
        element = [Affine.of(v) for v in own]
        numerator = e.read(d_in, structure.permutation.image(element))
        return e.div(numerator, system.made.divisor(system.matrix, e, element))

    return system.made.define(f"d{op.label.data}", op.result, body, index_names(op))


def _without_rest(system: _AdjointSystem, d_out: SSAValue) -> SSAValue:
    """`d_in - Oᵀ d_out`."""
    (op,), (tensor,) = system.definitions, system.matrix.lump.ins
    made = system.made
    sweep = ReverseSweep(made.labels, made.tensors)
    sweep.seeds[op.result] = Negated(d_out)
    sweep.seeds[tensor] = system.d_ins[0]
    sweep.visit(op, system.matrix.off_diagonal)
    for other in reversed(system.matrix.lump.definitions):
        if other is not op:
            sweep.visit(other)
    return _total(made, sweep, tensor, f"{made.names_of[tensor]}_rest")


def solve_monomial(system: _AdjointSystem) -> list[SSAValue]:
    """`d_outs = (A d_ins) / a²`, with `a` the only element of each row."""
    made, matrix = system.made, system.matrix
    sweep = ForwardSweep(made.labels, made.tensors)
    sweep.seed(matrix.lump.ins, system.d_ins)
    matrix.visit_inside(sweep)
    return [_divided_by_square(system, k, sweep) for k in range(len(matrix.lump.outs))]


def _divided_by_square(system: _AdjointSystem, k: int, sweep: ForwardSweep) -> SSAValue:
    """The adjoint in the sweep divided by `a²`, by elements of `outs[k]`."""
    op = system.definitions[k]

    def body(e: BodyBuilder, own: list[SSAValue]) -> SSAValue:
        element = [Affine.of(v) for v in own]
        numerator = sweep.element(e, op, element)
        return e.div(numerator, system.made.divisor(system.matrix, e, element, k))

    return system.made.define(f"d{op.label.data}", op.result, body, index_names(op))


def solve_matrix(system: _AdjointSystem) -> list[SSAValue]:
    """`Aᵀ d_outs = d_ins`, as a linear system between two programs."""
    made, matrix = system.made, system.matrix
    rhs = [_in_columns(system, j) for j in range(len(matrix.lump.ins))]
    solutions = made.solve(matrix, rhs, transposed=True)
    return [
        made.define(
            f"d{op.label.data}", op.result, elements_of(solution, axes.split), index_names(op)
        )
        for op, axes, solution in zip(system.definitions, matrix.out_axes, solutions, strict=True)
    ]


def _in_columns(system: _AdjointSystem, j: int) -> SSAValue:
    """The adjoint of `ins[j]`, with the dimensions of the columns of the matrix."""
    made, matrix, tensor = system.made, system.matrix, system.matrix.lump.ins[j]
    return made.right_hand_side(
        f"d{made.names_of[tensor]}_rhs",
        like=tensor,
        sizes=matrix.column_sizes(j),
        element=elements_of(system.d_ins[j], matrix.in_axes[j].join),
    )
