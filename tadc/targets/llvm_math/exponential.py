"""`exp`, `expm1`, `sinh`, `cosh` and `tanh` (`tadc/targets/llvm_math/__init__.py`)."""

from __future__ import annotations

import math

from tadc.targets.llvm_math.expression import Expression

EXP = {
    # (exp(r) - 1 - r) / r**2 on |r| <= ln(2)/2; relative error of exp 2**-28.2
    "float": (
        *(0.4999999403953552, 0.1666651964187622, 0.041668251156806946),
        *(0.008368837647140026, 0.0013822101755067706),
    ),
    # relative error 2**-57.8
    "double": (
        *(0.5000000000000011, 0.16666666666666424, 0.04166666666652629),
        *(0.008333333333487026, 0.0013888888944644203, 0.00019841269522924933),
        *(2.480149203649369e-05, 2.75575713191184e-06, 2.7630633948170936e-07),
        2.500501986997767e-08,
    ),
}

EXP_BELOW_1 = {
    # as above: of 1 - exp(r), too, it leaves no more than 2**-25.9
    "float": EXP["float"],
    # relative error of 1 - exp(r) where r < 0, of 2 - exp(r) where r > 0: 2**-56.2
    "double": (
        *(0.5, 0.16666666666665925, 0.04166666666660135),
        *(0.008333333333778743, 0.0013888888927842634, 0.0001984126893860807),
        *(2.480150738915045e-05, 2.7558059749252478e-06, 2.7625690872290537e-07),
        2.4858965036755635e-08,
    ),
}

SINH = {
    # (sinh(x) - x) / x**3 in x**2 on 0 <= x <= 1; relative error of sinh 2**-31.5
    "float": (
        *(0.1666666716337204, 0.008333311416208744, 0.00019842635083477944),
        2.7839248559757834e-06,
    ),
    # relative error 2**-61.7
    "double": (
        *(0.16666666666666669, 0.008333333333332917, 0.00019841269841587236),
        *(2.7557319109253425e-06, 2.5052130543833636e-08, 1.6056697540773228e-10),
        7.775381015083104e-13,
    ),
}

TANH = {
    # (tanh(x) - x) / x**3 in x**2 on 0 <= x <= 0.55; relative error of tanh 2**-29.7
    "float": (
        *(-0.33333316445350647, 0.1333254724740982, -0.05384819954633713),
        *(0.02105475217103958, -0.006250402890145779),
    ),
    # relative error 2**-55.5
    "double": (
        *(-0.33333333333332316, 0.13333333333168934, -0.053968253876162296),
        *(0.02186948597636735, -0.008863194521291197, 0.0035917198141736614),
        *(-0.001453217252163939, 0.0005791382991380826, -0.00021030425475740332),
        5.102262591682856e-05,
    ),
}

# exp is 0 below, exp(x) / 2 is infinite above.
EXP_RANGE = {"float": (-104.0, 91.0), "double": (-746.0, 711.0)}

# expm1 is -1 below, infinite above.
EXPM1_RANGE = {"float": (-40.0, 89.0), "double": (-60.0, 710.0)}


def _scaled_exp(e: Expression, x: str, power: int = 0, sign: int = 1, signed: bool = True) -> str:
    """`2**power exp(sign x)`, as `exp(r) 2**(n + power)` with `sign x = n ln(2) + r`, |r| <=
    ln(2)/2.

    The sign becomes one of constants, so that the bits are those of `exp(-x)`, and a negation less
    is computed. Without `signed`, x is not below 0: then large numbers alone need a limit.
    """
    low, high = sorted(sign * limit for limit in EXP_RANGE[e.type])
    x = e.at_most(e.at_least(x, low) if signed else x, high)
    return (_scaled_at_once if e.scaled_exponents else _scaled_in_halves)(e, x, power, sign)


def _exp_of_rest(e: Expression, x: str, n: str, sign: int) -> str:
    """`exp(sign x - n ln(2))`: `n ln(2)` cancels exactly in one fma, its lower part in the next."""
    return e.horner(_rest(e, x if sign > 0 else e.negative(x), n), (1.0, 1.0, *EXP[e.type]))


def _rest(e: Expression, x: str, n: str) -> str:
    ln2, rest = e.format.ln2
    return e.fma(n, -rest, e.fma(n, -ln2, x))


def _scaled_at_once(e: Expression, x: str, power: int, sign: int) -> str:
    n, bits = e.nearest(x, sign / math.log(2))
    p = _exp_of_rest(e, x, n, sign)
    if e.scales_by_numbers:
        return e.scale(p, e.add(n, power) if power else n)
    return e.ldexp(p, e.integer("sub", bits, e.format.magic_bits - power))


def _scaled_in_halves(e: Expression, x: str, power: int, sign: int) -> str:
    """The bias of the exponent and `power` are part of the number whose addition rounds to n."""
    biased = e.format.magic + e.format.bias + power
    shifted = e.fma(x, sign / math.log(2), biased)
    _, halved = e.nearest(x, sign * 0.5 / math.log(2))
    p = _exp_of_rest(e, x, e.sub(shifted, biased), sign)
    # The sum in the exponent loses NaN; `x - x` brings it back and is 0 otherwise.
    return scale_in_halves(e, p, e.bits(shifted), halved, e.sub(x, x))


def scale_in_halves(
    e: Expression, p: str, biased: str, halved: str, offset: str | float = 0.0
) -> str:
    """`p 2**n + offset` as `p 2**m 2**(n - m)`, by integers in the place of exponents.

    `biased` holds n and the bias of the exponent, `halved` m, about n/2, both plus `magic_bits`.
    Each factor is a normal number, p in [0.7, 1.42] takes the first in its exponent, and only the
    last product rounds, overflows or becomes denormal.
    """
    first = add_to_exponent(e, p, halved)
    rest = e.integer("shl", e.integer("sub", biased, halved), e.format.mantissa)
    return e.fma(first, e.from_bits(rest), offset)


def add_to_exponent(e: Expression, p: str, bits: str) -> str:
    """`p 2**n` where it is normal, of a number p; `bits` hold n plus `magic_bits`, which vanish."""
    shifted = e.integer("shl", bits, e.format.mantissa)
    return e.from_bits(e.integer("add", e.bits(p), shifted))


def exp(e: Expression, x: str) -> str:
    return _scaled_exp(e, x)


def exp_of_negative(e: Expression, x: str) -> str:
    """`exp(-x)`"""
    return _scaled_exp(e, x, sign=-1)


def decay(e: Expression, x: str) -> str:
    """`exp(-x)` of a number that is not below 0."""
    return _scaled_exp(e, x, sign=-1, signed=False)


def bounded_exp(e: Expression, x: str) -> str:
    """`exp(x)` of a number for which it is normal and far from the largest."""
    n, bits = e.nearest(x, 1 / math.log(2))
    r = _rest(e, x, n)
    p = e.fma(e.mul(r, r), e.halves(r, EXP[e.type]), e.add(r, 1.0))
    return add_to_exponent(e, p, bits)


def one_minus_decay(e: Expression, x: str) -> str:
    """`1 - exp(-x)` of a number that is not below 0, for which `exp(-x)` is normal.

    With `-x = n ln(2) + r` it is `(1 - 2**n) - 2**n (exp(r) - 1)`, and the first difference is
    exact. It is 0 where x is below ln(2)/2, so that small results keep their digits. What ln(2) is
    rounded by counts little beside a difference that is 1/2 or more.
    """
    n, bits = e.nearest(x, -1 / math.log(2))
    r = e.fma(n, -e.format.ln2[0], e.negative(x))
    curve = e.fma(e.mul(r, r), e.halves(r, EXP_BELOW_1[e.type]), r)
    biased = e.integer("add", bits, e.format.bias)
    power = e.from_bits(e.integer("shl", biased, e.format.mantissa))
    return e.fma(e.negative(power), curve, e.sub(1.0, power))


def _half_expm1(e: Expression, x: str) -> tuple[str, str]:
    """`(exp(x) - 1) / 2` as an unevaluated sum of two numbers, the first much the larger.

    `x = n ln(2) + r` with |r| <= ln(2)/2. With `h = 2**(n-1)` the value is
    `(h - 1/2) + h r + h (exp(r) - 1 - r)`: the rounding error of the first sum is computed
    (`|h - 1/2| >= |h r|`, or `h - 1/2` is 0) and added to the last term, and so is the part of r
    that was rounded away.
    """
    format_ = e.format
    (high, low), magic = format_.ln2, format_.magic
    shifted = e.fma(x, 1 / math.log(2), magic)
    n = e.sub(shifted, magic)
    exact = e.fma(n, -high, x)
    r = e.fma(n, -low, exact)
    rest = e.fma(n, -low, e.sub(exact, r))
    curve = e.fma(e.mul(r, r), e.horner(r, EXP[e.type]), rest)
    exponent = e.integer("add", e.bits(shifted), format_.bias - 1)
    h = e.from_bits(e.integer("shl", exponent, format_.mantissa))
    base = e.sub(h, 0.5)
    total = e.fma(h, r, base)
    error = e.fma(h, r, e.sub(base, total))
    return total, e.fma(h, curve, error)


def expm1(e: Expression, x: str) -> str:
    low, high = EXPM1_RANGE[e.type]
    total, error = _half_expm1(e, e.at_most(e.at_least(x, low), high))
    y = e.mul(e.add(total, error), 2.0)
    return e.copysign(y, x)  # for -0


def tanh(e: Expression, x: str) -> str:
    """`1 - 2 / (exp(2 |x|) + 1)`; a polynomial where that is below 1/2."""
    square = e.mul(x, x)
    small = e.fma(e.mul(square, x), e.horner(square, TANH[e.type]), x)
    a = e.absolute(x)
    twice = e.mul(e.at_most(a, 20.0), 2.0)  # tanh is 1 at 20
    large = e.sub(1.0, e.div(2.0, e.add(bounded_exp(e, twice), 1.0)))
    # In this order NaN takes the polynomial, which keeps it.
    return e.copysign(e.select(e.compare("oge", a, 0.55), large, small), x)


def sinh(e: Expression, x: str) -> str:
    """`E - 1 / (4 E)` with `E = exp(|x|) / 2`; a polynomial below 1, where that cancels."""
    a = e.absolute(x)
    half = _scaled_exp(e, a, -1)
    large = e.sub(half, e.div(0.25, half))
    square = e.mul(a, a)
    small = e.fma(e.mul(square, a), e.horner(square, SINH[e.type]), a)
    return e.copysign(e.select(e.compare("olt", a, 1.0), small, large), x)


def cosh(e: Expression, x: str) -> str:
    """`E + 1 / (4 E)` with `E = exp(|x|) / 2`."""
    half = _scaled_exp(e, e.absolute(x), -1)
    return e.add(half, e.div(0.25, half))
