"""`split-sums`: sums of terms that depend on different indices of the result become several sums.

    y[i, j] = sum[k](x[i, k] * w[k, j] + v[k, i])

becomes

    y[i, j] = sum[k](x[i, k] * w[k, j]) + sum[k](v[k, i])

by  sum_k (u + v) = sum_k u + sum_k v.  The second sum is the same for all j: a tile computes it
once per row. Factors that did not stand in every term can now leave their sum (`simplify-sums`).

Only the order in which terms are added changes. Sums stay as they are that must round identically,
and so do those inside extrema, whose terms derivatives compare with them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue

from tadc.dialects import tix
from tadc.passes.algebra.shift_sums import in_extremum
from tadc.passes.analysis.index_uses import IndexUses
from tadc.passes.analysis.properties import calls_expanded, sums_bounded
from tadc.passes.analysis.rounding import must_round_identically
from tadc.passes.rewriting.builder import BodyBuilder
from tadc.passes.rewriting.cloner import Cloner
from tadc.passes.rewriting.program_pass import LocalPass
from tadc.passes.rewriting.programs import ProgramBuilder, copy_definition, copy_program
from tadc.passes.rewriting.terms import Term, add_terms, terms_of
from tadc.passes.scheduling.tiles.sum_lengths import is_short
from tadc.passes.simplify.simplify_sums import simplify_sums


@dataclass(frozen=True)
class SplitSumsPass(LocalPass):
    """`split-sums`: for code in tiles, which then computes each part once per row or column."""

    name = "split-sums"
    requires = (sums_bounded, calls_expanded)
    leaves = (sums_bounded,)

    def rewrite(self, program: tix.ProgramOp) -> tix.ProgramOp:
        return split_sums(program)


def split_sums(program: tix.ProgramOp) -> tix.ProgramOp:
    """The program with sums split by the indices of the result; the same where there are none."""
    sums = [op for d in program.definitions for op in d.walk() if isinstance(op, tix.SumOp)]
    uses = IndexUses()
    found = {op: own for op in sums if len(own := groups(op, uses)) > 1}
    if not found:
        return program
    fixed = must_round_identically(program)
    parts = {op: own for op, own in found.items() if op not in fixed and not in_extremum(op)}

    def define(builder: ProgramBuilder, tensors: Cloner, op: tix.DefineOp) -> SSAValue:
        return copy_definition(builder, _Splitter(tensors, parts), op)

    return simplify_sums(copy_program(program, define=define)) if parts else program


def groups(op: tix.SumOp, uses: IndexUses) -> list[list[Term]]:
    """The terms of a long sum, together where they depend on the same indices around it."""
    found: dict[frozenset[SSAValue], list[Term]] = {}
    if is_short(op):
        return []
    for term in terms_of(tix.yielded(op.body), op.body.block):
        around = uses.of(term.value) - set(op.indices)
        found.setdefault(around, []).append(term)
    return list(found.values())


class _Splitter(Cloner):
    """Copies; sums become several ones on the way."""

    def __init__(self, tensors: Cloner, parts: Mapping[tix.SumOp, Sequence[Sequence[Term]]]):
        super().__init__(tensors.builder, tensors.values)
        self.parts = parts

    def copy_reduction(self, op: tix.ReductionOp) -> SSAValue:
        if not isinstance(op, tix.SumOp) or op not in self.parts:
            return super().copy_reduction(op)
        sums = [self._sum(op, terms) for terms in self.parts[op]]
        total = sums[0]
        for part in sums[1:]:
            total = self.builder.add(total, part)
        return total

    def _sum(self, op: tix.SumOp, terms: Sequence[Term]) -> SSAValue:
        def domain(own: list[SSAValue]) -> Sequence[tix.Constraint]:
            return self.inner(self.builder, op.indices, own).constraints(op.constraints)

        def body(e: BodyBuilder, own: list[SSAValue]) -> SSAValue:
            return add_terms(self.inner(e, op.indices, own), terms)

        return self.builder.sum([v.name_hint for v in op.indices], domain, body)
