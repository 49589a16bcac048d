"""Quotients by constants, as a product and a fused product: the bits of the division.

    x / 49          t = x * l              h + l is 1 / 49, with twice the bits of a number
                    y = fma(x, h, t)

A division of vectors takes as long as some ten products.

**The same bits.** Let p be the bits of a number (24 or 53), h the reciprocal of c rounded towards
zero, and l what is left of it, rounded. Then `x h + x l`, with the second product rounded, differs
from x / c by less than 2**(2 - p) units in the last place of it: l has at most half of h's last
bit, and is off by 2**-p of itself, as its product is (Brisebarre, Muller and Raina, Accelerating
correctly rounded floating-point division when the divisor is known in advance, IEEE Trans.
Computers 53, 2004). It is rounded once. So it is x / c rounded, if no x / c is so near to the
middle of two numbers. Let c be an odd integer C times a power of two. In units of half a last place
the quotient is at least 1 / C away from each odd integer M, as X - M C is no fraction, and not 0:
with p + 1 bits of M, and two of C, M C has more than p. So C < 2**(p - 3) is enough, and half of
that where `x l` is no normal number, for x above 2**-60 in f32: all means of a million elements.

h and l have one sign, so that zeros, infinities and NaN are those of the division. Below 2**-60
the error is at most one unit.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache

from xdsl.dialects import arith, vector
from xdsl.dialects.builtin import FloatAttr, FloatData
from xdsl.dialects.utils.fast_math import FastMathAttrBase, FastMathFlag
from xdsl.ir import Operation

PRECISION = {"float": 24, "double": 53}

MOST_BITS = {"float": 40, "double": 400}
"""Divisors are at most 2 to this power, and at least 1 over that: both parts are normal numbers."""


def reciprocal_in(op: Operation, element: str) -> tuple[float, float] | None:
    """The parts of the reciprocal of a constant divisor; None where a division is needed."""
    flags = op.properties.get("fastmath")
    if not isinstance(flags, FastMathAttrBase) or FastMathFlag.ALLOW_CONTRACT not in flags.data:
        return None
    divisor = op.operands[1].owner
    if isinstance(divisor, vector.BroadcastOp):
        divisor = divisor.source.owner
    if not isinstance(divisor, arith.ConstantOp):
        return None
    match divisor.value:
        case FloatAttr(value=FloatData(data=number)):
            return reciprocal(number, element)
        case _:
            return None


@cache
def reciprocal(divisor: float, element: str) -> tuple[float, float] | None:
    """The parts h and l of a reciprocal; None where a division is needed, or one product does."""
    precision, most = PRECISION[element], 2.0 ** MOST_BITS[element]
    if not 1 / most <= abs(divisor) <= most:
        return None
    odd = abs(Fraction(divisor)).numerator
    while odd % 2 == 0:
        odd //= 2
    if not 1 < odd < 2 ** (precision - 4):
        return None
    exact = 1 / abs(Fraction(divisor))
    unit = _last_place(exact, precision)
    high = exact // unit * unit
    unit = _last_place(exact - high, precision)
    low = round((exact - high) / unit) * unit
    sign = 1 if divisor > 0 else -1
    return sign * float(high), sign * float(low)


def _last_place(number: Fraction, precision: int) -> Fraction:
    """The value of the last of so many bits of a positive number."""
    exponent = number.numerator.bit_length() - number.denominator.bit_length()
    if number < Fraction(2) ** exponent:
        exponent -= 1
    return Fraction(2) ** (exponent - precision + 1)
