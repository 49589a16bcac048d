"""`split-sums`: sums of terms that depend on different indices of the result become several sums.

    y[i, j] = sum[k](x[i, k] * w[k, j] + v[k, i])

becomes

    y[i, j] = sum[k](x[i, k] * w[k, j]) + sum[k](v[k, i])

by  sum_k (u + v) = sum_k u + sum_k v.  The second sum is the same for all j: a tile computes it
once per row. Factors that did not stand in every term can now leave their sum (`simplify-sums`).

Only the order in which terms are added changes. On entry and on exit sums are bounded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue

from dialects import tix
from passes.analysis.index_uses import IndexUses
from passes.rewriting.builder import BodyBuilder
from passes.rewriting.cloner import Cloner
from passes.rewriting.program_pass import LocalPass
from passes.rewriting.programs import copy_program
from passes.rewriting.terms import Term, add_terms, terms_of
from passes.scheduling.tiles.sum_lengths import is_short
from passes.simplify_sums import simplify_sums


@dataclass(frozen=True)
class SplitSumsPass(LocalPass):
    """`split-sums`: for code in tiles, which then computes each part once per row or column."""

    name = "split-sums"

    def rewrite(self, program: tix.ProgramOp) -> tix.ProgramOp:
        return split_sums(program)


def split_sums(program: tix.ProgramOp) -> tix.ProgramOp:
    """The program with sums split by the indices of the result; the same where there are none."""
    sums = [op for d in program.definitions for op in d.walk() if isinstance(op, tix.SumOp)]
    uses = IndexUses()
    if not any(len(groups(op, uses)) > 1 for op in sums):
        return program
    return simplify_sums(copy_program(program, _Splitter))


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
    def copy_reduction(self, op: tix.ReductionOp) -> SSAValue:
        parts = groups(op, IndexUses()) if isinstance(op, tix.SumOp) else []
        if not isinstance(op, tix.SumOp) or len(parts) < 2:
            return super().copy_reduction(op)
        sums = [self._sum(op, terms) for terms in parts]
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
