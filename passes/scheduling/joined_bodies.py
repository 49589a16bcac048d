"""Bodies of several definitions as one, in which sums over the same points are one operation.

    %0 = tix.sum (%i) in (...) {                  %0, %1 = tix.sum (%i) in (...) {
      %e = exp(...)                                 %e = exp(...)
      tix.yield %e * %a                             tix.yield %e * %a, %e * %b
    }                                  becomes    }
    %1 = tix.sum (%l) in (...) {
      %f = exp(...)
      tix.yield %f * %b
    }

Equal values (`passes/analysis/value_numbers.py`) are computed once, also such of different sums,
whose indices count as the same. Sums are joined that stand outside of others, have equal index
sets, and have as many such sums one behind the other before them: none then needs another one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Self

from xdsl.ir import Block, Operation, OpResult, Region, SSAValue

from tadc.dialects import tix
from tadc.dialects.quick import INDEX, block_with
from tadc.dialects.tix import Affine, Variable
from tadc.passes.analysis.value_numbers import ValueNumbers
from tadc.passes.rewriting.builder import BodyBuilder
from tadc.passes.rewriting.cloner import Cloner, free_values
from tadc.passes.rewriting.programs import view_of
from tadc.passes.rewriting.scoped_map import ScopedMap
from tadc.passes.scheduling.shared_choices import ChoicePlan, choice_plan
from tadc.passes.scheduling.tiles.sum_lengths import blocked_sums

Places = Sequence[Sequence[int]]
"""For each definition the positions of its indices among those of the widest one."""


def joined(members: Sequence[tix.DefineOp], places: Places) -> tix.DefineOp | None:
    """A definition with the values of all members, whose indices are those of the widest one.

    It is added to their program, in front of them. None where no two sums are joined.
    """
    if not _may_join(members, places):
        return None  # as mostly, and copies of large bodies take their time
    whole = _side_by_side(members, places)
    made = _with_joined_sums(whole)
    whole.erase()  # or tensors would have readers that are in no program
    if made is not None:
        assert members[0].parent is not None
        members[0].parent.insert_op_before(made, members[0])
    return made


def _with_joined_sums(whole: tix.DefineOp) -> tix.DefineOp | None:
    groups = _groups(whole)
    if all(len(group) < 2 for group in groups):
        return None
    same = {
        own: index
        for first, *others in groups
        for op in others
        for own, index in zip(op.indices, first.indices, strict=True)
    }
    numbers = ValueNumbers(whole, same)
    block = _block(whole.indices)
    builder = BodyBuilder(block, whole.location)
    choices = choice_plan([[op.body.block for op in group] for group in groups], numbers)
    joiner = _Joiner(builder, numbers, {op: group for group in groups for op in group}, choices)
    values = joiner.inner(builder, whole.indices, block.args).copy_all(whole.body)
    return _definition(whole, block, values)


def _side_by_side(members: Sequence[tix.DefineOp], places: Places) -> tix.DefineOp:
    """A definition with copies of all bodies, one behind the other."""
    widest = max(members, key=lambda op: len(op.indices))
    block = _block(widest.indices)
    builder = BodyBuilder(block, widest.location)
    values = [
        Cloner(builder).copy_definition(op, builder, [block.args[n] for n in own])
        for op, own in zip(members, places, strict=True)
    ]
    return _definition(widest, block, values)


def _block(indices: Sequence[SSAValue]) -> Block:
    """An empty body with indices of these names."""
    block = block_with([INDEX] * len(indices))
    for new, old in zip(block.args, indices, strict=True):
        new.name_hint = old.name_hint
    return block


def _definition(like: tix.DefineOp, block: Block, values: Sequence[SSAValue]) -> tix.DefineOp:
    block.add_op(tix.YieldOp(*values))
    op = tix.DefineOp(like.label.data, like.type, Region(block), view_of(like.result))
    op.location = like.location
    return op


# --- which sums -----------------------------------------------------------------------------------


def _groups(op: tix.DefineOp) -> list[list[tix.SumOp]]:
    """The long sums of a body, together where they run over the same points."""
    depths: dict[Operation, int] = {}
    found: dict[object, list[tix.SumOp]] = {}
    for s in blocked_sums(op.body):
        if not isinstance(s, tix.SumOp):
            continue
        depths[s] = 1 + max((depths.get(o, -1) for o in _before(s)), default=-1)
        found.setdefault((depths[s], *_points(s)), []).append(s)
    return list(found.values())


def _points(
    op: tix.SumOp, around: Mapping[Variable, Affine] | None = None
) -> tuple[int, frozenset[tix.Constraint]]:
    """The index set of a sum, in which its own indices count by their places, and those of the
    definition `around` it by these forms."""
    own: dict[Variable, Affine] = {v: Affine.of(f"#{n}") for n, v in enumerate(op.indices)}
    forms = {**(around or {}), **own}
    return len(own), frozenset(c.substitute(forms) for c in op.constraints)


def _may_join(members: Sequence[tix.DefineOp], places: Places) -> bool:
    """False if no two sums run over the same points; quotients in bounds may be equal or not."""
    found: set[object] = set()
    for op, own in zip(members, places, strict=True):
        around: dict[Variable, Affine] = {
            v: Affine.of(f"@{n}") for v, n in zip(op.indices, own, strict=True)
        }
        for s in blocked_sums(op.body):
            if not isinstance(s, tix.SumOp):
                continue
            divided = any(isinstance(v, OpResult) for c in s.constraints for v in c.form.indices)
            points = _points(s, around)
            if divided or points in found:
                return True
            found.add(points)
    return False


def _before(op: Operation) -> set[Operation]:
    """The operations in the same block that an operation depends on."""
    found: set[Operation] = set()
    pending = [op]
    while pending:
        owners = {v.owner for v in free_values(pending.pop())}
        new = {o for o in owners - found if isinstance(o, Operation) and o.parent is op.parent}
        found |= new
        pending += new
    return found


# --- joining --------------------------------------------------------------------------------------


class _Joiner(Cloner):
    """Copies a body; equal values are copied once, and sums of a group become one."""

    def __init__(
        self,
        builder: BodyBuilder,
        numbers: ValueNumbers,
        groups: Mapping[Operation, Sequence[tix.SumOp]],
        choices: ChoicePlan,
    ):
        super().__init__(builder)
        self.numbers = numbers
        self.groups = groups
        self.choices = choices
        self.there: ScopedMap[int, SSAValue] = ScopedMap()
        """The copied values in scope, by value number."""

    def inner(
        self, builder: BodyBuilder, own: Sequence[SSAValue] = (), new: Sequence[SSAValue] = ()
    ) -> Self:
        cloner = super().inner(builder, own, new)
        cloner.there = self.there.new_child()
        return cloner

    def copy(self, op: Operation) -> None:
        """Copy an operation, unless a copy of an equal value is in scope."""
        if isinstance(op, tix.LocalIndexOp):
            return super().copy(op)
        (result,) = op.results
        if self.numbers[result] not in self.there:
            for value in self.choices.get(op, ()):
                self.fetch(value)
            if op in self.groups:
                self._join(self.groups[op])
            else:
                super().copy(op)
                self.there[self.numbers[result]] = self.values[result]
        self.values[result] = self.there[self.numbers[result]]

    def copy_all(self, region: Region) -> list[SSAValue]:
        """Copy all operations of a body; the new values of what it yields."""
        for op in region.block.ops:
            if not isinstance(op, tix.YieldOp):
                self.copy(op)
        return [self.value(v) for v in tix.all_yielded(region)]

    def _join(self, group: Sequence[tix.SumOp]) -> None:
        """Emit one sum in place of a group; equal members share a result."""
        ops: dict[int, tix.SumOp] = {}
        for op in group:
            self.require(op)
            ops.setdefault(self.numbers[op.result], op)
        block = _block(group[0].indices)
        inner = self.inner(
            BodyBuilder(block, group[0].location, self.builder.local_indices.new_child())
        )
        for op in ops.values():
            inner.indices.update(zip(op.indices, map(Affine.of, block.args), strict=True))
        terms = [term for op in ops.values() for term in inner.copy_all(op.body)]
        block.add_op(tix.YieldOp(*terms))
        made = tix.SumOp(inner.constraints(group[0].constraints), Region(block))
        self.builder.location = group[0].location
        self.there.update(zip(ops, self.builder.insert(made).results, strict=True))
