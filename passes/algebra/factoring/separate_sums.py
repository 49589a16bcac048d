"""Sums over several indices as products of sums, where factors and bounds part these into groups.

    sum[t in range(r, T), s in range(r)](a[t] * prod[k in range(r + 1, t + 1)](w[k])
                                         * b[s] * prod[k in range(s + 1, r)](w[k]))

becomes

    sum[t in range(r, T)](a[t] * prod[k in range(r + 1, t + 1)](w[k]))
    * sum[s in range(r)](b[s] * prod[k in range(s + 1, r)](w[k]))

by the distributive law. Partial sums of other factors are found by `partial_sums`; products inside
of factors have bounds that move with elements, so that a sum of them is a tensor of its elements.
Where it is not known that all that a sum reads is there, it is computed where others have terms.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue

from tadc.dialects import tix
from tadc.dialects.tix import Constraint
from tadc.passes.analysis.index_uses import IndexUses
from tadc.passes.index_sets.context import stays_inside
from tadc.passes.index_sets.sets import index_set
from tadc.passes.index_sets.space import conditions_of_a_point, implied_by
from tadc.passes.rewriting.builder import BodyBuilder
from tadc.passes.rewriting.cloner import Cloner, operations_behind
from tadc.passes.rewriting.products import Product, multiply
from tadc.passes.rewriting.programs import rewrite_definition


@dataclass(frozen=True)
class _Group:
    """The indices that factors or bounds have together, and all that they are in."""

    indices: Sequence[SSAValue]
    product: Product
    constraints: Sequence[Constraint]


@dataclass(frozen=True)
class _Parted:
    """A sum in groups."""

    groups: Sequence[_Group]
    outside: Product
    conditions: Sequence[Constraint]
    """Constraints under which each group has a term."""


def separate_sums(op: tix.DefineOp) -> tix.DefineOp:
    """The definition with sums of products over ranges as products of sums; else itself."""
    sums = [o for o in op.body.block.ops if isinstance(o, tix.SumOp) and len(o.indices) > 1]
    found = {s: parted for s in sums if _has_products(s) and (parted := _parted(s, op))}
    if not found:
        return op

    def body(e: BodyBuilder, own: list[SSAValue]) -> SSAValue:
        return _Separator(e, found).copy_definition(op, e, own)

    return rewrite_definition(op, body)


def _has_products(op: tix.SumOp) -> bool:
    factors = Product.of(tix.yielded(op.body), op.body.block).factors
    return any(isinstance(v.owner, tix.ProdOp) for v in factors)


def _parted(op: tix.SumOp, around: tix.DefineOp) -> _Parted | None:
    uses = IndexUses()
    product = Product.of(tix.yielded(op.body), op.body.block)
    values = [*product.factors, *product.divisors]
    together = [{*op.indices} & uses.of(v) for v in values]
    together += [{*op.indices}.intersection(c.form.indices) for c in op.constraints]
    members: list[list[SSAValue]] = []
    for index in op.indices:
        joined = [m for m in members if _are_joined(index, m, together)]
        members = [m for m in members if m not in joined]
        members.append([v for v in op.indices if v is index or any(v in m for m in joined)])
    groups: list[_Group] = []
    outside, rest = product.split(lambda v: uses.of(v).isdisjoint(op.indices))
    for indices in members:
        inside, rest = rest.split(lambda v, of=indices: not uses.of(v).isdisjoint(of))
        inside.negative = False
        bounds = [c for c in op.constraints if any(c.form[v] for v in indices)]
        groups.append(_Group(indices, inside, bounds))
    known = index_set(around)
    if len(groups) > 1 and all(_is_there(group, op, known) for group in groups):
        return _Parted(groups, outside, [])
    found = [conditions_of_a_point(g.indices, g.constraints) for g in groups]
    if len(groups) < 2 or any(conditions is None for conditions in found):
        return None
    every = (c for conditions in found for c in conditions or ())
    return _Parted(groups, outside, [c for c in every if not implied_by(c, known)])


def _is_there(group: _Group, op: tix.SumOp, known: Sequence[Constraint]) -> bool:
    """True if all that the sum of a group reads is there, whatever terms others have."""
    values, known = (*group.product.factors, *group.product.divisors), [*known, *group.constraints]
    return all(stays_inside(o, known) for o in operations_behind(values, op))


def _are_joined(
    index: SSAValue, members: Sequence[SSAValue], together: Sequence[set[SSAValue]]
) -> bool:
    return any(index in some and not some.isdisjoint(members) for some in together)


class _Separator(Cloner):
    """Copies a body; some sums become products of sums."""

    def __init__(self, builder: BodyBuilder, found: Mapping[tix.SumOp, _Parted]):
        super().__init__(builder)
        self.found = found

    def copy_reduction(self, op: tix.ReductionOp) -> SSAValue:
        """The product of the sums of all groups; other reductions are copied."""
        parted = self.found.get(op) if isinstance(op, tix.SumOp) else None
        if parted is None:
            return super().copy_reduction(op)

        def value(e: BodyBuilder, _: list[SSAValue]) -> SSAValue:
            inner = self.inner(e)
            totals = [_total(inner, group) for group in parted.groups]
            return multiply(inner, parted.outside, totals)

        return self.builder.guard(self.constraints(parted.conditions), value)


def _total(cloner: Cloner, group: _Group) -> SSAValue:
    def domain(own: list[SSAValue]) -> list[Constraint]:
        return cloner.inner(cloner.builder, group.indices, own).constraints(group.constraints)

    def term(e: BodyBuilder, own: list[SSAValue]) -> SSAValue:
        return multiply(cloner.inner(e, group.indices, own), group.product)

    return cloner.builder.sum([v.name_hint for v in group.indices], domain, term)
