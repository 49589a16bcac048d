"""`log` and `log1p` (`tadc/targets/llvm_math/__init__.py`)."""

from __future__ import annotations

import math

from tadc.targets.llvm_math.expression import Expression

LOG = {
    # (log(1+f) - f + f**2/2) / f**3 on sqrt(1/2) <= 1+f <= sqrt(2); relative error 2**-27.3
    "float": (
        *(0.3333333134651184, -0.250008225440979, 0.2000124305486679),
        *(-0.16623319685459137, 0.1420154720544815, -0.13160401582717896),
        *(0.1276247203350067, -0.07634544372558594),
    ),
    # (2 atanh(s) - 2 s) / s**3 in s**2, s = f / (2 + f), same interval; error 2**-58.5
    "double": (
        *(0.6666666666666735, 0.3999999999940885, 0.28571428743876864),
        *(0.22222198403145785, 0.18183573972714578, 0.15313784602583716),
        0.1479879026654683,
    ),
}


def normal(e: Expression, x: str) -> tuple[str, str]:
    """`x 2**shift` and the shift: denormal numbers are made normal ones."""
    shift = float(e.format.mantissa + 2)
    denormal = e.compare("olt", x, e.format.least_normal)
    scaled = e.select(denormal, e.mul(x, 2.0**shift), x)
    return scaled, e.select(denormal, shift, 0.0)


def split_power_of_two(e: Expression, x: str) -> tuple[str, str]:
    """f and k of a positive normal number `x = 2**k (1 + f)`, `sqrt(1/2) <= 1 + f < sqrt(2)`.

    k is the exponent of `x / sqrt(1/2)`, taken from the bits.
    """
    format_ = e.format
    root = round(math.sqrt(0.5) * 2 ** (format_.mantissa + 1)) - (1 << format_.mantissa)
    root += (format_.bias - 1) << format_.mantissa
    bits = e.bits(x)
    k = e.integer("ashr", e.integer("sub", bits, root), format_.mantissa)
    f = e.sub(e.from_bits(e.integer("sub", bits, e.integer("shl", k, format_.mantissa))), 1.0)
    return f, e.sub(e.from_bits(e.integer("add", k, format_.magic_bits)), format_.magic)


def _log(e: Expression, x: str, scaled: str | float, correction: str | None) -> str:
    """`log(x) - scaled ln(2) + correction` of a positive normal number.

    The terms are added from small to large, `k ln(2)` in two parts.
    """
    f, k = split_power_of_two(e, x)
    k = e.sub(k, scaled)
    high, low = e.format.ln2
    rest = e.mul(k, low)
    rest = rest if correction is None else e.add(rest, correction)
    tail = _log_tail_float(e, f, rest) if e.type == "float" else _log_tail_double(e, f, rest)
    return e.fma(k, high, e.add(f, tail))


def _log_tail_float(e: Expression, f: str, rest: str) -> str:
    """`log(1+f) - f + rest = -f**2/2 + f**3 P(f) + rest`"""
    square = e.mul(f, f)
    cubic = e.fma(e.mul(square, f), e.horner(f, LOG[e.type]), rest)
    return e.fma(square, -0.5, cubic)


def _log_tail_double(e: Expression, f: str, rest: str) -> str:
    """`log(1+f) - f + rest` by `log(1+f) = 2 atanh(s)`, `s = f / (2 + f)`.

    A division, but half the terms. `2 s = f - s f` gives `-h + s (h + s**2 P(s**2))`, `h = f**2/2`.
    """
    s = e.div(f, e.add(f, 2.0))
    z = e.mul(s, s)
    h = e.mul(e.mul(f, f), 0.5)
    inner = e.fma(z, e.horner(z, LOG[e.type]), h)
    return e.sub(e.fma(s, inner, rest), h)


def _log_domain(e: Expression, x: str, y: str, pole: float) -> str:
    """y, but minus infinity at the pole, NaN below it and for NaN, infinity at infinity."""
    outside = e.select(e.compare("oeq", x, pole), -math.inf, math.nan)
    y = e.select(e.compare("ogt", x, pole), y, outside)
    return e.select(e.compare("oeq", x, math.inf), x, y)


def log(e: Expression, x: str) -> str:
    return _log_domain(e, x, _log(e, *normal(e, x), None), 0.0)


def log1p(e: Expression, x: str) -> str:
    """`log(u) + c / u` with `u + c = 1 + x`, u the rounded sum and c its exact error."""
    u = e.add(x, 1.0)
    c = e.sum_error(x, 1.0, u)
    y = _log_domain(e, x, _log(e, u, 0.0, e.div(c, u)), -1.0)
    return e.select(e.compare("oeq", x, 0.0), x, y)  # for -0
