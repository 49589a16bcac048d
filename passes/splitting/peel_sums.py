"""`peel-sums`: long sums have the same bounds for all elements, and what these leave is apart.

    w[u in range(3)] = sum[i in range(max(0, 1 - u), min(N, N + 1 - u))](y[i] * x[i + u - 1])

becomes

    w[u] = sum[i in range(1, N - 1)](y[i] * x[i + u - 1])
         + sum[i in range(max(0, 1 - u), min(1, N, N + 1 - u))](y[i] * x[i + u - 1])
         + sum[i in range(max(1, N - 1), min(N, N + 1 - u))](y[i] * x[i + u - 1])

as gradients by the weights of windows with boundaries are: the elements of a block share the terms
of the first sum, which tests none of them, and the others have few. A bound `b` that is `h` where
it is hardest cuts a set in two,

    S = {k in S : k >= h} + {k in S : k < h},    k >= b follows from k >= h

one bound after the other: each term is in one part, whatever the sizes are. Bounds that move by
more than a few values stay, and so do short sums and those that must round identically or stand
inside extrema.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue

from tadc.dialects import tix
from tadc.dialects.tix import Affine, Constraint
from tadc.passes.analysis.properties import sums_bounded
from tadc.passes.derive.infer_ranges import infer_ranges
from tadc.passes.index_sets.cells import WIDEST_BORDER
from tadc.passes.rewriting.builder import BodyBuilder
from tadc.passes.rewriting.cloner import Cloner
from tadc.passes.rewriting.program_pass import LocalPass
from tadc.passes.rewriting.programs import (
    definition_around,
)
from tadc.passes.rewriting.written_sizes import parse_sizes
from tadc.passes.scheduling.costs.tile_cost import length_of
from tadc.passes.simplify.simplify_sums import simplify_sums
from tadc.passes.splitting.rfactor.replaced_sums import replace_sums

LONG = 512
"""The values of an index from which on a loop without tests is worth the code of two more."""


@dataclass(frozen=True)
class PeelSumsPass(LocalPass):
    """`peel-sums{sizes="N=512"}`: sums that are long for these sizes; right for all."""

    name = "peel-sums"
    requires = leaves = (sums_bounded,)
    sizes: tuple[str, ...] = ()

    def rewrite(self, program: tix.ProgramOp) -> tix.ProgramOp:
        return peel_sums(program, parse_sizes(self.sizes))


def peel_sums(program: tix.ProgramOp, sizes: Mapping[str, int]) -> tix.ProgramOp:
    """The program with long sums over boxes, and few terms beside these; itself where bounds do
    not move."""
    made = replace_sums(program, lambda op: _moving_bounds(op, sizes), _Peeler)
    return program if made is program else simplify_sums(infer_ranges(made))


Bounds = Mapping[Constraint, Constraint]
"""For bounds that move, the same where they are hardest."""


def _moving_bounds(op: tix.SumOp, sizes: Mapping[str, int]) -> Bounds:
    """The bounds of long indices that move by a few values with those of the definition."""
    around = definition_around(op)
    shape = zip(around.indices, around.shape, strict=True)
    last = {v: n.constant - 1 for v, n in shape if not n.terms}
    found: dict[Constraint, Constraint] = {}
    for index in op.indices:
        own = [c for c in op.constraints if abs(c.form[index]) == 1 and not c.equality]
        moves = {c: move for c in own if (move := _move(c, index, last))}
        if moves and max(moves.values()) <= WIDEST_BORDER and length_of(op, index, sizes) >= LONG:
            found |= {c: _hardest(c, last) for c in moves}
    return found


def _move(constraint: Constraint, index: SSAValue, last: Mapping[SSAValue, int]) -> int:
    """By how many values a bound of an index moves; 0 where no number tells."""
    others = [v for v in constraint.form.indices if v is not index]
    known = all(v in last for v in others)
    return sum(abs(constraint.form[v]) * last[v] for v in others) if known else 0


def _hardest(constraint: Constraint, last: Mapping[SSAValue, int]) -> Constraint:
    """A constraint for those values of the definition's indices for which fewest points have it."""
    own = [v for v in constraint.form.indices if v in last]
    ends = {v: 0 if constraint.form[v] > 0 else last[v] for v in own}
    return constraint.substitute({v: Affine(constant=end) for v, end in ends.items()})


class _Peeler(Cloner):
    """Copies; sums become that over a box, and those over what it leaves."""

    def __init__(self, tensors: Cloner, peeled: Mapping[tix.SumOp, Bounds]):
        super().__init__(tensors.builder, tensors.values)
        self.peeled = peeled

    def copy_reduction(self, op: tix.ReductionOp) -> SSAValue:
        if not isinstance(op, tix.SumOp) or op not in self.peeled:
            return super().copy_reduction(op)
        bounds = self.peeled[op]
        box = [*dict.fromkeys(bounds.values())]
        total = self._sum(op, [*(c for c in op.constraints if c not in bounds), *box])
        for n, hardest in enumerate(box):
            outside = Constraint(-hardest.form - 1)
            part = self._sum(op, [*op.constraints, *box[:n], outside])
            total = self.builder.add(total, part)
        return total

    def _sum(self, op: tix.SumOp, constraints: Sequence[Constraint]) -> SSAValue:
        def domain(own: list[SSAValue]) -> Sequence[Constraint]:
            return self.inner(self.builder, op.indices, own).constraints(constraints)

        def body(e: BodyBuilder, own: list[SSAValue]) -> SSAValue:
            return self.inner(e, op.indices, own).copy_body(op.body)

        return self.builder.sum([v.name_hint for v in op.indices], domain, body)
