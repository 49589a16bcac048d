"""The inverse of forward mode, `J⁻¹ ẏ`: from tangents of the results to those of the arguments.

Lumps are solved last one first. In each, the tangents of `outs` and `others` are known, those of
`ins` are not:

    A ins_dot + B others_dot = outs_dot

    p[i] = p[i] * s[i] + t[i]      p_dot[i] = (p_1_dot[i] - (p[i] * s_dot[i] + t_dot[i])) / s[i]

Each method of the system does so for one structure of `A`; that for the transposed system has the
same name in `passes/derive/inversion/inverse_reverse.py`.
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
from tadc.passes.derive.inversion.inverse_systems import LumpSystem
from tadc.passes.derive.inversion.structures import Diagonal, DiagonalPlusNilpotent
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
        known.seed(matrix.lump.ins, _TangentSystem(made, matrix, known).solve())
    return made.finish([known.defined[v] for v in made.state], keep_pivots)


@dataclass(frozen=True)
class _TangentSystem(LumpSystem):
    """`A ins_dot = outs_dot - B others_dot` of one lump; `known` has the tangents on the right."""

    known: ForwardSweep

    def divided(
        self, structure: Diagonal | DiagonalPlusNilpotent, solution: SSAValue | None
    ) -> SSAValue:
        """`D⁻¹ (out_dot - B others_dot - O in_dot)`, by elements of `in`."""
        (op,), (tensor,) = self.definitions, self.matrix.lump.ins
        subtracted = self._through_lump(solution)
        has_rest = isinstance(structure, DiagonalPlusNilpotent)

        def counted(read: tix.ReadOp) -> bool:
            return not has_rest or self.matrix.off_diagonal(read)

        def body(e: BodyBuilder, own: list[SSAValue]) -> SSAValue:
            element = structure.permutation.preimage([Affine.of(v) for v in own])
            numerator = self._right_hand_side(e, 0, element, subtracted, counted)
            return e.div(numerator, self.made.divisor(self.matrix, e, element))

        return self.made.define(
            f"{self.made.names_of[tensor]}_dot",
            like=tensor,
            body=body,
            names=index_names(op) if structure.permutation.is_identity else None,
            location=op.location,
        )

    def solve_monomial(self) -> list[SSAValue]:
        """`ins_dot = Aᵀ ((outs_dot - B others_dot) / a²)`."""
        made, lump = self.made, self.matrix.lump
        subtracted = self._through_lump()
        sweep = ReverseSweep(made.labels, made.tensors)
        for k, op in enumerate(self.definitions):
            sweep.seeds[op.result] = self.by_divisors(
                k,
                f"{op.label.data}_rhs",
                lambda e, element, k=k: self._right_hand_side(e, k, element, subtracted),
            )
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

    def solve_matrix(self) -> list[SSAValue]:
        """`A ins_dot = outs_dot - B others_dot`, as a linear system between two programs."""
        made, matrix = self.made, self.matrix
        subtracted = self._through_lump()
        rhs = [self._in_rows(k, subtracted) for k in range(len(matrix.lump.outs))]
        solutions = made.solve(matrix, rhs)
        return [
            made.define(f"{made.names_of[tensor]}_dot", tensor, elements_of(found, axes.split))
            for tensor, axes, found in zip(matrix.lump.ins, matrix.in_axes, solutions, strict=True)
        ]

    def _in_rows(self, k: int, subtracted: ForwardSweep) -> SSAValue:
        """The right-hand side of `outs[k]`, with the dimensions of the rows of the matrix."""
        op, axes = self.definitions[k], self.matrix.out_axes[k]

        def body(e: BodyBuilder, own: list[SSAValue]) -> SSAValue:
            return self._right_hand_side(e, k, axes.join([Affine.of(v) for v in own]), subtracted)

        sizes = self.matrix.row_sizes(k)
        return self.made.right_hand_side(f"{op.label.data}_rhs", op.result, sizes, body)

    def _right_hand_side(
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

    def _through_lump(self, in_dot: SSAValue | None = None) -> ForwardSweep:
        """Forward mode through the lump with `others_dot`, and `in_dot` of its only `in` or 0.

        It gives `B others_dot`, or `B others_dot + A in_dot`.
        """
        lump, known = self.matrix.lump, self.known.tangents
        tangents = {v: known[v] for v in lump.others if v in known}
        if in_dot is not None:
            tangents[lump.ins[0]] = stored(in_dot)
        sweep = ForwardSweep(self.made.labels, self.made.tensors, tangents=tangents)
        return self.matrix.visit_inside(sweep)
