"""The inverse of forward mode, `J⁻¹ ẏ`: from tangents of the results to those of the arguments.

Lumps are solved last one first. In each, the tangents of `outs` and `others` are known, those of
`ins` are not:

    A ins_dot + B others_dot = outs_dot

    p[i] = p[i] * s[i] + t[i]      p_dot[i] = (p_1_dot[i] - (p[i] * s_dot[i] + t_dot[i])) / s[i]

Each `solve_...` below does so for one structure of `A`; that for the transposed system has the same
name in `passes/derive/inversion/inverse_reverse.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue

from tadc.dialects import tix
from tadc.dialects.tix import Affine
from tadc.passes.derive.differentiation.forward_sweep import ForwardSweep, stored
from tadc.passes.derive.differentiation.names import tangent_names
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
from tadc.passes.rewriting.programs import location_of


def inverse_jvp(program: tix.ProgramOp, keep_pivots: bool) -> InverseProgram:
    """The program of `J⁻¹ ẏ`; with `keep_pivots` it also returns what it divides by.

    Raises `PassFailure` where the program has no inverse modes.
    """
    made = InverseBuilder(program, tangent_names(program, program.result_names))
    known = ForwardSweep(made.labels, made.tensors)
    known.seed(program.returned, made.seeds)
    for matrix in reversed(made.matrices):
        for op in matrix.lump.derived:
            if op.result not in known.tangents:
                known.visit(op)
        known.seed(matrix.lump.ins, _solve(_TangentSystem(made, matrix, known)))
    return made.finish([known.defined[v] for v in made.state], keep_pivots)


@dataclass(frozen=True)
class _TangentSystem:
    """`A ins_dot = outs_dot - B others_dot` of one lump; `known` has the tangents on the right."""

    made: InverseBuilder
    matrix: LumpMatrix
    known: ForwardSweep

    @property
    def definitions(self) -> list[tix.DefineOp]:
        """The definitions of `outs`."""
        return self.matrix.definitions

    def through_lump(self, in_dot: SSAValue | None = None) -> ForwardSweep:
        """Forward mode through the lump with `others_dot`, and `in_dot` of its only `in` or 0.

        It gives `B others_dot`, or `B others_dot + A in_dot`.
        """
        lump, known = self.matrix.lump, self.known.tangents
        tangents = {v: known[v] for v in lump.others if v in known}
        if in_dot is not None:
            tangents[lump.ins[0]] = stored(in_dot)
        sweep = ForwardSweep(self.made.labels, self.made.tensors, tangents=tangents)
        return self.matrix.visit_inside(sweep)

    def right_hand_side(
        self,
        e: BodyBuilder,
        k: int,
        element: Sequence[Affine],
        subtracted: ForwardSweep,
        counted: Callable[[tix.ReadOp], bool] = lambda read: True,
    ) -> SSAValue:
        """Emit an element of `outs_dot[k]` less what another sweep has there, by some reads."""
        op = self.definitions[k]
        total = self.known.tangents[op.result](e, element, ())
        if subtracted.vanishes(op):
            return total
        return e.sub(total, subtracted.element(e, op, element, (), counted))


def _solve(system: _TangentSystem) -> list[SSAValue]:
    """The tangents of `ins`."""
    match system.matrix.structure:
        case Diagonal() as structure:
            return [solve_diagonal(system, structure)]
        case DiagonalPlusNilpotent() as structure:
            return [solve_diagonal_plus_nilpotent(system, structure)]
        case Monomial():
            return solve_monomial(system)
        case _:
            return solve_matrix(system)


def solve_diagonal(system: _TangentSystem, structure: Diagonal) -> SSAValue:
    """`in_dot = D⁻¹ (out_dot - B others_dot)`."""
    return _divided(system, structure, system.through_lump())


def solve_diagonal_plus_nilpotent(
    system: _TangentSystem, structure: DiagonalPlusNilpotent
) -> SSAValue:
    """`in_dot = D⁻¹ (out_dot - B others_dot - O in_dot)`, `depth` times, first for `in_dot = 0`."""
    off_diagonal = system.matrix.off_diagonal
    in_dot = _divided(system, structure, system.through_lump(), off_diagonal)
    for _ in range(structure.depth - 1):
        in_dot = _divided(system, structure, system.through_lump(in_dot), off_diagonal)
    return in_dot


def _divided(
    system: _TangentSystem,
    structure: Diagonal | DiagonalPlusNilpotent,
    subtracted: ForwardSweep,
    counted: Callable[[tix.ReadOp], bool] = lambda read: True,
) -> SSAValue:
    """`D⁻¹` times the right-hand side, by elements of `in`."""
    (op,), (tensor,) = system.definitions, system.matrix.lump.ins

    def body(e: BodyBuilder, own: list[SSAValue]) -> SSAValue:
        element = structure.permutation.preimage([Affine.of(v) for v in own])
        numerator = system.right_hand_side(e, 0, element, subtracted, counted)
        return e.div(numerator, system.made.divisor(system.matrix, e, element))

    return system.made.define(
        f"{system.made.names_of[tensor]}_dot",
        like=tensor,
        body=body,
        names=index_names(op) if structure.permutation.is_identity else None,
        location=op.location,
    )


def solve_monomial(system: _TangentSystem) -> list[SSAValue]:
    """`ins_dot = Aᵀ ((outs_dot - B others_dot) / a²)`, with `a` the only element of each row."""
    made, lump = system.made, system.matrix.lump
    subtracted = system.through_lump()
    sweep = ReverseSweep(made.labels, made.tensors)
    for k, op in enumerate(system.definitions):
        sweep.seeds[op.result] = _divided_by_square(system, k, subtracted)
    for op in reversed(lump.definitions):
        sweep.visit(op)
    return [
        sweep.gather(
            label=made.labels.fresh(f"{made.names_of[v]}_dot"),
            tensor=v,
            names=sweep.index_names(v),
            location=location_of(v),
        )
        for v in lump.ins
    ]


def _divided_by_square(system: _TangentSystem, k: int, subtracted: ForwardSweep) -> SSAValue:
    """The right-hand side by `a²`, by elements of `outs[k]`."""
    op = system.definitions[k]

    def body(e: BodyBuilder, own: list[SSAValue]) -> SSAValue:
        element = [Affine.of(v) for v in own]
        numerator = system.right_hand_side(e, k, element, subtracted)
        return e.div(numerator, system.made.divisor(system.matrix, e, element, k))

    return system.made.define(f"{op.label.data}_rhs", op.result, body, index_names(op))


def solve_matrix(system: _TangentSystem) -> list[SSAValue]:
    """`A ins_dot = outs_dot - B others_dot`, as a linear system between two programs."""
    made, matrix = system.made, system.matrix
    subtracted = system.through_lump()
    rhs = [_in_rows(system, k, subtracted) for k in range(len(matrix.lump.outs))]
    solutions = made.solve(matrix, rhs)
    return [
        made.define(f"{made.names_of[tensor]}_dot", tensor, elements_of(solution, axes.split))
        for tensor, axes, solution in zip(matrix.lump.ins, matrix.in_axes, solutions, strict=True)
    ]


def _in_rows(system: _TangentSystem, k: int, subtracted: ForwardSweep) -> SSAValue:
    """The right-hand side of `outs[k]`, with the dimensions of the rows of the matrix."""
    op, axes = system.definitions[k], system.matrix.out_axes[k]

    def body(e: BodyBuilder, own: list[SSAValue]) -> SSAValue:
        return system.right_hand_side(e, k, axes.join([Affine.of(v) for v in own]), subtracted)

    sizes = system.matrix.row_sizes(k)
    return system.made.right_hand_side(f"{op.label.data}_rhs", op.result, sizes, body)
