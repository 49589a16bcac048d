"""The target `cuda` through the interface of users, on machines with a GPU."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tadc
from tests.support.gpu import needs_gpu
from tests.support.gpu_programs import PROGRAMS, TOLERANCE, case, compare, listed

pytestmark = needs_gpu


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("name", PROGRAMS)
def test_values_and_derivatives(name: str, dtype: Any) -> None:
    source, arrays = case(name, dtype)
    on_gpu, on_cpu = tadc.compile(source, "cuda"), tadc.compile(source)
    values = listed(on_cpu(*arrays))
    compare(listed(on_gpu(*arrays)), values, dtype)
    rng = np.random.default_rng(0)
    adjoints = [rng.standard_normal(v.shape).astype(dtype) for v in values]
    expected = tadc.vjp(on_cpu, *arrays)[1](*adjoints)
    compare(tadc.vjp(on_gpu, *arrays)[1](*adjoints), expected, dtype)
    tangents = tuple(rng.standard_normal(a.shape).astype(dtype) for a in arrays)
    compare(
        listed(tadc.jvp(on_gpu, tuple(arrays), tangents)[1]),
        listed(tadc.jvp(on_cpu, tuple(arrays), tangents)[1]),
        dtype,
    )


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_run_has_the_same_bits(name: str) -> None:
    source, arrays = case(name, np.float32)
    f = tadc.compile(source, "cuda")
    first, second = (tadc.vjp(f, *arrays) for _ in range(2))
    for one, other in zip(listed(first[0]), listed(second[0]), strict=True):
        assert one.tobytes() == other.tobytes()
    adjoints = [np.ones_like(v) for v in listed(first[0])]
    for one, other in zip(first[1](*adjoints), second[1](*adjoints), strict=True):
        assert one.tobytes() == other.tobytes()


def test_empty_results() -> None:
    f = tadc.compile("y[i] = 2 * x[i]\ns = sum[i](x[i])", "cuda")
    y, s = f(np.zeros(0))
    assert y.shape == (0,) and s == 0
