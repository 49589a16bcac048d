"""The guards and bounds of a sum at the stage `bounded`, and the condition that each comes from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from xdsl.ir import SSAValue

from dialects import tix
from dialects.tix import Affine, Constraint, FloorDivOp
from passes.solve_index_kernels import Derivation, Exact
from tadc.explain.notation import Notation


class Reasons:
    """The conditions that the guards and bounds of one sum come from."""

    def __init__(
        self,
        notation: Notation,
        sources: Mapping[Affine, str] | None = None,
        explained: Sequence[Constraint] = (),
    ):
        self._notation = notation
        self._sources = sources or {}
        self._explained = {notation.key(c) for g in explained for c in (g, _negated(g))}

    @staticmethod
    def of(
        notation: Notation, derivation: Derivation, quotients: Sequence[str], free: Sequence[str]
    ) -> Reasons:
        """The reasons after the equations were solved, with these names for quotients and for the
        new summation indices.
        """
        indices = derivation.indices([*map(Affine.of, quotients)], [*map(Affine.of, free)])
        rows = zip(quotients, derivation.quotients, strict=True)
        rest = derivation.rest(indices, [Exact(t, *row) for t, row in rows])
        sources: dict[Affine, str] = {}
        for before, after in zip(derivation.system.rest, rest, strict=True):
            sources.setdefault(notation.key(after), notation.constraint(before))
        return Reasons(notation, sources, derivation.zero)

    def text(self, op: tix.ReductionOp) -> Iterator[str]:
        """The guards around a bounded sum and the bounds of each of its indices, line by line."""
        for guard in _conditions_around(op):
            if not (_says_exact(guard) or self._is_explained(guard)):
                yield f"    guard  {self._with_reason(guard)}"
        for n, index in enumerate(op.indices):
            bounds = [c for c in op.constraints if _last(c, op.indices) == n]
            name = self._notation.name(index)
            yield f"    sum over {name}, bounded by (Fourier-Motzkin, eq. 45)"
            yield from (f"      {self._with_reason(c)}" for c in bounds)

    def _with_reason(self, constraint: Constraint) -> str:
        text = self._notation.constraint(constraint)
        source = self._sources.get(self._notation.key(constraint))
        if source is None:
            return f"{text}   follows from several of the set" if self._sources else text
        return text if source == text else f"{text}   from {source}"

    def _is_explained(self, guard: Constraint) -> bool:
        """True for an equation that the solution has named as a guard already."""
        return guard.equality and self._notation.key(guard) in self._explained


def _negated(equation: Constraint) -> Constraint:
    return Constraint(-equation.form, equality=True)


def _says_exact(guard: Constraint) -> bool:
    """True for a guard which says that a quotient is exact: its elementary divisor says so too."""
    return guard.equality and any(isinstance(v.owner, FloorDivOp) for v in guard.form.indices)


def _last(constraint: Constraint, own: Sequence[SSAValue]) -> int:
    """The number of the last of these indices in a constraint, which is the one that it bounds."""
    return max((n for n, v in enumerate(own) if constraint.form[v]), default=-1)


def _conditions_around(op: tix.ReductionOp) -> list[Constraint]:
    """The conditions under which a sum is computed, outermost first."""
    around, block = op.parent_op(), op.parent
    found: list[Constraint] = []
    while isinstance(around, tix.IfOp):
        if block is around.then.block and len(around.condition) == 1:
            found = [*around.condition[0], *found]
        around, block = around.parent_op(), around.parent
    return found
