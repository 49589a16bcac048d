"""Formulas of functions: text such as `log1p(exp(x))` to a body of scalar operations."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.ir import Region, SSAValue

from tadc.dialects.quick import block_with
from tadc.dialects.tix import YieldOp, real
from tadc.errors import TadcSyntaxError, UnknownNameError, did_you_mean
from tadc.language.finalize import settle
from tadc.language.scope import Frame, Scope, SymbolTable, Tensor
from tadc.language.source import Source
from tadc.language.values import scalar
from tadc.passes.rewriting.programs import set_hint


@dataclass(frozen=True)
class Formula:
    """A formula that was read: its body, and the place where it calls each function."""

    body: Region
    source: Source
    calls: Mapping[str, ast.Name]


def read_formula(
    text: str, file: str, parameters: Sequence[str], arities: Mapping[str, Sequence[str]]
) -> Formula:
    """The formula over these parameters, which may call functions with the given arguments.

    Raises a `TadcError` located in the text; `file` names it.
    """
    block = block_with([real] * len(parameters))
    values: dict[str, SSAValue] = dict(zip(parameters, block.args, strict=True))
    for name, value in values.items():
        set_hint(value, name)
    names = _FormulaSymbols(Source(text, file), parameters=values, functions=arities)
    expression = _expression(names)
    scope = Scope(names, block, {}, Frame(block))
    scope.insert(YieldOp(scalar(expression, scope)), expression)
    body = Region(block)
    settle(body, lambda form: form)
    return Formula(body, names.source, names.called)


class _FormulaSymbols(SymbolTable):
    """The names of a formula: its parameters, and no tensors."""

    def tensor(self, node: ast.Name, rank: int) -> Tensor:
        """A formula reads no tensor: raises what is wrong with the name."""
        name = node.id
        if name in self.parameters:
            hint = f"write {name} without brackets"
            raise self.fail(TadcSyntaxError, node, f"{name} is one number in a formula", hint)
        self._check_readable(node)
        known = ", ".join(self.parameters)
        hint = did_you_mean(name, self.parameters) or f"a formula reads {known}"
        raise self.fail(UnknownNameError, node, f"there is no {name} in this formula", hint)


_PARTS = "it is made of its arguments, numbers, + - * / ** and functions"


def _expression(names: SymbolTable) -> ast.expr:
    """The only expression of the text, without what belongs to indices and tensors."""
    match names.source.tree.body:
        case [ast.Expr(value=expression)]:
            pass
        case [node, *_]:
            raise names.fail(TadcSyntaxError, node, "a formula is one expression", _PARTS)
        case _:
            at = names.source.at(1, 1)
            raise TadcSyntaxError("the formula is empty", at, _PARTS)
    for node in ast.walk(expression):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Subscript):
            raise names.fail(TadcSyntaxError, node, "a formula has no reductions", _PARTS)
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "pad":
            raise names.fail(TadcSyntaxError, node, "a formula reads no elements", _PARTS)
    return expression
