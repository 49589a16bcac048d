"""The parts of LLVM IR text: types, literals, fresh names, the body of a function."""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, cast

from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    Float32Type,
    Float64Type,
    FloatAttr,
    FloatData,
    IndexType,
    IntAttr,
    IntegerAttr,
    IntegerType,
    MemRefType,
    VectorType,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.utils.exceptions import PassFailedException

from tadc.dialects.loops import LANES
from tadc.passes.rewriting.failure import PassFailure
from tadc.targets.llvm_types import lanes_and_element, splat, vector_of
from tadc.targets.trip_counts import TripCounts


def failure(op: Operation, message: str) -> PassFailure:
    """The error for something that has no LLVM form, with the place it came from."""
    return PassFailure(op.location, f"llvm: {message}")


LLVM_TYPES: dict[type[Attribute], str] = {
    Float32Type: "float",
    Float64Type: "double",
    IndexType: "i64",
    MemRefType: "ptr",
}
"""Types by their kind alone; `index` is 64 bits wide, as all linear indices are."""


def llvm_type(kind: Attribute) -> str:
    """The type of a value; raises `PassFailedException` where there is none."""
    return LLVM_TYPES.get(type(kind)) or _type_of_width(kind)


@lru_cache
def _type_of_width(kind: Attribute) -> str:
    match kind:
        case IntegerType():
            return f"i{kind.width.data}"
        case VectorType() if kind.get_shape() in LANES and not any(kind.get_scalable_dims()):
            return vector_of(kind.get_shape()[0], llvm_type(kind.element_type))
        case _:
            raise PassFailedException(f"llvm: no type for {kind}")


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
            return number_literal(value, llvm_type(cast(Attribute, type_)))
        case FloatAttr(value=FloatData(data=value), type=type_):
            return number_literal(value, llvm_type(cast(Attribute, type_)))
        case DenseIntOrFPElementsAttr(type=VectorType() as type_):
            return _vector_literal(list(attr.iter_values()), llvm_type(type_))
        case _:
            raise PassFailedException(f"llvm: no literal for {attr}")


def number_literal(value: Any, type: str) -> str:
    """The text of a number, or of a truth value."""
    if type in ("float", "double"):
        return float_literal(value, type)
    return ("true" if value else "false") if type == "i1" else str(value)


def _vector_literal(values: Sequence[Any], type: str) -> str:
    _, element = lanes_and_element(type)
    texts = [number_literal(value, element) for value in values]
    if len(set(texts)) == 1:
        return splat(texts[0], type)
    return f"<{', '.join(f'{element} {text}' for text in texts)}>"


def symbol(name: str) -> str:
    """`@name`, quoted where LLVM needs it."""
    return f"@{name}" if re.fullmatch(r"[A-Za-z$._][\w$.]*", name) else f'@"{name}"'


SHARED_CACHE = 96 << 20
"""The bytes of the largest cache of a server, where nothing is known of the machine."""


@dataclass
class Needs:
    """Functions and metadata that the bodies refer to, so that the module must have them."""

    vector_math: dict[tuple[str, str], set[int]] = field(
        default_factory=dict[tuple[str, str], set[int]]
    )
    """The numbers of lanes in which a function of a type is called."""
    libm: dict[str, str] = field(default_factory=dict[str, str])
    shared_cache: int = SHARED_CACHE
    """The bytes of the largest cache of the machine."""
    fused: bool = False
    """True for machines that multiply and add in one instruction."""
    nontemporal: bool = False
    """True if a store bypasses the caches, which an entry of metadata says."""

    def add(self, other: Needs) -> None:
        """Need what other bodies refer to, too."""
        for function, lanes in other.vector_math.items():
            self.vector_math.setdefault(function, set()).update(lanes)
        self.libm.update(other.libm)
        self.nontemporal |= other.nontemporal


@lru_cache
def _name_like(hint: str) -> str:
    """A name as LLVM has them."""
    base = re.sub(r"[^\w.]", ".", hint)
    return f"v{base}" if base[0].isdigit() else base


@dataclass
class Body:
    """The lines of one function, with the LLVM name of every value seen so far."""

    needs: Needs
    lines: list[str] = field(default_factory=list[str])
    allocas: list[str] = field(default_factory=list[str])
    names: dict[SSAValue, str] = field(default_factory=dict[SSAValue, str])
    types: dict[int, str] = field(default_factory=dict[int, str])
    """The LLVM types of values, by the identities of the types: quicker than by their hashes."""
    elements: dict[int, str] = field(default_factory=dict[int, str])
    """The LLVM types of what memrefs hold, likewise."""
    taken: dict[str, int] = field(default_factory=dict[str, int])
    counts: TripCounts = field(default_factory=TripCounts)
    block: str = "entry"
    stops: bool = False
    """True if a branch goes to the block `stopped`."""
    streams: bool = False
    """True if a store bypasses the caches."""

    def fresh(self, hint: str | None) -> str:
        """A name nobody has, made from the hint; values and blocks share one table in LLVM."""
        base = _name_like(hint or "v")
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
        kind = value.type
        found = self.types.get(id(kind))
        if found is None:
            found = self.types[id(kind)] = llvm_type(kind)
        return found

    def element(self, buffer: SSAValue) -> str:
        """The type of what a memref holds."""
        kind = cast(MemRefType[Attribute], buffer.type)
        found = self.elements.get(id(kind))
        if found is None:
            found = self.elements[id(kind)] = llvm_type(kind.element_type)
        return found

    def typed(self, value: SSAValue) -> str:
        kind = self.types.get(id(value.type)) or self.type(value)
        return f"{kind} {self.names[value]}"

    def name(self, value: SSAValue) -> str:
        """A fresh name for a value, kept."""
        found = self.names[value] = f"%{self.fresh(value.name_hint)}"
        return found

    def define(self, result: SSAValue, right: str) -> None:
        """`%result = right`"""
        self.lines.append(f"  {self.name(result)} = {right}")

    def temporary(self, hint: str, right: str) -> str:
        """`%hint = right` for a value that the scheduled program does not have."""
        name = f"%{self.fresh(hint)}"
        self.lines.append(f"  {name} = {right}")
        return name
