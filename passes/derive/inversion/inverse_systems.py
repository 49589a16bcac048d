"""The system of one lump, solved by the structure of its matrix: what both directions share.

    forward    A ins_dot = outs_dot - B others_dot        one unknown tensor for each `in`
    reverse    Aᵀ d_outs = d_ins                          one for each `out`

Each direction says how its right-hand side is divided by diagonals and how single entries and whole
matrices are solved: `passes/derive/inversion/inverse_forward.py` and `inverse_reverse.py`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

from xdsl.ir import SSAValue

from tadc.dialects import tix
from tadc.dialects.tix import Affine
from tadc.passes.derive.inversion.inverse_program import InverseBuilder, index_names
from tadc.passes.derive.inversion.lump_matrix import LumpMatrix
from tadc.passes.derive.inversion.structures import Diagonal, DiagonalPlusNilpotent, Monomial
from tadc.passes.rewriting.builder import BodyBuilder


@dataclass(frozen=True)
class LumpSystem(ABC):
    """A linear system with the matrix of a lump, or with its transpose."""

    made: InverseBuilder
    matrix: LumpMatrix

    @property
    def definitions(self) -> list[tix.DefineOp]:
        """The definitions of `outs`."""
        return self.matrix.definitions

    def solve(self) -> list[SSAValue]:
        """The unknown tensors."""
        match self.matrix.structure:
            case Diagonal() as structure:
                return [self.divided(structure, None)]
            case DiagonalPlusNilpotent() as structure:
                return [self._iterated(structure)]
            case Monomial():
                return self.solve_monomial()
            case _:
                return self.solve_matrix()

    def _iterated(self, structure: DiagonalPlusNilpotent) -> SSAValue:
        """`x = D⁻¹ (b - O x)`, `depth` times, first for `x = 0`; or the same with transposes."""
        solution = self.divided(structure, None)
        for _ in range(structure.depth - 1):
            solution = self.divided(structure, solution)
        return solution

    @abstractmethod
    def divided(
        self, structure: Diagonal | DiagonalPlusNilpotent, solution: SSAValue | None
    ) -> SSAValue:
        """The right-hand side divided by the diagonal, less the rest of the matrix times a solution
        if there is one."""

    @abstractmethod
    def solve_monomial(self) -> list[SSAValue]:
        """The unknown tensors where each row and each column has one entry `a`."""

    @abstractmethod
    def solve_matrix(self) -> list[SSAValue]:
        """The unknown tensors by a linear system between two programs."""

    def by_divisors(
        self, k: int, label: str, numerator: Callable[[BodyBuilder, list[Affine]], SSAValue]
    ) -> SSAValue:
        """Numerators divided by the divisors of `outs[k]`, by its elements."""
        op = self.definitions[k]

        def body(e: BodyBuilder, own: list[SSAValue]) -> SSAValue:
            element = [Affine.of(v) for v in own]
            return e.div(numerator(e, element), self.made.divisor(self.matrix, e, element, k))

        return self.made.define(label, op.result, body, index_names(op))
