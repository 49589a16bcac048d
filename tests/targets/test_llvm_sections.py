"""Texts of functions with explicit vectors and without, as the two modules that they become."""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np
import pytest

from tadc.runtime.compilation import compile_objects
from tadc.runtime.cpu import CpuModule
from tadc.runtime.llvm_compiler import optimized_ir
from tadc.runtime.llvm_library import llvm
from tadc.targets import llvm as llvm_text
from tadc.targets.llvm import LlvmPrinter, functions_of, print_llvm
from tadc.targets.llvm_sections import by_passes
from tests.targets.llvm_kernels import CompiledKernel, elementwise, parse
from tests.targets.vector_kernels import of_vectors

EXPLICIT = of_vectors("%r = math.sin %0 : V", {"y": "f32", "x": "f32"}, 8)
PLAIN = elementwise("math.sin %0 : f32", "f32", "f32", 1).replace("@y", "@z")


def text_of(*functions: str) -> str:
    return print_llvm(parse("\n".join(functions)))


@pytest.mark.parametrize(
    ("functions", "names"),
    [
        ((EXPLICIT, PLAIN), [["z"], ["y"]]),
        ((PLAIN, EXPLICIT), [["z"], ["y"]]),
        ((EXPLICIT,), [[], ["y"]]),
        ((PLAIN,), [["z"], []]),
    ],
)
def test_each_module_is_whole(functions: tuple[str, ...], names: list[list[str]]) -> None:
    text = text_of(*functions)
    texts = by_passes(text)
    assert [re.findall(r"@(\w)\.entry", part) for part in texts] == names
    for part in (text, *texts):
        with llvm().create_context() as context, llvm().parse_assembly(part, context) as module:
            module.verify()


def test_both_are_in_one_object() -> None:
    assert_computes_sines(CpuModule(text_of(EXPLICIT, PLAIN)), {"y": 1, "z": 8})


def test_several_objects_may_define_the_same_functions() -> None:
    functions = functions_of(parse("\n".join([EXPLICIT, PLAIN, PLAIN.replace("@z", "@u")])))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(llvm_text, "FULL_MODULE", {False: 1, True: 1})
        modules = [*LlvmPrinter(256).modules(functions)]
    assert ["define weak_odr <8 x float> @tadc.sin" in m for m in modules] == [False, True, True]
    assert_computes_sines(CpuModule.of_objects(compile_objects(modules)), {"y": 1, "z": 8, "u": 8})


def test_functions_that_need_passes_fill_modules_with_a_tenth_of_the_text() -> None:
    kinds = EXPLICIT, EXPLICIT.replace("@y", "@v"), PLAIN, PLAIN.replace("@z", "@u")
    functions = functions_of(parse("\n".join(kinds)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(llvm_text, "FULL_MODULE", {False: 10_000, True: 1})
        modules = [*LlvmPrinter(256).modules(functions)]
    assert [re.findall(r"@(\w)\.entry", m) for m in modules] == [["z"], ["u"], ["y", "v"]]


def assert_computes_sines(module: CpuModule, sizes: Mapping[str, int]) -> None:
    x = np.linspace(-3, 3, 8, dtype=np.float32)
    for name in sizes:
        result = np.zeros_like(x)
        CompiledKernel(module, name)(result, x, sizes[name])
        np.testing.assert_allclose(result, np.sin(x), rtol=1e-6)


def test_explicit_vectors_are_left_as_they_are() -> None:
    """LLVM's passes would find that both sums are the same."""
    lines = "%s = arith.addf %0, %0 : V  %t = arith.addf %0, %0 : V  %r = arith.mulf %s, %t : V"
    ir = optimized_ir(text_of(of_vectors(lines, {"y": "f32", "x": "f32"}, 8)))
    assert ir.count("fadd <8 x float>") == 2
