"""Recurrences: sums over all terms from an element on, or up to it, weighed by products on the way.

    y[k] = sum[j in range(k, N)](t[j] * prod[l in range(k + 1, j + 1)](w[l]))

The product of a term from k on is w[k + 1] times that from k + 1 on, and is empty for j = k:

    y[k] = t[k] + w[k + 1] * y[k + 1]

So a loop that carries y takes one product and one sum for an element (Horner's rule, if all w are
the same). Gradients of running products are like this, and averages that forget. With a product
from k on, not from k + 1, the term is weighed, too: y[k] = w[k] * (t[k] + y[k + 1]). Up to an
element all runs the other way.

**Accuracy.** A term is multiplied and rounded as often as in the formula, and takes part in one
addition for each factor: its error grows with the number of its factors as that of the product.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue

from tadc.dialects import tix
from tadc.dialects.tix import Affine, Constraint, Variable, between
from tadc.passes.analysis.index_uses import IndexUses
from tadc.passes.index_sets.sets import index_set
from tadc.passes.index_sets.space import implied_by
from tadc.passes.rewriting.products import Product
from tadc.passes.scheduling.scans import Scan, bounded_along
from tadc.passes.scheduling.tiles.sum_lengths import is_short


@dataclass(frozen=True)
class Recurrence:
    """A sum whose terms are weighed by the product of all factors on the way to an element."""

    scan: Scan
    """The sum and the index along which it runs; its terms depend on that through the product."""
    product: tix.ProdOp
    place: Affine
    """The index of the factor that multiplies the previous element: `k + 1` above."""
    weighs_term: bool
    """True if this factor multiplies the term of the element, too."""

    @property
    def factor(self) -> SSAValue:
        """The index l of the product."""
        return self.product.indices[0]

    def tests_of_term(self, known: Sequence[Constraint]) -> list[Constraint]:
        """The constraints that decide whether an element adds a term."""
        return self._tests(Affine.of(self.scan.index), known)

    def tests_of_rest(self, size: Affine, known: Sequence[Constraint]) -> list[Constraint]:
        """The constraints under which there is a previous element that adds a term."""
        place = Affine.of(self.scan.index) - self.scan.step
        inside = [c for c in between(0, place, size) if not implied_by(c, known)]
        return [*inside, *self._tests(place, known)]

    def _tests(self, place: Affine, known: Sequence[Constraint]) -> list[Constraint]:
        own: Mapping[Variable, Affine] = {self.scan.own: place + self.scan.offset}
        tests = [c.substitute(own) for c in self.scan.known]
        return [c for c in tests if not implied_by(c, known)]


def recurrence_of(op: tix.DefineOp) -> Recurrence | None:
    """The recurrence that a definition is; None if it is none."""
    values = tix.all_yielded(op.body)
    total = values[0].owner
    if len(values) > 1 or not isinstance(total, tix.SumOp) or total.parent is not op.body.block:
        return None
    return recurrence_in(total, op)


def carried_reductions(op: tix.DefineOp) -> list[tix.ReductionOp]:
    """The sum and the product of a recurrence, of which each element computes one term."""
    found = recurrence_of(op)
    return [found.scan.op, found.product] if found else []


def is_recurrence(op: tix.DefineOp) -> bool:
    """True if a loop computes each element from the one before it."""
    return recurrence_of(op) is not None


def recurrence_in(
    total: tix.SumOp, op: tix.DefineOp, with_factors: bool = False
) -> Recurrence | None:
    """The recurrence that a sum of a definition is along some index.

    `with_factors` ignores factors that do not vary with the terms: they may leave the sum.
    """
    if len(total.indices) > 1 or len(total.results) > 1:
        return None
    uses = IndexUses()
    weights = _Weights.of(total, uses, with_factors)
    if weights is None:
        return None
    scans = (bounded_along(total, index, uses) for index in op.indices)
    found = (_recurrence(scan, weights, op) for scan in scans if scan)
    return next((recurrence for recurrence in found if recurrence), None)


def _recurrence(scan: Scan, weights: _Weights, op: tix.DefineOp) -> Recurrence | None:
    """The recurrence that a sum with these weights is along the index of a scan."""
    size = op.shape[op.indices.index(scan.index)]
    if not weights.alone_move(scan) or scan.has_terms_ahead(size) or _ends_before(scan, op):
        return None
    ends = weights.ends_along(scan)
    if ends is None:
        return None
    last, first = ends
    # of the term that an element adds, j = k + c, the factors from j + first to k + last
    count = (last - scan.offset - first) * scan.step + 1
    if count.terms or count.constant not in (0, 1):
        return None
    return Recurrence(scan, weights.product, Affine.of(scan.index) + last, count.constant == 1)


def _ends_before(scan: Scan, op: tix.DefineOp) -> bool:
    """True if another bound may end the sum before the term that an element adds."""
    known = [*index_set(op), scan.limit]
    ends = (c for c in scan.known if c.equality or c.form[scan.own] * scan.step <= 0)
    return not all(implied_by(c, known) for c in ends)


@dataclass(frozen=True)
class _Weights:
    """The only product among the factors of a sum's terms, by which they are weighed."""

    product: tix.ProdOp
    others: Sequence[SSAValue]
    """The other factors, and the divisors."""
    uses: IndexUses

    @staticmethod
    def of(total: tix.SumOp, uses: IndexUses, with_factors: bool) -> _Weights | None:
        """The product that weighs the terms of a sum; None unless there is one long product.

        `with_factors` ignores factors that do not vary with the terms.
        """
        term = Product.of(tix.yielded(total.body), total.body.block)
        if with_factors:
            _, term = term.split(lambda v: uses.of(v).isdisjoint(total.indices))
        products = [v.owner for v in term.factors if isinstance(v.owner, tix.ProdOp)]
        if len(products) != 1 or is_short(products[0]):
            return None
        (product,) = products
        others = [v for v in (*term.factors, *term.divisors) if v is not product.result]
        return _Weights(product, others, uses)

    def alone_move(self, scan: Scan) -> bool:
        """True if nothing but the ends of the product moves with the element."""
        if len(self.product.indices) > 1 or len(self.product.constraints) != 2:
            return False
        moving = {scan.index, scan.own}
        return all(scan.index not in self.uses.of(v) for v in self.others) and all(
            self.uses.of_operation(o).isdisjoint(moving) for o in self.product.body.walk()
        )

    def ends_along(self, scan: Scan) -> tuple[Affine, Affine] | None:
        """The d and the e of the ends of the product: l runs up to k + d and from j + e on, or
        backwards the other way; None where they move with k or j otherwise, too."""
        last, first = self._end_at(scan.index, scan.step), self._end_at(scan.own, -scan.step)
        if last is None or first is None:
            return None
        moving, others = {scan.index, scan.own}, (*last.indices, *first.indices)
        return (last, first) if all(moving.isdisjoint(self.uses.of(v)) for v in others) else None

    def _end_at(self, index: SSAValue, side: int) -> Affine | None:
        """The d of the end `l <= index + d`, for side -1 of `l >= index + d`."""
        (own,) = self.product.indices
        for c in self.product.constraints:
            form = c.form
            if form[own] == -side and form[index] == side and not c.equality:
                return (form - Affine.of(index) * side + Affine.of(own) * side) * side
        return None
