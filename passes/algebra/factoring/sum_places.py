"""The place of a sum: what is known around it of its indices."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import product as pairs_of
from math import prod

from xdsl.ir import SSAValue

from tadc.dialects import tix
from tadc.dialects.tix import Affine, Constraint
from tadc.once import cached_property
from tadc.passes.analysis.machine_facts import ASSUMED_LENGTH
from tadc.passes.index_sets.paths import Path
from tadc.passes.index_sets.sets import (
    boxed_indices,
    boxes_before,
    index_set,
    quotient_constraints,
    quotients_of,
)


class SumPlace:
    """A sum with what is known around it."""

    def __init__(self, op: tix.SumOp, definition: tix.DefineOp, sizes: Mapping[str, int]):
        self.op = op
        self.sizes = sizes
        self.path = Path.to(op, definition)
        program = definition.parent_op()
        assert isinstance(program, tix.ProgramOp)
        self.program = program
        self.boxes = dict(zip(definition.indices, definition.type.shape, strict=True))
        for around in (*self.path.reductions, op):
            self.boxes.update(boxed_indices(around))
        self.spans = self.boxes | boxes_before(op)
        """Sizes that no value of an index reaches, where it may have fewer values than these."""
        self.lengths = {v: self.length(size) for v, size in self.boxes.items()}
        for around in (*self.path.reductions, op):
            others = (v for v in around.indices if v not in self.lengths)
            self.lengths.update({v: self._range_length(v, around) for v in others})

    def facts(self, forms: Iterable[Affine]) -> list[Constraint]:
        """All that is known around the sum of the indices in these forms."""
        disjuncts = self.path.disjuncts({})
        return [
            *index_set(self.path.definition),
            *(c for op in self.path.reductions for c in op.constraints),
            *(disjuncts[0] if len(disjuncts) == 1 else []),
            *(c for q in quotients_of(forms) for c in quotient_constraints(q)),
        ]

    @cached_property
    def outer(self) -> int:
        """The number of points around the sum."""
        return prod(self.lengths[v] for v in self.path.indices)

    def length(self, size: Affine) -> int:
        """The number of values of an index from 0 to a size, assumed where that is not known: of
        2*N twice as many as of N."""
        if unknown := [size[name] for name in size.sizes if name not in self.sizes]:
            return ASSUMED_LENGTH * max(1, *unknown)
        return max(0, size.evaluate({name: self.sizes[name] for name in size.sizes}))

    def _range_length(self, index: SSAValue, op: tix.ReductionOp) -> int:
        """The number of values of an index between two bounds that move together, at most.

        Bounds are those by indices before it: others bound the indices behind it.
        """
        behind = op.indices[op.indices.index(index) + 1 :]
        bounding = (c.form for c in op.constraints if c.form[index])
        forms = [f for f in bounding if not any(f[v] for v in behind)]
        low, high = ([f for f in forms if (f[index] > 0) == up] for up in (True, False))
        lengths = [
            self.length((a + b) // a[index] + 1)
            for a, b in pairs_of(low, high)
            if a[index] == -b[index] and not (a + b).indices
        ]
        return min(lengths, default=ASSUMED_LENGTH)
