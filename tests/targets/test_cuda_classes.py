"""Kernels for a GPU, of calls of one class of sizes: what is printed, run on the CPU."""

from __future__ import annotations

import random
import re

import numpy as np
import pytest

import tadc
from tadc.runtime import size_class
from tadc.runtime.on_gpu import CudaExecutable
from tests.host_shim import host_shim
from tests.support.campaign import seeds
from tests.support.derivations import assert_close, random_case
from tests.support.few_threads import pretend_few_threads
from tests.support.gpu_programs import PROGRAMS, case, compare, listed
from tests.support.host_device import put_host_in_place
from tests.support.random_programs import EVERYTHING

PRODUCT = tadc.compile("y[i, j] = sum[k](x[i, k] * w[j, k])")


def code(**sizes: int) -> str:
    return PRODUCT.emit("cuda", sizes, "f32")


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch) -> None:
    """The memory of this machine, and a GPU with few threads, for which every call is long."""
    put_host_in_place(monkeypatch)
    pretend_few_threads(monkeypatch)
    monkeypatch.setattr(size_class, "MOST_WORK_WITHOUT_TILES", -1)


@host_shim.needs_compiler
@pytest.mark.usefixtures("host")
@pytest.mark.parametrize("name", PROGRAMS)
def test_values_and_gradients(name: str) -> None:
    source, arrays = case(name, np.float64)
    on_gpu, on_cpu = tadc.compile(source, "cuda"), tadc.compile(source)
    values = listed(on_cpu(*arrays))
    compare(listed(on_gpu(*arrays)), values, np.float64)
    rng = np.random.default_rng(0)
    adjoints = [rng.standard_normal(v.shape) for v in values]
    expected = tadc.vjp(on_cpu, *arrays)[1](*adjoints)
    compare(tadc.vjp(on_gpu, *arrays)[1](*adjoints), expected, np.float64)


@host_shim.needs_compiler
@pytest.mark.usefixtures("host")
@pytest.mark.parametrize("seed", seeds(6, of=200))
def test_random_programs(seed: int) -> None:
    found = random_case(seed, **(EVERYTHING if seed % 2 else {}))
    results = listed(tadc.compile(found.source, "cuda")(*found.values))
    assert_close(results, found.results, 1e-9, found.source)


def test_short_sizes_are_numbers_and_long_ones_are_not() -> None:
    text = code(I=3000, J=2000, K=16)
    assert "long long I" in text and not re.search(r"\blong long K\b", text)


def test_indices_have_32_bits_where_sizes_allow_that() -> None:
    assert "int id =" in code(I=3000, J=2000, K=500)
    assert "long long id =" in code(I=300_000, J=200_000, K=500)
    assert "long long id =" in PRODUCT.emit("cuda", None, "f32")


@pytest.mark.parametrize("seed", range(50))
def test_sizes_lie_between_the_bounds_of_their_class(seed: int) -> None:
    rng = random.Random(seed)
    choices = [rng.randrange(1, 99), *(2 ** rng.randrange(1, 40) + seed for _ in range(3))]
    sizes = {name: rng.choice(choices) for name in "IKJ"}
    found = size_class.size_class(PRODUCT.program.summary, sizes, CudaExecutable.largest_example)
    most = found.most(CudaExecutable.largest_example)
    for name, size in sizes.items():
        if found.tiles and name not in found.values:
            assert found.least[name] <= size <= most[name] < 2 * size + 9


def test_of_sizes_beyond_all_examples_no_largest_is_known() -> None:
    found = size_class.size_class(PRODUCT.program.summary, {"I": 6000, "K": 70, "J": 500})
    assert set(found.most(size_class.LARGEST_EXAMPLE)) == {"K", "J"}
