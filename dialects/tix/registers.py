"""Registers of the processor that a program is made for: how many, and how many a vector takes.

    tix.program @f registers {count = 16, of_vector = 2} (...)     AVX2: 16 of 32 bytes

Loops count with vectors of 64 bytes. Where registers are narrower, a vector takes several: less
stays in registers, and an operation on vectors is several instructions.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import cast

from xdsl.dialects.builtin import DictionaryAttr, IntAttr
from xdsl.parser import Parser
from xdsl.printer import Printer


@dataclass(frozen=True)
class Registers:
    """The vector registers of a processor; by default those of AVX-512."""

    count: int = 32
    of_vector: int = 1
    """The registers that a vector of 64 bytes takes."""

    @property
    def vectors(self) -> int:
        """The vectors of 64 bytes that all registers hold."""
        return self.count // self.of_vector

    def lanes(self, of_vector: int) -> int:
        """The elements in a register, where a vector of 64 bytes has so many."""
        return max(1, of_vector // self.of_vector)


AVX_512 = Registers()
"""The registers of a program that does not say for which it is made."""


def registers_property(registers: Registers) -> DictionaryAttr | None:
    """The property of a program that is made for these registers; none for those of AVX-512."""
    if registers == AVX_512:
        return None
    return DictionaryAttr({name: IntAttr(n) for name, n in asdict(registers).items()})


def registers_from(property: DictionaryAttr | None) -> Registers:
    """The registers of which a property of a program tells."""
    if property is None:
        return AVX_512
    numbers = cast("dict[str, IntAttr[int]]", property.data)
    return Registers(**{name: n.data for name, n in numbers.items()})


def parse_optional_registers(parser: Parser) -> Registers:
    """`registers {count = 16, of_vector = 2}`, or nothing."""
    if not parser.parse_optional_keyword("registers"):
        return AVX_512
    parser.parse_punctuation("{")
    count = _parse_number(parser, "count")
    parser.parse_punctuation(",")
    of_vector = _parse_number(parser, "of_vector")
    parser.parse_punctuation("}")
    return Registers(count, of_vector)


def _parse_number(parser: Parser, name: str) -> int:
    parser.parse_keyword(name)
    parser.parse_punctuation("=")
    return parser.parse_integer(allow_boolean=False, allow_negative=False)


def print_registers(printer: Printer, registers: Registers) -> None:
    """The registers in the text of a program; nothing for those of AVX-512."""
    if registers != AVX_512:
        numbers = ", ".join(f"{name} = {n}" for name, n in asdict(registers).items())
        printer.print_string(f" registers {{{numbers}}}")
