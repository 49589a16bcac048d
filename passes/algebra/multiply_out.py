"""`multiply-out`: `(a + b) * t` becomes `a * t + b * t` where factors of one can leave their sum.

    z[j, k] = sum[i]((a[i, k] + b[j, k]) * t[i, j])

becomes

    z[j, k] = sum[i](a[i, k] * t[i, j] + b[j, k] * t[i, j])

by the distributive law. `factor-sums` then makes a tensor of `sum[i](t[i, j])`, which is the same
for all k: one operation per term is left of two. Differences stay as they are: that of near numbers
is exact, and the difference of their sums is not. So do sums that must round identically, and those
inside extrema.

Only the order changes in which terms are multiplied and added.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

from xdsl.ir import SSAValue

from tadc.dialects import tix
from tadc.dialects.tix import Constraint
from tadc.dialects.tix import elementwise as ew
from tadc.passes.analysis.index_uses import IndexUses
from tadc.passes.analysis.properties import sums_bounded
from tadc.passes.analysis.rounding import in_extremum, must_round_identically
from tadc.passes.rewriting.builder import BodyBuilder
from tadc.passes.rewriting.cloner import Cloner
from tadc.passes.rewriting.products import Product, multiply
from tadc.passes.rewriting.program_pass import ProgramPass
from tadc.passes.rewriting.programs import ProgramBuilder, copy_changed, copy_program
from tadc.passes.rewriting.terms import terms_of
from tadc.passes.scheduling.tiles.sum_lengths import is_short

Terms = Mapping[tix.ReductionOp, Sequence[Product]]
"""The terms of sums, multiplied out."""


@dataclass(frozen=True)
class MultiplyOutPass(ProgramPass):
    """`multiply-out`: no options."""

    name = "multiply-out"
    requires = leaves = (sums_bounded,)

    def rewrite(self, program: tix.ProgramOp) -> tix.ProgramOp:
        return multiply_out(program)


def multiply_out(program: tix.ProgramOp) -> tix.ProgramOp:
    """The program with products multiplied out; itself where no term could leave a sum."""
    sums = [op for d in program.definitions for op in d.walk() if isinstance(op, tix.SumOp)]
    fixed, uses = must_round_identically(program), IndexUses()
    terms: dict[tix.ReductionOp, Sequence[Product]] = {
        op: found
        for op in sums
        if not (is_short(op) or op in fixed or in_extremum(op))
        and (found := _multiplied_out(op, uses))
    }

    def define(builder: ProgramBuilder, tensors: Cloner, op: tix.DefineOp) -> SSAValue:
        return copy_changed(builder, _Multiplier(tensors, terms), op, terms)

    return copy_program(program, define=define) if terms else program


def _multiplied_out(op: tix.SumOp, uses: IndexUses) -> list[Product]:
    """All terms of a sum, some of them multiplied out; none where it stays as it is."""
    block = op.body.block
    found: list[Product] = []
    changed = False
    for term in terms_of(tix.yielded(op.body), block):
        product = Product.of(term.value, block)
        product.negative ^= term.negative
        parts = _parts(product, op, uses)
        found += parts or [product]
        changed |= bool(parts)
    return found if changed else []


def _parts(whole: Product, op: tix.SumOp, uses: IndexUses) -> list[Product]:
    """The terms of a product with a sum, if one can leave and the rest is the same for several."""
    own = {*op.indices}
    for n, factor in enumerate(whole.factors):
        if not isinstance(factor.owner, ew.AddOp):
            continue
        terms = terms_of(factor, op.body.block)
        others = [*whole.factors[:n], *whole.factors[n + 1 :]]
        rest = {index for v in (*others, *whole.divisors) for index in uses.of(v)}
        leaves = any(own.isdisjoint(uses.of(t.value)) and uses.of(t.value) - rest for t in terms)
        if leaves and own & rest and not any(t.negative for t in terms):
            return [Product([t.value, *others], whole.divisors, whole.negative) for t in terms]
    return []


class _Multiplier(Cloner):
    """Copies; some sums have their terms multiplied out on the way."""

    def __init__(self, tensors: Cloner, terms: Terms):
        super().__init__(tensors.builder, tensors.values)
        self.terms = terms

    def copy_reduction(self, op: tix.ReductionOp) -> SSAValue:
        """The sum with its terms multiplied out; other reductions are copied."""
        if op not in self.terms:
            return super().copy_reduction(op)

        def domain(own: list[SSAValue]) -> Sequence[Constraint]:
            return self.inner(self.builder, op.indices, own).constraints(op.constraints)

        def body(e: BodyBuilder, own: list[SSAValue]) -> SSAValue:
            cloner = self.inner(e, op.indices, own)
            return reduce(e.add, [multiply(cloner, product) for product in self.terms[op]])

        return self.builder.sum([v.name_hint for v in op.indices], domain, body)
