"""Hints for who knows other libraries: how this language says what is named differently there."""

from __future__ import annotations

from collections.abc import Iterable

from tadc.errors import did_you_mean
from tadc.language.names import FUNCTIONS, REDUCTIONS

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
}
"""Forms of this language for functions of other libraries."""


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
    other = SAID_DIFFERENTLY.get(name) or did_you_mean(name, REDUCTIONS)
    return other or "a sum is written sum[k](...)"


def method_hint(name: str) -> str:
    """A hint for `np.name(...)` or `x.name(...)`."""
    word = OTHER_NAMES.get(name, name)
    if word in SAID_DIFFERENTLY:
        return SAID_DIFFERENTLY[word]
    if word in ("sum", "prod"):
        return f"write {word}[k](...)"
    return f"write {word}(...)" if word in FUNCTIONS else "write exp(x), not np.exp(x)"
