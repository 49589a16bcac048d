"""Quotients by a number of the row: as exact as divisions."""

from __future__ import annotations

import numpy as np
import pytest

import tadc
from tests.support.long_calls import count_all_calls_as_long
from tests.support.row_programs import written


@pytest.fixture(autouse=True)
def every_call_is_long(monkeypatch: pytest.MonkeyPatch) -> None:
    count_all_calls_as_long(monkeypatch)


QUOTIENTS = """\
s[i] = max[j](z[i, j])
y[i, j] = (x[i, j] if z[i, j] > 0 else x[i, j]) / s[i]"""


def quotients(x: np.ndarray, s: np.ndarray) -> np.ndarray:
    """Each row of x divided by a number, by a function that computes them row by row."""
    f = tadc.compile(QUOTIENTS)
    assert written(f) == [("y",)]
    arrays = {"x": x, "z": np.repeat(s[:, None], x.shape[1], 1)}
    return f.call([arrays[t.name] for t in f.args], {})[0]


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_quotients_by_a_number_of_the_row_are_rounded_to_the_nearest(dtype: str):
    rng = np.random.default_rng(1)
    most = {"f4": 40, "f8": 400}[dtype]

    def spread(*shape: int) -> np.ndarray:
        powers = 2.0 ** rng.integers(-most, most, shape)
        return (rng.uniform(0.5, 1, shape) * rng.choice([-1, 1], shape) * powers).astype(dtype)

    x, s = spread(400, 333), spread(400)
    np.testing.assert_array_equal(quotients(x, s), x / s[:, None])


def test_quotients_at_the_ends_of_the_range():
    """By any number they are those of a division, but where they are too small for all digits."""
    tiny, huge = 1e-45, 3.4e38
    values = [0.0, -0.0, 1.0, -7.0, tiny, 1e-39, 1e-30, huge, np.inf, -np.inf, np.nan]
    numbers = [*values, 1e-13, 0.3, 1e13]
    x = np.tile(np.array(values, np.float32), (len(numbers), 4))
    s = np.array(numbers, np.float32)
    with np.errstate(all="ignore"):
        expected = x / s[:, None]
    found = quotients(x, s)
    np.testing.assert_allclose(found, expected, rtol=0, atol=tiny)
    there = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(found)[there], np.signbit(expected)[there])
