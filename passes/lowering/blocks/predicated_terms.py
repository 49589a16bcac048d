"""Terms that only some rows of a block have: one test for all that share it, around their sums.

    if 1 <= i0 + u {                        all rows have it: i is no index of the block
      s0 + x[i0 + u - 1, j0] * w, ..., s3 + x[i0 + u - 1, j0 + 3] * w
    } else { s0, ..., s3 }

A term that is 0 where a test fails is left out there, as a sum that begins with 0 is never -0.
Tests that differ by lane stay for masks (`passes/lowering/lanes/lane_choices.py`).

Where terms that are written out read the same for several rows, a test is made for all of these:

    if 1 <= i0 + 1 {                        i is the row: row 0 reads x[i0 + u], row 1 x[i0 + 1 + u]
      s0 + x[i0, j0] * w[1]                 u = 1 in row 0, u = 0 in row 1: one load for both
      s1 + x[i0, j0] * w[0]
    } else { s0, s1 }

Such tests are of few terms, and fail at borders alone. Where no other mask is around, and masks
have registers, they are masks, too: between branches, registers cannot hold what all terms read, as
weights.

Each sum has its terms in the same order as without tests.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from itertools import groupby, pairwise

from xdsl.ir import Block, Operation, SSAValue

from tadc.dialects import tix
from tadc.dialects.tix import Affine, Constraint, Variable
from tadc.passes.lowering import operations
from tadc.passes.lowering.blocks.triangular_sums import Sums
from tadc.passes.lowering.lanes.lane_choices import LaneChoices
from tadc.passes.rewriting.guards import is_guard
from tadc.passes.scheduling.tiles.row_terms import terms_to_next_row

MOST_MASKS = 8
"""The largest number of tests that become masks, as processors have 8 mask registers.

With more tests, branches let a block at a border skip many terms: masks made the gradient of a 7 x
7 window in an image of 28 x 28 take 2.3 times as long.
"""

Places = Mapping[Variable, Affine]
"""The affine form that stands for each index of a sum in an unrolled term."""


@dataclass(frozen=True)
class _Total:
    """A vector of sums of a block, with its next term."""

    number: int
    value: SSAValue
    term: int
    """The number of the term."""
    row: int | None
    vector: int | None
    tests: dict[Constraint, Constraint]
    """The tests that are uniform across lanes, by their form in terms of the first row."""


class _Terms:
    """The lowerings of the unrolled terms of a block."""

    def __init__(self, at: LaneChoices, op: tix.ReductionOp, places: Sequence[Places]):
        self.at = at
        self.op = op
        self.places = places
        self._made: dict[int, LaneChoices] = {}

    def inside(self, block: Block) -> _Terms:
        """The lowerings of the same terms for a nested block of code, as that of a branch."""
        return _Terms(self.at.inside(block), self.op, self.places)

    def of(self, term: int) -> LaneChoices:
        """The lowering of a term; that of the block where no index of the sum is replaced."""
        if not self.places[term]:
            return self.at
        if term not in self._made:
            inner = self._made[term] = self.at.apart()
            inner.index = self.at.index.placed(self.places[term])
        return self._made[term]

    def at_total(self, total: _Total) -> LaneChoices:
        """The lowering of a total's term."""
        return self.of(total.term).at(total.row, total.vector)

    def are_masked(self, totals: Sequence[_Total]) -> bool:
        """True if masks rather than branches predicate the terms of these totals.

        They do where there are mask registers, several unrolled terms, and few tests, none of them
        varying by lane.
        """
        at, choice = self.at_total(totals[0]), totals[0].value.owner
        if (
            not at.tile.has_masks
            or len(self.places) == 1
            or not is_guard(choice)
            or not at.is_maskable(choice)
        ):
            return False
        if len({key for t in totals for key in t.tests}) > MOST_MASKS:
            return False
        choices = ((t, t.value.owner) for t in totals)
        left = (self.at_total(t).left(op) for t, op in choices if isinstance(op, tix.IfOp))
        column = self.at.tile.column_index
        return not any(c.form[column] for tests in left for c in tests or ())

    def masked_at(self, total: _Total) -> LaneChoices:
        """The lowering of a total's term, with masks for all of its tests."""
        own = self.at_total(total)
        own.has_branches = False
        return own


def places_along(index: Variable, first: int, length: int) -> list[Places]:
    """The value of an index in each of `length` unrolled terms."""
    return [{index: Affine(constant=k)} for k in range(first, first + length)]


def add_terms(at: LaneChoices, op: tix.ReductionOp, places: Sequence[Places], sums: Sums) -> Sums:
    """Add one unrolled term for each of `places` to the sums of a block."""
    terms = _Terms(at, op, places)
    totals = [
        _Total(n, value, term, row, vector, tests_of(terms.of(term), row, vector, op, value))
        for term in range(len(places))
        for n, (_, value, row, vector) in enumerate(at.totals(op))
    ]
    if len({tuple(t.tests) for t in totals}) > 1:
        _provide_shared(terms, totals)
    if len(places) > 1:
        totals.sort(key=_order_of_reads(at, op))
    found = _advanced(terms, totals, dict(enumerate(sums)))
    return [found[n] for n in range(len(sums))]


def _order_of_reads(at: LaneChoices, op: tix.ReductionOp) -> Callable[[_Total], tuple[int, int]]:
    """The sort key that lets rows use a vector which they share one after the other.

    So few vectors are live at a time.
    """
    step, row = terms_to_next_row(op, at.tile, at.uses), at.tile.row_index
    rows = [0 if row is None else at.tile.offsets(n)[row] for n in range(at.tile.height)]
    return lambda total: (total.vector or 0, total.term + step * rows[total.row or 0])


def tests_of(
    at: LaneChoices, row: int | None, vector: int | None, op: tix.ReductionOp, term: SSAValue
) -> dict[Constraint, Constraint]:
    """The tests of a guarded term that are uniform across lanes, by form for the first row."""
    choice = term.owner
    if not isinstance(op, tix.SumOp) or not is_guard(choice):
        return {}
    here, column = at.at(row, vector), at.tile.column_index
    return {here.here(c): c for c in here.left(choice) or () if not c.form[column]}


def has_quotients_of_terms(at: LaneChoices, op: tix.ReductionOp, choice: Operation | Block) -> bool:
    """True if a condition mentions a floor division of an index of the sum."""
    tests = choice.condition if isinstance(choice, tix.IfOp) else ()
    asked = {v for disjunct in tests for c in disjunct for v in c.form.indices}
    return any(v not in op.indices and at.uses.of(v) & {*op.indices} for v in asked)


def _provide_shared(terms: _Terms, totals: Sequence[_Total]) -> None:
    """Hoist masks, and reads that are invariant along rows, ahead of the branches on tests."""
    for t in totals:
        terms.at_total(t).provide_mask(t.value.owner)
    rows = {v for v, _ in terms.at.tile.axes}
    reads = [o for o in terms.op.body.block.ops if isinstance(o, tix.ReadOp)]
    for read in reads:
        if not rows & terms.at.uses.of(read.result):
            for term, vector in dict.fromkeys((t.term, t.vector) for t in totals):
                terms.of(term).at(None, vector).lanes_of(read.result)


def _in_order(totals: Sequence[_Total]) -> list[Sequence[_Total]]:
    """Groups of totals to advance together, such that each sum gets its terms in order.

    A group has the same tests where such an order exists, else the same term.
    """
    if not any(t.tests for t in totals):
        return [totals]
    by_tests: dict[tuple[Constraint, ...], list[_Total]] = {}
    by_sum: dict[int, list[tuple[Constraint, ...]]] = {}
    for t in totals:
        by_tests.setdefault(tuple(t.tests), []).append(t)
        by_sum.setdefault(t.number, []).append(tuple(t.tests))
    sorter = TopologicalSorter[tuple[Constraint, ...]](dict.fromkeys(by_tests, ()))
    for keys in by_sum.values():
        for before, after in pairwise(key for key, _ in groupby(keys)):
            sorter.add(after, before)
    try:
        return [by_tests[key] for key in sorter.static_order()]
    except CycleError:
        return [list(group) for _, group in groupby(totals, lambda t: t.term)]


def _advanced(
    terms: _Terms, totals: Sequence[_Total], sums: Mapping[int, SSAValue]
) -> dict[int, SSAValue]:
    """The sums with the terms of `totals` added; a test that all of them share is made first."""
    left = (key for key in totals[0].tests if key not in terms.at.assumed)
    shared = next((key for key in left if all(key in t.tests for t in totals)), None)
    if shared is not None:
        return _tested(terms, shared, totals, sums)
    found, groups = {t.number: sums[t.number] for t in totals}, _in_order(totals)
    if len(groups) > 1 and terms.are_masked(totals):
        for t in totals:
            own = terms.masked_at(t)
            found[t.number] = own.plus(found[t.number], t.value, terms.op)
        return found
    if len(groups) > 1:
        for group in groups:
            found.update(_advanced(terms, group, found))
        return found
    for t in totals:
        found[t.number] = terms.at_total(t).plus(found[t.number], t.value, terms.op)
    return found


def _tested(
    terms: _Terms, key: Constraint, group: Sequence[_Total], sums: Mapping[int, SSAValue]
) -> dict[int, SSAValue]:
    """The sums with the terms of a group added, in a branch where its test holds."""
    first = group[0]
    here, test = terms.at_total(first), first.tests[key]
    here.provide_quotients([test.form])
    holds = here.index.holds([[test]])
    taken, left = Block(), Block()
    inner = terms.inside(taken)
    inner.at.enter(key)
    after = _advanced(inner, group, sums)
    taken.add_op(operations.end(*after.values()))
    left.add_op(operations.end(*(sums[number] for number in after)))
    branch = operations.branch(holds, taken, left, [terms.at.type] * len(after))
    return dict(zip(after, terms.at.insert(branch).results, strict=True))
