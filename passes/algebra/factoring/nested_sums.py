"""Sums over a short and several long indices, with the short sum inside, next to what needs it.

    sum[i, d in range(3)](g[i, d] * (x[i, d] - x[j, d]) / s(i, j))

becomes

    sum[i](sum[d in range(3)](g[i, d] * (x[i, d] - x[j, d])) / s(i, j))

by the distributive law, where something dear of the product does not depend on the short index.
Short sums are unrolled where they stand, so that no tensor is between.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from xdsl.ir import Operation, SSAValue

from tadc.dialects import tix
from tadc.dialects.tix import Constraint
from tadc.passes.analysis.index_uses import IndexUses
from tadc.passes.index_sets.sets import boxed_indices
from tadc.passes.rewriting.builder import BodyBuilder
from tadc.passes.rewriting.cloner import Cloner
from tadc.passes.rewriting.products import Product, multiply
from tadc.passes.rewriting.programs import rewrite_definition

MOST_TERMS = 8
"""The length of a range up to which a sum over it is unrolled."""


@dataclass(frozen=True)
class _Nested:
    """A sum whose terms are a factor times terms of a short sum."""

    short: list[SSAValue]
    outside: Product
    inside: Product


def nest_short_sums(op: tix.DefineOp, is_dear: Callable[[SSAValue], bool]) -> tix.DefineOp:
    """The definition with short sums inside of long ones where that saves much; else itself."""
    uses = IndexUses()
    sums = [o for o in op.body.block.ops if isinstance(o, tix.SumOp) and len(o.indices) > 1]
    found: dict[Operation, _Nested] = {
        s: nested for s in sums if (nested := _nested(s, uses, is_dear)) is not None
    }
    if not found:
        return op

    def body(e: BodyBuilder, own: list[SSAValue]) -> SSAValue:
        return _Nester(e, found).copy_definition(op, e, own)

    return rewrite_definition(op, body)


def _nested(op: tix.SumOp, uses: IndexUses, is_dear: Callable[[SSAValue], bool]) -> _Nested | None:
    boxes = boxed_indices(op)
    sizes = {v: size.constant for v, size in boxes.items() if not size.terms}
    short = [v for v in op.indices if sizes.get(v, MOST_TERMS + 1) <= MOST_TERMS]
    if not 0 < len(short) < len(op.indices) or len(op.results) > 1:
        return None
    product = Product.of(tix.yielded(op.body), op.body.block)
    outside, inside = product.split(lambda v: uses.of(v).isdisjoint(short))
    dear = bool(outside.divisors) or any(map(is_dear, outside.factors))
    return _Nested(short, outside, inside) if dear and inside.factors else None


class _Nester(Cloner):
    """Copies a body; some sums get a short sum inside."""

    def __init__(self, builder: BodyBuilder, found: Mapping[Operation, _Nested]):
        super().__init__(builder)
        self.found = found

    def copy_reduction(self, op: tix.ReductionOp) -> SSAValue:
        if op not in self.found:
            return super().copy_reduction(op)
        nested = self.found[op]
        long = [v for v in op.indices if v not in nested.short]
        of_short = [c for c in op.constraints if any(c.form[v] for v in nested.short)]
        of_long = [c for c in op.constraints if c not in of_short]

        def body(e: BodyBuilder, own: list[SSAValue]) -> SSAValue:
            outer = self.inner(e, long, own)

            def domain(own: list[SSAValue]) -> list[Constraint]:
                return outer.inner(e, nested.short, own).constraints(of_short)

            def term(e: BodyBuilder, own: list[SSAValue]) -> SSAValue:
                return multiply(outer.inner(e, nested.short, own), nested.inside)

            total = e.sum([v.name_hint for v in nested.short], domain, term)
            return multiply(outer, nested.outside, [total])

        def domain(own: list[SSAValue]) -> list[Constraint]:
            return self.inner(self.builder, long, own).constraints(of_long)

        return self.builder.sum([v.name_hint for v in long], domain, body)
