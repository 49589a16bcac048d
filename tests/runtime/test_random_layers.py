"""Layers and formulas of real sizes have the values and gradients that PyTorch finds.

Other random programs are small. Partial sums, panels, bands, packed copies, pieces of sums and
vectors of several registers are met at sizes like these alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import pytest

import tadc
from tests.support.campaign import seeds
from tests.support.random_formulas import random_formula
from tests.support.random_layers import random_layer
from tests.support.torch_layers import Array, Layer, compare

AT_ONCE = 10


@pytest.fixture(autouse=True)
def threads() -> Iterator[None]:
    before = tadc.get_num_threads()
    yield
    tadc.set_num_threads(before)


def results(
    f: tadc.Function, arguments: Mapping[str, Array], rng: np.random.Generator
) -> tuple[Array, list[Array]]:
    """A random adjoint; and the value and all gradients, in the order of `arguments`."""
    value, pullback = tadc.vjp(f, **arguments)
    adjoint = np.asarray(rng.integers(-2, 3, np.shape(value)), np.float32)
    by_name = dict(zip((t.name for t in f.args), pullback(adjoint), strict=True))
    return adjoint, [np.asarray(value), *(np.asarray(by_name[name]) for name in arguments)]


@pytest.mark.parametrize("seed", seeds(16, of=700))
def test_random_layers(seed: int):
    check(random_layer(seed), seed)


@pytest.mark.parametrize("first", seeds(40, of=4000)[::AT_ONCE])
def test_random_formulas(first: int):
    for seed in range(first, first + AT_ONCE):
        check(random_formula(seed), seed)


def check(layer: Layer, seed: int) -> None:
    """Compare with PyTorch, and some also with two threads."""
    print(f"seed {seed}\n{layer}")  # shown where anything below fails
    f = tadc.compile(layer.source)
    tadc.set_num_threads(1)
    arguments = layer.arguments(np.random.default_rng(seed))
    adjoint, found = results(f, arguments, np.random.default_rng(seed))
    compare(layer, arguments, adjoint, found)
    if seed % 3 == 0:
        tadc.set_num_threads(2)
        _, again = results(f, arguments, np.random.default_rng(seed))
        for one, two in zip(found, again, strict=True):
            assert one.tobytes() == two.tobytes(), "other bits on two threads"
