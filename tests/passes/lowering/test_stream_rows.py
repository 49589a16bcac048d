"""Rows of streams in the caches: whole vectors, of which the last one ends where the row does."""

from __future__ import annotations

import numpy as np
import pytest

import tadc
from tadc.passes.scheduling.recipes import streams as recipe
from tadc.passes.scheduling.streams import stream_choice, stream_tiles
from tests.passes.lowering.test_rows_side_by_side import CASES, GUARDED, check_random_stencil
from tests.passes.scheduling.test_stream_tiles import value_and_gradient
from tests.support.campaign import seeds
from tests.support.long_calls import count_all_calls_as_long, cut_all_steps
from tests.support.own_process import output_of

SHAPES = {2: [(5, 3), (4, 17), (7, 19), (3, 34), (11, 333)], 3: [(3, 4, 17), (9, 2, 140)]}


def in_caches(*_: object) -> bool:
    """The answer of machines whose caches hold everything."""
    return False


@pytest.fixture(autouse=True)
def all_calls_are_in_caches(monkeypatch: pytest.MonkeyPatch) -> None:
    count_all_calls_as_long(monkeypatch)
    cut_all_steps(monkeypatch)
    monkeypatch.setattr(recipe, "exceeds_caches", in_caches)
    monkeypatch.setattr(recipe, "ELEMENTS_OF_PART", 20)
    monkeypatch.setattr(stream_choice, "FEWEST_ELEMENTS_OF_ROW", 1)
    # else windows have blocks
    monkeypatch.setattr(stream_tiles, "FEWEST_LOADS", 1000)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("name", CASES)
def test_values_and_gradients_are_those_of_the_interpreter(name: str, dtype: str) -> None:
    """Rows are shorter than a vector, and end anywhere in one."""
    f, reference = tadc.compile(CASES[name]), tadc.compile(CASES[name], target="interpret")
    for shape in SHAPES[len(f.args[0].shape)]:
        x = np.random.default_rng(3).uniform(-1, 1, shape).astype(dtype)
        for a, b in zip(value_and_gradient(f, x), value_and_gradient(reference, x), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("length", [1, 7, 8, 16, 19, 20, 21, 33, 100])
def test_pieces_of_a_single_row(length: int) -> None:
    """Threads write pieces of 20 elements, each its own ones alone."""
    f = tadc.compile("x: f64[N + 1]\ny[i in range(N)] = x[i] * x[i + 1] + 1")
    x = np.random.default_rng(length).uniform(-1, 1, length + 1)
    np.testing.assert_allclose(f(x), x[:-1] * x[1:] + 1, rtol=1e-15)


@pytest.mark.parametrize("seed", seeds(24, of=400, start=1000))
def test_random_stencils_are_those_of_the_interpreter(seed: int) -> None:
    check_random_stencil(seed)


def test_no_other_memory_is_touched() -> None:
    text = GUARDED.format(module="test_stream_rows", fixture="all_calls_are_in_caches")
    assert output_of("-c", text) == "done\n"
