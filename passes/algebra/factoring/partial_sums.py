"""The sum within a sum that is worth a tensor of its own.

    sum[k, j](e[p - k, j])       is   sum[k](r[p - k])   with   r[i] = sum[j](e[i, j])

A partial sum of some factors over some indices, its *inner* ones, depends on the other indices
through the forms in which its reads use them. Where these have *coordinates*, `p - k` here
(`passes/index_sets/images.py`), it is a tensor over the values of the coordinates, each of which
runs from 0 to a size: that of a dimension that it reads, or the range of an index. Which partial
sum is worth it the order of least cost tells (`contraction_order`).

The tensor is computed for all values of its coordinates, also those that the formula never asks
for: they must be in the range of all that is read. Others are multiplied with a partial sum that
may be empty: they must be there anyway, and be finite for finite arguments, unless it has a term.
Elements may be infinite even then: so the sum runs over the partial sums that have terms.

    sum[k, l in range(k)](x[k] * w[l])    is    sum[k in range(1, N)](x[k] * w_sum[k])
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from math import inf, prod

from xdsl.ir import Operation, SSAValue

from tadc.dialects import tix
from tadc.dialects.tix import Affine, Constraint, between
from tadc.once import cached_property
from tadc.passes.algebra.factoring.contraction_order import FEW_RESULTS, Contraction, PartialSum
from tadc.passes.algebra.factoring.sum_images import forms_in, image_of, operations_of
from tadc.passes.algebra.factoring.sum_places import SumPlace
from tadc.passes.analysis.costs import COST_OF_FUNCTION, FREE, weight
from tadc.passes.analysis.speculation import is_number_product, is_speculatable_product
from tadc.passes.index_sets.conditional_constants import indices_of
from tadc.passes.index_sets.context import stays_inside
from tadc.passes.index_sets.images import Dimension, Image
from tadc.passes.index_sets.sets import quotient_constraints, quotients_of, within
from tadc.passes.index_sets.space import conditions_of_a_point, implied_by, is_bounded
from tadc.passes.rewriting.products import Product
from tadc.passes.rewriting.terms import Term, terms_of

MOST_TERMS_WITH_TESTS = 16
"""Terms of a sum that are written out, each with a test; longer ranges are loops."""
LEAST_GAIN = 2
"""A partial sum is stored where the sum costs so many times as much without it."""


@dataclass(frozen=True)
class Extraction:
    """A partial sum within one term of a sum, as a tensor."""

    position: int
    """The number of the term."""
    inside: Product
    """The product that is summed."""
    outside: Product
    """The other factors of the term."""
    indices: Sequence[SSAValue]
    """The inner indices."""
    image: Image
    within: Sequence[Constraint]
    """The constraints on inner indices."""
    around: Sequence[Constraint]
    """The constraints of the sum that stay with it."""
    guards: Sequence[Constraint] = ()
    """Conditions on sizes, without which nobody asks for the partial sum."""
    terms: Sequence[Constraint] = ()
    """Conditions on sizes and on indices around the sum, without which the partial sum has no
    terms, and the sum is 0."""

    def where(self, terms: Sequence[Constraint], left: Sequence[SSAValue]) -> Extraction:
        """The extraction where the partial sum has terms; `left` are the indices of the sum."""
        inside = [c for c in terms if any(c.form[v] for v in left)]
        terms = [c for c in terms if c not in inside]
        return replace(self, terms=terms, around=[*self.around, *inside])


def find_extraction(terms: Iterable[SumTerm], scans: bool) -> Extraction | None:
    """The first partial sum to store of the first term of a sum that gains by one.

    With `scans`, those that are scans take one term for an element. Terms of extrema stay as they
    are: derivatives compare them with the extremum.
    """
    found = (term.extraction(scans) for term in terms)
    return next((e for e in found if e is not None), None)


@dataclass
class TermsOfSums:
    """The terms of sums for these sizes, each looked at once as long as its operation lives."""

    sizes: Mapping[str, int]
    _known: dict[tix.SumOp, list[SumTerm]] = field(
        default_factory=dict["tix.SumOp", "list[SumTerm]"], init=False
    )

    def of(self, op: tix.SumOp, definition: tix.DefineOp) -> list[SumTerm]:
        """The terms of which there may be partial sums; there are none of sums in extrema."""
        found = self._known.get(op)
        if found is None:
            found = self._known[op] = _terms_of_sum(op, definition, self.sizes)
        return found


def _terms_of_sum(
    op: tix.SumOp, definition: tix.DefineOp, sizes: Mapping[str, int]
) -> list[SumTerm]:
    place = SumPlace(op, definition, sizes)
    compared = any(isinstance(around, tix.ExtremumOp) for around in place.path.reductions)
    if compared or any(c.equality for c in op.constraints):
        return []
    terms = terms_of(tix.yielded(op.body), op.body.block)
    return [SumTerm(place, n, term) for n, term in enumerate(terms)]


class SumTerm:
    """One term of a sum as a product, with the operations that make each factor."""

    def __init__(self, place: SumPlace, position: int, term: Term):
        self.place = place
        self.position = position
        self.product = Product.of(term.value, place.op.body.block)
        factors = [v for v in self.product.factors if tix.constant_value(v) is None]
        self.values = [*factors, *self.product.divisors]  # numbers stay outside
        self.operations = [operations_of(v) for v in self.values]
        self.own = frozenset(place.op.indices)
        self._images: dict[PartialSum, Image | None] = {}

    def extraction(self, scans: bool) -> Extraction | None:
        """The partial sum to store first, if the term gains by one that is safe to store."""
        is_cheap = max(self.works, default=0) < COST_OF_FUNCTION
        if not self.is_plain or (is_cheap and self._is_irreducible):
            return None
        if scans and self.is_scan(PartialSum(frozenset(range(len(self.values))), self.own)):
            return None
        contraction = self.contraction_for(scans)
        best = contraction.best()
        if best.first is None or best.cost * LEAST_GAIN >= contraction.plain().cost:
            return None
        return self.extract(best.first)

    @cached_property
    def contraction(self) -> Contraction:
        """The orders in which the term can be summed."""
        return self.contraction_for(scans=False)

    def contraction_for(self, scans: bool) -> Contraction:
        """The orders in which it can be summed, with `scans` by loops that carry totals."""
        return Contraction(
            self.own,
            self.used,
            self.works,
            self.place.lengths,
            self.place.outer,
            self._elements_to_store,
            self.is_scan if scans else lambda _: False,
            frozenset(filter(self._is_tested, self.own)),
            reads=[sum(_counts_as_read(op, self.place) for op in ops) for ops in self.operations],
            alone=[sum(_is_read_alone(op, self.place) for op in ops) for ops in self.operations],
            is_window=self._is_window if scans else lambda _: False,
            columns=frozenset(v for v in self.own if _moves_columns(self, v)),
        )

    @cached_property
    def used(self) -> list[frozenset[SSAValue]]:
        """The indices that each factor depends on."""
        return [frozenset(v for f in forms_in(ops) for v in f.indices) for ops in self.operations]

    @cached_property
    def works(self) -> list[int]:
        """The operations that make each factor, at each point of the sum."""
        return [sum(weight(op) for op in ops if _counts(op, self.place)) for ops in self.operations]

    @property
    def is_plain(self) -> bool:
        """True if the parts of factors can be moved."""
        return all(_is_movable(op, self.own) for ops in self.operations for op in ops)

    @property
    def _is_irreducible(self) -> bool:
        """True if no partial sum can have fewer elements or terms than the sum itself."""
        forms = [form for ops in self.operations for form in forms_in(ops)]
        return all(map(self.own.issubset, self.used)) and _are_coordinates(forms, self.place)

    def _is_tested(self, index: SSAValue) -> bool:
        """True if a range is short, and its bounds move with the elements."""
        around = set(self.place.path.indices)
        bounds = [c.form for c in self.place.op.constraints if c.form[index]]
        moves = any(around.intersection(form.indices) for form in bounds)
        return moves and self.place.lengths[index] <= MOST_TERMS_WITH_TESTS

    def _elements_to_store(self, partial: PartialSum) -> int | None:
        """The number of elements of the tensor of a partial sum that the sum may gain by."""
        image = self._image(partial)
        if image is None:
            return None
        operations = self.operations_in(partial)
        if not partial.indices and self._count(image) > _most_read(operations, self.place):
            return None
        everything = len(partial.members) == len(self.operations)
        left = self.own - partial.indices
        if everything and left and len(image.forms) >= len(self.place.path.indices) + len(left):
            return None  # the same sums, each in two steps
        return self._count(image)

    def elements(self, partial: PartialSum) -> int | None:
        """The number of elements of the tensor of a partial sum; None where there is none."""
        image = self._image(partial)
        return None if image is None else self._count(image)

    def _count(self, image: Image) -> int:
        return prod(map(self.place.length, image.sizes))

    def is_scan(self, partial: PartialSum) -> bool:
        """True for a sum over all terms up to an index around it, or from that on."""
        forms = [c.form for c in self._crossing(partial)]
        moving = [f for f in forms if not partial.indices.issuperset(f.indices)]
        if len(partial.indices) > 1 or len(moving) != 1 or len(moving[0].indices) != 2:
            return False
        (k,) = partial.indices
        (j,) = set(moving[0].indices) - {k}
        used = {v for f in forms_in(self.operations_in(partial)) for v in f.indices}
        return j not in used and moving[0][j] == -moving[0][k] and abs(moving[0][j]) == 1

    def _is_window(self, partial: PartialSum) -> bool:
        """True for a partial sum that the elements of a definition read windows of."""
        image = self._image(partial)
        return image is not None and _has_windows(image, self.place)

    def _image(self, partial: PartialSum) -> Image | None:
        """The tensor that a partial sum is."""
        if partial not in self._images:
            ops, bounds = self.operations_in(partial), [c.form for c in self._crossing(partial)]
            self._images[partial] = image_of(self.place, ops, bounds, partial.indices)
        return self._images[partial]

    def operations_in(self, partial: PartialSum) -> list[Operation]:
        return [op for n in sorted(partial.members) for op in self.operations[n]]

    def _crossing(self, partial: PartialSum) -> list[Constraint]:
        """The constraints of the sum on inner indices."""
        return [
            c for c in self.place.op.constraints if partial.indices.intersection(c.form.indices)
        ]

    def extract(self, partial: PartialSum) -> Extraction | None:
        """The partial sum as a tensor, if all of it can be computed and what is left is bounded."""
        op, image = self.place.op, self._image(partial)
        assert image is not None
        crossing = self._crossing(partial)
        around = [c for c in op.constraints if c not in crossing]
        indices = [v for v in op.indices if v in partial.indices]
        left = [v for v in op.indices if v not in partial.indices]
        inside, outside = self._parts(partial)
        found = Extraction(self.position, inside, outside, indices, image, crossing, around)
        bounded = is_bounded(indices, crossing) and is_bounded(left, around)
        guards, terms = self._guards(partial, found), self._conditions(partial, found)
        if not bounded or guards is None or terms is None:
            return None
        return replace(found.where(terms, left), guards=guards)

    def _parts(self, partial: PartialSum) -> tuple[Product, Product]:
        """The product of the members, and that of the other factors with the sign of all."""
        count = len(self.values) - len(self.product.divisors)
        numbers = [v for v in self.product.factors if tix.constant_value(v) is not None]
        inside, outside = Product(), Product(numbers, negative=self.product.negative)
        for n, value in enumerate(self.values):
            part = inside if n in partial.members else outside
            (part.factors if n < count else part.divisors).append(value)
        return inside, outside

    def _guards(self, partial: PartialSum, found: Extraction) -> list[Constraint] | None:
        """Conditions on sizes under which the partial sum may be computed at all coordinates.

        There are none where all that it reads is provably there. Where the coordinates are indices,
        the program reads it for all of their values, unless another index has an empty range: where
        that is a box, sizes tell. Else None.
        """
        place, image = self.place, found.image
        box = [*within(image.dimensions, place.program), *found.within]
        quotients = quotients_of(forms_in(self.operations_in(partial)))
        known = (q for q in quotients if {*q.form.indices} <= {*image.variables})
        box += [c for q in known for c in quotient_constraints(q)]
        if all(stays_inside(op, box) for op in self.operations_in(partial)):
            return []
        around = [*place.path.indices, *place.op.indices]
        others = [v for v in around if v not in image.variables and v not in found.indices]
        indices = [form.single_index for form in image.forms]
        in_boxes = all(v in place.boxes for v in (*indices, *others))
        if place.path.branches or set(indices) != set(image.variables) or not in_boxes:
            return None
        return [c for v in others if not (c := Constraint(place.boxes[v] - 1)).decided]

    def _conditions(self, partial: PartialSum, found: Extraction) -> list[Constraint] | None:
        """Conditions under which others may be multiplied with the partial sum.

        There are none where these are numbers, or it has a term; else those under which it has one,
        of indices alone for others that are there, and finite for finite arguments. None where a
        coordinate may leave its range, or indices of the sum decide whether others are there.
        """
        others = [n for n in range(len(self.values)) if n not in partial.members]
        operations = [op for n in others for op in self.operations[n]]
        known = self.place.facts([*found.image.forms, *forms_in(operations)]) + list(found.around)
        places = [] if found.indices else _places(self.operations_in(partial))
        if not _are_in_range((d for d in found.image.dimensions if d not in places), known):
            return None
        there = all(stays_inside(op, known) for op in operations)
        if not others or (there and is_number_product(found.outside)):
            return []
        conditions = conditions_of_a_point(found.indices, found.within)
        left = [c for c in conditions or () if not implied_by(c, known)]
        if there and is_speculatable_product(found.outside):
            return [c for c in left if c.form.indices]
        decided = all(v in self.place.path.indices for c in left for v in c.form.indices)
        return left if conditions is not None and decided else None


def _are_in_range(dimensions: Iterable[Dimension], known: Sequence[Constraint]) -> bool:
    """True if coordinates provably lie in their dimensions."""
    return all(implied_by(c, known) for form, size in dimensions for c in between(0, form, size))


def _counts(op: Operation, place: SumPlace) -> bool:
    """True if an operation is done at each point of the sum.

    A block reads an element once for many results, but where there are few.
    """
    shared = place.outer > FEW_RESULTS and isinstance(op, tix.ReadOp)
    return place.op.is_ancestor(op) and not isinstance(op, FREE) and not shared


def _counts_as_read(op: Operation, place: SumPlace) -> bool:
    return isinstance(op, tix.ReadOp) and _counts(op, place)


def _is_read_alone(op: Operation, place: SumPlace) -> bool:
    """True for a read that is not counted, as results are many, and that none of them share."""
    if not isinstance(op, tix.ReadOp) or _counts(op, place):
        return False
    return {v for form in op.forms for v in form.indices}.issuperset(place.path.indices)


def _moves_columns(term: SumTerm, index: SSAValue) -> bool:
    """True for the index of a window along the columns of what is read, whose terms have the same
    weights for all elements.

    Of three windows and more only the last two could roll: for a filter of 5 x 5 x 5 taps with its
    gradients, rows first took 1.1 times as long on Zen 4.
    """
    if len(term.own) > 2 or term.place.lengths[index] > MOST_TERMS_WITH_TESTS:
        return False
    used = zip(term.operations, term.used, strict=True)
    moved = [ops for ops, indices in used if index in indices and not indices <= term.own]
    if len(moved) != 1:
        return False
    places = [op.forms[-1] for op in moved[0] if isinstance(op, tix.ReadOp) and op.forms]
    return any(form[index] and len(form.indices) > 1 for form in places)


def _has_windows(image: Image, place: SumPlace) -> bool:
    """True if a sum is all of a definition, and each coordinate is an index of that, or lies beside
    one by few terms of the sum, not by a quotient."""
    around = place.path.indices
    moved = [[v for v in form.indices if v in around] for form in image.forms]
    own = [v for form in image.forms for v in form.indices if v not in around]
    single = [indices[0] for indices in moved if len(indices) == 1]
    return (
        not place.path.reductions
        and len({*single}) == len(moved) == len(around)
        and all(form[v] == 1 for form, v in zip(image.forms, single, strict=True))
        and all(place.lengths.get(v, inf) <= MOST_TERMS_WITH_TESTS for v in own)
    )


def _most_read(operations: Sequence[Operation], place: SumPlace) -> int:
    """The elements of the largest tensor that is read, as one of which a factor may be stored."""
    reads = (op for op in operations if isinstance(op, tix.ReadOp))
    return max((prod(map(place.length, op.shape)) for op in reads), default=0)


def _is_movable(op: Operation, own: Set[SSAValue]) -> bool:
    """True unless an operation has a body, or is a local index by an index of the sum."""
    return not (op.regions or (isinstance(op, tix.LocalIndexOp) and own & indices_of(op.indices)))


def _are_coordinates(forms: Sequence[Affine], place: SumPlace) -> bool:
    """True if each index, of a sum and around it, is a coordinate by the forms of all factors."""
    own, around = {*place.op.indices}, place.path.indices
    every = [form.indices for form in forms]
    others = ([v for v in indices if v not in own] for indices in every)
    alone = {found[0] for found in others if len(found) == 1}
    own_alone = {indices[0] for indices in every if len(indices) == 1}
    return alone >= set(around) and (own <= own_alone or len(own) == 1)


def _places(operations: Iterable[Operation]) -> list[Dimension]:
    """The forms at which tensors are read, which are in their dimensions."""
    reads = (op for op in operations if isinstance(op, tix.ReadOp))
    return [place for op in reads for place in zip(op.forms, op.shape, strict=True)]
