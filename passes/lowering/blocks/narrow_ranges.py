"""Ranges of loops over terms, without values of an index at which a test leaves all terms out.

    y[o, i, j] = sum[c, u, v](x[c, i + u - 1, j + v - 1] * w[o, c, u, v] where 1 <= i + u <= N, ...)

    for c { for u = max(0, 1 - i) to min(3, N - i + 1) {        o and j are those of the block
      the terms of u, without tests of i + u
    } }

A test in each term would be a branch around its products, for each v. Where registers are few, they
do not hold the sums of a block across branches: with 16 of them, such a loop took 2.2 times as
long. With 32, a loop with branches is the quicker one, by 3 to 10 %: they keep the loads of a term
from going ahead of those before it.

Narrow are ranges of indices whose terms are in a loop, by tests that all sums of the block have,
for all values of the indices of loops inside. Each sum has its terms in the same order.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from tadc.dialects import tix
from tadc.dialects.tix import Constraint
from tadc.passes.lowering.blocks.predicated_terms import has_quotients_of_terms, tests_of
from tadc.passes.lowering.lanes.lane_choices import LaneChoices

Range = tuple[SSAValue, SSAValue]
"""The bounds of an index: its first value, and the one behind the last."""


def narrow_range(
    at: LaneChoices, op: tix.ReductionOp, own: Sequence[SSAValue], range: Range
) -> tuple[list[Constraint], Range]:
    """Tighten the loop bounds of the first of `own`; give the tests that hold within them, too.

    `own` are the indices of a sum that have no values yet. The bounds stay as they are with mask
    registers: a processor that has them also has vector registers enough for tests in the loop.
    """
    low, high = range
    found = {} if at.tile.has_masks else _tests_of_all(at, op, own)
    index, here = own[0], at.at(*at.totals(op)[0][2:])
    here.provide_quotients([test.form for test in found.values()])
    for test in found.values():
        end = here.index.bound(index, test)
        if test.form[index] > 0:
            low = at.index.max(low, end)
        else:
            high = at.index.min(high, end)
    return list(found), (low, high)


def _tests_of_all(
    at: LaneChoices, op: tix.ReductionOp, own: Sequence[SSAValue]
) -> dict[Constraint, Constraint]:
    """The tests that all sums of a block share and that vary with the first of `own` alone.

    Keys are in terms of the block's first row, values as the first total has them.
    """
    index, totals = own[0], at.totals(op)
    if any(has_quotients_of_terms(at, op, term.owner) for _, term, _, _ in totals):
        return {}  # no term is at hand
    first, *others = (tests_of(at, row, vector, op, term) for _, term, row, vector in totals)

    def is_alone(test: Constraint) -> bool:
        moves = test.form[index] and not test.equality
        rest = (v for v in test.form.indices if v is not index)
        return bool(moves) and not any(at.uses.of(v) & {*own} for v in rest)

    return {
        key: test
        for key, test in first.items()
        if is_alone(test) and all(key in tests for tests in others)
    }
