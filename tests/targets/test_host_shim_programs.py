"""CUDA C of the derivatives of a thousand random programs, run on the CPU."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tadc.runtime import nvrtc
from tests.host_shim import host_shim
from tests.host_shim.scheduled import has_nvrtc
from tests.support.derivations import assert_close, check_together, interpret, random_case
from tests.support.gradient_kernels import KNOWN, GradientKernels, gradient_kernels
from tests.support.random_programs import EVERYTHING

CHUNK = 100

EVERY = 10_000
"""From this seed on, programs hold all that the language has."""


def derived(seed: int) -> GradientKernels:
    if seed in KNOWN:
        return KNOWN[seed]
    case = random_case(seed) if seed < EVERY else random_case(seed, **EVERYTHING)
    derivative = case.function.derivative()
    expected = interpret(derivative.program.op, case.inputs)
    return gradient_kernels(seed, derivative, case.inputs, expected)


def text_of(programs: Sequence[GradientKernels]) -> str:
    text = "\n".join(p.text for p in programs)
    assert "atomic" not in text
    return text


def run_together(seeds: Sequence[int]) -> list[str]:
    programs = [derived(seed) for seed in seeds]
    kernels = host_shim.load(text_of(programs))
    failures: list[str] = []
    for seed, program in zip(seeds, programs, strict=True):
        try:
            assert_close(program.run(kernels), program.expected, 1e-9, f"seed {seed}")
        except (AssertionError, RuntimeError) as error:
            failures.append(f"{error}\n{random_case(seed).source}{program.text}")
    return failures


def compile_together(seeds: Sequence[int]) -> list[str]:
    nvrtc.compile(text_of([derived(seed) for seed in seeds]), arch="sm_90")
    return []


@host_shim.needs_compiler
@pytest.mark.parametrize("first", [*range(0, 1000, CHUNK), EVERY])
def test_derivatives_on_the_cpu(first: int) -> None:
    check_together(run_together, range(first, first + CHUNK))


@pytest.mark.skipif(not has_nvrtc(), reason="compiling CUDA C needs nvidia-cuda-nvrtc")
@pytest.mark.parametrize("first", [0, 500, EVERY])
def test_derivatives_compile_for_a_gpu(first: int) -> None:
    check_together(compile_together, range(first, first + 50))
