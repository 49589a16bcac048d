"""C expressions with the parentheses they need and no more, C names, and exact C literals."""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

# Binding strengths. A binary operator binds to the left: its right operand must bind tighter.
TERNARY, OR, AND, BIT_OR, BIT_XOR, BIT_AND, EQUAL, LESS, SUM, PRODUCT, UNARY, ATOM = range(12)


class Expr(NamedTuple):
    """C text of one value, and what decides where it may stand."""

    text: str
    level: int = ATOM
    reads: frozenset[str] = frozenset()
    """The variables in it that change: the expression is void once one of them is assigned."""
    loads: bool = False
    """True if it reads memory."""
    literal: bool = False
    """An integer literal: an `int` to C, whatever the type of the value it stands for."""
    split: tuple[str, str, str] | None = None
    """Left operand, operator and right operand, for `a = a + b` to become `a += b`."""

    def at(self, level: int) -> str:
        """The text as an operand of something that binds with `level`."""
        return self.text if self.level >= level else f"({self.text})"

    def typed(self, ctype: str) -> str:
        """The text where C has to see the type itself: an argument of an overloaded function."""
        return f"{self.text}{SUFFIX.get(ctype, '')}" if self.literal else self.text


def made(text: str, level: int, *parts: Expr) -> Expr:
    """An expression that consists of others."""
    reads = frozenset[str]().union(*(p.reads for p in parts))
    return Expr(text, level, reads, any(p.loads for p in parts))


def wide(a: Expr, ctype: str) -> Expr:
    """A literal with its type, for `100000LL * 100000LL` not to be computed in 32 bits."""
    return a._replace(text=a.typed(ctype), literal=False)


SUFFIX = {"int": "", "long long": "LL"}
SMALLEST = {"int": -(2**31), "long long": -(2**63)}
SIGN = {"+": "-", "-": "+"}


def infix(a: Expr, symbol: str, level: int, b: Expr, ctype: str = "") -> Expr:
    """`a symbol b`, with `a + -b` as `a - b`."""
    if a.literal and b.literal:
        a, b = wide(a, ctype), wide(b, ctype)
    if symbol in SIGN and b.level == UNARY and b.text.startswith("-"):
        symbol, b = SIGN[symbol], b._replace(text=b.text[1:], level=ATOM)
    text = f"{a.at(level)} {symbol} {b.at(level + 1)}"
    return made(text, level, a, b)._replace(split=(a.text, symbol, b.text))


def prefix(symbol: str, a: Expr) -> Expr:
    """`-a`, `!a` or `(type)a`; two signs are kept apart, since `--a` means something else."""
    text = f"({a.text})" if a.text.startswith("-") else a.at(UNARY)
    return made(symbol + text, UNARY, a)


def call(name: str, *arguments: Expr, ctype: str = "") -> Expr:
    """`name(arguments)`."""
    return made(f"{name}({', '.join(a.typed(ctype) for a in arguments)})", ATOM, *arguments)


def choice(condition: Expr, a: Expr, b: Expr, ctype: str = "") -> Expr:
    """`condition ? a : b`."""
    if a.literal and b.literal:
        a, b = wide(a, ctype), wide(b, ctype)
    return made(f"{condition.at(OR)} ? {a.at(OR)} : {b.at(TERNARY)}", TERNARY, condition, a, b)


def integer(value: int, ctype: str) -> Expr:
    """An integer; the smallest of a type has no literal in C, where the minus is an operator."""
    if value == SMALLEST[ctype]:
        return infix(Expr(f"{value + 1}{SUFFIX[ctype]}", UNARY), "-", SUM, Expr("1"))
    return Expr(str(value), ATOM if value >= 0 else UNARY, literal=True)


SPECIAL = {
    "float": ("__int_as_float(0x7f800000)", "__int_as_float(0x7fc00000)"),
    "double": (
        "__longlong_as_double(0x7ff0000000000000LL)",
        "__longlong_as_double(0x7ff8000000000000LL)",
    ),
}


def floating(value: float, ctype: str) -> Expr:
    """A short decimal literal that C reads back as the same number of that type."""
    if ctype == "float":
        value = as_single(value)
    if math.isnan(value):
        return Expr(SPECIAL[ctype][1])
    if math.copysign(1.0, value) < 0:
        return prefix("-", floating(-value, ctype))
    if math.isinf(value):
        return Expr(SPECIAL[ctype][0])
    return Expr(f"{shortest_single(value)}f" if ctype == "float" else repr(value))


def shortest_single(value: float) -> str:
    """The text of a finite number of single precision, in the digits that tell it from others.

    Nine are enough for each. The text has a point or an exponent, as any float of Python.
    """
    near = (float(f"{value:.{digits}g}") for digits in range(1, 10))
    return repr(next(x for x in near if _reads_as(x, value)))


def _reads_as(x: float, value: float) -> bool:
    """True if C reads the text of `x` as `value`, and so it would a text next to it.

    C rounds once what is rounded twice here: by less than half a step of double precision, on the
    way to `x`. Where both neighbours of `x` round alike, that makes no difference.
    """
    return as_single(math.nextafter(x, 0)) == value == as_single(math.nextafter(x, math.inf))


def as_single(value: float) -> float:
    """The nearest number of single precision, infinite for numbers that exceed them all."""
    found: float = struct.unpack("f", struct.pack("f", value))[0]
    return found


KEYWORDS = """
    alignas alignof and and_eq asm auto bitand bitor bool break case catch char char8_t char16_t
    char32_t class co_await co_return co_yield compl concept const const_cast consteval constexpr
    constinit continue decltype default delete do double dynamic_cast else enum explicit export
    extern false float for friend goto if inline int long main mutable namespace new noexcept not
    not_eq nullptr operator or or_eq private protected public register reinterpret_cast requires
    restrict return short signed sizeof static static_assert static_cast struct switch template
    this thread_local throw true try typedef typeid typename union unsigned using virtual void
    volatile wchar_t while xor xor_eq
"""
CUDA = """
    threadIdx blockIdx blockDim gridDim warpSize dim3 uint3 half half2 clock clock64 printf malloc
    free memcpy memset assert min max umin umax llmin llmax ullmin ullmax mul24 umul24 mulhi
    umulhi mul64hi saturate rsqrt rsqrtf sincos sincosf sincospi sincospif
    floor_div ceil_div maximum minimum maximumf minimumf power powerf
    tadc linux unix i386 assert NULL
"""
MATH = """
    abs labs llabs acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh cospi
    cyl_bessel_i0 cyl_bessel_i1 erf erfc erfcinv erfcx erfinv exp exp10 exp2 expm1 fabs fdim
    fdivide floor fma fmax fmin fmod frexp hypot ilogb isfinite isinf isnan j0 j1 jn ldexp lgamma
    llrint llround log log10 log1p log2 logb lrint lround modf nan nearbyint nextafter norm norm3d
    norm4d normcdf normcdfinv pow powi rcbrt remainder remquo rhypot rint rnorm rnorm3d rnorm4d
    round roundeven scalbln scalbn signbit sin sinh sinpi sqrt tan tanh tgamma trunc y0 y1 yn gamma
"""
RESERVED = frozenset(
    [*KEYWORDS.split(), *CUDA.split(), *MATH.split(), *(f"{m}f" for m in MATH.split())]
)


def sanitised(hint: str) -> str:
    """The nearest C name that no other meaning is attached to."""
    name = re.sub(r"[^A-Za-z0-9]+", "_", hint).strip("_") or "v"
    name = f"v{name}" if name[0].isdigit() else name
    return f"{name}_" if name in RESERVED else name


class Names:
    """The names in use at one place of a function: those of the blocks around it."""

    def __init__(self) -> None:
        self.scopes: list[set[str]] = [set()]

    def fresh(self, hint: str) -> str:
        """A name that nothing in sight has: `x`, then `x_1`, `x_2`."""
        base = name = sanitised(hint)
        number = 0
        while any(name in scope for scope in self.scopes):
            number += 1
            name = f"{base}_{number}"
        self.scopes[-1].add(name)
        return name

    def forget(self, name: str) -> None:
        """Take back the newest block's `name`, which no text has."""
        self.scopes[-1].discard(name)

    @contextmanager
    def scope(self) -> Generator[None]:
        """A block: its names are free again behind it."""
        self.scopes.append(set())
        yield
        self.scopes.pop()


def indented(lines: Sequence[str]) -> list[str]:
    """The lines of a block."""
    return [f"  {line}" for line in lines]
