"""Vector forms of C library functions, where the platform's C library has them (glibc's libmvec).

LLVM's loop vectoriser replaces a scalar call by a vector one if the call names the vector
variants in an attribute and the module declares them. Whether they exist is a property of the
machine, not of the program: the runtime adds them to the text on the machine that runs it. There,
functions of explicit vectors, which `llvm_ops` prints with a call for each lane, call them, too.
"""

from __future__ import annotations

import ctypes
import platform
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from tadc.once import once
from tadc.targets.llvm_types import vector_of

LIBRARY = "libmvec.so.1"

# Letter of the instruction set in the vector function ABI, the CPU feature it needs, its bits.
INSTRUCTION_SETS = (("b", "sse4.2", 128), ("d", "avx2", 256), ("e", "avx512f", 512))

BY_LANES = re.compile(
    r"^(define internal <(\d+) x (float|double)> @tadc\.([a-z]\w*)\.v\w+\((.*)\) #3 \{)\n"
    r"(?:  .*\n)+?\}$",
    re.MULTILINE,
)
"""A function of vectors that calls one of the C library for each lane, and may round otherwise."""

CALL = re.compile(r"^(  %\S+ = call .*?(float|double) @([a-z]\w*)\((.*)\))$", re.MULTILINE)


@once
def library() -> ctypes.CDLL | None:
    """libmvec, or None on other platforms."""
    if platform.machine() not in ("x86_64", "AMD64"):
        return None
    try:
        return ctypes.CDLL(LIBRARY)
    except OSError:
        return None


def with_vector_variants(text: str, features: Mapping[str, bool]) -> str:
    """The text, its calls of C library functions annotated with the variants that exist here."""
    if "\ndeclare " not in text or library() is None:
        return text  # as mostly: it calls no C library
    variants: dict[str, list[Variant]] = {}

    def of(name: str, type_: str, arguments: str) -> list[Variant]:
        if name not in variants:
            variants[name] = list(_variants(name, type_, arguments.count(",") + 1, features))
        return variants[name]

    def call_in_vectors(match: re.Match[str]) -> str:
        header, lanes, type_, name, parameters = match.groups()
        fitting = [v for v in of(name, type_, parameters) if v.lanes <= int(lanes)]
        if not fitting:
            return match[0]
        return "\n".join([header, *_calls(fitting[-1], int(lanes), parameters.split(", ")), "}"])

    def annotate(match: re.Match[str]) -> str:
        line, type_, name, arguments = match.groups()
        names = ",".join(f"{v.name}({v.name})" for v in of(name, type_, arguments))
        return f'{line} "vector-function-abi-variant"="{names}"' if names else line

    text = CALL.sub(annotate, BY_LANES.sub(call_in_vectors, text))
    found = [variant for several in variants.values() for variant in several]
    return text + _declarations(found) if found else text


class Variant(NamedTuple):
    """A vector form of a function, of so many lanes, and the type of these."""

    name: str
    lanes: int
    element: str
    arguments: int

    @property
    def type(self) -> str:
        return vector_of(self.lanes, self.element)

    @property
    def declaration(self) -> str:
        operands = ", ".join([self.type] * self.arguments)
        return f"declare {self.type} @{self.name}({operands}) #2"


def _variants(
    name: str, type_: str, arguments: int, features: Mapping[str, bool]
) -> Iterator[Variant]:
    """Vector forms that this machine's library has, from the narrowest to the widest."""
    for letter, feature, bits in INSTRUCTION_SETS:
        lanes = bits // (32 if type_ == "float" else 64)
        vector = f"_ZGV{letter}N{lanes}{'v' * arguments}_{name}"
        if features.get(feature) and hasattr(library(), vector):
            yield Variant(vector, lanes, type_, arguments)


def _calls(variant: Variant, lanes: int, parameters: Sequence[str]) -> Iterator[str]:
    """The body of a function of more lanes: its parts, one after another, joined in pairs."""
    parts: list[str] = []
    for first in range(0, lanes, variant.lanes):
        positions = range(first, first + variant.lanes)
        arguments: list[str] = []
        for i, parameter in enumerate(parameters):
            type_, _ = parameter.rsplit(" ", 1)
            name = f"%a{first}.{i}"
            yield f"  {name} = shufflevector {parameter}, {type_} poison, {_mask(positions)}"
            arguments.append(f"{variant.type} {name}")
        parts.append(f"%y{first}")
        yield f"  {parts[-1]} = call {variant.type} @{variant.name}({', '.join(arguments)})"
    wide = variant.lanes
    while len(parts) > 1:
        type_, wide = vector_of(wide, variant.element), 2 * wide
        pairs = list(zip(parts[::2], parts[1::2], strict=True))
        parts = [f"%y{wide}.{i}" for i in range(len(pairs))]
        for joined, (a, b) in zip(parts, pairs, strict=True):
            yield f"  {joined} = shufflevector {type_} {a}, {type_} {b}, {_mask(range(wide))}"
    yield f"  ret {vector_of(lanes, variant.element)} {parts[0]}"


def _mask(positions: Sequence[int]) -> str:
    return f"<{len(positions)} x i32> <{', '.join(f'i32 {p}' for p in positions)}>"


def _declarations(variants: Sequence[Variant]) -> str:
    """Declarations, held in the module until the vectoriser looks for them."""
    used = ", ".join(f"ptr @{variant.name}" for variant in variants)
    keep = f"@llvm.compiler.used = appending global [{len(variants)} x ptr] [{used}]"
    keep += ', section "llvm.metadata"'
    return "\n".join(["", *(variant.declaration for variant in variants), keep, ""])
