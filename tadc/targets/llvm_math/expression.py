"""Instructions of a function of real numbers, and the numbers that describe a format."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from tadc.targets.llvm_code import float_literal
from tadc.targets.llvm_types import overload


@dataclass(frozen=True)
class Format:
    """Numbers of a floating-point format that the functions need."""

    integer: str
    mantissa: int  # stored bits of the mantissa
    bias: int
    ln2: tuple[float, float]  # the nearest number, and the nearest to what is left

    @property
    def magic(self) -> float:
        """Adding it rounds to an integer, which then stands in the low bits."""
        return 1.5 * 2.0**self.mantissa

    @property
    def magic_bits(self) -> int:
        return ((self.bias + self.mantissa) << self.mantissa) + (1 << (self.mantissa - 1))

    @property
    def least_normal(self) -> float:
        return 2.0 ** (1 - self.bias)


FORMATS = {
    "float": Format("i32", 23, 127, (0.693147182464599609375, -1.904654323148236e-09)),
    "double": Format("i64", 52, 1023, (0.6931471805599453, 2.3190468138462996e-17)),
}

SCALES = {("float", 16): ("ps.512", "i16"), ("double", 8): ("pd.512", "i8")}
"""The vectors that AVX-512 scales by vectors of numbers: the end of the name, and a mask's type."""

LANES = {"float": (4, 8, 16), "double": (2, 4, 8)}
"""The vectors that LLVM's vectoriser may choose, from 128 to 512 bits."""


def lanes_of(type: str, vector_bits: int | None = None) -> tuple[int, ...]:
    """The numbers of lanes that need a form: of vectors of so many bits and of half as many.

    Loops over both types have the lanes of `double`. Without a width, all numbers.
    """
    if vector_bits is None:
        return LANES[type]
    widest = vector_bits // {"float": 32, "double": 64}[type]
    return tuple(lanes for lanes in (widest // 2, widest) if lanes > 1)


@dataclass
class Expression:
    """Builds the instructions of a function; methods return the names of results.

    `type` is `float` or `double`; with `lanes`, all values are vectors of so many elements.

    `scaled_exponents` says that the machine scales by a power of two in one instruction, rounding
    once, as AVX-512 does (`vscalefps`): `llvm.ldexp` is a call of the C library elsewhere. Whole
    registers are scaled by numbers, which `llvm.ldexp` would make of integers first.
    """

    type: str
    lanes: int = 1
    scaled_exponents: bool = False
    lines: list[str] = field(default_factory=list[str])

    @property
    def format(self) -> Format:
        return FORMATS[self.type]

    def of_lanes(self, type: str) -> str:
        """The type of a value with an element of this type in each lane."""
        return type if self.lanes == 1 else f"<{self.lanes} x {type}>"

    @property
    def value_type(self) -> str:
        return self.of_lanes(self.type)

    @property
    def integer_type(self) -> str:
        return self.of_lanes(self.format.integer)

    @property
    def suffix(self) -> str:
        """The name of the type of a value in names of functions: `f32`, `v4f64`."""
        return self._suffix(self.type)

    def _suffix(self, type: str) -> str:
        return overload(type) if self.lanes == 1 else f"v{self.lanes}{overload(type)}"

    def _splat(self, type: str, literal: str) -> str:
        return literal if self.lanes == 1 else f"splat ({type} {literal})"

    def _emit(self, right: str) -> str:
        name = f"%t{len(self.lines)}"
        self.lines.append(f"  {name} = {right}")
        return name

    def _operand(self, value: str | float) -> str:
        if isinstance(value, str):
            return value
        return self._splat(self.type, float_literal(value, self.type))

    def _binary(self, opcode: str, a: str | float, b: str | float) -> str:
        return self._emit(f"{opcode} {self.value_type} {self._operand(a)}, {self._operand(b)}")

    def add(self, a: str | float, b: str | float) -> str:
        return self._binary("fadd", a, b)

    def sub(self, a: str | float, b: str | float) -> str:
        return self._binary("fsub", a, b)

    def mul(self, a: str | float, b: str | float) -> str:
        return self._binary("fmul", a, b)

    def div(self, a: str | float, b: str | float) -> str:
        return self._binary("fdiv", a, b)

    def _intrinsic(self, name: str, *arguments: str | float) -> str:
        typed = ", ".join(f"{self.value_type} {self._operand(a)}" for a in arguments)
        callee = f"@llvm.{name}.{self._suffix(self.type)}"
        return self._emit(f"call {self.value_type} {callee}({typed})")

    def fma(self, a: str | float, b: str | float, c: str | float) -> str:
        return self._intrinsic("fma", a, b, c)

    def negative(self, a: str) -> str:
        return self._emit(f"fneg {self.value_type} {a}")

    def absolute(self, a: str) -> str:
        return self._intrinsic("fabs", a)

    def copysign(self, a: str, sign: str) -> str:
        return self._intrinsic("copysign", a, sign)

    def floor(self, a: str) -> str:
        return self._intrinsic("floor", a)

    def widened(self, a: str) -> str:
        """A `float` as one of these `double`s."""
        return self._emit(f"fpext {self.of_lanes('float')} {a} to {self.value_type}")

    def narrowed(self, a: str) -> str:
        """One of these `double`s, rounded to a `float`."""
        return self._emit(f"fptrunc {self.value_type} {a} to {self.of_lanes('float')}")

    def both(self, a: str, b: str) -> str:
        return self._emit(f"and {self.of_lanes('i1')} {a}, {b}")

    def either(self, a: str, b: str) -> str:
        return self._emit(f"or {self.of_lanes('i1')} {a}, {b}")

    def compare(self, predicate: str, a: str | float, b: str | float) -> str:
        return self._binary(f"fcmp {predicate}", a, b)

    def select(self, condition: str, a: str | float, b: str | float) -> str:
        a, b = self._operand(a), self._operand(b)
        bits, type_ = self.of_lanes("i1"), self.value_type
        return self._emit(f"select {bits} {condition}, {type_} {a}, {type_} {b}")

    def at_least(self, a: str, low: float) -> str:
        """NaN stays: in this order of the operands it is one instruction of x86."""
        return self.select(self.compare("olt", a, low), low, a)

    def at_most(self, a: str, high: float) -> str:
        return self.select(self.compare("ogt", a, high), high, a)

    def bits(self, a: str) -> str:
        return self._emit(f"bitcast {self.value_type} {a} to {self.integer_type}")

    def from_bits(self, a: str) -> str:
        return self._emit(f"bitcast {self.integer_type} {a} to {self.value_type}")

    def integer(self, opcode: str, a: str, b: str | int) -> str:
        right = b if isinstance(b, str) else self._splat(self.format.integer, str(b))
        return self._emit(f"{opcode} {self.integer_type} {a}, {right}")

    def nearest(self, a: str, factor: float) -> tuple[str, str]:
        """`factor a` rounded to an integer, as a number and, plus `magic_bits`, as bits.

        Adding `magic` rounds, and what it adds to the integer is exact to take away.
        """
        shifted = self.fma(a, factor, self.format.magic)
        return self.sub(shifted, self.format.magic), self.bits(shifted)

    @property
    def scales_by_numbers(self) -> bool:
        """True if `scale` is one instruction."""
        return self.scaled_exponents and (self.type, self.lanes) in SCALES

    def scale(self, a: str, exponent: str) -> str:
        """`a 2**exponent` for an exponent that is a whole number, where `scales_by_numbers`."""
        vector = self.value_type
        suffix, mask = SCALES[self.type, self.lanes]
        arguments = f"{vector} {a}, {vector} {exponent}, {vector} zeroinitializer, {mask} -1, i32 4"
        return self._emit(f"call {vector} @llvm.x86.avx512.mask.scalef.{suffix}({arguments})")

    def ldexp(self, a: str, exponent: str) -> str:
        """`a 2**exponent`, where `scaled_exponents` holds."""
        short = self.of_lanes("i32")
        if self.integer_type != short:
            exponent = self._emit(f"trunc {self.integer_type} {exponent} to {short}")
        callee = f"@llvm.ldexp.{self._suffix(self.type)}.{self._suffix('i32')}"
        return self._emit(
            f"call {self.value_type} {callee}({self.value_type} {a}, {short} {exponent})"
        )

    def horner(self, x: str, coefficients: Sequence[float]) -> str:
        """`c[0] + c[1] x + c[2] x**2 + ...`"""
        result: str | float = coefficients[-1]
        for coefficient in reversed(coefficients[:-1]):
            result = self.fma(result, x, coefficient)
        assert isinstance(result, str)
        return result

    def halves(self, x: str, coefficients: Sequence[float]) -> str:
        """A polynomial by even and odd powers, a chain of half the length, for long functions.

        In these the processor waits for results: what it can look ahead is less than a turn of
        the loop.
        """
        square = self.mul(x, x)
        even = self.horner(square, coefficients[::2])
        return self.fma(self.horner(square, coefficients[1::2]), x, even)

    def sum_error(self, a: str, b: float, total: str) -> str:
        """`a + b - total`, exactly: total is the rounded sum, whichever of the two is larger."""
        back = self.sub(total, a)
        return self.add(self.sub(a, self.sub(total, back)), self.sub(b, back))
