"""Scalar expressions: Python syntax to operations of `tix`."""

from __future__ import annotations

import ast
from math import inf

from xdsl.ir import Block, Region, SSAValue

from tadc.dialects.tix import (
    BINARY,
    UNARY,
    Affine,
    CallOp,
    ConstantOp,
    Constraint,
    IndexToRealOp,
    MaxOp,
    MinOp,
    ProdOp,
    ReductionOp,
    SumOp,
    YieldOp,
    between,
)
from tadc.errors import RankError, TadcError, TadcSyntaxError, UnknownNameError
from tadc.language import folding
from tadc.language.affine import bad_divisor, divided, element
from tadc.language.boundaries import Index, index_of, read_at
from tadc.language.choices import Branch, Chooser, by_indices, region
from tadc.language.conditions import decided
from tadc.language.hints import (
    function_hint,
    method_hint,
    reduction_hint,
)
from tadc.language.names import BOUNDARIES, INFINITY, REDUCTIONS, UNARY_FUNCTIONS
from tadc.language.other_expressions import OPERATORS, outside
from tadc.language.scope import Scope, Tensor
from tadc.language.source import items
from tadc.language.written_ranges import index_items, is_condition, range_constraints

Value = Affine | SSAValue
"""A scalar, or an affine form of indices and sizes (or an integer) that may become one."""

_SIGNS: dict[type[ast.operator], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.Pow: "**",
}

_OTHER_OPERATORS: dict[type[ast.operator], str] = {
    ast.BitXor: "write ** for powers",
    ast.MatMult: "write sum[k](a[i, k] * b[k, j])",
    ast.BitAnd: "conditions are joined by and: x[i] if 0 < i and i < 5 else 0",
    ast.BitOr: "conditions are joined by or: x[i] if i < 1 or i > 5 else 0",
}

_REDUCTIONS: dict[str, type[ReductionOp]] = {
    "sum": SumOp,
    "prod": ProdOp,
    "max": MaxOp,
    "min": MinOp,
}


def scalar(node: ast.expr, scope: Scope) -> SSAValue:
    """The value of `node`, computed at the end of the scope's block."""
    return _real(_value(node, scope), node, scope)


def _real(value: Value, node: ast.AST, scope: Scope) -> SSAValue:
    if isinstance(value, SSAValue):
        return value
    op = IndexToRealOp(value) if value.terms else ConstantOp(value.constant)
    return scope.insert(op, node).result


def _value(node: ast.expr, scope: Scope) -> Value:
    match node:
        case ast.Constant():
            return _number(node, scope)
        case ast.Name() if node.id in scope.names.parameters:
            return scope.names.parameters[node.id]
        case ast.Name():
            key = scope.key(node)
            if key is None and scope.names.is_index_tensor(node.id):
                return element(node, scope)
            return _read(node, node, [], scope) if key is None else Affine.of(key)
        case ast.UnaryOp():
            return _unary(node, scope)
        case ast.BinOp():
            return _binaries(node, scope)
        case ast.IfExp():
            return Chooser(scalar).choice(node, scope)
        case ast.Subscript(value=ast.Name(id=name)) if scope.names.is_index_tensor(name):
            return element(node, scope)
        case ast.Subscript(value=ast.Name() as name):
            return _read(node, name, items(node.slice), scope)
        case ast.Call():
            return _call(node, scope)
        case _:
            raise outside(node, scope)


def _number(node: ast.Constant, scope: Scope, sign: int = 1) -> Value:
    if type(node.value) not in (int, float):
        kind = type(node.value).__name__
        words = {"bool": "a truth value", "str": "text", "complex": "a complex number"}
        what = words.get(kind, "this")
        raise scope.fail(
            TadcSyntaxError, node, f"{what} is not a number", "values are real numbers"
        )
    number = node.value
    assert isinstance(number, int | float)
    if isinstance(number, int) and abs(number) < folding.LARGEST_EXACT_INTEGER:
        return Affine({}, sign * number)
    try:
        value = float(number)
    except OverflowError:
        value = inf
    if value == inf and scope.source.span(node).excerpt != INFINITY:
        message = "the number is larger than any float64"
        hint = f"the largest one is about 1.8e308; infinity is written {INFINITY}"
        raise scope.fail(TadcSyntaxError, node, message, hint)
    return scope.insert(ConstantOp(sign * value), node).result


def _unary(node: ast.UnaryOp, scope: Scope) -> Value:
    match node.op:
        case ast.UAdd():
            return _value(node.operand, scope)
        case ast.USub() if isinstance(node.operand, ast.Constant):
            return _number(node.operand, scope, -1)
        case ast.USub():
            value = _value(node.operand, scope)
            if isinstance(value, Affine) and value.terms:
                return -value
            operand = _real(value, node.operand, scope)
            return scope.insert(UNARY["neg"](operand), node).result
        case _:
            raise outside(node, scope)


def _binaries(node: ast.BinOp, scope: Scope) -> Value:
    """A chain such as `a + b - c` in a loop, since sums of many terms are chains."""
    chain = [node]
    while isinstance(chain[-1].left, ast.BinOp):
        chain.append(chain[-1].left)
    for link in reversed(chain):
        _check_operator(link, scope)
    value = _value(chain[-1].left, scope)
    for link in reversed(chain):
        value = _binary(link, value, _value(link.right, scope), scope)
    return value


def _check_operator(node: ast.BinOp, scope: Scope) -> None:
    if not isinstance(node.op, (*_SIGNS, ast.FloorDiv, ast.Mod)):
        hint = _OTHER_OPERATORS.get(type(node.op), OPERATORS)
        raise scope.fail(TadcSyntaxError, node, "this operator is not part of the language", hint)


def _binary(node: ast.BinOp, left: Value, right: Value, scope: Scope) -> Value:
    if isinstance(node.op, ast.FloorDiv | ast.Mod):
        return _division(node, left, right, scope)
    sign = _SIGNS[type(node.op)]
    if isinstance(left, Affine) and isinstance(right, Affine):
        form = folding.fold(sign, left, right)
        if form is not None:
            return form
    operands = _real(left, node.left, scope), _real(right, node.right, scope)
    return scope.insert(BINARY[sign](*operands), node).result


def _division(node: ast.BinOp, left: Value, right: Value, scope: Scope) -> Value:
    """`i // 2` and `i % 2` of indices; values have neither."""
    if isinstance(left, Affine) and isinstance(right, Affine):
        if right.terms or right.constant < 1:
            raise bad_divisor(right, node, scope.names)
        return divided(left, right.constant, node, scope.floor_division)
    sign = "//" if isinstance(node.op, ast.FloorDiv) else "%"
    raise scope.fail(
        TadcSyntaxError,
        node,
        f"{sign} is for indices, not for values",
        "write / for the quotient of values",
    )


def _read(node: ast.expr, name: ast.Name, indices: list[ast.expr], scope: Scope) -> SSAValue:
    if name.id in scope.indices or name.id in scope.names.sizes:
        kind = "an index" if name.id in scope.indices else "a size"
        hint = f"it is a number: write {name.id} without brackets"
        raise scope.fail(TadcSyntaxError, node, f"{name.id} is {kind}, not a tensor", hint)
    if name.id in REDUCTIONS and isinstance(node, ast.Subscript):
        hint = f"write {ast.unparse(node)}(...)"
        raise scope.fail(TadcSyntaxError, node, f"{name.id}[...] lacks the expression", hint)
    tensor = scope.names.tensor(name, len(indices))
    return read_at(tensor, _indices(indices, tensor, scope), node, scope)


def _indices(indices: list[ast.expr], tensor: Tensor, scope: Scope) -> list[Index]:
    pairs = zip(indices, tensor.shape, strict=True)
    return [index_of(index, size, scope, tensor.name) for index, size in pairs]


# --- padding ---


def _discard(branch: Branch, node: ast.AST, scope: Scope) -> None:
    """Report the errors of what is never computed."""
    region(branch, node, scope).drop_all_references()


def _pad(node: ast.Call, scope: Scope) -> Value:
    """`pad(x[i - 1], v)` is `x[i - 1] if 0 <= i - 1 < n else v`, n the size of the dimension."""
    read = node.args[0] if node.args else None
    if len(node.args) not in (1, 2) or not isinstance(read, ast.Subscript):
        hint = "write pad(x[i - 1]) or pad(x[i - 1], v)"
        raise scope.fail(TadcSyntaxError, node, "pad takes an element, and a value or none", hint)
    name = read.value
    if not isinstance(name, ast.Name):
        raise outside(read, scope)
    indices = items(read.slice)
    _discard(lambda inner: _read(read, name, indices, inner), node, scope)
    tensor: Tensor = scope.names.tensor(name, len(indices))
    pairs = zip(_indices(indices, tensor, scope), tensor.shape, strict=True)
    # an index that has an element everywhere needs no other
    inside = [c for f, n in pairs if isinstance(f, Affine) for c in between(0, f, n)]
    return by_indices(
        decided([inside]),
        node,
        lambda inner: scalar(read, inner),
        lambda inner: (
            scalar(node.args[1], inner)
            if len(node.args) == 2
            else inner.insert(ConstantOp(0), node).result
        ),
        scope,
    )


# --- functions and reductions ---


def _call(node: ast.Call, scope: Scope) -> Value:
    plain = not node.keywords and not any(isinstance(a, ast.Starred) for a in node.args)
    if not plain:
        message = "functions take plain arguments, without names or stars"
        raise scope.fail(TadcSyntaxError, node, message, "write exp(x[i]), max(x[i], 0)")
    match node.func:
        case ast.Name(id="pad"):
            return _pad(node, scope)
        case ast.Name() as name:
            return _function(node, name, scope)
        case ast.Subscript(value=ast.Name() as name):
            return _reduction(node, node.func, name, scope)
        case ast.Attribute(attr=attribute):
            message = "names have no attributes here"
            raise scope.fail(TadcSyntaxError, node.func, message, method_hint(attribute))
        case ast.Call(func=ast.Name(id=word)) if word in REDUCTIONS:
            message, hint = f"the indices of {word} are in brackets", f"write {word}[k](...)"
            raise scope.fail(TadcSyntaxError, node.func, message, hint)
        case _:
            raise scope.fail(TadcSyntaxError, node.func, "only functions can be called", _CALLS)


def _function(node: ast.Call, name: ast.Name, scope: Scope) -> Value:
    word = name.id
    if word in scope.names.functions:
        return _defined_function(node, name, scope)
    if word in UNARY_FUNCTIONS:
        _check_arity(node, word, len(node.args) == 1, "one argument", scope)
        return scope.insert(UNARY[word](scalar(node.args[0], scope)), node).result
    if word == "atan2":
        _check_arity(node, word, len(node.args) == 2, "two arguments", scope)
    elif word in ("min", "max"):
        _check_arity(node, word, len(node.args) >= 2, "two or more arguments", scope)
    else:
        raise _no_function(node, name, scope)
    value, *others = (scalar(argument, scope) for argument in node.args)
    for other in others:
        value = scope.insert(BINARY[word](value, other), node).result
    return value


def _defined_function(node: ast.Call, name: ast.Name, scope: Scope) -> Value:
    """A call of a function that the user defined."""
    word, parameters = name.id, scope.names.functions[name.id]
    if len(node.args) != len(parameters):
        many = "1 argument" if len(parameters) == 1 else f"{len(parameters)} arguments"
        hint = f"write {word}({', '.join(parameters)})"
        message = f"{word} takes {many}, not {len(node.args)}"
        raise scope.fail(RankError, node, message, hint)
    scope.names.call(name)
    arguments = [scalar(argument, scope) for argument in node.args]
    return scope.insert(CallOp(word, arguments), node).result


def _check_arity(node: ast.Call, word: str, right: bool, wanted: str, scope: Scope) -> None:
    if not right:
        message = f"{word} takes {wanted}, not {len(node.args)}"
        hint = f"the reduction is {word}[k](...)" if word in REDUCTIONS else _CALLS
        raise scope.fail(RankError, node, message, hint)


def _no_function(node: ast.Call, name: ast.Name, scope: Scope) -> TadcError:
    if name.id in REDUCTIONS:
        message, hint = f"{name.id} lacks its indices", f"write {name.id}[k](...)"
        return scope.fail(TadcSyntaxError, name, message, hint)
    names = scope.names
    if name.id in BOUNDARIES:
        message, hint = f"{name.id} stands around an index", f"write x[{name.id}(i + 1)]"
        return scope.fail(TadcSyntaxError, name, message, hint)
    if name.id in names.tensors or name.id in names.declarations:
        message, hint = f"{name.id} is a tensor, not a function", f"write {_as_element(node)}"
        return scope.fail(TadcSyntaxError, name, message, hint)
    hint = function_hint(name.id, names.functions)
    if node.args and all(isinstance(a, ast.Name) and a.id in scope.indices for a in node.args):
        hint = f"an element has its indices in brackets: {_as_element(node)}"
    return scope.fail(UnknownNameError, name, f"there is no function {name.id}", hint)


def _as_element(node: ast.Call) -> str:
    return f"{ast.unparse(node.func)}[{', '.join(map(ast.unparse, node.args))}]"


def _reduction(node: ast.Call, head: ast.Subscript, name: ast.Name, scope: Scope) -> Value:
    kind = _REDUCTIONS.get(name.id)
    if kind is None:
        raise scope.fail(
            TadcSyntaxError,
            head,
            f"{name.id}[...] cannot be called",
            reduction_hint(name.id),
        )
    if len(node.args) != 1:
        raise scope.fail(TadcSyntaxError, node, f"{name.id}[...] takes one expression", _CALLS)
    block = Block()
    entries = index_items([i for i in items(head.slice) if not is_condition(i)], scope)
    conditions = [item for item in items(head.slice) if is_condition(item)]
    if not entries:
        hint = f"write {name.id}[k](...)"
        raise scope.fail(TadcSyntaxError, head, f"{name.id}[] has no index", hint)
    own = scope.new_indices([index for index, _ in entries], block)
    ranges: dict[SSAValue, list[Constraint] | None] = {}
    earlier: dict[str, SSAValue] = {}
    for index, call in entries:
        value = own[index.id]
        inner = scope.inside(block, earlier)
        ranges[value] = call and range_constraints(call, Affine.of(value), inner, scope)
        earlier[index.id] = value
    inner = scope.inside(block, own)
    inner.insert(
        YieldOp(Chooser(scalar).term(node.args[0], conditions, kind.IDENTITY, inner)), node
    )
    op = kind([c for given in ranges.values() for c in given or ()], Region(block))
    scope.frame.reductions[op] = ranges
    return scope.insert(op, node).result


_CALLS = "write exp(x[i]), atan2(x[i], y[i]), max(x[i], 0), sum[k](x[k])"
