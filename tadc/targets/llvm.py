"""Scheduled programs as LLVM IR text: their functions, and what these refer to.

Text rather than the `llvm` dialect: fast-math flags, unsuffixed intrinsics and function
attributes survive in it, and `getelementptr` is what lets LLVM vectorise.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import IO

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.target import Target

from tadc.dialects.loops import CallOp
from tadc.targets.llvm_code import SHARED_CACHE, Needs, failure
from tadc.targets.llvm_functions import FunctionPrinter, has_vectors
from tadc.targets.llvm_math import vector_math_function
from tadc.targets.llvm_sections import effort, sectioned

ATTRIBUTES = """\
attributes #0 = {{ noinline nounwind{width} }}
attributes #1 = {{ alwaysinline nounwind willreturn memory(none) }}
attributes #2 = {{ nounwind willreturn memory(none) }}
attributes #3 = {{ noinline nounwind willreturn memory(none) }}"""

NONTEMPORAL = "!0 = !{i32 1}"
"""The metadata to which stores that bypass the caches refer."""


FULL_MODULE = {False: 2_000, True: 160_000}
"""The effort (`llvm_sections`) of a module that takes no further functions, also where LLVM
compiles quickly.

It takes 5 to 40 ms for so much, 2 ms of which every module costs. The first one is full early, so
that there is work for other processes while later functions are planned; a function that needs
LLVM's passes fills one.
"""


@dataclass(frozen=True)
class Printed:
    """The text of a function."""

    text: str
    needs: Needs
    """All that the text refers to."""
    explicit: bool
    """True if it has explicit vectors: LLVM's passes find nothing there."""

    @property
    def effort(self) -> int:
        """About how long LLVM takes for it."""
        return effort(len(self.text), self.explicit)


@dataclass(frozen=True)
class LlvmPrinter:
    """Prints scheduled functions for a machine; by default, text that is right for all of them."""

    vector_bits: int | None = None
    """The bits of vectors that LLVM makes, by default those that it prefers for a processor; what
    is written with vectors takes the widest registers that fit."""
    scaled_exponents: bool = False
    """True for machines that scale by powers of two in one instruction (AVX-512), and for these
    alone: the text means the same with and without."""
    largest: Mapping[str, int] = field(default_factory=dict[str, int])
    """The largest values of sizes by name, where they are known: long loops over them stop soon."""
    shared_cache: int | None = None
    """The bytes of the machine's largest cache, by default those of a server."""
    fused: bool = False
    """True for machines that multiply and add in one instruction: quotients by constants are
    products there, with the same bits."""

    def text(self, functions: Iterable[func.FuncOp]) -> str:
        """One module of all functions."""
        return self._module([*map(self._printed, functions)])

    def modules(self, functions: Iterable[func.FuncOp], quick: bool = False) -> Iterator[str]:
        """Several modules, with the functions of `text`; each comes as soon as it is full.

        Functions of explicit vectors and others, which LLVM compiles in two ways, share none.
        """
        groups: dict[bool, list[Printed]] = {False: [], True: []}
        for function in map(self._printed, functions):
            group = groups[function.explicit]
            group.append(function)
            if sum(f.effort for f in group) >= FULL_MODULE[quick]:
                yield self._module(group)
                group.clear()
        yield from (self._module(group) for group in groups.values() if group)

    def _printed(self, function: func.FuncOp) -> Printed:
        needs = Needs(shared_cache=self.shared_cache or SHARED_CACHE, fused=self.fused)
        explicit = has_vectors(function)
        text = FunctionPrinter(function, needs, self.largest, explicit).text()
        return Printed(text, needs, explicit)

    def _module(self, functions: Sequence[Printed]) -> str:
        """A module of functions, with all that they refer to."""
        needs = Needs()
        for function in functions:
            needs.add(function.needs)
        plain, explicit = ([f.text for f in functions if f.explicit == e] for e in (False, True))
        return sectioned(plain, explicit, [part for part in self._common(needs) if part])

    def _common(self, needs: Needs) -> Iterator[str]:
        for (name, type_), lanes in needs.vector_math.items():
            yield vector_math_function(name, type_, lanes, self.scaled_exponents, self.vector_bits)
        yield "\n".join(needs.libm.values())
        bits = self.vector_bits
        yield ATTRIBUTES.format(width=f' "prefer-vector-width"="{bits}"' if bits else "")
        yield NONTEMPORAL if needs.nontemporal else ""


FOR_ALL_MACHINES = LlvmPrinter()


def print_llvm(module: ModuleOp, printer: LlvmPrinter = FOR_ALL_MACHINES) -> str:
    """The LLVM IR text of a scheduled program."""
    return printer.text(functions_of(module))


def functions_of(module: ModuleOp) -> Iterator[func.FuncOp]:
    """The functions of a scheduled program; raises `PassFailedException` for what is none."""
    for op in module.ops:
        if isinstance(op, func.FuncOp):
            yield op
        elif not isinstance(op, CallOp):  # which has no code of its own
            raise failure(op, f"no form for {op.name} outside functions")


@dataclass(frozen=True)
class LlvmTarget(Target):
    """`tadc-opt -t llvm`: the LLVM IR text of a scheduled program."""

    name = "llvm"

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        output.write(print_llvm(module))
