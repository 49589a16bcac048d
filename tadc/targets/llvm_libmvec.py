"""Vector forms of C library functions, where the platform's C library has them (glibc's libmvec).

LLVM's loop vectoriser replaces a scalar call by a vector one if the call names the vector
variants in an attribute and the module declares them. Whether they exist is a property of the
machine, not of the program: the runtime adds them to the text on the machine that runs it.
"""

from __future__ import annotations

import ctypes
import platform
import re
from collections.abc import Iterator, Mapping
from functools import cache

LIBRARY = "libmvec.so.1"

# Letter of the instruction set in the vector function ABI, the CPU feature it needs, its bits.
INSTRUCTION_SETS = (("b", "sse4.2", 128), ("d", "avx2", 256), ("e", "avx512f", 512))

CALL = re.compile(r"^(  %\S+ = call .*?(float|double) @([a-z]\w*)\((.*)\))$", re.MULTILINE)


@cache
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
    if library() is None:
        return text
    variants: dict[str, list[tuple[str, str]]] = {}

    def annotate(match: re.Match[str]) -> str:
        line, type_, name, arguments = match.groups()
        if name not in variants:
            count = arguments.count(",") + 1
            variants[name] = list(_variants(name, type_, count, features))
        names = ",".join(f"{vector}({vector})" for vector, _ in variants[name])
        return f'{line} "vector-function-abi-variant"="{names}"' if names else line

    text = CALL.sub(annotate, text)
    found = [variant for several in variants.values() for variant in several]
    return text + _declarations(found) if found else text


def _variants(
    name: str, type_: str, arguments: int, features: Mapping[str, bool]
) -> Iterator[tuple[str, str]]:
    for letter, feature, bits in INSTRUCTION_SETS:
        lanes = bits // (32 if type_ == "float" else 64)
        vector = f"_ZGV{letter}N{lanes}{'v' * arguments}_{name}"
        if features.get(feature) and hasattr(library(), vector):
            lanes_type = f"<{lanes} x {type_}>"
            operands = ", ".join([lanes_type] * arguments)
            yield vector, f"declare {lanes_type} @{vector}({operands}) #2"


def _declarations(variants: list[tuple[str, str]]) -> str:
    """Declarations, held in the module until the vectoriser looks for them."""
    used = ", ".join(f"ptr @{name}" for name, _ in variants)
    keep = f"@llvm.compiler.used = appending global [{len(variants)} x ptr] [{used}]"
    keep += ', section "llvm.metadata"'
    return "\n".join(["", *(declaration for _, declaration in variants), keep, ""])
