"""Arrays whose axes lie in memory in another order: they are copied by code of their own."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np
import pytest

import tadc
from tadc.runtime import arguments, runner
from tadc.runtime.arguments import order_of_axes

F64 = np.dtype(np.float64)


@pytest.fixture
def turned(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, ...]]:
    """The orders of all arrays that are copied, however small."""
    monkeypatch.setattr(arguments, "FEWEST_BYTES_TURNED", 0)
    found: list[tuple[int, ...]] = []
    make = runner.copier

    def copier(order: tuple[int, ...]) -> Any:
        found.append(order)
        return make(order)

    monkeypatch.setattr(runner, "copier", copier)
    return found


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("order", [p for n in (2, 3, 4) for p in permutations(range(n))][1:])
def test_all_orders(order: tuple[int, ...], dtype: Any, turned: list[tuple[int, ...]]) -> None:
    rank = len(order)
    indices = ", ".join(f"i{n}" for n in range(rank))
    f = tadc.compile(f"y[{indices}] = 2 * x[{indices}] + i0")
    base = np.random.default_rng(0).normal(size=(7, 5, 6, 9)[:rank]).astype(dtype)
    x = base.transpose(order)
    np.testing.assert_array_equal(f(x), f(np.ascontiguousarray(x)))
    if order[-1] != rank - 1:
        assert x.transpose(turned[0]).flags.c_contiguous


@pytest.mark.parametrize("large", [False, True])
def test_parts_of_arrays(large: bool, turned: list[tuple[int, ...]]) -> None:
    f = tadc.compile("y[i, j] = 2 * x[i, j]")
    base = np.random.default_rng(0).normal(size=(600, 700) if large else (6, 7))
    views = [base.T, base[1:4].T, base[:, 2:5].T, base[::-1].T, base[::2, 1:].T]
    for x in views:
        np.testing.assert_array_equal(f(x), 2 * x)
    assert turned == [(1, 0)] * len(views)


def test_gradients_and_given_results(turned: list[tuple[int, ...]]) -> None:
    f = tadc.compile("y[i, j] = sum[k](a[i, k] * b[k, j])")
    rng = np.random.default_rng(0)
    a, b, dy = rng.normal(size=(5, 4)), rng.normal(size=(6, 5)), rng.normal(size=(4, 6))
    out = np.zeros((6, 4)).T
    y, pullback = tadc.vjp(f, a.T, b.T)
    assert f(a.T, b.T, out=out) is out
    np.testing.assert_allclose([y, out], [a.T @ b.T] * 2)
    da, db = pullback(dy)
    np.testing.assert_allclose(da, dy @ b)
    np.testing.assert_allclose(db, a @ dy)
    assert set(turned) == {(1, 0)}


def test_an_argument_is_the_result_turned() -> None:
    f = tadc.compile("y[i, j] = x[i, j] + 1")
    x = np.random.default_rng(0).normal(size=(300, 300))
    expected = x.T + 1
    np.testing.assert_array_equal(f(x.T, out=x), expected)


LARGE = np.zeros((300, 400))
STAYS = {
    "dense": LARGE,
    "rows apart": LARGE[:, 5:],
    "small": LARGE[:9, :9].T,
    "elements apart": LARGE[:, ::2],
    "elements apart, turned": LARGE[:, ::2].T,
    "the same rows": np.broadcast_to(LARGE[:1], (400, 400)),
    "the same columns": np.broadcast_to(LARGE[:, :1], (300, 400)),
    "of another type": LARGE.T.astype(">f8"),
}


@pytest.mark.parametrize("kind", STAYS)
def test_others_are_read_or_copied_as_they_are(kind: str) -> None:
    assert order_of_axes(STAYS[kind], F64) is None
