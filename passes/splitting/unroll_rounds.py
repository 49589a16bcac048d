"""`unroll-rounds`: a sum over the rounds of a circle becomes a sum for each round.

    dx[p in range(99)] = sum[k, u in range(3), 0 <= p + 99*k - u - 98 < 99](
                             dy[p + 99*k - u - 98] * w[u])

becomes

    dx[p in range(99)] = sum[u in range(3), u <= p - 98](dy[p - u - 98] * w[u])
                       + sum[u in range(3), u <= p + 1, u >= p - 97](dy[p - u + 1] * w[u])
                       + sum[u in range(3), u >= p + 2](dy[p - u + 100] * w[u])

as gradients of windows on circles are: `q` of `e - 99 q = p` counts rounds, of which windows reach
into one or two others. Of most elements all but one of the sums are empty, and that one has a box.
An index counts rounds where its factor in all of its bounds is no less than the number of values of
the definition's indices there, and numbers leave it two or three values. Sums that must round
identically stay, and so do those inside extrema.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf

from xdsl.ir import SSAValue

from tadc.dialects import tix
from tadc.dialects.tix import Affine, Constraint
from tadc.passes.analysis.properties import sums_bounded
from tadc.passes.derive.infer_ranges import infer_ranges
from tadc.passes.index_sets.paths import Path
from tadc.passes.index_sets.wraps import MOST_VALUES, Ends, ranges_around
from tadc.passes.rewriting.builder import BodyBuilder
from tadc.passes.rewriting.cloner import Cloner
from tadc.passes.rewriting.program_pass import LocalPass
from tadc.passes.rewriting.programs import (
    definition_around,
)
from tadc.passes.simplify.simplify_sums import simplify_sums
from tadc.passes.splitting.rfactor.replaced_sums import replace_sums


@dataclass(frozen=True)
class UnrollRoundsPass(LocalPass):
    """`unroll-rounds`: without options."""

    name = "unroll-rounds"
    requires = leaves = (sums_bounded,)

    def rewrite(self, program: tix.ProgramOp) -> tix.ProgramOp:
        return unroll_rounds(program)


def unroll_rounds(program: tix.ProgramOp) -> tix.ProgramOp:
    """The program with a sum for each round; itself where no sum runs over rounds."""
    made = replace_sums(program, _rounds_of, _Unroller)
    return program if made is program else simplify_sums(infer_ranges(made))


Rounds = Mapping[SSAValue, range]
"""The values of indices that count rounds."""


def _rounds_of(op: tix.SumOp) -> Rounds:
    """The indices of a sum that count rounds, if others are left."""
    around = definition_around(op)
    extents = {v: n.constant for v, n in zip(around.indices, around.shape, strict=True)}
    turned = [v for v in op.indices if _turns(v, op, extents)]
    if not turned or len(turned) == len(op.indices):
        return {}
    ranges = ranges_around(Path.to(next(iter(op.body.block.ops)), around))
    found = {v: values for v in turned if (values := _values(v, op, ranges))}
    return found


def _turns(index: SSAValue, op: tix.SumOp, extents: Mapping[SSAValue, int]) -> bool:
    """True if an index makes whole turns of those of the definition in all of its bounds."""
    own = [c for c in op.constraints if c.form[index]]
    others = [(c, v) for c in own for v in c.form.indices if v in extents]
    return (
        bool(others)
        and not any(c.form.sizes or c.equality for c in own)
        and all(abs(c.form[index]) >= max(2, extents[v] * abs(c.form[v])) for c, v in others)
    )


def _values(index: SSAValue, op: tix.SumOp, ranges: Mapping[SSAValue, Ends]) -> range | None:
    """The values of an index, where numbers leave it few but more than one."""
    low, high = -inf, inf
    for constraint in op.constraints:
        step = constraint.form[index]
        if not step:
            continue
        rest = constraint.form - Affine.of(index) * step
        if any(v not in ranges for v in rest.indices):
            continue
        most = rest.constant + sum(max(rest[v] * end for end in ranges[v]) for v in rest.indices)
        if step > 0:
            low = max(low, -(most // step))
        else:
            high = min(high, most // -step)
    if not 1 < high - low + 1 <= MOST_VALUES:
        return None
    return range(int(low), int(high) + 1)


class _Unroller(Cloner):
    """Copies; sums over rounds are sums of those over the other indices."""

    def __init__(self, tensors: Cloner, rounds: Mapping[tix.SumOp, Rounds]):
        super().__init__(tensors.builder, tensors.values)
        self.rounds = rounds

    def copy_reduction(self, op: tix.ReductionOp) -> SSAValue:
        if not isinstance(op, tix.SumOp) or op not in self.rounds:
            return super().copy_reduction(op)
        return self._unrolled(op, dict(self.rounds[op]), {})

    def _unrolled(
        self, op: tix.SumOp, rounds: dict[SSAValue, range], fixed: Mapping[SSAValue, int]
    ) -> SSAValue:
        """The sum for all rounds that are not `fixed`."""
        if not rounds:
            return self._sum(op, fixed)
        (index, values), *rest = rounds.items()
        first, *others = (self._unrolled(op, dict(rest), {**fixed, index: n}) for n in values)
        for other in others:
            first = self.builder.add(first, other)
        return first

    def _sum(self, op: tix.SumOp, fixed: Mapping[SSAValue, int]) -> SSAValue:
        left = [v for v in op.indices if v not in fixed]

        def inner(e: BodyBuilder, own: list[SSAValue]) -> Cloner:
            cloner = self.inner(e, left, own)
            cloner.indices.update({v: Affine(constant=n) for v, n in fixed.items()})
            return cloner

        def domain(own: list[SSAValue]) -> list[Constraint]:
            return inner(self.builder, own).constraints(op.constraints)

        def body(e: BodyBuilder, own: list[SSAValue]) -> SSAValue:
            return inner(e, own).copy_body(op.body)

        return self.builder.sum([v.name_hint for v in left], domain, body)
