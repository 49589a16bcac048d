"""`sin` and `cos` (`tadc/targets/llvm_math/__init__.py`).

`x = m pi + r` with |r| <= pi/2 leaves one odd polynomial: `sin(x) = (-1)**m sin(r)` for integers m,
and for `m = n + 1/2`, where `-r` is computed, `cos(x) = (-1)**n sin(-r)`.

pi is the sum of three numbers of the format. x and the first product are multiples of the last
place of r (of x below 1), so that the first fma is exact, and the products of the others lose
nothing before they are added: r is as accurate as a number near 0 must be, up to `LARGEST`, where
pi needs more than three numbers. Beyond, the C library computes the value, element by element.

That is a branch, which inside a loop would keep it from becoming vectors. So these functions are
called, with a form for each number of lanes that the vectoriser may choose, and branch where any
lane is large.
"""

from __future__ import annotations

import math
from collections.abc import Sequence, Set

from tadc.targets.llvm_math.expression import Expression
from tadc.targets.llvm_types import overload

# Rounded down: with positive parts `-0.0` stays, as the sum of zeros of one sign.
PI = {
    "float": (3.141592502593994, 1.5099578831723193e-07, 1.078060505991553e-14),
    "double": (3.141592653589793, 1.224646799147353e-16, 2.1657133478438278e-32),
}

SIN = {
    # (sin(r) - r) / r**3 in r**2 on |r| <= pi/2; relative error of sin 2**-27.2
    "float": (
        *(-0.16666659712791443, 0.00833306834101677, -0.00019809666264336556),
        2.605784175102599e-06,
    ),
    # relative error 2**-61.5
    "double": (
        *(-0.16666666666666666, 0.008333333333333207, -0.00019841269841212522),
        *(2.7557319211586618e-06, -2.5052106906908104e-08, 1.6058941171297544e-10),
        *(-7.643024834577781e-13, 2.7214873599002013e-15),
    ),
}

LARGEST = {"float": 2.0**17, "double": 2.0**30}


def _sin(e: Expression, x: str) -> str:
    n, bits = e.nearest(x, 1 / math.pi)
    r = _minus_multiple_of_pi(e, x, e.negative(n))
    return _sin_of_rest(e, r, bits)


def _cos(e: Expression, x: str) -> str:
    magic = e.format.magic
    shifted = e.add(e.fma(x, 1 / math.pi, -0.5), magic)
    m = e.add(e.sub(shifted, magic), 0.5)
    r = _minus_multiple_of_pi(e, e.negative(x), m)
    return _sin_of_rest(e, r, e.bits(shifted))


def _minus_multiple_of_pi(e: Expression, x: str, m: str) -> str:
    """`x + m pi`"""
    for part in PI[e.type]:
        x = e.fma(m, part, x)
    return x


def _sin_of_rest(e: Expression, r: str, bits: str) -> str:
    """`sin(r) = r/2 + r (1/2 + r**2 P(r**2))`, its sign changed where the lowest bit is set.

    Near pi/2, where the value is 1, the bracket is small, 0.14: it takes the rounding error of
    r**2, too, which would make 2.1 units in the last place of 1.7 together with the others.
    """
    square = e.mul(r, r)
    lost = e.fma(r, r, e.negative(square))
    p = e.horner(square, SIN[e.type])
    bracket = e.fma(lost, p, e.fma(square, p, 0.5))
    y = e.fma(r, bracket, e.mul(r, 0.5))
    odd = e.integer("shl", bits, int(e.format.integer[1:]) - 1)
    # The sum that gives y loses the sign of a zero, which r has.
    return e.copysign(y, e.from_bits(e.integer("xor", e.bits(r), odd)))


def circular_function(name: str, type: str, lanes: Set[int], chosen: Sequence[int] = ()) -> str:
    """The definitions of `@tadc.sin.f32`, `@tadc.sin.v16f32` and the like, for numbers of lanes.

    A number, which is one lane, comes with the forms for vectors that LLVM may have `chosen`.
    """
    if 1 not in lanes:
        forms = (_definition(name, Expression(type, n), "internal ") for n in sorted(lanes))
        return "\n\n".join(forms)
    scalar = Expression(type)
    suffix = scalar.suffix
    # In the words of the vector function ABI.
    forms = (f"_ZGV_LLVM_N{n}v_tadc.{name}.{suffix}(tadc.{name}.v{n}{suffix})" for n in chosen)
    attribute = f' "vector-function-abi-variant"="{",".join(forms)}"'
    vectors = [_definition(name, Expression(type, n)) for n in sorted({*lanes, *chosen} - {1})]
    return "\n\n".join([_definition(name, scalar, "internal ", attribute), *vectors])


def _definition(name: str, e: Expression, linkage: str = "weak_odr ", attribute: str = "") -> str:
    """Vector forms that LLVM may choose are not internal, or they would be gone before their call.

    Modules that are linked may each define them (`weak_odr`): one definition is kept.
    """
    y = {"sin": _sin, "cos": _cos}[name](e, "%x")
    large = e.compare("ogt", e.absolute("%x"), LARGEST[e.type])
    type_ = e.value_type
    header = f"define {linkage}{type_} @tadc.{name}.{e.suffix}({type_} %x) #3{attribute} {{"
    rest = _by_library if e.lanes == 1 else _lanes_by_library
    return "\n".join([header, "entry:", *e.lines, *rest(e, name, y, large), "}"])


def _by_library(e: Expression, name: str, y: str, large: str) -> list[str]:
    type_ = e.type
    return [
        f"  br i1 {large}, label %library, label %done",
        "library:",
        f"  %exact = call {type_} @llvm.{name}.{e.suffix}({type_} %x)",
        "  br label %done",
        "done:",
        f"  %result = phi {type_} [ {y}, %entry ], [ %exact, %library ]",
        f"  ret {type_} %result",
    ]


def _lanes_by_library(e: Expression, name: str, y: str, large: str) -> list[str]:
    """A loop over the lanes, skipped unless one is large; lanes that are not keep their value."""
    type_, lanes = e.value_type, e.lanes
    return [
        f"  %any = call i1 @llvm.vector.reduce.or.v{lanes}i1(<{lanes} x i1> {large})",
        "  br i1 %any, label %lane, label %done",
        "lane:",
        "  %i = phi i32 [ 0, %entry ], [ %next, %lane ]",
        f"  %part = phi {type_} [ {y}, %entry ], [ %more, %lane ]",
        f"  %element = extractelement {type_} %x, i32 %i",
        f"  %exact = call {e.type} @llvm.{name}.{overload(e.type)}({e.type} %element)",
        f"  %more = insertelement {type_} %part, {e.type} %exact, i32 %i",
        "  %next = add nuw nsw i32 %i, 1",
        f"  %last = icmp eq i32 %next, {lanes}",
        "  br i1 %last, label %chosen, label %lane",
        "chosen:",
        f"  %mixed = select <{lanes} x i1> {large}, {type_} %more, {type_} {y}",
        "  br label %done",
        "done:",
        f"  %result = phi {type_} [ {y}, %entry ], [ %mixed, %chosen ]",
        f"  ret {type_} %result",
    ]
