"""Index expressions: Python syntax to affine forms, with `//` and `%` as local indices."""

from __future__ import annotations

import ast
from collections.abc import Callable
from types import EllipsisType

from xdsl.ir import BlockArgument

from tadc.dialects.tix import Affine
from tadc.errors import (
    AffineError,
    TadcError,
    TadcSyntaxError,
    UnknownNameError,
    UnsupportedError,
    did_you_mean,
)
from tadc.language.folding import LARGEST_EXACT_INTEGER
from tadc.language.names import BOUNDARIES
from tadc.language.scope import Divide, Scope, SymbolTable
from tadc.language.source import items

DivideBySize = Callable[[Affine, Affine, ast.BinOp], Affine]
"""A function that gives the quotient of a form by a size, in one case."""

_ALLOWED = "an index is a sum of integers, sizes and indices, with integer coefficients"
_ARGUMENT = "index tensors are arguments: idx: range(V)[N], read as x[idx[i]]"
_NO_PRODUCT = (
    "a size is like 2*N + 1 and an index like 2*i + N - 1; N*M elements take two dimensions: "
    "x: f64[N, M] and x[i, j]"
)


def affine(
    node: ast.expr,
    scope: Scope,
    divide: Divide | None = None,
    by_size: DivideBySize | None = None,
    of: str | None = None,
) -> Affine:
    """The affine form that `node` is; `divide` says what a floor division becomes, and `by_size`
    one by a size, if there may be such.

    `of` is the tensor that is read where the form is an index of an element.
    """
    form = _Reader(scope, divide or scope.floor_division, by_size, of).read(node)
    if any(abs(c) > LARGEST_EXACT_INTEGER for c in (form.constant, *form.terms.values())):
        raise scope.fail(AffineError, node, "the index has too large numbers", "stay below 2**53")
    return form


class _Reader:
    def __init__(self, scope: Scope, divide: Divide, by_size: DivideBySize | None, of: str | None):
        self.scope = scope
        self.divide = divide
        self.by_size = by_size
        self.of = of

    def read(self, node: ast.expr) -> Affine:
        """The form; raises `AffineError` or `UnknownNameError` at the part that is none."""
        match node:
            case ast.Constant(value=int(number)) if not isinstance(number, bool):
                return Affine({}, number)
            case ast.Name():
                return self._name(node)
            case ast.UnaryOp(op=ast.USub()):
                return -self.read(node.operand)
            case ast.UnaryOp(op=ast.UAdd()):
                return self.read(node.operand)
            case ast.BinOp():
                return self._binaries(node)
            case ast.Subscript(value=ast.Name(id=name)) if self._is_index_tensor(name):
                return element(node, self.scope)
            case _:
                raise self._not_affine(node)

    def _is_index_tensor(self, name: str) -> bool:
        return self.scope.names.is_index_tensor(name)

    def _binaries(self, node: ast.BinOp) -> Affine:
        """A chain such as `i + j - 1` in a loop, since it may be long."""
        chain = [node]
        while isinstance(chain[-1].left, ast.BinOp):
            chain.append(chain[-1].left)
        form = self.read(chain[-1].left)
        for link in reversed(chain):
            form = self._binary(link, form)
        return form

    def _name(self, node: ast.Name) -> Affine:
        key = self.scope.key(node)
        if key is not None:
            return Affine.of(key)
        names = self.scope.names
        if self._is_index_tensor(node.id):
            return element(node, self.scope)
        if node.id in names.tensors or node.id in names.declarations or node.id in names.defined:
            raise self.scope.fail(
                AffineError,
                node,
                f"{node.id} is a tensor, and cannot be part of an index",
                _ALLOWED,
            )
        if node.id in names.indices:
            raise names.fail(
                UnknownNameError,
                node,
                f"{node.id} is an index elsewhere, but not here",
                f"use {node.id} inside its own sum or definition",
                index=node.id,
            )
        raise self._unknown(node)

    def _unknown(self, node: ast.Name) -> TadcError:
        """The error about a name without meaning: an index if it is lower-case, else a size."""
        names, name = self.scope.names, node.id
        close = did_you_mean(name, [*self.scope.indices, *names.sizes])
        message = f"{name} is neither an index nor a size here"
        declared = f"{self.of or 'x'}: real[{name}]"
        if self.of is None or not name.islower():
            hint = f"a declaration names a size: write {declared} on a line above"
            hint = close or (hint if self.of else f"{hint}, or {name}: size for one of the caller")
            return names.fail(UnknownNameError, node, message, hint, size=name)
        hint = close or (
            f"nothing is summed implicitly: write sum[{name}](...){self._as_own_index(name)}; "
            f"a size is declared: {declared}"
        )
        return names.fail(UnknownNameError, node, message, hint, index=name)

    def _as_own_index(self, name: str) -> str:
        """The left side of the definition with one more index, for what is no update."""
        names, outermost = self.scope.names, self.scope.frame.outermost
        target = names.defining
        if target is None or target in names.updated or target in names.tensors:
            return ""
        own = [key for key, value in self.scope.indices.items() if value.owner is outermost]
        return f", or {target}[{', '.join([*own, name])}] = ..."

    def _binary(self, node: ast.BinOp, left: Affine) -> Affine:
        match node.op:
            case ast.Add():
                return left + self.read(node.right)
            case ast.Sub():
                return left - self.read(node.right)
            case ast.Mult():
                return self._product(node, left, self.read(node.right))
            case ast.FloorDiv() | ast.Mod():
                return self._division(node, left, self.read(node.right))
            case ast.Div():
                hint = "use // for division that rounds down"
                raise self.scope.fail(AffineError, node, "/ does not give an integer index", hint)
            case ast.Pow():
                message = "an index or size holds no powers"
                raise self.scope.fail(AffineError, node, message, _NO_PRODUCT)
            case _:
                raise self._not_affine(node)

    def _product(self, node: ast.BinOp, left: Affine, right: Affine) -> Affine:
        if left.terms and right.terms:
            raise self.scope.fail(
                AffineError, node, "this multiplies two indices or sizes", _NO_PRODUCT
            )
        return left * right.constant if left.terms else right * left.constant

    def _division(self, node: ast.BinOp, form: Affine, divisor: Affine) -> Affine:
        if divisor.terms and self.by_size:
            quotient = self.by_size(form, divisor, node)
            is_quotient = isinstance(node.op, ast.FloorDiv)
            return quotient if is_quotient else form - divisor * quotient.constant
        if divisor.terms or divisor.constant < 1:
            raise bad_divisor(divisor, node, self.scope.names)
        return divided(form, divisor.constant, node, self.divide)

    def _not_affine(self, node: ast.expr) -> Exception:
        match node:
            case ast.Slice() | ast.Constant(value=EllipsisType()):
                message = "slices are not part of the language"
                hint = "an index runs over the elements: x[i] for x[:], x[i + 1] for x[1:]"
            case ast.Constant(value=bool()):
                message, hint = f"{node.value} is not an integer", _ALLOWED
            case ast.Constant(value=float(number)):
                whole = number.is_integer() and abs(number) < LARGEST_EXACT_INTEGER
                message = "the index is not an integer"
                hint = f"write {int(number)}" if whole else _ALLOWED
            case ast.Call(func=ast.Name(id=word)) if word in BOUNDARIES:
                message = f"{word} stands around a whole index of an element"
                hint = f"write x[{word}(i + 1)]"
            case ast.Subscript(value=ast.Name(id=name)):
                message = f"the elements of {name} are real numbers, and no indices"
                hint = f"declare it as an index tensor: {name}: range(V)[N]"
                if name in self.scope.names.defined or name in self.scope.names.updated:
                    message, hint = f"{name} is computed, and cannot be part of an index", _ARGUMENT
                return self.scope.fail(AffineError, node, message, hint)
            case ast.Subscript() | ast.Call():
                message = "the index is computed from values"
                return self.scope.fail(AffineError, node, message, f"{_ALLOWED}; {_ARGUMENT}")
            case ast.Compare() | ast.BoolOp() | ast.IfExp():
                message, hint = "the index is not affine: it has a condition", _ALLOWED
            case _:
                message, hint = "the index is not affine", _ALLOWED
        kind = TadcSyntaxError if message.startswith("slices") else AffineError
        return self.scope.fail(kind, node, message, hint)


def element(node: ast.Subscript | ast.Name, scope: Scope) -> Affine:
    """`idx[i + 1]` of an index tensor, or `q` of one without dimensions, as a local index."""
    name = node.value if isinstance(node, ast.Subscript) else node
    assert isinstance(name, ast.Name)
    indices = items(node.slice) if isinstance(node, ast.Subscript) else []
    tensor = scope.names.tensor(name, len(indices))
    return scope.element(tensor.value, [affine(index, scope) for index in indices], node)


def divided(form: Affine, divisor: int, node: ast.BinOp, divide: Divide) -> Affine:
    """`form // divisor` or `form % divisor`, whichever `node` is."""
    if form.terms and divisor > 1:
        quotient = divide(form, divisor, node)
    else:
        quotient = form if divisor == 1 else Affine({}, form.constant // divisor)
    return quotient if isinstance(node.op, ast.FloorDiv) else form - quotient * divisor


def bad_divisor(divisor: Affine, node: ast.BinOp, names: SymbolTable) -> TadcError:
    """The error about `i % 0`, `i % j` and the like, and about a size that is no divisor here."""
    if not divisor.terms:
        message = "an index can only be divided by a positive integer, or by a size"
        return names.fail(AffineError, node.right, message, "write 2 or the like")
    sign = "//" if isinstance(node.op, ast.FloorDiv) else "%"
    if divisor.indices:
        message = f"the divisor of {sign} must be a number or a size, without indices"
        return names.fail(AffineError, node.right, message, "write i % 2 or i % N")
    size = ast.unparse(node.right)
    message = (
        f"the divisor of {sign} must be a number here; a size {size} divides an index "
        f"that is between -{size} and 2*{size} - 1 for sure"
    )
    hint = f"x[(i + 1) % N] goes around a dimension of size N; declare {size} as a number otherwise"
    return names.fail(AffineError, node.right, message, hint)


def own_division(node: ast.AST, scope: Scope) -> Divide:
    """Refuses divisions of indices that do not exist yet outside of their sum."""

    def divide(form: Affine, divisor: int, _: ast.AST) -> Affine:
        around = scope.indices.values()
        if any(isinstance(v, BlockArgument) and v not in around for v in form.indices):
            raise scope.fail(
                UnsupportedError,
                node,
                "this bound divides another index of the same sum",
                "write one sum inside the other: sum[k](sum[l in range(...)](...))",
            )
        return scope.floor_division(form, divisor, node)

    return divide
