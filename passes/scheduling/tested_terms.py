"""Terms that only some rows of a block have: one test for all that share it, around their sums.

    if 1 <= i0 + u {                        all rows have it: i is no index of the block
      s0 + x[i0 + u - 1, j0] * w, ..., s3 + x[i0 + u - 1, j0 + 3] * w
    } else { s0, ..., s3 }

A term that is 0 where a test fails is left out there, as a sum that begins with 0 is never -0.
Tests that differ by lane stay for masks (`passes/scheduling/lane_choices.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from xdsl.ir import Block, SSAValue

from dialects import tix
from dialects.tix import Constraint
from passes.rewriting.guards import is_guard
from passes.scheduling import operations
from passes.scheduling.lane_choices import LaneChoices
from passes.scheduling.sloped_sums import Sums


@dataclass(frozen=True)
class _Total:
    """A vector of sums of a block, with its next term."""

    number: int
    term: SSAValue
    row: int | None
    vector: int | None
    tests: dict[Constraint, Constraint]
    """The tests that are the same for all lanes, by their form in terms of the first row."""


def add_term(at: LaneChoices, op: tix.ReductionOp, sums: Sums) -> Sums:
    """The sums of a block with one more term."""
    totals = [
        _Total(n, term, row, vector, _tests(at.at(row, vector), op, term))
        for n, (_, term, row, vector) in enumerate(at.totals(op))
    ]
    if len({tuple(t.tests) for t in totals}) > 1:
        _provide_shared(at, op, totals)
    found = dict(enumerate(sums))
    found.update(_advanced(at, op, totals, found))
    return [found[n] for n in range(len(sums))]


def _tests(at: LaneChoices, op: tix.ReductionOp, term: SSAValue) -> dict[Constraint, Constraint]:
    """The tests of a term at a point that are the same for all lanes."""
    choice = term.owner
    left = at.left(choice) if isinstance(op, tix.SumOp) and is_guard(choice) else None
    column = at.tile.column_index
    return {at.here(c): c for c in left or () if not c.form[column]}


def _provide_shared(at: LaneChoices, op: tix.ReductionOp, totals: Iterable[_Total]) -> None:
    """Read ahead of all tests what is there without them, and what several rows share."""
    rows = {v for v, _ in at.tile.axes}
    reads = [o for o in op.body.block.ops if isinstance(o, tix.ReadOp)]
    for read in reads:
        if not rows & at.uses.of(read.result):
            for vector in {t.vector for t in totals}:
                at.at(None, vector).value(read.result)


def _advanced(
    at: LaneChoices, op: tix.ReductionOp, totals: Sequence[_Total], sums: dict[int, SSAValue]
) -> dict[int, SSAValue]:
    """The sums with the next term of these totals, under the tests that are left."""
    groups: dict[Constraint | None, list[_Total]] = {}
    for total in totals:
        groups.setdefault(_first_left(at, total, totals), []).append(total)
    found: dict[int, SSAValue] = {}
    for key, group in groups.items():
        if key is None:
            for t in group:
                found[t.number] = at.at(t.row, t.vector).plus(sums[t.number], t.term, op)
        else:
            found.update(_tested(at, op, key, group, sums))
    return found


def _first_left(at: LaneChoices, total: _Total, all_: Sequence[_Total]) -> Constraint | None:
    """The test of a total to be made next: the one that most totals share."""
    left = [key for key in total.tests if key not in at.assumed]
    return max(left, key=lambda key: sum(key in t.tests for t in all_), default=None)


def _tested(
    at: LaneChoices,
    op: tix.ReductionOp,
    key: Constraint,
    group: Sequence[_Total],
    sums: dict[int, SSAValue],
) -> dict[int, SSAValue]:
    """The sums of a group with the next term where its test holds."""
    first = group[0]
    here, test = at.at(first.row, first.vector), first.tests[key]
    here.provide_quotients([test.form])
    holds = here.index.holds([[test]])
    taken, left = Block(), Block()
    inner = at.inside(taken)
    inner.assumed |= {key}
    after = _advanced(inner, op, group, sums)
    taken.add_op(operations.end(*(after[t.number] for t in group)))
    left.add_op(operations.end(*(sums[t.number] for t in group)))
    branch = operations.branch(holds, taken, left, [at.type] * len(group))
    return dict(zip((t.number for t in group), at.insert(branch).results, strict=True))
