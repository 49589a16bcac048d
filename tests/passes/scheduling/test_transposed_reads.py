"""Elements that are read across rows are those that the plain nest reads, in blocks of any fit."""

from __future__ import annotations

import random

import numpy as np
import pytest

import tadc
from tadc.passes.scheduling.tiles.transposed_reads import square_tile
from tadc.runtime.on_cpu import CpuExecutable
from tests.support.long_calls import count_all_calls_as_long

CASES = {
    "transpose": "y[i, j] = x[j, i]",
    "function": "y[i, j] = exp(x[j, i]) * x[j, 0] + 1",
    "both": "x: real[N, N]\ny[i, j] = x[i, j] * x[j, i] - x[j, i]",
    "shifted": "x: real[I, J]\ny[j in range(J), i in range(I)] = x[I - 1 - i, j] + i",
    "axes": "y[j, n, i] = x[i, n, j]",
    "inner": "y[n, j, i] = x[n, i, j]",
    "short": "y[k, j] = sum[i in range(3)](exp(x[i, j, k] + z[k, j]))",
    "most": "y[k, j] = max[i in range(2)](x[j, i, k] * z[k, j]) - min[i in range(2)](x[j, i, k])",
    "long": "y[i, j] = tanh(0.8 * (x[j, i] + 0.04 * x[j, i]**3)) * x[j, i] * (1 - exp(z[i]) / 2)",
    "values": "y[n, c, h] = x[n, h, c] * g[c] if x[n, h, c] > 0 else exp(x[n, h, c]) - h",
    "powers": "y[i, j] = max(0, x[j, i]) + sum[k in range(2)]((i - j) * x[j, i]**k)",
    "mixed": "x: f32[I, J]\nz: f64[J, I]\ny[j, i] = x[i, j] * z[j, i]",
}
SIZES = (1, 3, 8, 15, 16, 17, 31, 33, 48, 130)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("source", CASES.values(), ids=CASES)
def test_blocks_read_what_elements_do(
    source: str, dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    count_all_calls_as_long(monkeypatch)
    f, plain = tadc.compile(source), tadc.compile(source)
    rng, choice = np.random.default_rng(3), random.Random(source + dtype)
    for _ in range(6):
        sizes: dict[str, int] = {}
        shapes = [[_size(str(n), sizes, choice) for n in t.shape] for t in f.args]
        declared = [np.dtype("f4") if "f32" in str(t) else None for t in f.args]
        arrays = [
            rng.uniform(-1, 1, shape).astype(own or ("f8" if "f64" in source else dtype))
            for shape, own in zip(shapes, declared, strict=True)
        ]
        found, pullback = tadc.vjp(f, *arrays)
        dy = np.cos(np.arange(found.size, dtype=found.dtype)).reshape(found.shape)
        gradients = pullback(dy)
        with monkeypatch.context() as patch:
            patch.setattr(CpuExecutable, "tiles", False)
            expected, pullback = tadc.vjp(plain, *arrays)
            others = pullback(dy)
        for a, b in zip([found, *gradients], [expected, *others], strict=True):
            np.testing.assert_allclose(a, b, rtol=2e-6, atol=1e-6)


def _size(name: str, sizes: dict[str, int], choice: random.Random) -> int:
    return sizes.setdefault(name, choice.choice(SIZES))


WINDOWS = {
    "sum": ("sum[s in range(3)]((s + 1) * x[n, i, j + s])", {0: 1, 1: 2, 2: 3}),
    "differences": ("2*x[n, i, j + 9] - x[n, i, j] - x[n, i, j + 5]", {0: -1, 5: -1, 9: 2}),
    "backwards": ("x[n, i, j + 2] + 5*x[n, i, j + 1] - x[n, i, j]", {0: -1, 1: 5, 2: 1}),
}
"""Elements of rows that read what others of a block read, and the factor of each neighbour."""


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("name", WINDOWS)
def test_rows_share_the_elements_of_squares(
    name: str, dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    count_all_calls_as_long(monkeypatch)
    element, factors = WINDOWS[name]
    rows = f"j in range(J - {max(factors)})"
    f = tadc.compile(f"x: real[N, I, J]\ny[n, {rows}, i in range(I)] = {element}")
    rng = np.random.default_rng(5)
    for n, i, j in ((1, 8, 34), (3, 17, 130), (2, 40, 49)):
        x = rng.integers(-9, 10, (n, i, j)).astype(dtype)
        length = j - max(factors)
        expected = sum(c * x[:, :, k : k + length] for k, c in factors.items())
        np.testing.assert_array_equal(f(x), np.swapaxes(expected, 1, 2))


@pytest.mark.parametrize(
    "source",
    [
        "y[i, j] = x[i, j]",
        "y[i, j] = x[j, 2 * i]",
        "x: real[N, N]\ny[i, j] = x[j, i] if i < j else 0",
        "x: real[N, N, N]\ny[i, j] = x[j, i, i]",
        "x: real[N, N]\ny[i, j in range(N)] = x[j, (i + j) // 2]",
    ],
)
def test_other_reads_are_no_squares(source: str) -> None:
    (op,) = tadc.compile(source).program.op.definitions
    assert square_tile(op) is None


@pytest.mark.parametrize("terms", [10, 200])
def test_rows_are_written_out_up_to_so_many_operations(terms: int) -> None:
    body = " + ".join(f"(x[j, i] - {n}) * (z[i, j] + {n})" for n in range(terms))
    (op,) = tadc.compile(f"y[i, j] = {body}").program.op.definitions
    assert (square_tile(op) is not None) == (terms == 10)


def test_a_plan_by_hand_may_ask_for_squares() -> None:
    source, x = "y[i, j] = x[j, i]", np.arange(40.0 * 24).reshape(40, 24)
    blocks = tadc.compile(source, plan="y[i, j]: rows i by 8, columns j by 8")
    np.testing.assert_array_equal(blocks(x), x.T)
    with pytest.raises(tadc.TadcError):
        tadc.compile(source, plan="y[i, j]: rows j by 8, columns i by 8")(x)
