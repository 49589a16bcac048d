"""Choices by indices in the lanes of vectors: branches, masks, and terms that are left out."""

from __future__ import annotations

from xdsl.dialects import scf
from xdsl.ir import Block, Region, SSAValue

from dialects import tix
from dialects.loops import SelectLanesOp
from passes.scheduling.emit import all_of, any_of
from passes.scheduling.lanes_lowering import LanesLowering
from passes.scheduling.tile_analysis import is_short


class LaneChoices(LanesLowering):
    """Emits choices between values at a point of a block."""

    def choice(self, op: tix.IfOp) -> SSAValue:
        """A branch where all lanes take the same side, else both sides under masks."""
        column = self.tile.column_index
        own = {v for disjunct in op.condition for c in disjunct for v in c.form.indices}
        forms = [c.form for disjunct in op.condition for c in disjunct]
        if not any(column in self.uses.of(v) for v in own):
            self.provide_quotients(forms)
            return self._branching(self.index.holds(op.condition), op)
        if self.is_divided(forms) or not self._is_maskable(op):
            return self.lane_by_lane(op.results[0])
        return self._masked(op)

    def _branching(self, condition: SSAValue, op: tix.IfOp) -> SSAValue:
        blocks = Block(), Block()
        for block, region in zip(blocks, (op.then, op.otherwise), strict=True):
            block.add_op(scf.YieldOp(self.inside(block).lanes_of(tix.yielded(region))))
        branches = Region(blocks[0]), Region(blocks[1])
        return self.insert(scf.IfOp(condition, [self.type], branches[0], branches[1])).results[0]

    def _is_maskable(self, op: tix.IfOp) -> bool:
        """True if reads inside are vectors, of which lanes can be left out."""
        inner = [o for region in op.regions for o in region.walk()]
        column = self.tile.column_index
        return all(
            isinstance(o, tix.UnaryOp | tix.BinaryOp | tix.ConstantOp | tix.YieldOp)
            or (isinstance(o, tix.ReadOp) and self.step(o) in (1, -1))
            or (isinstance(o, tix.SumOp) and is_short(o) and column in self.uses.of_operation(o))
            for o in inner
        )

    def _masked(self, op: tix.IfOp) -> SSAValue:
        """Both branches, each with the lanes for which it is taken."""
        holds = self._mask(op)
        then = self._under(holds, op.then)
        if holds is self.mask:
            return then  # other lanes do not matter
        otherwise = self._under(self.others(holds), op.otherwise)
        return self.insert(SelectLanesOp(holds, then, otherwise)).result

    def _mask(self, op: tix.IfOp) -> SSAValue:
        """The lanes in which a condition holds."""
        tests = [all_of(self, [self._test(c) for c in disjunct]) for disjunct in op.condition]
        holds = any_of(self, tests)
        assert holds is not None
        return holds

    def plus(self, sum_: SSAValue, term: SSAValue, op: tix.SumOp) -> SSAValue:
        """A partial sum with one more term at this point.

        A term that is 0 where a condition fails is left out there, as a sum that begins with 0 is
        never -0: that is one instruction of processors with masks.
        """
        choice = term.owner
        if not isinstance(choice, tix.IfOp) or not self._is_left_out(choice):
            return self.add(sum_, self.lanes_of(term), op)
        holds = self._mask(choice)
        after = self.add(sum_, self._under(holds, choice.then), op)
        return self.insert(SelectLanesOp(holds, after, sum_)).result

    def _is_left_out(self, op: tix.IfOp) -> bool:
        """True if a choice is between some lanes and 0."""
        forms = [c.form for disjunct in op.condition for c in disjunct]
        return (
            tix.constant_value(tix.yielded(op.otherwise)) == 0.0
            and any(form[self.tile.column_index] for form in forms)
            and not self.is_divided(forms)
            and self._is_maskable(op)
        )

    def _test(self, constraint: tix.Constraint) -> SSAValue:
        self.provide_quotients([constraint.form])
        return self.holds_in(constraint.form, constraint.equality)

    def _under(self, mask: SSAValue, region: Region) -> SSAValue:
        """The value of a branch in the lanes for which it is taken."""
        inner = self.apart()
        inner.mask = mask if self.mask is None else all_of(self, [mask, self.mask])
        return inner.lanes_of(tix.yielded(region))
