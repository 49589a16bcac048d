"""Choices by values as text, the inverse of `choices.py`: `E1 if x[i] > 0 and i < 3 else E2`."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

from xdsl.ir import SSAValue

from dialects.tix import Constraint, FloorDivOp, IfOp, Predicate, WhereOp, constant_value, yielded
from passes.polyhedral.inequalities import feasible
from tadc.language.accesses import Pieces, division, keys_of, negation, rows
from tadc.language.conditions import decided
from tadc.language.print_affine import AND, COMPARISON, OR, SUM, Names, Text
from tadc.language.print_conditions import condition

Show = Callable[[SSAValue, Names], Text]
"""The text of a value."""

SIGNS: dict[Predicate, str] = {
    "lt": "<",
    "le": "<=",
    "gt": ">",
    "ge": ">=",
    "eq": "==",
    "ne": "!=",
}


def test_of(op: WhereOp, names: Names, show: Show) -> Text:
    """What decides a choice: a comparison, or a condition that was computed as 1 or 0."""
    if is_test(op):
        truth = _truth(op.lhs, names, show)
        if truth is not None:
            return truth
    return _comparison(op, names, show)


def is_test(op: WhereOp) -> bool:
    """Does a choice ask whether a value is other than 0?"""
    return op.comparison == "ne" and constant_value(op.rhs) == 0


def _comparison(op: WhereOp, names: Names, show: Show) -> Text:
    left, right = (show(v, names).within(SUM) for v in (op.lhs, op.rhs))
    return Text(f"{left} {SIGNS[op.comparison]} {right}", COMPARISON)


def _truth(value: SSAValue, names: Names, show: Show) -> Text | None:
    """The condition under which a value is 1, where it is 0 otherwise; None for other values."""
    op = value.owner
    if not isinstance(op, IfOp | WhereOp):
        return None
    test = _own_test(op, names, show)
    then, otherwise = yielded(op.then), yielded(op.otherwise)
    if test is None:
        return None
    match constant_value(then), constant_value(otherwise):
        case 1, 0:
            return test
        case 0, 1:
            return _not(test)
        case None, 0:
            return _join("and", test, _truth(then, names, show))
        case 0, None:
            return _join("and", _not(test), _truth(otherwise, names, show))
        case 1, None:
            return _join("or", test, _truth(otherwise, names, show))
        case None, 1:
            return _join("or", _not(test), _truth(then, names, show))
        case _:
            return None


def _own_test(op: IfOp | WhereOp, names: Names, show: Show) -> Text | None:
    if isinstance(op, WhereOp):
        return test_of(op, names, show)
    pieces = decided(op.condition)
    return None if pieces in ([], [[]]) else condition(pieces, names)


def _not(test: Text) -> Text:
    return Text(f"not {test.within(COMPARISON)}", AND)


def _join(word: str, first: Text, second: Text | None) -> Text | None:
    if second is None:
        return None
    binds = AND if word == "and" else OR
    return Text(f"{first.within(binds)} {word} {second.within(binds)}", binds)


# --- what a condition says of indices -------------------------------------------------------------


def without_guard(value: SSAValue, known: Pieces) -> SSAValue:
    """The value of a branch, without a condition on indices that holds there anyway."""
    op = value.owner
    if isinstance(op, IfOp) and constant_value(yielded(op.otherwise)) == 0:
        outside = negation(op.condition)
        if not any(_feasible([*one, *other]) for one, other in product(known, outside)):
            return yielded(op.then)
    return value


def known_of(truth: SSAValue, holds: bool) -> Pieces:
    """What is known of indices where a value that is 1 or 0 is 1 (or 0, unless it `holds`)."""
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


def _taken(op: IfOp | WhereOp, first: bool) -> Pieces:
    if isinstance(op, WhereOp):
        return known_of(op.lhs, first) if is_test(op) else [[]]
    return op.condition if first else negation(op.condition)


def _feasible(system: list[Constraint]) -> bool:
    """May the constraints hold together, given what the quotients in them are?"""
    quotients = {v.owner for c in system for v in c.form.indices}
    divided = [c for q in quotients if isinstance(q, FloorDivOp) for c in division(q)]
    whole = [*system, *divided]
    return feasible(rows(whole, keys_of(whole)))
