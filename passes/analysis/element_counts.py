"""The number of elements of tensors, as polynomials in symbolic sizes.

A size is an affine form, and 0 where that is negative. A form without negative coefficients is
never negative and is multiplied out; any other one is a variable of its own. So equal polynomials
are equal numbers for all sizes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TypeAlias

from xdsl.ir import SSAValue

from tadc.dialects.tix import Affine, TensorType, Variable

Factor: TypeAlias = str | Affine
"""The name of a size, or a form that may be negative."""
Polynomial: TypeAlias = Counter[tuple[Factor, ...]]
"""Coefficients of products of variables."""


def count(tensors: Iterable[SSAValue]) -> Polynomial:
    """The number of elements that the tensors have together."""
    total = Polynomial()
    for tensor in tensors:
        assert isinstance(tensor.type, TensorType)
        total.update(_product(tensor.type.shape))
    return _without_zeros(total)


def difference(a: Polynomial, b: Polynomial) -> Polynomial:
    """`a - b`; it is empty where the two are equal for all sizes."""
    result = Polynomial(a)
    result.subtract(b)
    return _without_zeros(result)


def is_positive(polynomial: Polynomial) -> bool:
    """True if it is certainly above 0 for all sizes that are at least 1; False proves nothing."""
    positive = any(
        c > 0 and not any(isinstance(v, Affine) for v in term) for term, c in polynomial.items()
    )
    return positive and all(c > 0 for c in polynomial.values())


def value(polynomial: Polynomial, sizes: Mapping[str, int]) -> int:
    """The number for given sizes."""
    total = 0
    known: dict[Variable, int] = dict(sizes.items())
    for term, c in polynomial.items():
        for v in term:
            c *= sizes[v] if isinstance(v, str) else max(0, v.evaluate(known))
        total += c
    return total


def show(polynomial: Polynomial) -> str:
    """`2 * N * M + 3`."""
    parts: list[str] = []
    for term, c in sorted(polynomial.items(), key=lambda item: (-len(item[0]), str(item[0]))):
        names = [v if isinstance(v, str) else f"({_text(v)})" for v in term]
        parts.append(" * ".join([*([] if c == 1 and names else [str(c)]), *names]))
    return " + ".join(parts) or "0"


def _text(form: Affine) -> str:
    return repr(form).removeprefix("Affine(").removesuffix(")")


def _product(shape: Iterable[Affine]) -> Polynomial:
    result = Polynomial({(): 1})
    for size in shape:
        factor = _factor(size)
        product = Polynomial()
        for a, x in result.items():
            for b, y in factor.items():
                product[tuple(sorted([*a, *b], key=str))] += x * y
        result = product
    return result


def _factor(size: Affine) -> Polynomial:
    if not size.terms:
        return Polynomial({(): max(0, size.constant)})
    if size.constant < 0 or any(c < 0 for c in size.terms.values()):
        return Polynomial({(size,): 1})
    factor = Polynomial({(): size.constant} if size.constant else {})
    factor.update({(str(key),): c for key, c in size.terms.items()})
    return factor


def _without_zeros(polynomial: Polynomial) -> Polynomial:
    return Polynomial({term: c for term, c in polynomial.items() if c})
