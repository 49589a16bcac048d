"""Conditions on indices: Python syntax to a disjunction of conjunctions of constraints."""

from __future__ import annotations

import ast
from itertools import product

from dialects.tix import Affine, Constraint
from tadc.errors import TadcSyntaxError, UnsupportedError
from tadc.language.affine import affine
from tadc.language.scope import Scope
from tadc.language.source import names_in

Pieces = list[list[Constraint]]
"""The condition holds where all constraints of at least one piece hold."""

TRUE: Pieces = [[]]
FALSE: Pieces = []

_MOST_PIECES = 64
_NEGATED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.GtE,
    ast.GtE: ast.Lt,
    ast.Gt: ast.LtE,
    ast.LtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
}


def condition(node: ast.expr, scope: Scope, negated: bool = False) -> Pieces:
    """Where `node` holds, or where it does not when `negated`."""
    match node:
        case ast.Constant(value=bool(value)):
            return TRUE if value != negated else FALSE
        case ast.UnaryOp(op=ast.Not()):
            return condition(node.operand, scope, not negated)
        case ast.BoolOp():
            parts = [condition(part, scope, negated) for part in node.values]
            together = isinstance(node.op, ast.And) != negated
            return _all(parts, node, scope) if together else _any(parts, node, scope)
        case ast.Compare():
            return _chain(node, scope, negated)
        case _:
            raise scope.fail(
                TadcSyntaxError,
                node,
                "this is not a condition",
                "compare indices: i < 3, i + k >= n, (i - j) % 2 == 0",
            )


def _all(parts: list[Pieces], node: ast.expr, scope: Scope) -> Pieces:
    pieces = TRUE
    for part in parts:
        merged = ([*one, *other] for one, other in product(pieces, part))
        pieces = _limited([list(dict.fromkeys(piece)) for piece in merged], node, scope)
    return pieces


def _any(parts: list[Pieces], node: ast.expr, scope: Scope) -> Pieces:
    pieces = [piece for part in parts for piece in part]
    return TRUE if [] in pieces else _limited(pieces, node, scope)


def _limited(pieces: Pieces, node: ast.expr, scope: Scope) -> Pieces:
    if len(pieces) > _MOST_PIECES:
        raise scope.fail(
            UnsupportedError,
            node,
            f"the condition has more than {_MOST_PIECES} alternatives",
            "split it into nested conditions",
        )
    return pieces


def _chain(node: ast.Compare, scope: Scope, negated: bool) -> Pieces:
    sides = [node.left, *node.comparators]
    for side in sides:
        _check_index(side, node, scope)
    forms = [affine(side, scope) for side in sides]
    parts: list[Pieces] = []
    for op, left, right in zip(node.ops, forms, forms[1:], strict=False):
        kind = type(op)
        if kind not in _NEGATED:
            raise scope.fail(
                TadcSyntaxError,
                node,
                "conditions compare by <, <=, ==, !=, >= and >",
                "a range is a chain: 0 <= i < n",
            )
        parts.append(_comparison(_NEGATED[kind] if negated else kind, left, right))
    return _any(parts, node, scope) if negated else _all(parts, node, scope)


def _check_index(side: ast.expr, node: ast.Compare, scope: Scope) -> None:
    """Comparisons of values are another thing than conditions on indices."""
    reads = any(isinstance(n, ast.Subscript | ast.Call) for n in ast.walk(side))
    floats = any(isinstance(n, ast.Constant) and type(n.value) is float for n in ast.walk(side))
    tensors = {**scope.names.tensors, **scope.names.declarations, **scope.names.defined}
    scalars = any(n.id in tensors and scope.key(n) is None for n in names_in(side))
    division = any(isinstance(n, ast.Div | ast.Pow) for n in ast.walk(side))
    if reads or floats or scalars or division:
        raise scope.fail(
            UnsupportedError,
            node,
            "comparisons of values are not supported yet",
            "compare indices, or use max, min, abs, sign or relu",
        )


def _comparison(kind: type[ast.cmpop], left: Affine, right: Affine) -> Pieces:
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


def _decided(alternatives: list[Constraint]) -> Pieces:
    """One piece for each alternative, without those that never hold."""
    pieces: Pieces = []
    for alternative in alternatives:
        if alternative.form.terms:
            pieces.append([alternative])
        elif _holds(alternative):
            return TRUE
    return pieces


def simplified(piece: list[Constraint]) -> Pieces:
    """One piece without the constraints that are decided already."""
    open_ones = [c for c in piece if c.form.terms]
    return [open_ones] if all(_holds(c) for c in piece if not c.form.terms) else FALSE


def _holds(constraint: Constraint) -> bool:
    constant = constraint.form.constant
    return constant == 0 if constraint.equality else constant >= 0
