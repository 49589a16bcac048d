"""Rewrites `c**(j - k)` as a product of j - k factors c, so that a recurrence can carry it along.

    y[j] = sum[k in range(j + 1)](c ** (j - k) * x[k])

becomes

    y[j] = sum[k in range(j + 1)](prod[l in range(k + 1, j + 1)](c) * x[k])

Averages that forget and discounted returns are written like this. As a product the weight is one
more factor from each element to the next (`passes/scheduling/recurrences.py`), and the time of all
elements is linear in their number; powers that are the same for a term of all elements, or for all
terms of an element, stay powers. What is no recurrence in the end keeps its powers.

**Accuracy.** A power is rounded once, a product of n factors n times: relative to the term, an
error of about n / 2 units in the last place at most.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import Rewriter

from tadc.dialects import tix
from tadc.dialects.tix import Affine, Constraint, between
from tadc.dialects.tix import elementwise as ew
from tadc.passes.analysis.index_uses import IndexUses
from tadc.passes.index_sets.sets import index_set
from tadc.passes.index_sets.space import conditions_of_a_point, implied_by
from tadc.passes.rewriting.builder import BodyBuilder
from tadc.passes.rewriting.cloner import Cloner
from tadc.passes.rewriting.products import Product
from tadc.passes.rewriting.programs import set_hint
from tadc.passes.scheduling.recurrences import recurrence_in
from tadc.passes.scheduling.scans import Scan, bounded_along


@dataclass(frozen=True)
class _Power:
    """A power `base ** (distance + rest)`, of the distance from a term of a scan to the element."""

    op: ew.PowOp
    scan: Scan
    rest: Affine


def with_products(op: tix.DefineOp) -> tix.DefineOp:
    """The definition with products for powers in its place, if that is a recurrence; else itself.

    What read it reads the new one.
    """
    uses = IndexUses()
    sums = [o for o in op.body.block.ops if isinstance(o, tix.SumOp) and len(o.indices) == 1]
    powers = [power for s in sums if (power := _power_in(s, op, uses))]
    if not powers or op.parent is None:
        return op

    def body(e: BodyBuilder, own: Sequence[SSAValue]) -> SSAValue:
        cloner = _Multiplier(e)
        cloner.powers = {power.op: power for power in powers}
        return cloner.copy_definition(op, e, own)

    names = [v.name_hint for v in op.indices]
    region = BodyBuilder(op.parent, op.location).region(names, body)
    made = tix.DefineOp(op.label.data, op.type, region)
    made.location = op.location
    op.parent.insert_op_before(made, op)
    weighed = [o for o in made.body.block.ops if isinstance(o, tix.SumOp) and _has_product(o)]
    if not all(_may_be_carried(s, made) for s in weighed):
        Rewriter.erase_op(made)
        return op
    set_hint(made.result, op.label.data)
    op.result.replace_all_uses_with(made.result)
    Rewriter.erase_op(op)
    return made


def _may_be_carried(op: tix.SumOp, around: tix.DefineOp) -> bool:
    """True if a sum is a recurrence once factors that do not vary with its terms have left it."""
    can_leave = conditions_of_a_point(op.indices, op.constraints) is not None
    return recurrence_in(op, around, with_factors=can_leave) is not None


def _has_product(op: tix.SumOp) -> bool:
    """True if the body of a sum has a product over an index."""
    return any(isinstance(o, tix.ProdOp) for o in op.body.walk())


def _power_in(op: tix.SumOp, around: tix.DefineOp, uses: IndexUses) -> _Power | None:
    """The power of a distance by which the terms of a sum are weighed, if there is one."""
    factors = Product.of(tix.yielded(op.body), op.body.block).factors
    scans = [scan for v in around.indices if (scan := bounded_along(op, v, uses))]
    known = [*op.constraints, *index_set(around)]
    for power in (v.owner for v in factors if isinstance(v.owner, ew.PowOp)):
        for scan in scans:
            rest = _rest(power, scan, uses, known)
            if rest is not None:
                return _Power(power, scan, rest)
    return None


def _rest(op: ew.PowOp, scan: Scan, uses: IndexUses, known: Sequence[Constraint]) -> Affine | None:
    """The exponent of a power less the distance of a scan.

    None if it may be negative, or if it or the base moves with the term or with the element.
    """
    exponent, moving = op.rhs.owner, {scan.index, scan.own}
    if not isinstance(exponent, tix.IndexToRealOp) or not moving.isdisjoint(uses.of(op.lhs)):
        return None
    distance = _distance(scan)
    rest = exponent.form - distance
    moves = any(not moving.isdisjoint(uses.of(v)) for v in rest.indices)
    return rest if not moves and implied_by(Constraint(rest), known) else None


def _distance(scan: Scan) -> Affine:
    """The distance from a term to the one that an element adds, which is never negative."""
    distance = Affine.of(scan.index) + scan.offset - Affine.of(scan.own)
    return distance if scan.is_forwards else -distance


class _Multiplier(Cloner):
    """Copies; some powers become products."""

    powers: Mapping[Operation, _Power]

    def copy(self, op: Operation) -> None:
        """Copy an operation; a power of a distance becomes a product."""
        if op not in self.powers:
            return super().copy(op)
        power, e = self.powers[op], self.builder
        scan, base = power.scan, power.op.lhs
        term, added = self.form(Affine.of(scan.own)), self.form(Affine.of(scan.index) + scan.offset)
        first, last = (term, added) if scan.is_forwards else (added, term)

        def factor(e: BodyBuilder, own: list[SSAValue]) -> SSAValue:
            alone = Cloner(e, indices=self.indices)  # nothing that the term computes is there
            alone.fetch(base)
            return alone.value(base)

        weight = e.reduce(
            tix.ProdOp, ["l"], lambda own: between(first + 1, Affine.of(own[0]), last + 1), factor
        )
        if power.rest.terms or power.rest.constant:
            rest = e.index_to_real(self.form(power.rest))
            weight = e.mul(e.binary(ew.PowOp, self.value(base), rest), weight)
        self.values[op.results[0]] = weight
