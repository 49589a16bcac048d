"""Choices by values as text, the inverse of `choices.py`: `E1 if x[i] > 0 and i < 3 else E2`."""

from __future__ import annotations

from collections.abc import Callable, Container
from itertools import product

from xdsl.ir import SSAValue

from tadc.dialects.tix import Constraint, IfOp, Predicate, WhereOp, constant_value, yielded
from tadc.language.conditions import Condition, decided
from tadc.language.printing.affine import AND, COMPARISON, OR, SUM, NamesInScope, Text
from tadc.language.printing.conditions import condition
from tadc.passes.index_sets.disjuncts import complement
from tadc.passes.index_sets.sets import quotient_constraints, quotients_of
from tadc.passes.index_sets.space import feasible

SIGNS: dict[Predicate, str] = {
    "lt": "<",
    "le": "<=",
    "gt": ">",
    "ge": ">=",
    "eq": "==",
    "ne": "!=",
}


class Tests:
    """Prints conditions; `show` prints values, some of which are `whole`: forms of indices."""

    def __init__(self, show: Callable[[SSAValue, NamesInScope], Text], whole: Container[SSAValue]):
        self.show = show
        self.whole = whole

    def text(self, op: WhereOp, names: NamesInScope) -> Text:
        """The test of a choice: a comparison, or a condition that was computed as 1 or 0."""
        truth = self._truth(op.lhs, names) if is_test(op) else None
        return truth or self._comparison(op, names)

    def _comparison(self, op: WhereOp, names: NamesInScope) -> Text:
        of_indices = all(v in self.whole for v in op.operands)
        left, right = (self._side(v, names, of_indices) for v in op.operands)
        return Text(f"{left} {SIGNS[op.comparison]} {right}", COMPARISON)

    def _side(self, value: SSAValue, names: NamesInScope, of_indices: bool) -> str:
        """A comparison of numbers, though it could be one of indices, has a number like 1.0."""
        number = constant_value(value)
        if of_indices and number is not None:
            return repr(number)
        return self.show(value, names).within(SUM)

    def _truth(self, value: SSAValue, names: NamesInScope) -> Text | None:
        """The condition under which a value is 1, where it is 0 otherwise; None for others."""
        op = value.owner
        if not isinstance(op, IfOp | WhereOp):
            return None
        test = self._own_test(op, names)
        then, otherwise = yielded(op.then), yielded(op.otherwise)
        if test is None:
            return None
        match constant_value(then), constant_value(otherwise):
            case 1, 0:
                return test
            case 0, 1:
                return _not(test)
            case None, 0:
                return _join("and", test, self._truth(then, names))
            case 0, None:
                return _join("and", _not(test), self._truth(otherwise, names))
            case 1, None:
                return _join("or", test, self._truth(otherwise, names))
            case None, 1:
                return _join("or", _not(test), self._truth(then, names))
            case _:
                return None

    def _own_test(self, op: IfOp | WhereOp, names: NamesInScope) -> Text | None:
        if isinstance(op, WhereOp):
            return self.text(op, names)
        disjuncts = decided(op.condition)
        return None if disjuncts in ([], [[]]) else condition(disjuncts, names)


def is_test(op: WhereOp) -> bool:
    """True if a choice tests whether a value is other than 0."""
    return op.comparison == "ne" and constant_value(op.rhs) == 0


def _not(test: Text) -> Text:
    return Text(f"not {test.within(COMPARISON)}", AND)


def _join(word: str, first: Text, second: Text | None) -> Text | None:
    if second is None:
        return None
    binds = AND if word == "and" else OR
    return Text(f"{first.within(binds)} {word} {second.within(binds)}", binds)


# --- what a condition says of indices -------------------------------------------------------------


def without_guard(value: SSAValue, known: Condition) -> SSAValue:
    """The value of a branch, without a condition on indices that holds there anyway."""
    op = value.owner
    if isinstance(op, IfOp) and constant_value(yielded(op.otherwise)) == 0:
        outside = complement(op.condition)
        if not any(_possible([*one, *other]) for one, other in product(known, outside)):
            return yielded(op.then)
    return value


def known_of(truth: SSAValue, holds: bool) -> Condition:
    """The set on which `truth`, a value that is 1 or 0, may be 1 (or 0, unless it `holds`)."""
    op = truth.owner
    if not isinstance(op, IfOp | WhereOp):
        return [[]]
    branches = [(yielded(op.then), True), (yielded(op.otherwise), False)]
    possible = [(v, first) for v, first in branches if constant_value(v) != float(not holds)]
    if len(possible) != 1:
        return [[]]
    ((value, first),) = possible
    around = _taken(op, first)
    return [[*one, *other] for one, other in product(around, known_of(value, holds))]


def _taken(op: IfOp | WhereOp, first: bool) -> Condition:
    if isinstance(op, WhereOp):
        return known_of(op.lhs, first) if is_test(op) else [[]]
    return op.condition if first else complement(op.condition)


def _possible(system: list[Constraint]) -> bool:
    """True unless the constraints exclude each other, given what the quotients in them are."""
    quotients = quotients_of(c.form for c in system)
    return feasible([*system, *(c for q in quotients for c in quotient_constraints(q))])
