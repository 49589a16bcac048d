"""Choices in the lanes of vectors: branches, masks, and terms that are left out.

A choice by values computes both of its sides for all lanes: what they read is there whatever the
values are, as `tix.if` alone decides about indices.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Self

from xdsl.ir import Block, Operation, Region, SSAValue

from tadc.dialects import tix
from tadc.dialects.loops import CompareLanesOp, SelectLanesOp
from tadc.dialects.tix import Constraint, Variable
from tadc.passes.analysis.access import MASKED_STEPS
from tadc.passes.lowering import operations
from tadc.passes.lowering.lanes.lanes_lowering import LanesLowering
from tadc.passes.lowering.lanes.zero_lanes import has_zeros
from tadc.passes.lowering.loop_builders import all_of, any_of
from tadc.passes.rewriting.programs import reductions_around
from tadc.passes.rewriting.shallow_copy import shallow_copy
from tadc.passes.scheduling.streams.masked_lanes import (
    UNDER_MASKS,
    is_there,
    is_there_ahead,
    reads_ahead,
)
from tadc.passes.scheduling.tiles.sum_lengths import is_short

Tests = Sequence[Sequence[Constraint]]
"""A condition in disjunctive form."""


class LaneChoices(LanesLowering):
    """Emits choices between values at a point of a block."""

    has_branches: bool = True
    """False where tests become masks even if they are uniform across lanes."""
    adds_zeros: bool = False
    """True where a lane may add 0 for an absent term, which gives NaN if a factor is infinite."""
    is_rare: bool = False
    """True for code that hardly ever runs, and should be short."""

    def choice(self, op: tix.IfOp) -> SSAValue:
        """A branch where all lanes take the same side, else both sides under masks."""
        left = self.left(op)
        if left is None and self._is_divided(op):
            return self.lane_by_lane(op.results[0])
        tests = [left] if left is not None else op.condition
        column = self.tile.column_index
        if not any(c.form[column] for disjunct in tests for c in disjunct):
            return self._branching(tests, op)
        return self._masked(tests, op) if self.is_maskable(op) else self.lane_by_lane(op.results[0])

    def _is_divided(self, op: tix.IfOp) -> bool:
        return self.is_divided([c.form for disjunct in op.condition for c in disjunct])

    def _branching(self, tests: Tests, op: tix.IfOp) -> SSAValue:
        for disjunct in tests:
            self.provide_quotients([c.form for c in disjunct])
        holds = self.index.holds(tests)
        blocks = Block(), Block()
        for block, region in zip(blocks, (op.then, op.otherwise), strict=True):
            inner = self.inside(block)
            if region is op.then and len(tests) == 1:
                inner.enter(*map(inner.here, tests[0]))
            block.add_op(operations.end(inner.lanes_of(tix.yielded(region))))
        return self.insert(operations.branch(holds, *blocks, types=[self.type])).results[0]

    def is_maskable(self, op: tix.IfOp) -> bool:
        """True if both sides of a choice can be computed in all lanes, under masks.

        Each read inside is masked, or in bounds for all lanes anyway. So is each read ahead of the
        choice that its sides need; one that is only in bounds must not be a term of another
        reduction.
        """
        around = {*reductions_around(op)}
        inner = [o for region in op.regions for o in region.walk()]
        column = self.tile.column_index
        return all(
            isinstance(o, UNDER_MASKS)
            or (isinstance(o, tix.ReadOp) and self.may_leave_lanes_out(o, is_there))
            or (_is_short(o) and column in self.uses.of_operation(o))
            for o in inner
        ) and all(
            self.may_leave_lanes_out(o, is_there_ahead)
            or (is_there_ahead(o) and around.issuperset(reductions_around(o)))
            for o in reads_ahead(op, self.panels)
        )

    def may_leave_lanes_out(self, op: tix.ReadOp, anyway: Callable[[tix.ReadOp], bool]) -> bool:
        """True if a read is a vector that can be masked, or a number that is in bounds anyway."""
        is_number = self.tile.column_index not in self.uses.of_operation(op)
        if is_number:
            return anyway(op) or self.is_there_anyway(op)
        return self.step(op) in MASKED_STEPS

    def _read_ahead(self, op: tix.IfOp) -> None:
        """Compute, without a mask, the reads ahead of a choice that have no masked loads."""
        everywhere = shallow_copy(self)
        everywhere.mask = None
        for read in reads_ahead(op, self.panels):
            if not self.may_leave_lanes_out(read, is_there_ahead):
                everywhere.value(read.result)

    def _masked(self, tests: Tests, op: tix.IfOp) -> SSAValue:
        """Both sides of a choice under masks, and a select between them."""
        self._read_ahead(op)
        holds = self._mask(tests)
        then = self._under(holds, op.then, tests)
        if holds is self.mask:
            return then  # other lanes do not matter
        rest = tix.yielded(op.otherwise)
        if tix.constant_value(rest) is not None:
            otherwise = self.lanes_of(rest)
        else:
            otherwise = self._under(self.others(holds), op.otherwise)
        return self.insert(SelectLanesOp(holds, then, otherwise)).result

    def where(self, tests: Sequence[Constraint], region: Region, otherwise: float) -> SSAValue:
        """The value of a region in the lanes in which tests hold, and a number in the others."""
        holds = self._mask([tests])
        then = self._under(holds, region, [tests])
        rest = self.splat(self.constant(otherwise))
        return self.insert(SelectLanesOp(holds, then, rest)).result

    def choice_by_values(self, op: tix.WhereOp) -> SSAValue:
        """Both values, and in each lane the one that the comparison chooses."""
        operands = [self.lanes_of(v) for v in op.operands]
        predicate = "une" if op.comparison == "ne" else f"o{op.comparison}"
        test = self.insert(CompareLanesOp(predicate, *operands)).result
        sides = [self.lanes_of(tix.yielded(region)) for region in (op.then, op.otherwise)]
        return self.insert(SelectLanesOp(test, *sides)).result

    def _mask(self, tests: Tests) -> SSAValue:
        """The mask of a condition, hoisted out of all loops in which it is invariant."""
        for disjunct in tests:
            self.provide_quotients([c.form for c in disjunct])
        placed = [[c.substitute(self.index.places) for c in disjunct] for disjunct in tests]
        at = self._around(v for d in placed for c in d for v in c.form.indices)
        parts = [[self._lanes_in(c) for c in disjunct] for disjunct in placed]
        return any_of(at, [all_of(at, part) for part in parts])

    def _lanes_in(self, test: Constraint) -> SSAValue:
        """The mask of a test whose indices have been replaced by their places."""
        return self._around(test.form.indices).holds_in(test.form, test.equality)

    def _around(self, indices: Iterable[Variable]) -> Self:
        """The lowering of the outermost block in which these indices have their values."""
        at = shallow_copy(self)
        at.index = self.index.outermost(indices)
        return at

    def provide_mask(self, op: Operation | Block) -> None:
        """Compute the mask of those tests of a choice that vary by lane, ahead of its use."""
        left = self.left(op) if isinstance(op, tix.IfOp) else None
        if differing := [c for c in left or () if c.form[self.tile.column_index]]:
            self._mask([differing])

    def plus(self, sum_: SSAValue, term: SSAValue, op: tix.ReductionOp) -> SSAValue:
        """A partial sum with one more term at this point.

        A term that is 0 where a condition fails is left out there, as a sum that begins with 0 is
        never -0: that is one instruction of processors with masks.
        """
        choice = term.owner
        if not self.is_left_out(term, op) or not isinstance(choice, tix.IfOp):
            return self.add(sum_, self.lanes_of(term), op)
        left = self.left(choice)
        tests = choice.condition if left is None else [left]
        self._read_ahead(choice)
        holds = self._mask(tests)
        if self.mask is not None:
            holds = all_of(self, [holds, self.mask])
        has_zeros = self.adds_zeros and self.vanishes(term, op)
        after = self.add(sum_, self._under(holds, choice.then, tests), op)
        return after if has_zeros else self.insert(SelectLanesOp(holds, after, sum_)).result

    def is_left_out(self, term: SSAValue, sum_: tix.ReductionOp) -> bool:
        """True if a term of a sum is a choice between a value and 0 whose tests become a mask."""
        op = term.owner
        if not isinstance(sum_, tix.SumOp) or not isinstance(op, tix.IfOp):
            return False
        left = self.left(op)
        tests = op.condition if left is None else [left]
        return (
            tix.constant_value(tix.yielded(op.otherwise)) == 0.0
            and any(map(self.depends_on_lanes, tests))
            and not self._is_divided(op)
            and self.is_maskable(op)
        )

    def vanishes(self, term: SSAValue, sum_: tix.ReductionOp) -> bool:
        """True if masked-off lanes of a term are 0 without a select, for finite factors."""
        choice = term.owner
        if not self.is_left_out(term, sum_) or not isinstance(choice, tix.IfOp):
            return False
        return has_zeros(self, tix.yielded(choice.then))

    def depends_on_lanes(self, tests: Sequence[Constraint]) -> bool:
        """True if tests are masks rather than branches."""
        return any(c.form[self.tile.column_index] or not self.has_branches for c in tests)

    def _under(self, mask: SSAValue, region: Region, tests: Tests = ()) -> SSAValue:
        """The value of a branch in the lanes for which it is taken."""
        inner = self.apart()
        inner.mask = mask if self.mask is None else all_of(self, [mask, self.mask])
        if len(tests) == 1:
            inner.assume(*tests[0])
            inner.is_asked = self._is_asked(tests[0])
        return inner.lanes_of(tix.yielded(region))

    def _is_asked(self, tests: Sequence[Constraint]) -> SSAValue | None:
        """The conjunction of all tests so far that are uniform across lanes; None without any."""
        column = self.tile.column_index
        alike = [c.substitute(self.index.places) for c in tests if not c.form[column]]
        if not alike:
            return self.is_asked
        at = self._around(v for c in alike for v in c.form.indices)
        holds = at.index.holds([alike])
        return holds if self.is_asked is None else all_of(self, [holds, self.is_asked])


def _is_short(op: Operation) -> bool:
    return isinstance(op, tix.ReductionOp) and is_short(op)
