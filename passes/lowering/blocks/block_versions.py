"""Versions of a block's terms: code without tests for blocks all of whose elements have them.

Tests of rows that no term moves, as of channels in the last group, are made once for a block:

    if 8*o + 7 < O {
      for k { s0 + x * w[8*o, k], ..., s7 + x * w[8*o + 7, k] }
    } else {
      for k { if 8*o < O { s0 + x * w[8*o, k] }, ... }
    }

Tests that differ by lane are masks, which cost nothing where a processor has registers for these.
Elsewhere each is a comparison, and each term one more instruction: there, a block has code for
columns of which all have all terms, as inside of a padded window, x[j + k - 1] with k in range(3):

    if 1 <= j0 and j0 + 15 <= N - 2 {       lanes j0, ..., j0 + 15
      s0 + x[j0 - 1 ... j0 + 14] * w[0] + ...
    } else {
      s0 + x[j0 - 1 ... j0 + 14] * w[0] where 1 <= j0, ..., j0 + 15 ...
    }

Elsewhere the block adds zeros first: what a mask leaves out is read as 0, and so a term that is a
product adds 0 to its sum, which needs no instruction. Where the other factor is infinite or NaN,
the term is NaN, and so is the sum: then all sums are computed again with masks.

    t = s0 + x[j0 - 1 ... j0 + 14] * w[0] + ...        x is 0 where 1 <= j0 fails
    if t != t in any lane { s0 + x[j0 - 1 ... j0 + 14] * w[0] where 1 <= j0, ..., j0 + 15 ... }

Tests of rows that move with terms are branches there, one for each row and term; so it has code for
rows of which all have all terms, too.

Where terms call functions, tests are little beside these, and each version is long: blocks at the
ends have one with all tests, in loops.

Each sum has its terms in the same order in all versions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TypeVar

from xdsl.ir import Block, SSAValue

from tadc.dialects import tix
from tadc.dialects.tix import Affine, Constraint
from tadc.passes.analysis.costs import is_dear
from tadc.passes.lowering import operations
from tadc.passes.lowering.blocks.predicated_terms import has_quotients_of_terms, tests_of
from tadc.passes.lowering.blocks.triangular_sums import Sums
from tadc.passes.lowering.lanes.lane_choices import LaneChoices
from tadc.passes.lowering.lanes.zero_lanes import any_nan
from tadc.passes.rewriting.guards import is_guard

BlockT = TypeVar("BlockT", bound=LaneChoices)

Limits = tuple[Affine, Affine]
"""The first and the last row or column at which a block may begin."""


def in_versions(
    at: BlockT, op: tix.ReductionOp, sums: Sums, emit: Callable[[BlockT], Sums]
) -> Sums:
    """The sums with all terms: unpredicated in interior blocks, predicated in others.

    Interior are blocks whose rows, and without mask registers whose columns too, all have all
    terms. Without mask registers, other blocks first add zeros (`_zeros_first`), unless terms call
    functions.
    """

    def zeros_first(inner: BlockT) -> Sums:
        return _zeros_first(inner, op, sums, emit)

    def by_rows(inner: BlockT) -> Sums:
        tests = _tests_of_rows(inner, op)
        if len(tests) > 1:
            return _chosen(inner, tests, sums, zeros_first, zeros_first)
        return zeros_first(inner)

    def at_ends(inner: BlockT) -> Sums:
        if not any(map(is_dear, op.body.walk())):
            return by_rows(inner)
        inner.is_rare = True
        return emit(inner)

    def inside_rows(inner: BlockT) -> Sums:
        row = inner.tile.row_index
        return by_rows(inner) if row is None else _inside(inner, op, sums, row, by_rows, at_ends)

    if at.tile.has_masks:
        return by_rows(at)
    return _inside(at, op, sums, at.tile.column_index, inside_rows, at_ends)


def _inside(
    at: BlockT,
    op: tix.ReductionOp,
    sums: Sums,
    index: SSAValue,
    emit: Callable[[BlockT], Sums],
    otherwise: Callable[[BlockT], Sums],
) -> Sums:
    """The sums by `emit` in interior blocks along `index`, of rows or columns; else by `otherwise`.

    In an interior block, all tests that move with the index hold.
    """
    limits = _limits_of_whole(at, op, index)
    if limits is not None:
        first, last = limits
        tests = [Constraint(Affine.of(index) - first), Constraint(last - Affine.of(index))]
        return _chosen(at, tests, sums, emit, otherwise, {**at.limits, index: limits})
    strongest = _strongest_tests(at, op, index)
    return _chosen(at, strongest, sums, emit, otherwise) if strongest else emit(at)


def _chosen(
    at: BlockT,
    tests: list[Constraint],
    sums: Sums,
    emit: Callable[[BlockT], Sums],
    otherwise: Callable[[BlockT], Sums],
    limits: Mapping[SSAValue, Limits] | None = None,
) -> Sums:
    """The sums by `emit` in a branch where `tests` hold, else by `otherwise`.

    The code of `emit` is not to test them again, and may use the `limits` of a block's first row
    and column.
    """
    whole, others = Block(), Block()
    inner = at.inside(whole)
    inner.enter(*tests)
    inner.limits = limits or inner.limits
    whole.add_op(operations.end(*emit(inner)))
    others.add_op(operations.end(*otherwise(at.inside(others))))
    holds = at.index.holds([tests])
    branch = operations.branch(holds, whole, others, [at.type] * len(sums))
    return at.insert(branch).results


def _zeros_first(
    at: BlockT, op: tix.ReductionOp, sums: Sums, emit: Callable[[BlockT], Sums]
) -> Sums:
    """The sums with 0 added in masked-off lanes, and once more with selects if one of these is NaN.

    A masked load gives 0 there, and so a product adds 0 unless its other factor is infinite or NaN.
    With mask registers, or where no term is such a product, `emit` runs once, with masks.
    """
    vanish = (
        at.at(row, vector).vanishes(term, op)
        for _, term, row, vector in at.totals(op)
        if not has_quotients_of_terms(at, op, term.owner)  # no term is at hand
    )
    if at.tile.has_masks or not isinstance(op, tix.SumOp) or not any(vanish):
        return emit(at)
    quick = at.apart()
    quick.adds_zeros = True
    found = emit(quick)
    again, enough = Block(), Block()
    rare = at.inside(again)
    rare.is_rare = True
    again.add_op(operations.end(*emit(rare)))
    enough.add_op(operations.end(*found))
    test = any_nan(at, op, found)
    branch = operations.branch(test, again, enough, [at.type] * len(sums))
    return at.insert(branch).results


def _limits_of_whole(at: LaneChoices, op: tix.ReductionOp, index: SSAValue) -> Limits | None:
    """The first and the last index at which an interior block begins: all tests along `index` hold.

    None where there is no such test, or no such range is known.
    """
    if index in op.indices or not isinstance(op, tix.SumOp):
        return None
    # tests are those of each row, and of the first lane
    more = at.tile.columns - 1 if index is at.tile.column_index else 0
    firsts, lasts = [at.limits[index][0]], [at.limits[index][1]]
    tests = [*_tests_along(at, op, index)]
    for test in tests:
        step = test.form[index]
        form = test.form - Affine.of(index) * step
        rest = at.least(form) if {*form.indices} <= {*op.indices} else None
        if rest is None or test.equality or abs(step) != 1:
            return None
        (firsts if step > 0 else lasts).append(-rest if step > 0 else rest - more)
    first, end = _largest(firsts), _largest(-form for form in lasts)
    if not tests or first is None or end is None:
        return None
    room = -end - first
    return None if not room.terms and room.constant < 0 else (first, -end)


def _strongest_tests(at: LaneChoices, op: tix.ReductionOp, index: SSAValue) -> list[Constraint]:
    """The strongest tests along rows that move by more than one element a row: all others follow.

    From `2*j - 3 >= 0` follows `2*j + v - 3 >= 0` for all v in range(3). Empty where a test has
    another form.
    """
    if index is at.tile.column_index or index in op.indices or not isinstance(op, tix.SumOp):
        return []
    rests: dict[int, Affine] = {}
    for test in _tests_along(at, op, index):
        step = test.form[index]
        form = test.form - Affine.of(index) * step
        rest = at.least(form) if {*form.indices} <= {*op.indices} else None
        if rest is None or test.equality or abs(step) == 1:
            return []
        more = rest - rests.setdefault(step, rest)
        if more.terms:
            return []
        if more.constant < 0:
            rests[step] = rest
    return [Constraint(Affine.of(index) * step + rest) for step, rest in rests.items()]


def _tests_along(at: LaneChoices, op: tix.ReductionOp, index: SSAValue) -> Iterator[Constraint]:
    """The tests of terms that move with an index, at each row."""
    for _, term, row, _ in at.totals(op):
        choice = term.owner
        if is_guard(choice) and not has_quotients_of_terms(at, op, choice):
            here = at.at(row, 0)
            yield from (here.here(c) for c in here.left(choice) or () if c.form[index])


def _largest(forms: Iterable[Affine]) -> Affine | None:
    """The largest of affine forms that differ by constants; None where two differ by more."""
    first, *others = forms
    for form in others:
        if (form - first).terms:
            return None
        first = max(first, form, key=lambda f: f.constant)
    return first


def _tests_of_rows(at: LaneChoices, op: tix.ReductionOp) -> list[Constraint]:
    """The tests of terms that are invariant in a sum's loops, in terms of the block's first row."""
    found: dict[Constraint, None] = {}
    for _, term, row, vector in at.totals(op):
        if has_quotients_of_terms(at, op, term.owner):
            continue  # no term is at hand
        for here, test in tests_of(at, row, vector, op, term).items():
            if not any(at.uses.of(v) & {*op.indices} for v in test.form.indices):
                found[here] = None
    return list(found)
