"""CUDA C of the derivatives of random programs, run on the CPU, and on a GPU where there is one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

import numpy as np
import pytest

import tadc
from tadc.runtime import nvrtc
from tadc.runtime.cuda import CudaModule
from tests.host_shim import host_shim
from tests.host_shim.scheduled import has_nvrtc
from tests.support.boundaries import BOUNDARIES, boundary
from tests.support.campaign import seeds
from tests.support.derivations import assert_close, interpret, random_case
from tests.support.gpu import needs_gpu
from tests.support.gradient_kernels import GradientKernels, Kernels, gradient_kernels
from tests.support.random_programs import EVERYTHING

CHUNK = 15

EVERY = 10_000
"""From this seed on, programs hold all that the language has."""

FIRST_BOUNDARY = 20_000
"""The number of the first program that reads beyond borders."""


@cache
def derived(seed: int) -> GradientKernels:
    case = random_case(seed) if seed < EVERY else random_case(seed, **EVERYTHING)
    derivative = case.function.derivative()
    expected = interpret(derivative.program.op, case.inputs)
    return gradient_kernels(seed, derivative, case.inputs, expected)


@cache
def at_boundary(name: str) -> GradientKernels:
    source, values = boundary(name)
    derivative = tadc.compile(source).derivative()
    inputs = [*values, np.random.default_rng(1).standard_normal(values[0].shape)]
    expected = interpret(derivative.program.op, inputs)
    return gradient_kernels(
        FIRST_BOUNDARY + [*BOUNDARIES].index(name), derivative, inputs, expected
    )


def text_of(programs: Sequence[GradientKernels]) -> str:
    text = "\n".join(p.text for p in programs)
    assert "atomic" not in text
    return text


def on_gpu(programs: Sequence[GradientKernels]) -> Kernels:
    """The kernels, on the device."""
    module = CudaModule(text_of(programs))
    return {launch.kernel: module.kernel(launch.kernel) for p in programs for launch in p.launches}


def on_cpu(programs: Sequence[GradientKernels]) -> Kernels:
    """The kernels, on the CPU."""
    return host_shim.load(text_of(programs))


def check_together(
    seeds: Sequence[int], compiled: Callable[[Sequence[GradientKernels]], Kernels]
) -> None:
    """The programs in one text, since a compiler takes long to start."""
    programs = [derived(seed) for seed in seeds]
    kernels = compiled(programs)
    failures: list[str] = []
    for seed, program in zip(seeds, programs, strict=True):
        try:
            assert_close(program.run(kernels), program.expected, 1e-9, f"seed {seed}")
        except (AssertionError, RuntimeError) as error:
            failures.append(f"{error}\n{random_case(seed).source}{program.text}")
    assert not failures, f"{len(failures)} failures\n\n" + "\n".join(failures)


chunks = pytest.mark.parametrize(
    "first", [*seeds(15, of=1000)[::CHUNK], *seeds(15, of=100, start=EVERY)[::CHUNK]]
)


@host_shim.needs_compiler
@chunks
def test_derivatives_on_the_cpu(first: int) -> None:
    check_together(range(first, first + CHUNK), on_cpu)


@host_shim.needs_compiler
def test_derivatives_at_boundaries_on_the_cpu() -> None:
    programs = [at_boundary(name) for name in BOUNDARIES]
    kernels = on_cpu(programs)
    for name, program in zip(BOUNDARIES, programs, strict=True):
        assert_close(program.run(kernels), program.expected, 1e-9, name)


@needs_gpu
@chunks
def test_derivatives_on_a_gpu(first: int) -> None:
    check_together(range(first, first + CHUNK), on_gpu)


@pytest.mark.skipif(not has_nvrtc(), reason="compiling CUDA C needs nvidia-cuda-nvrtc")
@chunks
def test_derivatives_compile_for_a_gpu(first: int) -> None:
    programs = [derived(seed) for seed in range(first, first + CHUNK)]
    nvrtc.compile(text_of(programs), arch="sm_90")
