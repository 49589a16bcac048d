"""The parts of LLVM IR text: types, literals, fresh names, the body of a function."""

from __future__ import annotations

import math
import re
import struct
from dataclasses import dataclass, field
from typing import cast

from xdsl.dialects.builtin import (
    Float32Type,
    Float64Type,
    FloatAttr,
    FloatData,
    IndexType,
    IntAttr,
    IntegerAttr,
    IntegerType,
    MemRefType,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.utils.exceptions import PassFailedException

from passes.rewriting.failure import PassFailure


def failure(op: Operation, message: str) -> PassFailure:
    """The error for something that has no LLVM form, with the place it came from."""
    return PassFailure(op.location, f"llvm: {message}")


def llvm_type(type: Attribute) -> str:
    """`index` is 64 bits wide, as all linear indices are."""
    match type:
        case Float32Type():
            return "float"
        case Float64Type():
            return "double"
        case IndexType():
            return "i64"
        case IntegerType():
            return f"i{type.width.data}"
        case MemRefType():
            return "ptr"
        case _:
            raise PassFailedException(f"llvm: no type for {type}")


def overload(type: str) -> str:
    """The suffix that names a type in an overloaded intrinsic: `float` is `f32`."""
    return {"float": "f32", "double": "f64"}.get(type, type)


def float_literal(value: float, type: str) -> str:
    """A constant, in decimals, which LLVM reads back exactly; infinities and NaN in hex.

    A `float` constant must be exact in 32 bits, so it is rounded here first.
    """
    if type == "float" and math.isfinite(value):
        value = _round_to_float(value)
    if not math.isfinite(value):
        return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"
    mantissa, e, exponent = repr(value).partition("e")
    return (mantissa if "." in mantissa else mantissa + ".0") + e + exponent


def _round_to_float(value: float) -> float:
    try:
        return struct.unpack("<f", struct.pack("<f", value))[0]
    except OverflowError:
        return math.copysign(math.inf, value)


def literal(attr: Attribute) -> str:
    """The text of an `arith.constant` value."""
    match attr:
        case IntegerAttr(value=IntAttr(data=value), type=type_):
            is_bit = llvm_type(cast(Attribute, type_)) == "i1"
            return ("true" if value else "false") if is_bit else str(value)
        case FloatAttr(value=FloatData(data=value), type=type_):
            return float_literal(value, llvm_type(cast(Attribute, type_)))
        case _:
            raise PassFailedException(f"llvm: no literal for {attr}")


def element_type(buffer: SSAValue) -> str:
    """The LLVM type of what a memref holds."""
    return llvm_type(cast(MemRefType[Attribute], buffer.type).element_type)


def symbol(name: str) -> str:
    """`@name`, quoted where LLVM needs it."""
    return f"@{name}" if re.fullmatch(r"[A-Za-z$._][\w$.]*", name) else f'@"{name}"'


@dataclass
class Needs:
    """Functions that the bodies call and the module must therefore define or declare."""

    vector_math: dict[tuple[str, str], None] = field(default_factory=dict[tuple[str, str], None])
    libm: dict[str, str] = field(default_factory=dict[str, str])


@dataclass
class Body:
    """The lines of one function, with the LLVM name of every value seen so far."""

    needs: Needs
    lines: list[str] = field(default_factory=list[str])
    allocas: list[str] = field(default_factory=list[str])
    names: dict[SSAValue, str] = field(default_factory=dict[SSAValue, str])
    taken: dict[str, int] = field(default_factory=dict[str, int])
    block: str = "entry"
    strips: bool = False
    """True to cut loops that no number bounds into strips."""
    stops: bool = False
    """True if a branch goes to the block `stopped`."""

    def fresh(self, hint: str | None) -> str:
        """A name nobody has, made from the hint; values and blocks share one table in LLVM."""
        base = re.sub(r"[^\w.]", ".", hint or "v")
        base = f"v{base}" if base[0].isdigit() else base
        name, count = base, self.taken.get(base, 0)
        while name in self.taken:
            count += 1
            name = f"{base}.{count}"
        self.taken[base] = count
        self.taken.setdefault(name, 0)
        return name

    def line(self, text: str) -> None:
        self.lines.append(f"  {text}")

    def start_block(self, label: str) -> None:
        self.lines.append(f"{label}:")
        self.block = label

    def value(self, value: SSAValue) -> str:
        return self.names[value]

    def type(self, value: SSAValue) -> str:
        return llvm_type(value.type)

    def typed(self, value: SSAValue) -> str:
        return f"{self.type(value)} {self.value(value)}"

    def name(self, value: SSAValue) -> str:
        """A fresh name for a value, kept."""
        self.names[value] = f"%{self.fresh(value.name_hint)}"
        return self.names[value]

    def define(self, result: SSAValue, right: str) -> None:
        """`%result = right`"""
        self.line(f"{self.name(result)} = {right}")

    def temporary(self, hint: str, right: str) -> str:
        """`%hint = right` for a value that the scheduled program does not have."""
        name = f"%{self.fresh(hint)}"
        self.line(f"{name} = {right}")
        return name
