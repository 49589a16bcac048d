"""The guards and bounds of a sum at the stage `bounded`, and the condition that each comes from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.ir import SSAValue

from tadc.dialects import tix
from tadc.dialects.tix import Affine, Constraint, FloorDivOp
from tadc.explain.notation import Notation
from tadc.explain.records import SEVERAL, Bound, Condition, Guard, Range
from tadc.passes.derive.solve_index_kernels import Derivation, Exact


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

    def guards(self, op: tix.ReductionOp) -> list[Guard]:
        """The guards around a bounded sum that the solution of its equations has not named."""
        return [
            Guard(self._notation.constraint(guard), origin=self._origin(guard))
            for guard in _conditions_around(op)
            if not (_says_exact(guard) or self._is_explained(guard))
        ]

    def ranges(self, op: tix.ReductionOp) -> list[Range]:
        """The range of each index of a bounded sum."""
        return [self._range(op, n) for n in range(len(op.indices))]

    def _range(self, op: tix.ReductionOp, n: int) -> Range:
        index = op.indices[n]
        bounds = [c for c in op.constraints if _last(c, op.indices) == n]
        ends = [(f, self._origin(c)) for c in bounds for f in _inequalities(c)]
        return Range(
            self._notation.name(index),
            [Condition(self._notation.constraint(c), self._origin(c)) for c in bounds],
            [Bound(self._low(index, form), origin) for form, origin in ends if form[index] > 0],
            [Bound(self._high(index, form), origin) for form, origin in ends if form[index] < 0],
        )

    def _low(self, index: SSAValue, form: Affine) -> str:
        """`c z + e >= 0` with c > 0 as the least z: `-e / c`, rounded up."""
        c = form[index]
        return self._notation.quotient(Affine({index: c}) - form + (c - 1), c)

    def _high(self, index: SSAValue, form: Affine) -> str:
        """`-c z + e >= 0` with c > 0 as the first z too large: `e / c` rounded down, plus 1."""
        c = -form[index]
        rest = Affine({index: c}) + form
        if c > 1 and 0 <= rest.constant < c:
            return f"{self._notation.quotient(rest, c)} + 1"
        return self._notation.quotient(rest + c, c)

    def _origin(self, constraint: Constraint) -> str | None:
        """The condition that a guard or bound comes from; None where nothing was solved."""
        source = self._sources.get(self._notation.key(constraint))
        return source or (SEVERAL if self._sources else None)

    def _is_explained(self, guard: Constraint) -> bool:
        """True for an equation that the solution has named as a guard already."""
        return guard.equality and self._notation.key(guard) in self._explained


def _inequalities(constraint: Constraint) -> list[Affine]:
    """The forms that are at least 0: one, or two of an equation."""
    return [constraint.form, -constraint.form] if constraint.equality else [constraint.form]


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
