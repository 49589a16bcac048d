"""Expressions of Python that are none of this language, and what to write instead."""

from __future__ import annotations

import ast
import re

from tadc.errors import TadcError, TadcSyntaxError
from tadc.language.hints import attribute_hint, element_hint
from tadc.language.scope import Scope

OPERATORS = "values are made of numbers, elements, + - * / ** and functions"
"""The hint about operators that there are not."""


def outside(node: ast.expr, scope: Scope) -> TadcError:
    """An expression of Python that is none of this language."""
    words: dict[type[ast.AST], tuple[str, str | None]] = {
        ast.Compare: ("a condition is not a value", "write: a if i < 3 else b"),
        ast.BoolOp: ("a condition is not a value", "write: a if i < 3 and j > 0 else b"),
        ast.UnaryOp: ("this operator is not part of the language", OPERATORS),
        ast.Lambda: ("functions cannot be defined here", "define the value of an element"),
        ast.List: ("lists are not part of the language", "pass arrays as arguments"),
        ast.ListComp: ("lists are not part of the language", "an index is a loop: y[i] = x[i]"),
        ast.GeneratorExp: ("loops are not part of the language", "a sum is sum[k](x[k])"),
        ast.NamedExpr: ("a name is defined on a line of its own", "write s = ... above"),
        ast.JoinedStr: ("text is not a number", "values are real numbers"),
    }
    match node:
        case ast.Attribute(attr=name):
            words[ast.Attribute] = "names have no attributes here", attribute_hint(name)
        case ast.Subscript():
            words[ast.Subscript] = "only a tensor has elements", element_hint(node)
        case ast.Tuple():
            words[ast.Tuple] = "a value is one number, not several", _several_hint(node, scope)
        case _:
            pass
    default = (
        f"{type(node).__name__} expressions of Python are not part of the language",
        OPERATORS,
    )
    message, hint = words.get(type(node), default)
    return scope.fail(TadcSyntaxError, node, message, hint)


def _several_hint(node: ast.Tuple, scope: Scope) -> str:
    if len(node.elts) == 1:
        return "leave out the comma at the end"
    commas = re.search(r"\d,\d", scope.source.span(node).excerpt)
    return (
        "numbers have a point, no comma: write 0.5, 1000" if commas else "define a tensor for each"
    )
