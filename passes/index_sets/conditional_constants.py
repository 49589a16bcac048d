"""Constant propagation through a body in which some conditions are assumed true or false.

    sum[k](w[k] * (x[k] if k >= 2 else 0))

Assume that `k >= 2` is false: the factor is 0 and with it the value. `ConditionalConstants` finds
the values that are numbers, and the conditions on which the others still depend.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from xdsl.ir import Block, BlockArgument, Operation, Region, SSAValue

from tadc.dialects import tix
from tadc.dialects.tix import Constraint
from tadc.dialects.tix import elementwise as ew


@dataclass(frozen=True)
class Condition:
    """A union of convex sets of indices: equal conditions of several operations are one."""

    disjuncts: tuple[tuple[Constraint, ...], ...]

    @staticmethod
    def of(op: tix.IfOp) -> Condition:
        return Condition(tuple(tuple(disjunct) for disjunct in op.condition))

    @property
    def indices(self) -> frozenset[SSAValue]:
        """The indices of definitions and reductions that it depends on, through quotients too."""
        return indices_of(
            v for disjunct in self.disjuncts for c in disjunct for v in c.form.indices
        )


def indices_of(values: Iterable[SSAValue]) -> frozenset[SSAValue]:
    """The indices behind `values`, which are indices and local ones: quotients and elements."""
    found: set[SSAValue] = set()
    pending = list(values)
    while pending:
        v = pending.pop()
        if isinstance(v.owner, tix.LocalIndexOp):
            pending += v.owner.indices
        else:
            found.add(v)
    return frozenset(found)


def owner_of(index: SSAValue) -> Operation | None:
    """The operation that an index of a definition or reduction belongs to."""
    assert isinstance(index, BlockArgument)
    return index.owner.parent_op()


def set_conditions(op: tix.ReductionOp) -> list[Condition]:
    """The constraints of a reduction's set on outer indices, as conditions.

    There is one condition for each operation around it that has the innermost index of some.
    """
    found: dict[Operation | None, list[Constraint]] = {}
    for c in op.constraints:
        if c.form.indices and not any(c.form[v] for v in op.indices):
            found.setdefault(_innermost(indices_of(c.form.indices)), []).append(c)
    return [Condition((tuple(constraints),)) for constraints in found.values()]


def _innermost(indices: Iterable[SSAValue]) -> Operation | None:
    """The innermost operation that has one of these; None in a body that none has yet."""
    owners = [owner for v in indices if (owner := owner_of(v))]
    return max(owners, key=_depth, default=None)


def _depth(op: Operation) -> int:
    depth = 0
    while (parent := op.parent_op()) is not None:
        op, depth = parent, depth + 1
    return depth


def absent_values(body: Region) -> set[SSAValue]:
    """The values of a body that some condition on indices makes 0, and products that they are in.

    At such a point a term is left out of its sum (`ConditionalConstants`), with all its factors.
    """
    found: set[SSAValue] = set()
    for op in body.block.ops:
        for region in op.regions:
            found |= absent_values(region)
        if _may_be_absent(op, found):
            found.add(op.results[0])
    return found


def _may_be_absent(op: Operation, found: set[SSAValue]) -> bool:
    match op:
        case tix.IfOp():
            return any(
                v in found or tix.constant_value(v) == 0 for v in map(tix.yielded, op.regions)
            )
        case tix.WhereOp():
            chosen = [tix.yielded(r) for r in op.regions]
            return all(v in found or tix.constant_value(v) == 0 for v in chosen)
        case tix.SumOp():
            return tix.yielded(op.body) in found
        case ew.MulOp():
            return op.lhs in found or op.rhs in found
        case ew.DivOp():
            return op.lhs in found
        case tix.UnaryOp() | tix.BinaryOp():
            zeros = [v in found or tix.constant_value(v) == 0 for v in op.operands]
            return all(zeros) and ew.fold(type(op), *[0.0] * len(zeros)) == 0
        case _:
            return False


_CHOOSING = (tix.IfOp, tix.ReductionOp)


class ConditionalConstants:
    """The values of a body that are numbers once the conditions in `known` are true or false.

    A 0 that comes from a condition makes every product 0 that it stands in. Linear in the size of
    the body.
    """

    def __init__(self, body: Region, known: Mapping[Condition, bool]):
        self.known = known
        self.numbers: dict[SSAValue, float] = {}
        self._absent: set[SSAValue] = set()
        self._fold(body)

    def _fold(self, region: Region) -> SSAValue:
        """Find the numbers in a region; gives what it yields."""
        for op in region.block.ops:
            if op.results and not isinstance(op, tix.LocalIndexOp):
                self._fold_operation(op)
        return tix.yielded(region)

    def _fold_operation(self, op: Operation) -> None:
        number = self._number(op)
        if number is None:
            return
        result = op.results[0]
        self.numbers[result] = number
        sources = [*op.operands, *(tix.yielded(r) for r in self._taken(op))]
        if number == 0 and (isinstance(op, _CHOOSING) or any(v in self._absent for v in sources)):
            self._absent.add(result)

    def _number(self, op: Operation) -> float | None:
        match op:
            case tix.ConstantOp():
                return op.value.data
            case tix.ReductionOp():
                value = self.numbers.get(self._fold(op.body))
                nothing = not all(self.known.get(c, True) for c in set_conditions(op))
                return op.IDENTITY if nothing or value == op.IDENTITY else None
            case tix.IfOp() | tix.WhereOp():
                found = {self.numbers.get(self._fold(region)) for region in self._taken(op)}
                return found.pop() if len(found) == 1 else None
            case ew.MulOp() | ew.NegOp() if any(v in self._absent for v in op.operands):
                return 0.0
            case ew.DivOp() if op.lhs in self._absent:
                return 0.0
            case tix.UnaryOp() | tix.BinaryOp():
                numbers = [self.numbers[v] for v in op.operands if v in self.numbers]
                return ew.fold(type(op), *numbers) if len(numbers) == len(op.operands) else None
            case _:
                return None

    def _taken(self, op: Operation) -> Sequence[Region]:
        """The regions that may be evaluated."""
        holds = self.known.get(Condition.of(op)) if isinstance(op, tix.IfOp) else None
        return op.regions if holds is None else [op.regions[0 if holds else 1]]

    def undecided(self, values: Iterable[SSAValue], body: Region) -> list[Condition]:
        """The conditions on which these values of the body still depend, in order of the text."""
        found: dict[Condition, None] = {}
        self._collect(body.block, set(values), found)
        return list(found)[::-1]

    def _collect(self, block: Block, needed: set[SSAValue], found: dict[Condition, None]) -> None:
        """Go backwards through the operations that `needed` values come from."""
        for op in reversed(list(block.ops)):
            if not op.results or op.results[0] not in needed or op.results[0] in self.numbers:
                continue
            match op:
                case tix.IfOp():
                    conditions = [Condition.of(op)]
                case tix.ReductionOp():
                    conditions = set_conditions(op)
                case _:
                    conditions = []
            for region in self._taken(op):
                inner = {tix.yielded(region)}
                self._collect(region.block, inner, found)
                needed |= inner
            found.update(dict.fromkeys(c for c in conditions if c not in self.known))
            needed.update(op.operands)
