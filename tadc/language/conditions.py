"""Conditions on indices: Python syntax to a disjunction of conjunctions of constraints.

Conditions that compare values are `tadc/language/choices.py`.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from itertools import product

from tadc.dialects.tix import Affine, Constraint, FloorDivOp
from tadc.errors import TadcSyntaxError, UnsupportedError
from tadc.language.affine import affine
from tadc.language.hints import CONDITIONS
from tadc.language.scope import Scope, SymbolTable
from tadc.language.source import names_in
from tadc.passes.index_sets.disjuncts import Disjunct
from tadc.passes.index_sets.space import Space
from tadc.passes.polyhedral.inequalities import rows_feasible

Condition = list[Disjunct]
"""A condition: it holds where all constraints of at least one disjunct hold."""

TRUE: Condition = [[]]
FALSE: Condition = []

_MOST_DISJUNCTS = 64
_NEGATED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.GtE,
    ast.GtE: ast.Lt,
    ast.Gt: ast.LtE,
    ast.LtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
}


def condition(node: ast.expr, scope: Scope, negated: bool = False) -> Condition:
    """The set on which `node` holds, or on which it does not when `negated`."""
    match node:
        case ast.Constant(value=bool(value)):
            return TRUE if value != negated else FALSE
        case ast.UnaryOp(op=ast.Not()):
            return condition(node.operand, scope, not negated)
        case ast.BoolOp():
            parts = [condition(part, scope, negated) for part in node.values]
            together = isinstance(node.op, ast.And) != negated
            return conjunction(parts, node, scope) if together else _any(parts, node, scope)
        case ast.Compare():
            return _chain(node, scope, negated)
        case _:
            raise scope.fail(TadcSyntaxError, node, "this is not a condition", _hint(node))


def _hint(node: ast.expr) -> str:
    """A hint for a condition of other notations."""
    match node:
        case ast.BinOp(op=ast.BitAnd() | ast.BitOr() as op):
            word = "and" if isinstance(op, ast.BitAnd) else "or"
            return f"conditions are joined by {word}: i > 0 {word} i < 5"
        case ast.UnaryOp(op=ast.Invert()):
            return "the opposite of a condition is written with not"
        case ast.Call(func=ast.Name(id=name)) if name in CONDITIONS:
            return f"write {CONDITIONS[name]}"
        case ast.Call(func=ast.Attribute(attr=name)) if name in CONDITIONS:
            return f"write {CONDITIONS[name]}"
        case ast.Name(id="true" | "false" as name):
            return f"write {name.title()}"
        case _:
            return "compare indices or values: i < 3, (i - j) % 2 == 0, x[i] > 0"


def conjunction(parts: list[Condition], node: ast.expr, scope: Scope) -> Condition:
    """The set on which all conditions hold; `node` is blamed where it has too many disjuncts."""
    disjuncts = TRUE
    for part in parts:
        merged = decided([[*one, *other] for one, other in product(disjuncts, part)])
        disjuncts = _limited(merged, node, scope)
    return disjuncts


def _any(parts: list[Condition], node: ast.expr, scope: Scope) -> Condition:
    disjuncts = [disjunct for part in parts for disjunct in part]
    return TRUE if [] in disjuncts else _limited(disjuncts, node, scope)


def _limited(disjuncts: Condition, node: ast.expr, scope: Scope) -> Condition:
    if len(disjuncts) > _MOST_DISJUNCTS:
        raise scope.fail(
            UnsupportedError,
            node,
            f"the condition has more than {_MOST_DISJUNCTS} alternatives",
            "split it into nested conditions",
        )
    return disjuncts


def _chain(node: ast.Compare, scope: Scope, negated: bool) -> Condition:
    check_comparisons(node, scope)
    kinds = [type(op) for op in node.ops]
    sides = [node.left, *node.comparators]
    forms = [affine(side, scope) for side in sides]
    parts = [
        _comparison(_NEGATED[kind] if negated else kind, left, right)
        for kind, left, right in zip(kinds, forms, forms[1:], strict=False)
    ]
    return _any(parts, node, scope) if negated else conjunction(parts, node, scope)


def check_comparisons(node: ast.Compare, scope: Scope) -> None:
    """Refuse `in`, `is` and their opposites, and what binds more tightly: `i > 0 & i < 5`."""
    for side in (node.left, *node.comparators):
        if isinstance(side, ast.BinOp) and isinstance(side.op, ast.BitAnd | ast.BitOr):
            message = "& and | do not join conditions"
            raise scope.fail(TadcSyntaxError, node, message, _hint(side))
    if any(type(op) not in _NEGATED for op in node.ops):
        raise scope.fail(
            TadcSyntaxError,
            node,
            "conditions compare by <, <=, ==, !=, >= and >",
            "a range is a chain: 0 <= i < n",
        )


def compares_values(test: ast.expr, scope: Scope) -> bool:
    """True if any part of a condition compares values rather than indices."""
    match test:
        case ast.UnaryOp(op=ast.Not()):
            return compares_values(test.operand, scope)
        case ast.BoolOp():
            return any(compares_values(part, scope) for part in test.values)
        case ast.Compare():
            return any(_is_value(side, scope) for side in (test.left, *test.comparators))
        case _:
            return False


def _is_value(side: ast.expr, scope: Scope) -> bool:
    names = scope.names
    reads = any(_is_real(n, names) for n in ast.walk(side))
    floats = any(isinstance(n, ast.Constant) and type(n.value) is float for n in ast.walk(side))
    tensors = {*names.tensors, *names.declarations, *names.defined, *names.parameters}
    scalars = any(
        n.id in tensors and scope.key(n) is None and not names.is_index_tensor(n.id)
        for n in names_in(side)
    )
    division = any(isinstance(n, ast.Div | ast.Pow) for n in ast.walk(side))
    return reads or floats or scalars or division


def _is_real(node: ast.AST, names: SymbolTable) -> bool:
    """True for a part of an expression that is a real number: a call, or an element of reals."""
    match node:
        case ast.Subscript(value=ast.Name(id=name)):
            return not names.is_index_tensor(name)
        case _:
            return isinstance(node, ast.Subscript | ast.Call)


def _comparison(kind: type[ast.cmpop], left: Affine, right: Affine) -> Condition:
    below, above = Constraint(right - left - 1), Constraint(left - right - 1)
    alternatives: dict[type[ast.cmpop], list[Constraint]] = {
        ast.Lt: [below],
        ast.Gt: [above],
        ast.LtE: [Constraint(right - left)],
        ast.GtE: [Constraint(left - right)],
        ast.Eq: [Constraint(left - right, equality=True)],
        ast.NotEq: [below, above],
    }
    return _decided(alternatives[kind])


def _decided(alternatives: list[Constraint]) -> Condition:
    """One disjunct for each alternative, without those that never hold."""
    return decided([[alternative] for alternative in alternatives])


def decided(disjuncts: Sequence[Sequence[Constraint]]) -> Condition:
    """Drop constraints that follow from others and disjuncts that never hold; [[]] always holds."""
    found: Condition = []
    for disjunct in disjuncts:
        parts = [_known(c) for c in disjunct]
        if False not in parts:
            reduced = _reduced([c for c in parts if isinstance(c, Constraint)])
            found += [reduced] if reduced is not None else []
    return TRUE if [] in found else found


def _reduced(disjunct: list[Constraint]) -> list[Constraint] | None:
    """Without inequalities that the others imply; None where the disjunct holds nowhere."""
    space = Space([], disjunct)
    if not rows_feasible(space.rows(disjunct)):
        return None
    kept = disjunct
    for constraint in reversed(disjunct):
        others = [c for c in kept if c is not constraint]
        if others and not constraint.equality:
            kept = others if space.implied(constraint, space.rows(others)) else kept
    return kept


def _known(constraint: Constraint) -> Constraint | bool:
    """True or False if a constraint on a number or a remainder is decided, else the constraint.

    `e % m <= 0` is an equation, and so is `e % m >= m - 1`.
    """
    form = constraint.form
    if not form.terms:
        return form.constant == 0 if constraint.equality else form.constant >= 0
    for index in form.indices:
        op = index.owner
        if isinstance(op, FloorDivOp) and abs(form[index]) == op.divisor.data:
            return _known_remainder(constraint, op)
    return constraint


def _known_remainder(constraint: Constraint, op: FloorDivOp) -> Constraint | bool:
    """`_known` of a constraint on `sign * (e % m) + rest`, where the rest is a number."""
    m = op.divisor.data
    sign = -1 if constraint.form[op.result] > 0 else 1
    remainder = op.form - Affine.of(op.result) * m
    rest = constraint.form - remainder * sign
    if rest.terms:
        return constraint
    ends = sorted((rest.constant, sign * (m - 1) + rest.constant))
    if constraint.equality:
        return constraint if ends[0] <= 0 <= ends[1] else False
    if ends[0] >= 0 or ends[1] < 0:
        return ends[0] >= 0
    return Constraint(constraint.form, equality=True) if ends[1] == 0 else constraint
