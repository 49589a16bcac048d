"""Elements of index tensors in the sums of reverse mode: what guards the terms.

    y[i] = x[idx[i]]      adds to dx[p]      sum[a, i, a == p](dy[i] if a == idx[i] else 0)

The element is an unknown `a` of the equations, and that it is what the tensor holds is a condition
on each term. Conditions of the text on elements stand beside it.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from tadc.dialects import tix
from tadc.dialects.tix import Affine, Constraint, Variable
from tadc.passes.index_sets.context import are_inside
from tadc.passes.index_sets.sets import local_constraints, local_indices
from tadc.passes.rewriting.builder import BodyBuilder
from tadc.passes.rewriting.cloner import Cloner
from tadc.passes.rewriting.scoped_map import ScopedMap


class LinkedElements(Cloner):
    """Copies what terms are guarded by, at points of which `known` holds.

    An element that other conditions protect, which are conditions on elements themselves, is read
    at the nearest place that there is: where they fail it makes no difference.
    """

    def __init__(
        self,
        builder: BodyBuilder,
        values: ScopedMap[SSAValue, SSAValue],
        indices: ScopedMap[Variable, Affine],
        known: Sequence[Constraint],
    ):
        super().__init__(builder, values, indices)
        self.known = known

    def links_of(self, elements: Sequence[tix.AtOp]) -> list[Constraint]:
        """The equations of unknowns and the elements that they stand for."""
        return [
            Constraint(self.indices[op.result] - self._element(op), equality=True)
            for op in elements
        ]

    def conditions(self, asked: Sequence[Constraint]) -> list[Constraint]:
        """Conditions on elements, which are read here unless they are unknowns."""
        self._read([c.form for c in asked])
        return self.constraints(asked)

    def equations(self, places: Sequence[tuple[Affine, Affine]]) -> list[Constraint]:
        """The equations of old forms, which have elements, and new ones."""
        self._read([form for form, _ in places])
        return [Constraint(self.form(form) - new, equality=True) for form, new in places]

    def _read(self, forms: Sequence[Affine]) -> None:
        """Compute the local indices that forms use, unless they are unknowns."""
        for op in local_indices(forms):
            if op.result in self.indices:
                continue
            if isinstance(op, tix.AtOp):
                self.indices[op.result] = self._element(op)
            else:
                self.copy(op)

    def _element(self, op: tix.AtOp) -> Affine:
        forms = [self.form(f) for f in op.forms]
        known = [*self.known, *local_constraints(forms)]
        is_there = are_inside(forms, op.shape, known)
        return self.builder.at(self.value(op.tensor), forms, clamp=not is_there)
