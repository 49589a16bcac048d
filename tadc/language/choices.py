"""Choices: `E1 if C else E2`, where the condition compares indices, values or both.

A condition on indices is one `tix.if`, a comparison of values one `tix.where`. Any other condition
is computed as 1 or 0 first, part by part as Python does, so that `i >= 1 and x[i - 1] > 0` reads no
element outside:

    E1 if A and B else E2    becomes    t = (1 if B else 0) if A else 0;  E1 if t != 0 else E2

What a condition says of indices holds in the branches: `E1` stands under `A` once more, which tells
the ranges of what it reads.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from xdsl.ir import Block, Region, SSAValue

from tadc.dialects.tix import ConstantOp, IfOp, Predicate, WhereOp, YieldOp
from tadc.language.conditions import (
    TRUE,
    Condition,
    check_comparisons,
    compares_values,
    condition,
    conjunction,
)
from tadc.language.scope import Scope
from tadc.language.source import names_in

Branch = Callable[[Scope], SSAValue]
"""Computes a value in the block of a scope."""

Evaluate = Callable[[ast.expr, Scope], SSAValue]
"""Computes the value of an expression in the block of a scope."""

PREDICATES: dict[type[ast.cmpop], Predicate] = {
    ast.Lt: "lt",
    ast.LtE: "le",
    ast.Gt: "gt",
    ast.GtE: "ge",
    ast.Eq: "eq",
    ast.NotEq: "ne",
}


def by_indices(
    disjuncts: Condition, node: ast.expr, then: Branch, otherwise: Branch, scope: Scope
) -> SSAValue:
    """A choice by a condition on indices.

    A branch that is never taken stays until the program is put together: it is part of the text,
    which tells ranges, element types and results.
    """
    regions = region(then, node, scope), region(otherwise, node, scope)
    return scope.insert(IfOp(disjuncts, *regions), node).result


def region(branch: Branch, node: ast.AST, scope: Scope) -> Region:
    """A region that yields the value of a branch."""
    block = Block()
    inner = scope.inside(block)
    value = branch(inner)
    inner.insert(YieldOp(value), node)
    return Region(block)


class Chooser:
    """Reads conditions; `evaluate` computes the values that they compare."""

    def __init__(self, evaluate: Evaluate):
        self.evaluate = evaluate

    def choice(self, node: ast.IfExp, scope: Scope) -> SSAValue:
        """`body if test else orelse`."""
        node = _in_turn(node, scope)
        test = node.test

        def branch(chosen: ast.expr, negated: bool) -> Branch:
            known = _index_parts(test, scope, negated) if compares_values(test, scope) else []

            def under(inner: Scope) -> SSAValue:
                parts = [condition(part, inner, negative) for part, negative in known]
                disjuncts = conjunction(parts, node, inner)
                value: Branch = lambda place: self._value(chosen, place)
                if disjuncts == TRUE:
                    return value(inner)
                return by_indices(disjuncts, node, value, _number(0, node), inner)

            return under

        return self._pick(test, node, branch(node.body, False), branch(node.orelse, True), scope)

    def _value(self, chosen: ast.expr, scope: Scope) -> SSAValue:
        """The value of a branch."""
        if isinstance(chosen, _InTurn):
            return self.choice(chosen, scope)
        return self.evaluate(chosen, scope)

    def term(
        self, node: ast.expr, conditions: Sequence[ast.expr], identity: float, scope: Scope
    ) -> SSAValue:
        """A term of a reduction: the expression where all conditions hold, else the identity."""
        if not conditions:
            return self.evaluate(node, scope)
        test, *more = conditions
        if more:
            test = ast.copy_location(ast.BoolOp(ast.And(), [*conditions]), test)
        nothing = ast.copy_location(ast.Constant(identity), node)

        def value(chosen: ast.expr, inner: Scope) -> SSAValue:
            if chosen is nothing:
                return _number(identity, node)(inner)
            return self.evaluate(chosen, inner)

        choice = ast.copy_location(ast.IfExp(test, node, nothing), node)
        return Chooser(value).choice(choice, scope)

    def _pick(
        self, test: ast.expr, node: ast.expr, then: Branch, otherwise: Branch, scope: Scope
    ) -> SSAValue:
        """`then if test else otherwise`, read in this order, which arguments follow."""
        if not compares_values(test, scope):
            return by_indices(condition(test, scope), node, then, otherwise, scope)
        first = region(then, node, scope)
        decision = self._decision(test, scope, negated=False)
        return _choose(decision, first, region(otherwise, node, scope), node, scope)

    def _decision(self, test: ast.expr, scope: Scope, negated: bool) -> _Decision:
        match test:
            case ast.UnaryOp(op=ast.Not()):
                return self._decision(test.operand, scope, not negated)
            case ast.Compare(ops=[op], comparators=[right]):
                check_comparisons(test, scope)
                left, right = self.evaluate(test.left, scope), self.evaluate(right, scope)
                return _Decision(PREDICATES[type(op)], left, right, holds=not negated)
            case _:
                value = self._truth(test, scope, negated)
                return _Decision("ne", value, _number(0, test)(scope), holds=True)

    def _truth(self, test: ast.expr, scope: Scope, negated: bool) -> SSAValue:
        """1 where the condition holds (where it does not if `negated`), else 0."""
        one, zero = _number(1, test), _number(0, test)
        match test:
            case ast.UnaryOp(op=ast.Not()):
                return self._truth(test.operand, scope, not negated)
            case ast.BoolOp() | ast.Compare(ops=[_, _, *_]):
                if isinstance(test, ast.Compare):
                    check_comparisons(test, scope)
                parts = test.values if isinstance(test, ast.BoolOp) else _links(test)
                every = (isinstance(test, ast.Compare) or isinstance(test.op, ast.And)) != negated
                return self._joined(parts, every, scope, negated)
            case _:
                return self._tested(test, one, zero, scope, negated)

    def _joined(self, parts: list[ast.expr], every: bool, scope: Scope, negated: bool) -> SSAValue:
        """1 if every part, or any of them, holds, else 0; later parts only where they matter."""
        first, *rest = parts
        if not rest:
            return self._truth(first, scope, negated)
        others: Branch = lambda inner: self._joined(rest, every, inner, negated)
        known = _number(0 if every else 1, first)
        branches = (others, known) if every else (known, others)
        return self._tested(first, *branches, scope, negated)

    def _tested(
        self, test: ast.expr, then: Branch, otherwise: Branch, scope: Scope, negated: bool
    ) -> SSAValue:
        """One of two values, for a test that stands before both in the text."""
        if not compares_values(test, scope):
            return by_indices(condition(test, scope, negated), test, then, otherwise, scope)
        decision = self._decision(test, scope, negated)
        first, second = region(then, test, scope), region(otherwise, test, scope)
        return _choose(decision, first, second, test, scope)


def _choose(
    decision: _Decision, then: Region, otherwise: Region, node: ast.AST, scope: Scope
) -> SSAValue:
    regions = (then, otherwise) if decision.holds else (otherwise, then)
    op = WhereOp(decision.predicate, decision.lhs, decision.rhs, *regions)
    return scope.insert(op, node).result


class _Decision(NamedTuple):
    """A comparison, and whether the condition holds where it does, or where it does not."""

    predicate: Predicate
    lhs: SSAValue
    rhs: SSAValue
    holds: bool


def _number(value: float, node: ast.AST) -> Branch:
    return lambda scope: scope.insert(ConstantOp(value), node).result


class _InTurn(ast.IfExp):
    """The later parts of a test, around the same branches."""


def _in_turn(node: ast.IfExp, scope: Scope) -> ast.IfExp:
    """The choice with the first part of its test around the others, where that protects them.

    E1 if i >= 1 and idx[i - 1] == q else E2
    (E1 if idx[i - 1] == q else E2) if i >= 1 else E2
    """
    match node.test:
        case ast.BoolOp(op, [first, *rest]) if any(_protects(first, part, scope) for part in rest):
            test = rest[0] if len(rest) == 1 else ast.BoolOp(op, rest)
            inner = _InTurn(ast.copy_location(test, node.test), node.body, node.orelse)
            inner = ast.copy_location(inner, node)
            sides = (inner, node.orelse) if isinstance(op, ast.And) else (node.body, inner)
            return ast.copy_location(ast.IfExp(first, *sides), node)
        case _:
            return node


def _protects(first: ast.expr, part: ast.expr, scope: Scope) -> bool:
    """True if a part of a condition compares indices, or elements, by which another reads an index
    tensor."""
    if compares_values(first, scope):
        return False
    compared = list(_elements_in(first, scope))
    inside = {name for n in compared for name in names_in(n)}
    words = {name.id for name in names_in(first) if name not in inside}
    words |= {ast.dump(element) for element in compared}
    slices = [n.slice for n in _elements_in(part, scope)]
    by_names = any(name.id in words for s in slices for name in names_in(s))
    return by_names or any(ast.dump(e) in words for s in slices for e in _elements_in(s, scope))


def _elements_in(node: ast.expr, scope: Scope) -> Iterator[ast.Subscript]:
    """The elements of index tensors that an expression reads."""
    for n in ast.walk(node):
        match n:
            case ast.Subscript(value=ast.Name(id=name)) if scope.names.is_index_tensor(name):
                yield n
            case _:
                pass


def _links(chain: ast.Compare) -> list[ast.expr]:
    """`a < b`, `b < c` for `a < b < c`."""
    sides = [chain.left, *chain.comparators]
    return [
        ast.copy_location(ast.Compare(left, [op], [right]), chain)
        for left, op, right in zip(sides, chain.ops, sides[1:], strict=False)
    ]


def _index_parts(test: ast.expr, scope: Scope, negated: bool) -> list[tuple[ast.expr, bool]]:
    """The conditions on indices alone that hold where `test` does (or does not, if `negated`)."""
    match test:
        case _ if not compares_values(test, scope):
            return [(test, negated)]
        case ast.UnaryOp(op=ast.Not()):
            return _index_parts(test.operand, scope, not negated)
        case ast.BoolOp() if isinstance(test.op, ast.And) != negated:
            return [found for part in test.values for found in _index_parts(part, scope, negated)]
        case ast.Compare(ops=[_, _, *_]) if not negated:
            return [found for link in _links(test) for found in _index_parts(link, scope, False)]
        case _:
            return []
