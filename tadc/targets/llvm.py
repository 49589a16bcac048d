"""Scheduled programs as LLVM IR text: their functions, and what these refer to.

Text rather than the `llvm` dialect: fast-math flags, unsuffixed intrinsics and function
attributes survive in it, and `getelementptr` is what lets LLVM vectorise.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import IO

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.target import Target

from dialects.loops import CallOp
from tadc.targets.llvm_code import SHARED_CACHE, Needs, failure
from tadc.targets.llvm_functions import FunctionPrinter, has_vectors
from tadc.targets.llvm_math import vector_math_function
from tadc.targets.llvm_sections import sectioned

ATTRIBUTES = """\
attributes #0 = {{ noinline nounwind{width} }}
attributes #1 = {{ alwaysinline nounwind willreturn memory(none) }}
attributes #2 = {{ nounwind willreturn memory(none) }}
attributes #3 = {{ noinline nounwind willreturn memory(none) }}"""

NONTEMPORAL = "!0 = !{i32 1}"
"""The metadata to which stores that bypass the caches refer."""


def print_llvm(
    module: ModuleOp,
    vector_bits: int | None = None,
    scaled_exponents: bool = False,
    strips: bool = False,
    shared_cache: int | None = None,
) -> str:
    """The LLVM IR text of a scheduled program.

    LLVM makes vectors of `vector_bits` bits, by default those that it prefers for a processor; what
    is written with vectors takes the widest registers that fit.
    `scaled_exponents` is for machines that scale by powers of two in one instruction (AVX-512), and
    for these alone: the text means the same with and without. With `strips`, it also stops soon
    inside loops of which no number says that they are short. The machine's largest cache has
    `shared_cache` bytes, by default those of a server.
    """
    width = "" if vector_bits is None else f' "prefer-vector-width"="{vector_bits}"'
    needs = Needs(shared_cache=shared_cache or SHARED_CACHE)
    functions: dict[bool, list[str]] = {False: [], True: []}
    for op in module.ops:
        if isinstance(op, CallOp):
            continue  # no code of its own
        if not isinstance(op, func.FuncOp):
            raise failure(op, f"no form for {op.name} outside functions")
        functions[has_vectors(op)] += FunctionPrinter(op, needs, strips).text()
    helpers = [
        vector_math_function(name, type_, lanes, scaled_exponents, vector_bits)
        for (name, type_), lanes in needs.vector_math.items()
    ]
    declarations = "\n".join(needs.libm.values())
    metadata = NONTEMPORAL if needs.nontemporal else ""
    common = [*helpers, declarations, ATTRIBUTES.format(width=width), metadata]
    return sectioned(functions[False], functions[True], [part for part in common if part])


@dataclass(frozen=True)
class LlvmTarget(Target):
    """`tadc-opt -t llvm`: the LLVM IR text of a scheduled program."""

    name = "llvm"

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        output.write(print_llvm(module))
