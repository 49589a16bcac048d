"""Instructions of a function of real numbers, and the numbers that describe a format."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from tadc.targets.llvm_code import float_literal, overload


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


@dataclass
class Expression:
    """Builds the instructions of one function of `%x`; methods return the names of results.

    `scaled_exponents` says that the machine scales by a power of two in one instruction, rounding
    once, as AVX-512 does (`vscalefps`): `llvm.ldexp` is a call of the C library elsewhere.
    """

    type: str
    scaled_exponents: bool = False
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

    def nearest(self, a: str, factor: float) -> tuple[str, str]:
        """`factor a` rounded to an integer, as a number and, plus `magic_bits`, as bits.

        Adding `magic` rounds, and what it adds to the integer is exact to take away.
        """
        shifted = self.fma(a, factor, self.format.magic)
        return self.sub(shifted, self.format.magic), self.bits(shifted)

    def ldexp(self, a: str, exponent: str) -> str:
        """`a 2**exponent`, where `scaled_exponents` holds."""
        integer = self.format.integer
        if integer != "i32":
            exponent = self._emit(f"trunc {integer} {exponent} to i32")
        callee = f"@llvm.ldexp.{overload(self.type)}.i32"
        return self._emit(f"call {self.type} {callee}({self.type} {a}, i32 {exponent})")

    def horner(self, x: str, coefficients: Sequence[float]) -> str:
        """`c[0] + c[1] x + c[2] x**2 + ...`"""
        result: str | float = coefficients[-1]
        for coefficient in reversed(coefficients[:-1]):
            result = self.fma(result, x, coefficient)
        assert isinstance(result, str)
        return result

    def sum_error(self, a: str, b: float, total: str) -> str:
        """`a + b - total`, exactly: total is the rounded sum, whichever of the two is larger."""
        back = self.sub(total, a)
        return self.add(self.sub(a, self.sub(total, back)), self.sub(b, back))
