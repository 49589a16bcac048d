"""Declarations: `a: f32[N, 5]` and `idx: range(V)[N]`, with sizes affine in named sizes."""

from __future__ import annotations

import ast
import re

from xdsl.ir import Block

from tadc.dialects.tix import Affine
from tadc.dialects.tix.types import ELEMENT_TYPES, ElementType, given_size, index_range
from tadc.errors import AffineError, DtypeError, SizeError, TadcSyntaxError, did_you_mean
from tadc.language.affine import affine
from tadc.language.names import ELEMENT_WORDS
from tadc.language.scope import Declaration, Divide, Frame, Scope, SymbolTable
from tadc.language.source import items, names_in


def declare(node: ast.AnnAssign, names: SymbolTable) -> None:
    """Add a declaration and the sizes that it names."""
    target = node.target
    if not isinstance(target, ast.Name) or not node.simple:
        raise names.fail(TadcSyntaxError, target, "only a name can be declared", "write x: real[N]")
    if node.value is not None:
        message = f"the declaration of {target.id} cannot give a value"
        raise names.fail(TadcSyntaxError, node.value, message, "define it on a line of its own")
    names.check_new(target, "a tensor")
    if target.id in names.declarations:
        raise names.fail(
            TadcSyntaxError, target, f"{target.id} is declared twice", "remove one of the two"
        )
    if isinstance(node.annotation, ast.Name) and node.annotation.id == "size":
        return _declare_size(target, names)
    element, sizes = _annotation(node.annotation, target.id, names)
    shape = [_size(size, names) for size in sizes]
    names.declarations[target.id] = Declaration(target.id, element, shape, target)


def _declare_size(target: ast.Name, names: SymbolTable) -> None:
    """`B: size`: the caller gives this size, as a whole number."""
    shape = [_size(target, names)]
    names.declarations[target.id] = Declaration(target.id, given_size, shape, target)


def _annotation(
    node: ast.expr, name: str, names: SymbolTable
) -> tuple[ElementType, list[ast.expr]]:
    match node:
        case ast.Subscript(value=ast.Name() | ast.Call() as element):
            return _element(element, names), items(node.slice)
        case ast.Call(func=ast.Name() | ast.Call() as element, args=[], keywords=[]):
            return _element(element, names), []  # `f64[]`: see Source
        case _:
            word = node.id if isinstance(node, ast.Name) else "real"
            kind = word if word in ELEMENT_WORDS else "real"
            hint = f"write {name}: {kind}[3, N], or {name}: {kind}[] for a scalar"
            if re.fullmatch(_INTEGERS, word):
                hint = _word_hint(word)
            raise names.fail(
                TadcSyntaxError, node, f"the declaration of {name} lacks a shape", hint
            )


_FLOATS = "elements are f32, f64, or real, which is either"
_INDICES = "elements of index tensors are range(V), sorted(range(V)), or int for any integers"
_INTEGERS = r"[iu]\d+|u?int\d*|long|short|size_t|index"
_OTHER_WORDS = {
    r"float32|single": "write f32",
    r"float64|float|double": "write f64",
    r"b?f16|b?float16|half": f"{_FLOATS}: x.astype(numpy.float32) converts",
    _INTEGERS: f"{_INDICES}; sizes come from the shapes of arrays: x: real[N]",
    r"c\d+|complex\d*": "elements are real: pass the parts x.real and x.imag as two arguments",
    r"bool(ean)?": "a mask is an array of 0 and 1, compared as m[i] > 0",
}
"""Hints for types of elements that other languages have."""


def _word_hint(word: str) -> str | None:
    hints = (hint for other, hint in _OTHER_WORDS.items() if re.fullmatch(other, word))
    return next(hints, None)


def _element(node: ast.Name | ast.Call, names: SymbolTable) -> ElementType:
    """The type of elements: a word, `range(V)` or `sorted(range(V))`."""
    match node:
        case ast.Name(id="int"):
            return index_range(None)
        case ast.Name(id=word) if word in ELEMENT_TYPES:
            return ELEMENT_TYPES[word]
        case ast.Name(id=word):
            hint = _word_hint(word) or did_you_mean(word, ELEMENT_WORDS) or _FLOATS
            raise names.fail(DtypeError, node, f"{word} is not an element type", hint)
        case ast.Call(func=ast.Name(id="range"), args=[end], keywords=[]):
            return index_range(_size(end, names))
        case ast.Call(
            func=ast.Name(id="sorted"),
            args=[ast.Call(func=ast.Name(id="range"), args=[end], keywords=[])],
            keywords=[],
        ):
            return index_range(_size(end, names), is_sorted=True)
        case ast.Call(func=ast.Name(id="range"), args=[_, _]):
            message = "the elements of an index tensor are counted from 0"
            raise names.fail(TadcSyntaxError, node, message, "write range(V), or int for any")
        case _:
            raise names.fail(TadcSyntaxError, node, "this is no element type", _INDICES)


def _size(node: ast.expr, names: SymbolTable) -> Affine:
    if isinstance(node, ast.Slice | ast.Constant) and type(getattr(node, "value", None)) is not int:
        hint = "a size is a number, or a name for any: x: real[3, N]"
        raise names.fail(TadcSyntaxError, node, "this is not a size", hint)
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
