"""Terms that rows of a block share: loaded once, under one test, and all of them added."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from xdsl.dialects import scf, vector

import tadc
from tadc.sizes import bind_sizes

WINDOW = (
    "y[c, i in range(28), j in range(28)] = sum[u, v](pad(x[c, i + u - 3, j + v - 3]) * w[c, u, v])"
)


@pytest.mark.parametrize("rows", [33, 58, 100, 130, 200, 250, 259, 600])
def test_calls_whose_rows_are_short_have_blocks_without_declared_sizes(rows: int) -> None:
    """Rows of a class have at most 255 columns, or at least 254."""
    f = tadc.compile("y[n, c, i, j] = sum[u, v](x[n, c, i + u, j + v] * w[c, u, v])")
    sizes = bind_sizes(f.program.op, {"x": (4, 16, rows, rows), "w": (16, 3, 3)})
    plan = f.emit("plan", sizes, "f32")
    blocks = "rows i by 4, columns j by 16"
    assert (f"y[n, c, i, j]: {blocks}" in plan) == (rows > 255)
    assert "y[n, c, i, j]: rows i by" in plan
    x, w = (
        np.random.default_rng(n).normal(size=s)
        for n, s in enumerate([(1, 2, rows, rows), (2, 3, 3)])
    )
    windows = np.lib.stride_tricks.sliding_window_view(x, (3, 3), (2, 3))
    np.testing.assert_allclose(f(x, w), np.einsum("ncijuv,cuv->ncij", windows, w), atol=1e-12)


@pytest.mark.parametrize(("columns", "stream"), [(20, False), (45, True)])
def test_windows_along_rows_are_streams_where_tests_leave_rows_whole(
    columns: int, stream: bool
) -> None:
    """The gradient of a window down the columns: a term is there for all elements of a row."""
    f = tadc.compile("y[i, j] = sum[u](x[i + u, j] * w[u])").derivative("x")
    plan = f.emit("plan", {"X_0": 400, "J": columns, "U": 7}, "f32")
    assert ("dx[p, j]: stream" in plan) == stream


def test_rows_share_loads_under_tests() -> None:
    """Seven rows of seven terms read thirteen vectors, each where its row is there."""
    f = tadc.compile(WINDOW)
    sizes = bind_sizes(f.program.op, {"x": (96, 28, 28), "w": (96, 7, 7)})
    assert "y[c, i, j]: rows i by 7" in f.emit("plan", sizes, "f32")
    module = f.compiled.code(sizes, "f32").module
    (terms,) = (op for op in module.walk() if isinstance(op, scf.ForOp) and op.iter_args)
    assert sum(isinstance(op, vector.MaskedLoadOp) for op in terms.body.walk()) == 13


@dataclass(frozen=True)
class Window:
    """The sum over u and v of `w[c, u, v] * x[c, row, column]`, as far as x reaches.

    row = rows * i + terms * u + first, and column = columns * j + v + left
    """

    rows: int
    columns: int
    terms: int
    first: int
    left: int
    lengths: tuple[int, int]
    """The values of u and v."""
    shape: tuple[int, int]
    """The values of i and j."""
    image: tuple[int, int]

    @staticmethod
    def random(rng: np.random.Generator) -> Window:
        def number(low: int, high: int) -> int:
            return int(rng.integers(low, high))

        return Window(
            rows=number(1, 3),
            columns=int(rng.choice([1, 1, 2, 3, 4])),
            terms=int(rng.choice([1, 1, -1, 2, -2])),
            first=number(-4, 5),
            left=number(-4, 2),
            lengths=(number(2, 9), number(1, 6)),
            shape=(number(4, 20), number(4, 40)),
            image=(number(3, 40), number(4, 44)),
        )

    def formula(self, last: bool) -> str:
        """The window with channels in front of its indices, or last."""
        (i, j), (u, v) = self.shape, self.lengths
        row = f"{self.rows}*i + {self.terms}*u + {self.first}"
        column = f"{self.columns}*j + v + {self.left}"
        joined = "{}, c" if last else "c, {}"
        x, w = joined.format(f"{row}, {column}"), joined.format("u, v")
        y = joined.format(f"i in range({i}), j in range({j})")
        over = f"u in range({u}), v in range({v})"
        return f"y[{y}] = sum[{over}](pad(x[{x}]) * w[{w}])"

    def value(self, x: np.ndarray, w: np.ndarray) -> np.ndarray:
        """The result of the formula, computed by NumPy term by term."""
        y = np.zeros((len(x), *self.shape))
        for c, i, j in np.ndindex(y.shape):
            for u, v in np.ndindex(self.lengths):
                row = self.rows * i + self.terms * u + self.first
                column = self.columns * j + v + self.left
                if 0 <= row < x.shape[1] and 0 <= column < x.shape[2]:
                    y[c, i, j] += w[c, u, v] * x[c, row, column]
        return y


@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("seed", range(24))
def test_random_windows_equal_their_definition(seed: int, last: bool) -> None:
    rng = np.random.default_rng(seed)
    window = Window.random(rng)
    channels = int(rng.choice([3, 8, 20])) if last else 3
    x = rng.integers(-4, 5, (channels, *window.image)).astype("f4")
    w = rng.integers(-4, 5, (channels, *window.lengths)).astype("f4")
    f, expected = tadc.compile(window.formula(last)), window.value(x, w)
    if last:
        x, w, expected = (np.ascontiguousarray(np.moveaxis(a, 0, -1)) for a in (x, w, expected))
    np.testing.assert_array_equal(f(**{"x": x, "w": w}), expected)
