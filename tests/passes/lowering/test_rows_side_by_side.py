"""Rows of streams that run side by side write what one row after the other writes."""

from __future__ import annotations

import random

import numpy as np
import pytest

import tadc
from tadc.passes.scheduling.recipes import streams as recipe
from tadc.passes.scheduling.streams import stream_choice, stream_tiles
from tadc.passes.scheduling.streams.stream_tiles import shared_rows
from tests.passes.scheduling.test_stream_choice import past_caches, unaligned
from tests.passes.scheduling.test_stream_tiles import (
    random_stencil,
    random_window,
    value_and_gradient,
)
from tests.support.campaign import seeds
from tests.support.long_calls import count_all_calls_as_long, cut_all_steps
from tests.support.own_process import output_of

HEAD = "y[i in range(I), j in range(J)] = "
CASES = {
    "stencil": f"x: real[I + 2, J + 2]\n{HEAD}x[i, j+1] + x[i+2, j+1] + x[i+1, j] * x[i+1, j+2]",
    "border": f"x: real[I, J]\n{HEAD}x[i, j] - (x[i - 1, j] * x[i, j] if i > 0 else 0)",
    "window": f"x: real[I + 2, J]\n{HEAD}sum[s in range(3)](x[i + s, j] ** 2)",
    "segments": f"x: real[I + 1, J]\n{HEAD}"
    "exp(x[i, j]) - x[i + 1, j] if j < 9 else x[i, j - 9] * x[i + 1, j]",
    "volume": "x: real[N + 2, I, J]\n"
    "y[n in range(N), i in range(I), j in range(J)] = x[n + 2, i, j] - x[n + 1, i, j] * x[n, i, j]",
}
SHAPES = {2: [(5, 3), (7, 19), (11, 333)], 3: [(3, 4, 17), (9, 2, 140)]}


@pytest.fixture(autouse=True)
def all_calls_are_large(monkeypatch: pytest.MonkeyPatch) -> None:
    count_all_calls_as_long(monkeypatch)
    monkeypatch.setattr(recipe, "exceeds_caches", past_caches)
    monkeypatch.setattr(stream_choice, "FEWEST_ELEMENTS_OF_ROW", 1)
    monkeypatch.setattr(recipe, "FEWEST_BYTES_OF_ROW", 1)
    # else windows have blocks
    monkeypatch.setattr(stream_tiles, "FEWEST_LOADS_OF_LARGE", 1000)
    monkeypatch.setattr(stream_tiles, "FEWEST_LOADS", 1000)


@pytest.mark.parametrize(
    ("value", "index"),
    [
        ("x[i + 1, j] + x[i, j]", 0),
        ("x[i, j] + x[i + 1, j - 1] + x[i + 2, j + 1] + x[i + 1, j]", 0),
        ("sum[s in range(3)](x[i + s, j])", 0),
        # neighbours along the row itself
        ("x[i, j] + x[i, j + 1]", None),
        # x[2*i + 1] is of one row alone
        ("x[2*i, j] + x[2*i + 1, j]", None),
        ("x[2*i, j] + x[2*i + 1, j] + x[2*i + 2, j]", None),
        # one row for all
        ("x[0, j] + x[1, j]", None),
        ("x[i, j] + x[0, j]", None),
        ("x[i, j] * i", None),
    ],
)
def test_which_rows_run_side_by_side(value: str, index: int | None) -> None:
    (op,) = tadc.compile(
        f"x: real[2*I + 9, J]\ny[i in range(I), j] = {value}"
    ).program.op.definitions
    assert shared_rows(op) is (None if index is None else op.indices[index])


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("name", CASES)
def test_values_and_gradients_are_those_of_the_interpreter(name: str, dtype: str) -> None:
    """Bits do not depend on where rows begin in memory."""
    f, reference = tadc.compile(CASES[name]), tadc.compile(CASES[name], target="interpret")
    (op,) = f.program.op.definitions
    assert shared_rows(op) is not None
    for shape in SHAPES[len(f.args[0].shape)]:
        x = np.random.default_rng(3).uniform(-1, 1, shape).astype(dtype)
        for a, b in zip(value_and_gradient(f, x), value_and_gradient(reference, x), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)
        y = f(x)
        for offset in (0, 1, 7, 15):
            out = unaligned(y.shape, y.dtype, offset)
            np.testing.assert_array_equal(f(x, out=out), y)


def check_random_stencil(seed: int) -> None:
    """A stencil, or a window, and its gradient are those of the interpreter."""
    choice = random.Random(seed)
    source, shape = (random_stencil if seed % 3 else random_window)(choice)
    x = np.random.default_rng(seed).uniform(-1, 1, shape).astype(("f4", "f8")[seed % 2])
    found = value_and_gradient(tadc.compile(source), x)
    reference = value_and_gradient(tadc.compile(source, target="interpret"), x.astype("f8"))
    tolerance = 1e-5 if x.dtype == "f4" else 1e-13
    for a, b in zip(found, reference, strict=True):
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("seed", seeds(24, of=400))
def test_random_stencils_are_those_of_the_interpreter(seed: int) -> None:
    check_random_stencil(seed)


@pytest.mark.parametrize("name", CASES)
def test_bits_do_not_depend_on_threads_nor_on_the_length_of_rows(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    cut_all_steps(monkeypatch)
    shape = SHAPES[len(tadc.compile(CASES[name]).args[0].shape)][-1]
    x = np.random.default_rng(1).uniform(-1, 1, shape).astype("f4")
    found: list[list[np.ndarray]] = []
    before = tadc.get_num_threads()
    try:
        for threads in (1, 2, 7):
            tadc.set_num_threads(threads)
            found.append(value_and_gradient(tadc.compile(CASES[name]), x))
    finally:
        tadc.set_num_threads(before)
    monkeypatch.setattr(recipe, "FEWEST_BYTES_OF_ROW", 1 << 30)
    # programs that are alike share code while it is in use: this one has another name
    found.append(value_and_gradient(tadc.compile(CASES[name].replace("y[", "z[")), x))
    for other in found[1:]:
        for a, b in zip(found[0], other, strict=True):
            np.testing.assert_array_equal(a, b)


GUARDED = """
import pytest, tadc
from tests.passes.lowering import {module} as own
from tests.support.guarded_memory import assert_stays_inside
with pytest.MonkeyPatch.context() as patch:
    own.{fixture}.__wrapped__(patch)
    for name, source in own.CASES.items():
        f = tadc.compile(source)
        for shape in own.SHAPES[len(f.args[0].shape)]:
            assert_stays_inside(f, shape)
print("done")
"""
"""Runs the cases of a module of tests under one of its fixtures, with guard pages."""


def test_no_other_memory_is_touched() -> None:
    text = GUARDED.format(module="test_rows_side_by_side", fixture="all_calls_are_large")
    assert output_of("-c", text) == "done\n"
