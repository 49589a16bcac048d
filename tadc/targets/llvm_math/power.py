"""`pow` (`tadc/targets/llvm_math/__init__.py`): `2**(y log2(|x|))`, then sign and special cases.

An error of the exponent is, times `ln(2)`, a relative error of the power, and the exponent is as
large as 1074 (150): `log2` needs 11 (8) bits more than the format has. For `float` it is computed
in `double`; for `double` as the sum of two numbers, where `high + low` below means such a sum and
an fma gives the error of a product.
"""

from __future__ import annotations

import math

from tadc.targets.llvm_math.exponential import add_to_exponent, scale_in_halves
from tadc.targets.llvm_math.expression import Expression
from tadc.targets.llvm_math.logarithm import normal, split_power_of_two

# log2(1+f) / f on sqrt(1/2) <= 1+f <= sqrt(2); relative error 2**-35.8
LOG2_FOR_FLOAT = (
    *(1.4426950408687043, -0.7213475208691107, 0.480898361393702),
    *(-0.36067367467636774, 0.28853729384698407, -0.24045317641337421),
    *(0.20617534840809332, -0.1803003070194207, 0.1587697885532022),
    *(-0.14315993366268653, 0.1447513831863399, -0.1428243760901338),
    0.07734887031182659,
)

# (2**r - 1) / r on |r| <= 1/2; relative error of 2**r 2**-28.9
EXP2_FOR_FLOAT = (
    *(0.6931472028863125, 0.2402264791359028, 0.05550332402180926),
    *(0.009618437266007774, 0.0013398902259444902, 0.0001535342341325696),
)

# The same; relative error 2**-57.8
EXP2 = (
    *(0.6931471805599453, 0.24022650695910108, 0.055504108664821715),
    *(0.009618129107601583, 0.0013333558146548456, 0.00015403530449080107),
    *(1.5252733631861612e-05, 1.3215438807724592e-06, 1.0178160893637326e-07),
    *(7.07323875563056e-09, 4.438743096887171e-10),
)

# log2(1+f) = (2 / ln(2)) atanh(s) with s = f / (2 + f) begins with these two terms, c s + c/3 s**3.
FIRST = (2.8853900817779268, 4.0710547481862066e-17)
THIRD = (0.9617966939259756, 5.0577616648125907e-17)

# What is left, divided by s**5, in s**2; relative error of log2 2**-66.3
REST = (
    *(0.5770780163556178, 0.4121985830919929, 0.3205989022641114),
    *(0.26230770195117953, 0.2219839599017857, 0.19125603589445336),
    0.190377385341773,
)

# 2**t is infinite from here on, and 0 from minus this on.
END = {"float": 160.0, "double": 1100.0}


def pow(e: Expression, x: str, y: str) -> str:
    size = e.absolute(x)
    power = (_power_by_double if e.type == "float" else _power_by_pairs)(e, size, y)
    return _special_cases(e, x, y, size, power)


def _power_by_double(e: Expression, size: str, y: str) -> str:
    wide = Expression("double", e.lanes, e.scaled_exponents, e.lines)
    base = wide.widened(size)
    f, k = split_power_of_two(wide, base)
    log2 = wide.fma(f, wide.halves(f, LOG2_FOR_FLOAT), k)
    t = wide.mul(wide.widened(y), _log_of_ends(wide, base, log2))
    t = wide.at_most(wide.at_least(t, -END[e.type]), END[e.type])
    n, bits = wide.nearest(t, 1.0)
    r = wide.sub(t, n)
    p = wide.fma(r, wide.halves(r, EXP2_FOR_FLOAT), 1.0)
    return wide.narrowed(add_to_exponent(wide, p, bits))


def _power_by_pairs(e: Expression, size: str, y: str) -> str:
    base, shift = normal(e, size)
    f, k = split_power_of_two(e, base)
    high, low = _log2_as_pair(e, f, e.sub(k, shift))
    high = _log_of_ends(e, size, high)
    product = e.mul(y, high)
    error = e.fma(y, low, e.fma(y, high, e.negative(product)))
    end = END[e.type]
    # Beyond the ends the error may be infinite or not a number.
    error = e.select(e.compare("olt", e.absolute(product), end), error, 0.0)
    t = e.at_most(e.at_least(product, -end), end)
    n, bits = e.nearest(t, 1.0)
    r = e.add(e.sub(t, n), error)
    p = e.fma(r, e.halves(r, EXP2), 1.0)
    if e.scaled_exponents:
        return e.ldexp(p, e.integer("sub", bits, e.format.magic_bits))
    _, halved = e.nearest(t, 0.5)
    return scale_in_halves(e, p, e.integer("add", bits, e.format.bias), halved)


def _log2_as_pair(e: Expression, f: str, k: str) -> tuple[str, str]:
    """`k + log2(1 + f)` as high + low, with a relative error of about 2**-65.

    `s = f / (2 + f)` and `z = s**2` are high + low: the remainders of the divisions and products
    are exact. Then `log2(1 + f) = s (c + (c/3 z + z**2 P(z)))`: the last term is below 2**-12 of
    all, so that its rounding errors do not count. Each sum has the larger number first, which
    makes its error exact: `c/3 z`, c, and k unless it is 0.
    """
    divisor = e.add(f, 2.0)
    lost = e.sub(f, e.sub(divisor, 2.0))
    inverse = e.div(1.0, divisor)
    s = e.mul(f, inverse)
    minus_s = e.negative(s)
    remainder = e.fma(minus_s, lost, e.fma(minus_s, divisor, f))
    s_low = e.mul(remainder, inverse)
    z = e.mul(s, s)
    z_low = e.fma(e.add(s, s), s_low, e.fma(s, s, e.negative(z)))
    third = e.mul(z, THIRD[0])
    square, rest = e.mul(z, z), e.halves(z, REST)
    terms = e.fma(square, rest, third)
    tail = e.fma(square, rest, e.sub(third, terms))
    tail = e.add(tail, e.fma(z, THIRD[0], e.negative(third)))
    tail = e.fma(z_low, THIRD[0], e.fma(z, THIRD[1], e.add(tail, FIRST[1])))
    factor = e.add(terms, FIRST[0])
    factor_low = e.add(e.add(e.sub(FIRST[0], factor), terms), tail)
    product = e.mul(s, factor)
    error = e.fma(s, factor, e.negative(product))
    error = e.fma(s, factor_low, e.fma(s_low, factor, error))
    high = e.add(k, product)
    return high, e.add(e.add(e.sub(k, high), product), error)


def _log_of_ends(e: Expression, size: str, log2: str) -> str:
    log2 = e.select(e.compare("oeq", size, 0.0), -math.inf, log2)
    return e.select(e.compare("oeq", size, math.inf), math.inf, log2)


def _special_cases(e: Expression, x: str, y: str, size: str, power: str) -> str:
    """The power of x by that of |x|, as IEEE 754 and C have it.

    `(-1)**±inf` is 1. Of negative numbers, an odd y gives the sign, also to zeros and infinities; y
    that are no integers give NaN, but for minus infinity. NaN gives NaN, but `1**y` and `x**0` are
    1. Infinite y are even integers here.
    """
    power = e.select(e.compare("oeq", size, 1.0), 1.0, power)
    half = e.mul(y, 0.5)
    integer = e.compare("oeq", e.floor(y), y)
    odd = e.both(integer, e.compare("one", e.floor(half), half))
    power = e.copysign(power, e.select(odd, x, 1.0))
    finite_negative = e.both(e.compare("olt", x, 0.0), e.compare("one", x, -math.inf))
    power = e.select(integer, power, e.select(finite_negative, math.nan, power))
    power = e.select(e.compare("uno", x, y), math.nan, power)
    trivial = e.either(e.compare("oeq", x, 1.0), e.compare("oeq", y, 0.0))
    return e.select(trivial, 1.0, power)
