"""Streams write what the plain nest writes: wherever rows begin, every element and no other."""

from __future__ import annotations

import numpy as np
import pytest

import tadc
from tadc.passes.scheduling.recipes import streams as recipe
from tadc.passes.scheduling.streams import stream_choice
from tadc.passes.scheduling.streams.stream_segments import has_segments, segments_of
from tadc.runtime.on_cpu import CpuExecutable
from tests.support.campaign import in_turn
from tests.support.long_calls import count_all_calls_as_long
from tests.support.own_process import output_of

STENCIL = "y[i in range(H), j in range(W)] = x[i, j+1] + x[i+2, j+1] + x[i+1, j] + x[i+1, j+2]"
CASES = {
    "copy": "y[i, j] = 2 * x[i, j]",
    "one index": "y[i] = exp(x[i])",
    "backwards": "x: real[N]\ny[i in range(N)] = x[N - 1 - i] + i * x[i]",
    "stencil": f"x: real[H + 2, W + 2]\n{STENCIL} - 4*x[i+1, j+1]",
    "window": "x: real[I, J + 2]\ny[i, j in range(J)] = sum[k in range(3)](x[i, j + k]**2)",
    "window of functions": "x: real[I, J + 2]\ny[i, j in range(J)] = "
    "sum[k in range(3)](exp(x[i, j + k]) / (1 + x[i, j]**2)) / exp(x[i, j + 1])",
    "three indices": "y[n, i, j] = x[n, i, j] * x[n, i, 0]",
    "rows": "y[i, j] = x[i, j] if i > 2 else exp(x[i, j])",
    "diagonal": "y[i, j] = x[i, j] if i == j else 0",
    "padded": "x: real[I, J]\n"
    "y[i in range(I), j in range(J)] = sum[k in range(4)](pad(x[i, j + k - 1]) ** 2)",
    "phases": "x: real[I, J]\n"
    "y[i in range(I), j in range(2*J - 4)] = sum[t in range(3)](x[i, j // 2 + t] * (t + j % 2))",
    "every second": "x: real[I, J]\n"
    "y[i in range(I), j in range(J)] = sum[t in range(3)](pad(x[i, 2*j - 2*t + 1]) ** 2)",
    "product": "x: real[I, J]\n"
    "y[i in range(I), j in range(J)] = x[i, j] + 0.5 + (x[i, j - 1] * x[i, j] if j > 0 else 0)",
    "halves": "x: real[I, J]\n"
    "y[i in range(I), j in range(2*J - 1)] = x[i, j // 2] * x[i, (j + 1) // 2] + j % 2",
    "thirds": "x: real[I, J]\n"
    "y[i in range(I), j in range(J)] = x[i, (j + 1) // 3] * x[i, j] if j + 3 < J else x[i, j]",
    "residues": "x: real[I, J]\n"
    "y[i in range(I), j in range(J)] = x[i, j // 4] if j % 4 == 1 else x[i, j] * x[i, j // 2]",
    "pieces": "x: real[I]\ny[i in range(3*I)] = exp(x[i // 3])",
    "pooling": "y[i, j] = max[s in range(3)](x[i, 3*j + s])",
    "overlaps": "y[i, j] = max[s in range(3)](x[i, 2*j + s])",
    "maxima": "x: real[I, J]\n"
    "y[i in range(I), j in range(J)] = "
    "max[s in range(3)](x[i, j + s - 1]**2 if 1 <= j + s <= J else -1)",
    "segments": "y[i, j] = exp(x[i, j]) if j < 9 else (x[i, j - 9] * x[i, j] if 20 > j "
    "else 2 * x[i, j - 1] - sin(x[i, j]))",
    "segments of pieces": "y[i] = x[i] * x[i] if i < 16390 else (x[i - 7] if i != 16400 else 1)",
    "segments of windows": "x: real[I, J]\ny[i in range(I), j in range(J)] = "
    "sum[k in range(3)](pad(x[i, j + k - 1])) if 3 <= j <= 17 else exp(x[i, j]) * i",
    "cases": "x: real[I, J]\ny[i in range(2*I), j in range(J)] = "
    "(x[i // 2, j] if i % 2 == 0 and j > 2 or j == 5 and i < 3 else "
    "(exp(x[i // 2, j - 1]) if j > 0 and i % 2 == 1 else 3)) - (x[0, j] if j + 2 < J else 1)",
    "residues of both": "x: real[I, J]\ny[i in range(2*I), j in range(2*J)] = "
    "(x[i // 2, j // 2] if i % 2 == 0 and j % 2 == 0 and j > 3 or i % 2 == 1 and j % 2 == 1 "
    "and j + 1 < J else 0) + (x[i // 2, j // 2] if i % 2 == 1 and j % 2 == 0 else 1)",
    "circle": "x: real[I]\ny[i in range(I)] = (x[I - 1] if i == 0 else x[i - 1]) "
    "* (x[0] if i >= I - 1 else x[i + 1]) - (x[i] if i < 2 or i > I - 3 else x[i - 2] * x[i + 2])",
    "circles": "x: real[I, J]\ny[i in range(I), j in range(J)] = "
    "(x[i, J - 1] if j == 0 else x[i, j - 1]) * (x[I - 1, j] if i == 0 else x[i - 1, j]) "
    "- (x[i, j] if j == 1 and i == 2 else 2 * x[i, j])",
    "far ends": "x: real[I]\ny[i in range(I)] = (x[2] * x[I - 3] if i == 0 else "
    "(x[i + I - 2] if i < 2 else x[i - 2]) * x[i]) + (x[1] * 2 if i + 1 == I else 0)",
    "sums at ends": "x: real[I]\ny[i in range(I)] = "
    "(sum[k in range(3)](x[k]**2) if i == 0 else x[i]) * "
    "(sum[k in range(I - 3, I)](x[k]**2) if i + 1 == I else 2)",
    "border": "x: real[I, J]\ny[i in range(I), j in range(J)] = x[i, j - 1] if j > 0 else 0",
}
SHAPES = {1: [(3,), (15,), (40003,)], 2: [(5, 3), (7, 19), (4, 333)], 3: [(2, 3, 50)]}


def past_caches(*_: object) -> bool:
    """The answer of machines without a cache."""
    return True


@pytest.fixture(autouse=True)
def everything_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    count_all_calls_as_long(monkeypatch)
    monkeypatch.setattr(recipe, "exceeds_caches", past_caches)
    monkeypatch.setattr(stream_choice, "FEWEST_ELEMENTS_OF_ROW", 1)
    monkeypatch.setattr(stream_choice, "FEWEST_ELEMENTS_OF_PHASES", 1)


def value_and_gradient(f: tadc.Function, x: np.ndarray) -> list[np.ndarray]:
    y, pullback = tadc.vjp(f, x)
    return [y, *pullback(np.cos(np.arange(y.size, dtype=y.dtype)).reshape(y.shape))]


def unaligned(shape: tuple[int, ...], dtype: np.dtype, offset: int) -> np.ndarray:
    """An array that begins so many elements behind a multiple of 64 bytes."""
    count = int(np.prod(shape))
    raw = np.full(count + 64, np.nan, dtype)
    first = -raw.ctypes.data % 64 // raw.itemsize + offset
    return raw[first : first + count].reshape(shape)


@pytest.mark.parametrize(("name", "dtype"), in_turn(CASES, ["f4", "f8"]))
def test_rows_begin_anywhere(name: str, dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Values and gradients agree with the plain nest; their bits do not depend on addresses."""
    f, plain = tadc.compile(CASES[name]), tadc.compile(CASES[name])
    for shape in SHAPES[len(f.args[0].shape)]:
        x = np.random.default_rng(3).uniform(-1, 1, shape).astype(dtype)
        found = value_and_gradient(f, x)
        with monkeypatch.context() as patch:
            patch.setattr(CpuExecutable, "tiles", False)
            expected = value_and_gradient(plain, x)
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)
        y = f(x)
        for offset in (0, 1, 7, 15):
            out = unaligned(y.shape, y.dtype, offset)
            np.testing.assert_array_equal(f(x, out=out), y)


GUARDED = """
import pytest, tadc
from tests.passes.scheduling import test_stream_choice as streams
from tests.support.guarded_memory import assert_stays_inside
with pytest.MonkeyPatch.context() as patch:
    streams.count_all_calls_as_long(patch)
    patch.setattr(streams.recipe, "exceeds_caches", streams.past_caches)
    for name in ("copy", "one index", "backwards", "stencil", "border", "padded", "every second",
                 "window of functions",
                 "halves", "thirds", "residues", "pieces", "pooling", "overlaps", "maxima",
                 "segments", "segments of pieces", "segments of windows", "cases",
                 "residues of both", "circle", "circles", "far ends", "sums at ends"):
        f = tadc.compile(streams.CASES[name])
        for shape in streams.SHAPES[len(f.args[0].shape)]:
            assert_stays_inside(f, shape)
print("done")
"""


def test_short_sums_at_ends_are_numbers_of_borders() -> None:
    f = tadc.compile(CASES["sums at ends"])
    assert "y[i]: stream" in f.emit("plan", {"I": 1 << 20}, "f32")


def test_windows_of_functions_are_streams() -> None:
    f = tadc.compile(CASES["window of functions"])
    assert "y[i, j]: stream" in f.emit("plan")


def test_no_other_memory_is_touched() -> None:
    assert output_of("-c", GUARDED) == "done\n"


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("shape", [(5, 300), (300, 7), (1, 1)])
def test_numbers_of_a_row_stand_under_conditions(dtype: str, shape: tuple[int, int]) -> None:
    f = tadc.compile("x: real[I, J]\ns: real[I]\ny[i, j] = s[i] * x[i, j] if i <= j else -s[i]")
    (op,) = f.program.op.definitions
    assert stream_choice.possible_stream(op)
    rng = np.random.default_rng(0)
    x, s = rng.uniform(-1, 1, shape).astype(dtype), rng.uniform(-1, 1, shape[0]).astype(dtype)
    upper = np.arange(shape[0])[:, None] <= np.arange(shape[1])
    np.testing.assert_array_equal(f(x, s), np.where(upper, s[:, None] * x, -s[:, None]))


@pytest.mark.parametrize(
    ("value", "segments"),
    [
        ("exp(x[i, j]) if j < 9 else x[i, j - 9]", 2),
        ("x[i, j] if j < 9 else (x[i, j - 9] if j < 20 else x[i, j - 1])", 3),
        ("x[i, j] if 4 <= j < 9 else x[i, 0]", 3),
        ("x[i, j] if j < 9 else 0", 1),  # a mask
        ("x[i, j] if i < j else x[j, i]", 1),
        ("x[i, j] if i < 9 else x[i - 1, j]", 1),
        ("x[i, j] if j % 2 == 0 else x[i, j - 1]", 1),
    ],
)
def test_choices_between_values_cut_rows(value: str, segments: int) -> None:
    program = tadc.compile(f"x: real[I, I]\ny[i in range(I), j in range(I)] = {value}").program
    (op,) = program.op.definitions
    assert has_segments(op) == (segments > 1)
    with segments_of(op) as found:
        assert len(found) == segments


def test_a_number_of_a_short_tensor_stands_under_a_condition() -> None:
    f = tadc.compile("s: real[3]\ny[i, j] = exp(x[i, j]) - (s[2] * 0.5 if i == j else 0)")
    (op,) = f.program.op.definitions
    assert stream_choice.possible_stream(op)
    rng = np.random.default_rng(0)
    s, x = rng.uniform(-1, 1, 3), rng.uniform(-1, 1, (20, 33))
    np.testing.assert_allclose(f(s, x), np.exp(x) - 0.5 * s[2] * np.eye(20, 33), rtol=1e-14)


def test_what_a_row_may_not_have_is_read_where_it_is() -> None:
    """Elements for all columns are read before these where they are there without them, too."""
    f = tadc.compile("x: real[I, J]\ns: real[K]\ny[i, j] = x[i, j] + (s[i] if i < K else 0)")
    rng = np.random.default_rng(0)
    for rows, columns, more in ((5, 40, 3), (4, 0, 0), (3, 33, 7)):
        x, s = rng.uniform(-1, 1, (rows, columns)), rng.uniform(-1, 1, more)
        padded = np.concatenate([s, np.zeros(rows)])[:rows]
        np.testing.assert_array_equal(f(x, s), x + padded[:, None])


def test_numbers_of_a_remainder_are_those_of_each_row() -> None:
    f = tadc.compile("w: real[2, 3]\ny[i, j] = sum[s](w[i % 2, s] * x[i // 2 + s, j])")
    rng = np.random.default_rng(0)
    w, x = rng.uniform(-1, 1, (2, 3)), rng.uniform(-1, 1, (6, 35))
    windows = np.lib.stride_tricks.sliding_window_view(x, 3, 0)
    expected = np.einsum("rs,ijs->irj", w, windows).reshape(-1, 35)
    np.testing.assert_allclose(f(w, x), expected, rtol=1e-14)
    assert f(w, x[:, :0]).shape == (8, 0)
