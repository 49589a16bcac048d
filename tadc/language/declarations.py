"""Declarations: `a: f32[N, 5]`, with sizes affine in named sizes."""

from __future__ import annotations

import ast

from xdsl.ir import Block

from tadc.dialects.tix import Affine
from tadc.dialects.tix.types import ELEMENT_TYPES, ElementType
from tadc.errors import AffineError, DtypeError, SizeError, TadcSyntaxError, did_you_mean
from tadc.language.affine import affine
from tadc.language.names import ELEMENT_WORDS
from tadc.language.scope import Declaration, Divide, Frame, Scope, SymbolTable
from tadc.language.source import items, names_in


def declare(node: ast.AnnAssign, names: SymbolTable) -> None:
    """Add a declaration and the sizes that it names."""
    target = node.target
    if not isinstance(target, ast.Name) or not node.simple:
        raise names.fail(TadcSyntaxError, target, "only a name can be declared")
    if node.value is not None:
        message = f"the declaration of {target.id} cannot give a value"
        raise names.fail(TadcSyntaxError, node.value, message, "define it on a line of its own")
    names.check_new(target, "a tensor")
    if target.id in names.declarations:
        raise names.fail(
            TadcSyntaxError, target, f"{target.id} is declared twice", "remove one of the two"
        )
    element, sizes = _annotation(node.annotation, target.id, names)
    shape = [_size(size, names) for size in sizes]
    names.declarations[target.id] = Declaration(target.id, element, shape, target)


def _annotation(
    node: ast.expr, name: str, names: SymbolTable
) -> tuple[ElementType, list[ast.expr]]:
    match node:
        case ast.Subscript(value=ast.Name() as word):
            return _element(word, names), items(node.slice)
        case ast.Call(func=ast.Name() as word, args=[], keywords=[]):
            return _element(word, names), []  # `f64[]`: see Source
        case _:
            hint = f"write {name}: f64[3, N], or {name}: f64[] for a scalar"
            raise names.fail(
                TadcSyntaxError, node, f"the declaration of {name} lacks a shape", hint
            )


_OTHER_WORDS = {"float32": "f32", "float64": "f64", "float": "f64", "double": "f64"}


def _element(word: ast.Name, names: SymbolTable) -> ElementType:
    if word.id in ELEMENT_TYPES:
        return ELEMENT_TYPES[word.id]
    other = _OTHER_WORDS.get(word.id)
    raise names.fail(
        DtypeError,
        word,
        f"{word.id} is not an element type",
        f"write {other}" if other else did_you_mean(word.id, ELEMENT_WORDS) or "write f32 or f64",
    )


def _size(node: ast.expr, names: SymbolTable) -> Affine:
    for name in names_in(node):
        names.check_new(name, "a size")
        if not name.id.isascii():
            raise names.fail(
                TadcSyntaxError, name, "the name of a size has other letters than a-z", "such as N"
            )
        names.sizes.setdefault(name.id, name)
    block = Block()
    size = affine(node, Scope(names, block, {}, Frame(block)), _no_division(names))
    if size.constant < 0 and not size.terms:
        raise names.fail(
            SizeError, node, f"a size cannot be {size.constant}", "sizes are 0 or more"
        )
    return size


def _no_division(names: SymbolTable) -> Divide:
    def divide(form: Affine, divisor: int, node: ast.AST) -> Affine:
        message = "the size of an argument cannot be a quotient"
        raise names.fail(AffineError, node, message, "give it a name of its own")

    return divide
