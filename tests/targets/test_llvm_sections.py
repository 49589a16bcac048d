"""Texts of functions with explicit vectors and without, as the two modules that they become."""

from __future__ import annotations

import re

import numpy as np
import pytest

from tadc.runtime.cpu import CpuModule
from tadc.runtime.llvm_compiler import llvm, optimized_ir
from tadc.targets.llvm import print_llvm
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
        with llvm.create_context() as context, llvm.parse_assembly(part, context) as module:
            module.verify()


def test_both_are_in_one_object() -> None:
    module = CpuModule(text_of(EXPLICIT, PLAIN))
    x = np.linspace(-3, 3, 8, dtype=np.float32)
    sizes = {"y": 1, "z": 8}
    for name in sizes:
        result = np.zeros_like(x)
        CompiledKernel(module, name)(result, x, sizes[name])
        np.testing.assert_allclose(result, np.sin(x), rtol=1e-6)


def test_explicit_vectors_are_left_as_they_are() -> None:
    """LLVM's passes would find that both sums are the same."""
    lines = "%s = arith.addf %0, %0 : V  %t = arith.addf %0, %0 : V  %r = arith.mulf %s, %t : V"
    ir = optimized_ir(text_of(of_vectors(lines, {"y": "f32", "x": "f32"}, 8)))
    assert ir.count("fadd <8 x float>") == 2
