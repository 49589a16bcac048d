"""Sums of terms that depend on different indices of the result become several sums.

    y[i, j] = sum[k](x[i, k] * w[k, j] + v[k, i])

becomes

    y[i, j] = sum[k](x[i, k] * w[k, j]) + sum[k](v[k, i])

by  sum_k (u + v) = sum_k u + sum_k v.  The second sum is the same for all j: a tile computes it
once per row. Factors that did not stand in every term can now leave their sum (`simplify-sums`).

Only the order in which terms are added changes.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation, SSAValue

from dialects import tix
from dialects.tix import elementwise as ew
from passes.rewriting.builder import BodyBuilder
from passes.rewriting.cloner import Cloner
from passes.rewriting.programs import copy_program
from passes.scheduling.tile_analysis import Dependence, is_short
from passes.simplify_sums import simplify_sums

Term = tuple[SSAValue, bool]
"""A value and whether it is subtracted."""


def split_sums(program: tix.ProgramOp) -> tix.ProgramOp:
    """The program with sums split by the indices of the result; the same where there are none."""
    sums = [op for d in program.definitions for op in d.walk() if isinstance(op, tix.SumOp)]
    deps = Dependence()
    if not any(len(groups(op, deps)) > 1 for op in sums):
        return program
    return simplify_sums(copy_program(program, _Splitter))


def groups(op: tix.SumOp, deps: Dependence) -> list[list[Term]]:
    """The terms of a long sum, together where they depend on the same indices around it."""
    found: dict[frozenset[SSAValue], list[Term]] = {}
    if is_short(op):
        return []
    for value, negative in _terms(tix.yielded(op.body), op, False):
        around = deps.of(value) - set(op.indices)
        found.setdefault(around, []).append((value, negative))
    return list(found.values())


def _terms(value: SSAValue, op: tix.SumOp, negative: bool) -> list[Term]:
    owner = value.owner
    if isinstance(owner, Operation) and owner.parent is op.body.block:
        match owner:
            case ew.AddOp():
                return _terms(owner.lhs, op, negative) + _terms(owner.rhs, op, negative)
            case ew.SubOp():
                return _terms(owner.lhs, op, negative) + _terms(owner.rhs, op, not negative)
            case ew.NegOp():
                return _terms(owner.operand, op, not negative)
            case _:
                pass
    return [(value, negative)]


class _Splitter(Cloner):
    def copy_reduction(self, op: tix.ReductionOp) -> SSAValue:
        parts = groups(op, Dependence()) if isinstance(op, tix.SumOp) else []
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
            cloner = self.inner(e, op.indices, own)
            total = e.constant(0)
            for value, negative in terms:
                cloner.fetch(value)
                new = cloner.value(value)
                total = e.sub(total, new) if negative else e.add(total, new)
            return total

        return self.builder.sum([v.name_hint for v in op.indices], domain, body)
