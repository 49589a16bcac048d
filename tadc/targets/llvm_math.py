"""`exp`, `log` and their kin as LLVM IR functions that vectorise.

A call of the C library inside a loop stops LLVM's vectoriser. So these functions are printed
beside the program, without branches or tables: reduce the argument, evaluate a polynomial, scale
the result. They are right on the whole domain (NaN, infinities, overflow, denormals), within
2 units in the last place, and the same bits in a vector as alone.

The polynomials are near-minimax fits of our own: weighted least squares at 160 Chebyshev points in
60 digits, each point's weight multiplied by its error again and again until the errors are level
(Lawson's algorithm). The coefficients are rounded to the format one by one from the lowest,
refitting the rest after each. The comment at each gives the function that is fitted, the interval,
and the relative error it leaves in the result.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from tadc.targets.llvm_code import float_literal, overload


@dataclass(frozen=True)
class Format:
    """Numbers of a floating-point format that the functions need."""

    integer: str
    mantissa: int  # stored bits of the mantissa
    bias: int
    ln2: tuple[float, float]  # the nearest number, and the nearest to what is left
    exp: Sequence[float]
    log: Sequence[float]
    sinh: Sequence[float]
    exp_range: tuple[float, float]  # exp is 0 below, exp(x) / 2 is infinite above
    expm1_range: tuple[float, float]  # expm1 is -1 below, infinite above
    least_normal: float

    @property
    def magic(self) -> float:
        """Adding it rounds to an integer, which then stands in the low bits."""
        return 1.5 * 2.0**self.mantissa

    @property
    def magic_bits(self) -> int:
        return ((self.bias + self.mantissa) << self.mantissa) + (1 << (self.mantissa - 1))


FORMATS = {
    "float": Format(
        integer="i32",
        mantissa=23,
        bias=127,
        ln2=(0.693147182464599609375, -1.904654323148236e-09),
        # (exp(r) - 1 - r) / r**2 on |r| <= ln(2)/2; relative error of exp 2**-28.2
        exp=(
            *(0.4999999403953552, 0.1666651964187622, 0.041668251156806946),
            *(0.008368837647140026, 0.0013822101755067706),
        ),
        # (log(1+f) - f + f**2/2) / f**3 on sqrt(1/2) <= 1+f <= sqrt(2); relative error 2**-27.3
        log=(
            *(0.3333333134651184, -0.250008225440979, 0.2000124305486679),
            *(-0.16623319685459137, 0.1420154720544815, -0.13160401582717896),
            *(0.1276247203350067, -0.07634544372558594),
        ),
        # (sinh(x) - x) / x**3 in x**2 on 0 <= x <= 1; relative error of sinh 2**-31.5
        sinh=(
            *(0.1666666716337204, 0.008333311416208744, 0.00019842635083477944),
            2.7839248559757834e-06,
        ),
        exp_range=(-104.0, 91.0),
        expm1_range=(-40.0, 89.0),
        least_normal=2.0**-126,
    ),
    "double": Format(
        integer="i64",
        mantissa=52,
        bias=1023,
        ln2=(0.6931471805599453, 2.3190468138462996e-17),
        # as above; relative error of exp 2**-57.8
        exp=(
            *(0.5000000000000011, 0.16666666666666424, 0.04166666666652629),
            *(0.008333333333487026, 0.0013888888944644203, 0.00019841269522924933),
            *(2.480149203649369e-05, 2.75575713191184e-06, 2.7630633948170936e-07),
            2.500501986997767e-08,
        ),
        # (2 atanh(s) - 2 s) / s**3 in s**2, s = f / (2 + f), same interval; error 2**-58.5
        log=(
            *(0.6666666666666735, 0.3999999999940885, 0.28571428743876864),
            *(0.22222198403145785, 0.18183573972714578, 0.15313784602583716),
            0.1479879026654683,
        ),
        # as above; relative error of sinh 2**-61.7
        sinh=(
            *(0.16666666666666669, 0.008333333333332917, 0.00019841269841587236),
            *(2.7557319109253425e-06, 2.5052130543833636e-08, 1.6056697540773228e-10),
            7.775381015083104e-13,
        ),
        exp_range=(-746.0, 711.0),
        expm1_range=(-60.0, 710.0),
        least_normal=2.0**-1022,
    ),
}


@dataclass
class Expression:
    """Builds the instructions of one function of `%x`; methods return the names of results."""

    type: str
    lines: list[str] = field(default_factory=list[str])

    @property
    def format(self) -> Format:
        return FORMATS[self.type]

    def _emit(self, right: str) -> str:
        name = f"%t{len(self.lines)}"
        self.lines.append(f"  {name} = {right}")
        return name

    def number(self, value: float) -> str:
        return float_literal(value, self.type)

    def _operand(self, value: str | float) -> str:
        return value if isinstance(value, str) else self.number(value)

    def _binary(self, opcode: str, a: str | float, b: str | float) -> str:
        return self._emit(f"{opcode} {self.type} {self._operand(a)}, {self._operand(b)}")

    def add(self, a: str | float, b: str | float) -> str:
        return self._binary("fadd", a, b)

    def sub(self, a: str | float, b: str | float) -> str:
        return self._binary("fsub", a, b)

    def mul(self, a: str | float, b: str | float) -> str:
        return self._binary("fmul", a, b)

    def div(self, a: str | float, b: str | float) -> str:
        return self._binary("fdiv", a, b)

    def _intrinsic(self, name: str, *arguments: str | float) -> str:
        typed = ", ".join(f"{self.type} {self._operand(a)}" for a in arguments)
        return self._emit(f"call {self.type} @llvm.{name}.{overload(self.type)}({typed})")

    def fma(self, a: str | float, b: str | float, c: str | float) -> str:
        return self._intrinsic("fma", a, b, c)

    def negative(self, a: str) -> str:
        return self._emit(f"fneg {self.type} {a}")

    def absolute(self, a: str) -> str:
        return self._intrinsic("fabs", a)

    def copysign(self, a: str, sign: str) -> str:
        return self._intrinsic("copysign", a, sign)

    def compare(self, predicate: str, a: str | float, b: str | float) -> str:
        return self._binary(f"fcmp {predicate}", a, b)

    def select(self, condition: str, a: str | float, b: str | float) -> str:
        a, b = self._operand(a), self._operand(b)
        return self._emit(f"select i1 {condition}, {self.type} {a}, {self.type} {b}")

    def at_least(self, a: str, low: float) -> str:
        """NaN stays: in this order of the operands it is one instruction of x86."""
        return self.select(self.compare("olt", a, low), low, a)

    def at_most(self, a: str, high: float) -> str:
        return self.select(self.compare("ogt", a, high), high, a)

    def bits(self, a: str) -> str:
        return self._emit(f"bitcast {self.type} {a} to {self.format.integer}")

    def from_bits(self, a: str) -> str:
        return self._emit(f"bitcast {self.format.integer} {a} to {self.type}")

    def integer(self, opcode: str, a: str, b: str | int) -> str:
        return self._emit(f"{opcode} {self.format.integer} {a}, {b}")

    def horner(self, x: str, coefficients: Sequence[float]) -> str:
        """`c[0] + c[1] x + c[2] x**2 + ...`"""
        result: str | float = coefficients[-1]
        for coefficient in reversed(coefficients[:-1]):
            result = self.fma(result, x, coefficient)
        assert isinstance(result, str)
        return result


def _scaled_exp(e: Expression, x: str, power: int) -> str:
    """`2**power exp(x)`, as `exp(r) 2**m 2**(n - m + power)` with m about n/2.

    `x = n ln(2) + r`, |r| <= ln(2)/2: `n ln(2)` cancels exactly against x in one fma, its lower
    part is rounded in the next. Integers are rounded to by adding a number so large that its last
    bit is a unit, and read from its low bits.

    Each factor is a normal number, `exp(r)` in [0.7, 1.42] takes the first in its exponent, and
    only the last product rounds, overflows or becomes denormal. m comes from rounding x / ln(4).
    """
    format_ = e.format
    low, high = format_.exp_range
    x = e.at_most(e.at_least(x, low), high)
    biased = format_.magic + format_.bias + power
    shifted = e.fma(x, 1 / math.log(2), biased)
    halved = e.bits(e.fma(x, 0.5 / math.log(2), format_.magic))
    n = e.sub(shifted, biased)
    ln2, rest = format_.ln2
    r = e.fma(n, -rest, e.fma(n, -ln2, x))
    p = e.bits(e.horner(r, (1.0, 1.0, *format_.exp)))
    first = e.from_bits(e.integer("add", p, e.integer("shl", halved, format_.mantissa)))
    rest_of_n = e.integer("sub", e.bits(shifted), halved)
    second = e.from_bits(e.integer("shl", rest_of_n, format_.mantissa))
    # The sum in the exponent loses NaN; `x - x` brings it back and is 0 otherwise.
    return e.fma(first, second, e.sub(x, x))


def exp(e: Expression, x: str) -> str:
    return _scaled_exp(e, x, 0)


def _sum_error(e: Expression, a: str, b: float, total: str) -> str:
    """`a + b - total`, exactly, where total is the rounded sum, whichever of the two is larger."""
    back = e.sub(total, a)
    return e.add(e.sub(a, e.sub(total, back)), e.sub(b, back))


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
    curve = e.fma(e.mul(r, r), e.horner(r, format_.exp), rest)
    exponent = e.integer("add", e.bits(shifted), format_.bias - 1)
    h = e.from_bits(e.integer("shl", exponent, format_.mantissa))
    base = e.sub(h, 0.5)
    total = e.fma(h, r, base)
    error = e.fma(h, r, e.sub(base, total))
    return total, e.fma(h, curve, error)


def expm1(e: Expression, x: str) -> str:
    low, high = e.format.expm1_range
    total, error = _half_expm1(e, e.at_most(e.at_least(x, low), high))
    y = e.mul(e.add(total, error), 2.0)
    return e.copysign(y, x)  # for -0


def tanh(e: Expression, x: str) -> str:
    """`q = h / (h + 1)` with `h = expm1(2 |x|) / 2`, and one step that undoes two roundings.

    The quotient of the rounded numbers leaves a remainder; `1 - q` is `1 / (h + 1)`, so that
    `remainder (1 - q)` corrects it without another division.
    """
    twice = e.at_most(e.mul(e.absolute(x), 2.0), 60.0)
    half = e.add(*_half_expm1(e, twice))
    divisor = e.add(half, 1.0)
    lost = _sum_error(e, half, 1.0, divisor)
    q = e.div(half, divisor)
    minus_q = e.negative(q)
    remainder = e.fma(minus_q, lost, e.fma(minus_q, divisor, half))
    # Where `1 - q` is but an ulp or two, the step is inexact, and 1 is near enough.
    return e.copysign(e.at_most(e.fma(remainder, e.sub(1.0, q), q), 1.0), x)


def sinh(e: Expression, x: str) -> str:
    """`E - 1 / (4 E)` with `E = exp(|x|) / 2`; a polynomial below 1, where that cancels."""
    a = e.absolute(x)
    half = _scaled_exp(e, a, -1)
    large = e.sub(half, e.div(0.25, half))
    square = e.mul(a, a)
    small = e.fma(e.mul(square, a), e.horner(square, e.format.sinh), a)
    return e.copysign(e.select(e.compare("olt", a, 1.0), small, large), x)


def cosh(e: Expression, x: str) -> str:
    """`E + 1 / (4 E)` with `E = exp(|x|) / 2`."""
    half = _scaled_exp(e, e.absolute(x), -1)
    return e.add(half, e.div(0.25, half))


def _log(e: Expression, x: str, scaled: str | float, correction: str | None) -> str:
    """`log(x) - scaled ln(2) + correction` of a positive normal number.

    `x = 2**k (1 + f)` with `sqrt(1/2) <= 1 + f < sqrt(2)`: k is the exponent of `x / sqrt(1/2)`,
    taken from the bits. The terms are added from small to large, `k ln(2)` in two parts.
    """
    format_ = e.format
    root = round(math.sqrt(0.5) * 2 ** (format_.mantissa + 1)) - (1 << format_.mantissa)
    root += (format_.bias - 1) << format_.mantissa
    bits = e.bits(x)
    k = e.integer("ashr", e.integer("sub", bits, root), format_.mantissa)
    f = e.sub(e.from_bits(e.integer("sub", bits, e.integer("shl", k, format_.mantissa))), 1.0)
    k = e.sub(e.from_bits(e.integer("add", k, format_.magic_bits)), format_.magic)
    k = e.sub(k, scaled)
    high, low = format_.ln2
    rest = e.mul(k, low)
    rest = rest if correction is None else e.add(rest, correction)
    tail = _log_tail_float(e, f, rest) if e.type == "float" else _log_tail_double(e, f, rest)
    return e.fma(k, high, e.add(f, tail))


def _log_tail_float(e: Expression, f: str, rest: str) -> str:
    """`log(1+f) - f + rest = -f**2/2 + f**3 P(f) + rest`"""
    square = e.mul(f, f)
    cubic = e.fma(e.mul(square, f), e.horner(f, e.format.log), rest)
    return e.fma(square, -0.5, cubic)


def _log_tail_double(e: Expression, f: str, rest: str) -> str:
    """`log(1+f) - f + rest` by `log(1+f) = 2 atanh(s)`, `s = f / (2 + f)`.

    A division, but half the terms. `2 s = f - s f` gives `-h + s (h + s**2 P(s**2))`, `h = f**2/2`.
    """
    s = e.div(f, e.add(f, 2.0))
    z = e.mul(s, s)
    h = e.mul(e.mul(f, f), 0.5)
    inner = e.fma(z, e.horner(z, e.format.log), h)
    return e.sub(e.fma(s, inner, rest), h)


def _log_domain(e: Expression, x: str, y: str, pole: float) -> str:
    """y, but minus infinity at the pole, NaN below it and for NaN, infinity at infinity."""
    outside = e.select(e.compare("oeq", x, pole), -math.inf, math.nan)
    y = e.select(e.compare("ogt", x, pole), y, outside)
    return e.select(e.compare("oeq", x, math.inf), x, y)


def log(e: Expression, x: str) -> str:
    shift = float(e.format.mantissa + 2)
    denormal = e.compare("olt", x, e.format.least_normal)
    normal = e.select(denormal, e.mul(x, 2.0**shift), x)
    return _log_domain(e, x, _log(e, normal, e.select(denormal, shift, 0.0), None), 0.0)


def log1p(e: Expression, x: str) -> str:
    """`log(u) + c / u` with `u + c = 1 + x`, u the rounded sum and c its exact error."""
    u = e.add(x, 1.0)
    c = _sum_error(e, x, 1.0, u)
    y = _log_domain(e, x, _log(e, u, 0.0, e.div(c, u)), -1.0)
    return e.select(e.compare("oeq", x, 0.0), x, y)  # for -0


FUNCTIONS: dict[str, Callable[[Expression, str], str]] = {
    "cosh": cosh,
    "exp": exp,
    "expm1": expm1,
    "log": log,
    "log1p": log1p,
    "sinh": sinh,
    "tanh": tanh,
}


def vector_math_function(name: str, type: str) -> str:
    """The definition of `@tadc.exp.f32` and the like."""
    expression = Expression(type)
    result = FUNCTIONS[name](expression, "%x")
    header = f"define internal {type} @tadc.{name}.{overload(type)}({type} %x) #1 {{"
    return "\n".join([header, *expression.lines, f"  ret {type} {result}", "}"])
