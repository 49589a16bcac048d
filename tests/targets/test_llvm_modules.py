"""Programs as several modules of LLVM IR, each with all that its functions refer to."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

import tadc
from tadc.runtime.compiled import Compiled
from tadc.runtime.llvm_library import llvm
from tadc.targets import llvm as printing
from tadc.targets.llvm import LlvmPrinter, functions_of
from tadc.targets.llvm_sections import by_passes
from tests.support.campaign import seeds
from tests.support.derivations import random_case
from tests.support.workloads import WORKLOADS
from tests.targets.llvm_kernels import functions_in

PRINTER = LlvmPrinter(512, largest={"N": 10**6})


def scheduled(source: str) -> ModuleOp:
    """The gradients of a program, for large calls."""
    return Compiled(tadc.compile(source).derivative().program, "cpu").code().module


def assert_whole(modules: Sequence[str], functions: Sequence[FuncOp]) -> None:
    """The modules are good ones for LLVM, of one kind of functions each, and have all of them."""
    assert functions_in(modules) == functions_in([PRINTER.text(functions)])
    for function in functions:
        whole = "\n".join(modules)
        for part in ("entry", "extent", "grain", "supersteps"):
            assert len(re.findall(f"@{function.sym_name.data}[.]{part}(?:_of)?[ (]", whole)) == 1
    for text in modules:
        assert "" in by_passes(text)
        with llvm().create_context() as context, llvm().parse_assembly(text, context) as module:
            module.verify()


@pytest.mark.parametrize("full", [1, 3000])
@pytest.mark.parametrize("seed", seeds(8, of=80, start=900))
def test_modules_of_random_programs(seed: int, full: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(printing, "FULL_MODULE", {False: full, True: full})
    source = random_case(seed, kinks=True, reductions=True, value_conditions=True).source
    functions = [*functions_of(scheduled(source))]
    modules = [*PRINTER.modules(functions)]
    assert_whole(modules, functions)
    assert len(modules) == len(functions) or full > 1


@pytest.mark.parametrize("name", WORKLOADS)
def test_modules_of_larger_programs(name: str) -> None:
    functions = [*functions_of(scheduled(WORKLOADS[name][0]))]
    assert_whole([*PRINTER.modules(functions)], functions)


def test_a_module_comes_before_the_next_functions_are_made(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(printing, "FULL_MODULE", {False: 1, True: 1})
    made: list[str] = []

    def functions():
        for function in functions_of(scheduled(WORKLOADS["kernel sum"][0])):
            made.append(function.sym_name.data)
            yield function

    for text in PRINTER.modules(functions()):
        assert f"@{made[-1]}.entry" in text
    assert len(made) > 1
