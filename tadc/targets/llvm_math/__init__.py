"""`exp`, `log` and their kin as LLVM IR functions that vectorise.

A call of the C library inside a loop stops LLVM's vectoriser. So these functions are printed
beside the program, without branches or tables: reduce the argument, evaluate a polynomial, scale
the result. They are right on the whole domain (NaN, infinities, overflow, denormals), and the same
bits in a vector as alone; docs/accuracy.md states their accuracy.

- `expression`: instructions of a function, and the numbers that describe a format
- `exponential`: `exp`, `expm1` and the hyperbolic functions
- `logarithm`: `log`, `log1p`
- `circular`: `sin`, `cos`
- `error_function`: `erf`
- `power`: `pow`

The polynomials are near-minimax fits of our own: weighted least squares at 160 Chebyshev points in
60 digits, each point's weight multiplied by its error again and again until the errors are level
(Lawson's algorithm). The coefficients are rounded to the format one by one from the lowest,
refitting the rest after each. The comment at each gives the function that is fitted, the interval,
and the relative error it leaves in the result.
"""

from __future__ import annotations

from collections.abc import Callable, Set

from tadc.targets.llvm_math import error_function, exponential, logarithm, power
from tadc.targets.llvm_math.circular import circular_function
from tadc.targets.llvm_math.expression import Expression, lanes_of

INLINED: dict[str, Callable[..., str]] = {
    "cosh": exponential.cosh,
    "erf": error_function.erf,
    "exp": exponential.exp,
    "expm1": exponential.expm1,
    "log": logarithm.log,
    "log1p": logarithm.log1p,
    "pow": power.pow,
    "sinh": exponential.sinh,
    "tanh": exponential.tanh,
}
"""Functions without branches, which become part of the loops that call them."""

NEGATED: dict[str, Callable[..., str]] = {
    "decay": exponential.decay,
    "exp_of_negative": exponential.exp_of_negative,
}
"""Forms of functions above for negated arguments, which cost less, with the same bits."""

OF_TWO = ("pow",)

CALLED = ("cos", "sin")
"""Functions with forms for vectors, which the vectoriser calls instead."""


def vector_math_function(
    name: str,
    type: str,
    lanes: Set[int] = frozenset({1}),
    scaled_exponents: bool = False,
    vector_bits: int | None = None,
) -> str:
    """The definitions of `@tadc.exp.f32`, `@tadc.exp.v16f32` and the like, for numbers of `lanes`.

    One lane is a number, in loops that LLVM may vectorise: then functions that it calls have forms
    for vectors, too. `scaled_exponents` (`Expression`) and `vector_bits`, of the widest vectors
    that LLVM chooses, are properties of the machine that runs it; by default there are forms for
    all widths.
    """
    if name in CALLED:
        return circular_function(name, type, lanes, lanes_of(type, vector_bits))
    forms = (Expression(type, n, scaled_exponents) for n in sorted(lanes))
    return "\n\n".join(_inlined(name, e) for e in forms)


def _inlined(name: str, e: Expression) -> str:
    arguments = ("%x", "%y") if name in OF_TWO else ("%x",)
    result, type_ = (INLINED | NEGATED)[name](e, *arguments), e.value_type
    parameters = ", ".join(f"{type_} {argument}" for argument in arguments)
    header = f"define internal {type_} @tadc.{name}.{e.suffix}({parameters}) #1 {{"
    return "\n".join([header, *e.lines, f"  ret {type_} {result}", "}"])
