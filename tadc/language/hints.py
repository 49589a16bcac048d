"""Hints for who knows other libraries: how this language says what is named differently there."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from types import EllipsisType

from tadc.errors import did_you_mean
from tadc.language.names import FUNCTIONS, REDUCTIONS
from tadc.language.source import items, names_in

OTHER_NAMES = {
    "fabs": "abs",
    "absolute": "abs",
    "ln": "log",
    "expit": "sigmoid",
    "logistic": "sigmoid",
    **{f"arc{word}": f"a{word}" for word in ("sin", "cos", "tan", "tan2")},
}
"""Functions of the language under their names in other libraries."""

_PRODUCT_OF_MATRICES = "write c[i, j] = sum[k](a[i, k] * b[k, j])"
_PRODUCT_OF_VECTORS = "write sum[k](x[k] * y[k])"
_OF_VALUES = "an index does not depend on values here"
_RANDOM = "random numbers are arguments: pass an array of them"
_SORT = "nothing is sorted here: sort before, and pass the array"
NO_INDEX = "an index is a name, or a name in range(...)"
_NO_SLICES = "slices are not part of the language"
_SIZE = "a declaration names a size: after x: real[N], N is that of x"
_NO_SHAPES = (
    "shapes follow from indices: y[i, j] = x[j, i] is a transpose, y[i, j] = x[4*i + j] a reshape"
)
_DEFINE = "tadc.define_function makes it of formulas for its value and its derivative"

SAID_DIFFERENTLY = {
    "where": "write a if c else b",
    "select": "write a if c else b",
    "maximum": "write max(x, y)",
    "minimum": "write min(x, y)",
    "clip": "write min(max(x, low), high)",
    "clamp": "write min(max(x, low), high)",
    "pow": "write x**n",
    "power": "write x**n",
    "square": "write x**2",
    "reciprocal": "write 1 / x",
    "hypot": "write sqrt(x**2 + y**2)",
    "log2": "write log(x) / log(2)",
    "exp2": "write 2**x",
    "softplus": "write max(x, 0) + log1p(exp(-abs(x)))",
    "logaddexp": "write max(x, y) + log1p(exp(-abs(x - y)))",
    "silu": "write x * sigmoid(x)",
    "gelu": "write x * (1 + erf(x / sqrt(2))) / 2",
    "heaviside": "write 1 if x > 0 else 0",
    "mean": "write sum[i](x[i]) / N",
    "average": "write sum[i](x[i]) / N",
    "var": "write m = sum[i](x[i]) / N, and below it sum[i]((x[i] - m)**2) / N",
    "std": "write m = sum[i](x[i]) / N, and below it sqrt(sum[i]((x[i] - m)**2) / N)",
    "logsumexp": "write m = max[k](x[k]), and below it m + log(sum[k](exp(x[k] - m)))",
    "softmax": "write e[i] = exp(x[i] - max[k](x[k])), and below it e[i] / sum[k](e[k])",
    "cumsum": "write y[i] = sum[k in range(i + 1)](x[k])",
    "norm": "write sqrt(sum[i](x[i]**2))",
    "trace": "write sum[i](a[i, i])",
    "dot": _PRODUCT_OF_VECTORS,
    "inner": _PRODUCT_OF_VECTORS,
    "vdot": _PRODUCT_OF_VECTORS,
    "outer": "write c[i, j] = x[i] * y[j]",
    "matmul": _PRODUCT_OF_MATRICES,
    "einsum": _PRODUCT_OF_MATRICES,
    "tensordot": _PRODUCT_OF_MATRICES,
    "transpose": "write b[j, i] = a[i, j]",
    "convolve": "write y[i] = sum[k](w[k] * x[i + k])",
    "argmax": _OF_VALUES,
    "argmin": _OF_VALUES,
    "lgamma": _DEFINE,
    "gammaln": _DEFINE,
    "digamma": _DEFINE,
    **dict.fromkeys(("rand", "randn", "random", "normal", "uniform", "dropout"), _RANDOM),
    **dict.fromkeys(("sort", "argsort", "topk", "median", "quantile", "unique"), _SORT),
    **dict.fromkeys(("len", "size", "shape", "numel", "length"), _SIZE),
    **dict.fromkeys(("reshape", "view", "permute", "squeeze", "unsqueeze", "flatten"), _NO_SHAPES),
    "any": "write max[i](1 if x[i] > 0 else 0)",
    "all": "write min[i](1 if x[i] > 0 else 0)",
    "count": "write sum[i](1 if x[i] > 0 else 0)",
    "count_nonzero": "write sum[i](1 if x[i] != 0 else 0)",
    "isnan": "write 0 if x == x else 1",
    "isinf": "write 1 if abs(x) == 1e999 else 0",
    "isfinite": "write 1 if abs(x) < 1e999 else 0",
    "diff": "write y[i in range(N - 1)] = x[i + 1] - x[i]",
    "flip": "write y[i in range(N)] = x[N - 1 - i]",
    "roll": "write y[i in range(N)] = x[i - 1] if i > 0 else x[N - 1]",
    "concatenate": "a condition joins them: x[i] if i < N else z[i - N]",
    "diag": "write y[i] = x[i, i]",
    "tril": "write y[i, j] = x[i, j] if j <= i else 0",
    "triu": "write y[i, j] = x[i, j] if j >= i else 0",
    "eye": "write y[i in range(N), j in range(N)] = 1 if i == j else 0",
    "zeros": "write y[i in range(N)] = 0",
    "ones": "write y[i in range(N)] = 1",
    "arange": "write y[i in range(N)] = i",
    "cumprod": "write y[i] = prod[k in range(i + 1)](x[k])",
    "conv": "write y[i] = sum[k](w[k] * x[i + k])",
    "float": "values are real numbers already",
    "int": "write floor(x)",
    "print": "nothing is printed here: a call gives what is returned",
}
"""Forms of this language for functions of other libraries."""

_ATTRIBUTES = {
    "T": "the transpose of x[i, j] is x[j, i]",
    "mT": "the transpose of x[i, j] is x[j, i]",
    "H": "the transpose of x[i, j] is x[j, i]",
    "dtype": "declarations say it: x: f32[N]",
    "real": "values are real numbers",
    "pi": "write 3.141592653589793",
    "e": "write exp(1)",
    "inf": "write 1e999",
    "ndim": "a tensor has as many dimensions as indices",
}
"""Forms of this language for attributes of arrays and modules."""

CONDITIONS = {
    "isnan": "x[i] != x[i]",
    "isinf": "abs(x[i]) == 1e999",
    "isfinite": "abs(x[i]) < 1e999",
}
"""Conditions of this language for functions of other libraries."""

OTHER_CONSTANTS = {
    "pi": "3.141592653589793",
    "e": "2.718281828459045",
    "inf": "1e999",
    "eps": "1e-6",
}
"""Numbers that have a name elsewhere, and are arguments under that name here."""


def function_hint(name: str, defined: Iterable[str] = ()) -> str:
    """A hint for a function that is neither one of the language nor one of `defined`."""
    if name in SAID_DIFFERENTLY:
        return SAID_DIFFERENTLY[name]
    if name in OTHER_NAMES:
        return f"did you mean {OTHER_NAMES[name]}?"
    known = (*FUNCTIONS, *defined)
    return did_you_mean(name, (*known, *REDUCTIONS)) or f"there are {', '.join(known)}"


def reduction_hint(name: str) -> str:
    """A hint for `name[k](...)`, which is no reduction."""
    if name in SAID_DIFFERENTLY:
        return SAID_DIFFERENTLY[name]
    close = did_you_mean(name, REDUCTIONS) or did_you_mean(name.lower(), REDUCTIONS)
    return close or f"reductions are {', '.join(REDUCTIONS)}: a sum is written sum[k](...)"


def method_hint(name: str) -> str:
    """A hint for `np.name(...)` or `x.name(...)`."""
    word = OTHER_NAMES.get(name, name)
    if word in SAID_DIFFERENTLY:
        return SAID_DIFFERENTLY[word]
    if word in ("sum", "prod"):
        return f"write {word}[k](...)"
    return f"write {word}(...)" if word in FUNCTIONS else "write exp(x), not np.exp(x)"


def attribute_hint(name: str) -> str:
    """A hint for `x.name`."""
    if name in _ATTRIBUTES:
        return _ATTRIBUTES[name]
    return SAID_DIFFERENTLY.get(name, "a tensor has nothing but elements: x[i, j]")


def element_hint(node: ast.Subscript) -> str:
    """A hint for `E[...]`, where `E` is no name of a tensor."""
    match node.value:
        case ast.Attribute(attr=name):
            return attribute_hint(name)
        case ast.Subscript(value=ast.Name(id=name)) as inner:
            indices = [*items(inner.slice), *items(node.slice)]
            return f"write {name}[{', '.join(map(ast.unparse, indices))}]"
        case _:
            return "define it on a line of its own, t[i, j] = ..., and read t[i, j]"


def place_hint(
    item: ast.expr, places: list[ast.expr], node: ast.Assign | ast.AugAssign, name: str
) -> tuple[str, str]:
    """The message and hint for `item`, an index of what the statement defines."""
    sign, text = "=" if isinstance(node, ast.Assign) else "+=", ast.unparse(item)
    used = [place.id for place in places if isinstance(place, ast.Name)]
    index = next(letter for letter in "ijklmnopqrstuv" if letter not in used)
    names = [place.id if isinstance(place, ast.Name) else index for place in places]
    left = f"{name}[{', '.join(names)}] {sign}"
    match item:
        case ast.Slice() | ast.Constant(value=EllipsisType()):
            return _NO_SLICES, f"an index runs over a dimension: write {left} x[{index}]"
        case _ if any(isinstance(n, ast.Subscript | ast.Call) for n in ast.walk(item)):
            hint = _segment_hint(item, node.value, name)
            return "the place of an element cannot depend on values", hint
        case ast.Constant() | ast.UnaryOp(op=ast.USub(), operand=ast.Constant()):
            at = f"N - {text[1:]}" if text.startswith("-") else text
            value = f"{_short(node.value)} if {index} == {at} else ..."
            hint = f"one element is a condition: write {left} {value}"
        case ast.BinOp(left=ast.Name(id=base), op=ast.Add() | ast.Sub() as op, right=by):
            read = f"x[{base} {'-' if isinstance(op, ast.Add) else '+'} {ast.unparse(by)}]"
            hint = f"shift what is read: write {left.replace(index, base, 1)} {read}"
        case _:
            hint = f"elements differ by conditions: write {left} ... if ... else ..."
    return NO_INDEX, hint


_LONGEST_VALUE = 40


def _segment_hint(item: ast.expr, value: ast.expr, name: str) -> str:
    """The sum that a scatter `y[idx[i]] += x[i]` is, for each element of `y`."""
    subscripts = (n for n in ast.walk(item) if isinstance(n, ast.Subscript))
    indices = dict.fromkeys(n.id for s in subscripts for n in names_in(s.slice))
    own = ", ".join(indices) or "i"
    return f"write {name}[q in range(V)] = sum[{own}, {ast.unparse(item)} == q]({_short(value)})"


def _short(value: ast.expr) -> str:
    text = ast.unparse(value)
    return text if len(text) <= _LONGEST_VALUE else "..."
