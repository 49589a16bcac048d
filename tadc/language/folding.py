"""Scalar expressions that are one affine form: rules that parser and printer share.

`2*i + 1` is a single `tix.index_to_real`, and `i*0.5` is not. Both directions must agree on that,
so that a printed program is read back as what it was.
"""

from __future__ import annotations

from tadc.dialects.tix import Affine

LARGEST_EXACT_INTEGER = 2**53
"""The largest integer that is exact as float64 with all before it; the next one is not."""


def whole(value: float) -> Affine | None:
    """A number as an affine form, where it is an integer that is written as one."""
    if not abs(value) < LARGEST_EXACT_INTEGER or value != int(value):
        return None
    return None if value == 0 and str(value).startswith("-") else Affine({}, int(value))


def fold(sign: str, left: Affine, right: Affine) -> Affine | None:
    """`left sign right` as one affine form of indices; None where it is none, or only numbers."""
    if not left.terms and not right.terms:
        return None
    match sign:
        case "+":
            form = left + right
        case "-":
            form = left - right
        case "*" if not left.terms:
            form = right * left.constant
        case "*" if not right.terms:
            form = left * right.constant
        case _:
            return None
    numbers = (form.constant, *form.terms.values())
    return form if all(abs(c) < LARGEST_EXACT_INTEGER for c in numbers) else None
