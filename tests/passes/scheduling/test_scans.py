"""Loops that carry the totals of scans: values, bits, accuracy, and what has such loops."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

import tadc
from tadc.passes.analysis.index_uses import IndexUses
from tadc.passes.scheduling.scans import column_scans, is_scanned, row_scans
from tests.support.campaign import in_turn, seeds
from tests.support.long_calls import count_all_calls_as_long, cut_all_steps
from tests.support.random_scans import random_scan

ROWS = "y[i, j] = sum[k in range(j + 1)](x[i, k])"
COLUMNS = "y[i, j] = sum[k in range(i + 1)](x[k, j])"
REST = "x: real[I, J]\ny[i in range(I), j in range(J)] = "
CASES = {
    "rows": ROWS,
    "columns": COLUMNS,
    "from an element on": f"{REST}sum[k in range(j, J)](x[i, k])",
    "columns from an element on": f"{REST}sum[k in range(i, I)](x[k, j])",
    "without the element": f"{REST}sum[k in range(j)](x[i, k])",
    "columns behind the element": f"{REST}sum[k in range(i + 1, I)](x[k, j])",
    "a few terms ahead": f"{REST}sum[k in range(min(J, j + 3))](x[i, k])",
    "columns with terms ahead": f"{REST}sum[k in range(min(I, i + 3))](x[k, j])",
    "all but the last": f"{REST}sum[k in range(max(0, j - 3), J)](x[i, k])",
    "other terms ahead for each column": f"{REST}"
    "sum[k in range(j - 1, min(I - 1, i + 1))](x[k + 1, j])",
    "columns but the last": f"{REST}sum[k in range(max(0, i - 3), I)](x[k, j])",
    "columns up to a diagonal": f"{REST}sum[k in range(min(i + 1, j + 1))](x[k, j])",
    "columns from a diagonal on": f"{REST}max[k in range(max(i, j - 3), I)](x[k, j])",
    "columns from a window on": f"{REST}sum[k in range(max(0, j - 5), i + 1)](x[k, 0])",
    "columns whose terms lie apart": f"{REST}sum[k in range(max(0, 1 - j), i - j)](x[k, j])",
    "window that begins at i": f"{REST}sum[k in range(i, j + 1)](x[i, k] if k < J else 0)",
    "maximum": f"{REST}max[k in range(j + 1)](x[i, k])",
    "minimum of columns": f"{REST}min[k in range(i, I)](x[k, j])",
    "product": f"{REST}prod[k in range(j + 1)](1 + x[i, k] / 9)",
    "product of columns": f"{REST}prod[k in range(i + 1)](1 + x[k, j] / 9)",
    "mean": f"{REST}sum[k in range(j + 1)](x[i, k]**2) / (j + 1) - x[i, j]",
    "two scans": f"{REST}sum[k in range(j + 1)](x[i, k]) * max[k in range(j + 1)](x[i, k])",
    "two ways": f"{REST}sum[k in range(j + 1)](x[i, k]) * sum[k in range(i + 1)](x[k, j])",
    "reversed terms": f"{REST}sum[k in range(j + 1)](x[i, J - 1 - k])",
    "condition": f"{REST}sum[k in range(j + 1)](x[i, k] if k > 2 else 1)",
    "areas": f"{REST}sum[k in range(i + 1), l in range(j + 1)](x[k, l])",
    "turned": "y[i, j] = sum[k in range(j + 1)](x[k, i])",
    "with a sum of the row": "s[i] = max[j](x[i, j])\n"
    "y[i, j] = sum[k in range(j + 1)](exp(x[i, k] - s[i]))\nz[i, j] = y[i, j] / s[i]",
    "one row": "y[j] = sum[k in range(j + 1)](x[k])",
    "in the middle": "y[a, i, j] = sum[k in range(i + 1)](x[a, k, j])",
}
SHAPES = [(5, 31), (2, 4100), (70, 64), (4100, 3), (0, 40), (3, 0)]


@pytest.fixture(autouse=True)
def every_call_is_long(monkeypatch: pytest.MonkeyPatch) -> None:
    count_all_calls_as_long(monkeypatch)


# --- what has such loops --------------------------------------------------------------------------


def loops_of(source: str) -> str:
    """The loops of the last definition."""
    op = tadc.compile(source).program.op.definitions[-1]
    assert is_scanned(op) == bool(row_scans(op, IndexUses()) or column_scans(op, IndexUses()))
    return "rows" if row_scans(op, IndexUses()) else "columns" if is_scanned(op) else "none"


@pytest.mark.parametrize(
    ("source", "loops"),
    [
        (ROWS, "rows"),
        (COLUMNS, "columns"),
        (CASES["two scans"], "rows"),
        (CASES["two ways"], "none"),
        (CASES["window that begins at i"], "rows"),
        ("y[i, j] = sum[k in range(j + 1)](x[k, i])", "none"),
        ("y[i, j] = sum[k in range(j + 1)](x[i, j - k])", "none"),
        ("y[i, j] = sum[k in range(j + 1), l](x[i, k, l])", "none"),
        ("y[i, j] = sum[k in range(j + 1)](x[i, k] * w[j])", "none"),
        ("y[i, j in range(50)] = sum[k in range(j // 2 + 1)](x[i, k])", "none"),
        ("y[i, j in range(50)] = sum[k in range(j, 2*j + 1)](x[i, k])", "none"),
        ("y[i, j in range(15)] = sum[k in range(j + 1)](x[i, k])", "none"),
    ],
)
def test_what_has_loops_that_carry_totals(source: str, loops: str) -> None:
    assert loops_of(source) == loops


def test_scans_share_rows_with_their_neighbours() -> None:
    f = tadc.compile(CASES["with a sum of the row"])
    assert "not stored" in f.emit("plan", {"I": 700, "J": 700})


# --- what it computes -----------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "dtype"), in_turn(CASES, ["f4", "f8"]))
def test_scans_agree_with_the_interpreter(name: str, dtype: str) -> None:
    """To within the rounding errors of so many terms."""
    source = CASES[name]
    f = tadc.compile(source)
    rng = np.random.default_rng(1)
    rank = len(f.args[0].shape)
    shapes = SHAPES[:4] if "prod" in source or "max" in source else SHAPES
    for shape in shapes if dtype == "f4" else shapes[1:3]:
        if np.prod(shape) > 9000 or (4100 in shape and rank != 2):
            continue
        shape = {1: shape[1:], 2: shape, 3: (2, *shape)}[rank]
        x = rng.uniform(-1, 1, shape).astype(dtype)
        (found,) = f.call([x], {})[-1:]
        (expected,) = f.with_target("interpret").call([x.astype("f8")], {})[-1:]
        close = {"f4": 3e-5, "f8": 1e-12}[dtype] * max(1, np.abs(x).sum() ** 0.5)
        np.testing.assert_allclose(found, expected, rtol=close, atol=close)


@pytest.mark.parametrize("seed", seeds(15, of=400))
def test_random_scans_agree_with_the_interpreter(seed: int) -> None:
    case = random_scan(Random(seed), most=100)
    f, slow = case.function, case.function.with_target("interpret")
    values = [case.arguments[t.name] for t in f.args]
    for a, b in zip(f.call(values, {}), slow.call(values, {}), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("source", [ROWS, COLUMNS, CASES["areas"], CASES["from an element on"]])
def test_bits_do_not_depend_on_threads_nor_on_strides(
    source: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    cut_all_steps(monkeypatch)
    f = tadc.compile(source)
    x = np.random.default_rng(0).uniform(-1, 1, (300, 1333)).astype(np.float32)
    expected = f(x)
    wide = np.full((300, 2000), np.nan, np.float32)
    wide[:, 5:1338] = x
    before = tadc.get_num_threads()
    for threads in (1, 2, 7):
        tadc.set_num_threads(threads)
        try:
            np.testing.assert_array_equal(f(x), expected)
            np.testing.assert_array_equal(f(wide[:, 5:1338]), expected)
        finally:
            tadc.set_num_threads(before)


# --- accuracy -------------------------------------------------------------------------------------


@pytest.mark.parametrize("source", [ROWS, COLUMNS])
def test_rounding_errors_do_not_grow_with_the_number_of_segments(source: str) -> None:
    """An element errs by a segment's errors at most: one after the other, sums err by more here."""
    shape = (1, 1 << 20) if source == ROWS else (1 << 20, 1)
    x = np.random.default_rng(0).uniform(0, 1, shape).astype(np.float32)
    exact = np.cumsum(x.ravel(), dtype=np.float64)
    found = tadc.compile(source)(x).ravel()
    plain = np.cumsum(x.ravel())
    bound = {ROWS: 4096 / 16 + 10, COLUMNS: 4096 + 4}[source] * 2.0**-24
    assert (np.abs(found - exact) <= bound * exact).all()
    assert np.abs(found - exact).max() < np.abs(plain - exact).max() / 10


@pytest.mark.parametrize("source", [ROWS, COLUMNS])
def test_numbers_go_on_growing(source: str) -> None:
    """In float32, 2**24 + 1 is 2**24: ones that are added one by one come to no more."""
    count = (1 << 24) + 4096
    x = np.ones((1, count) if source == ROWS else (count, 1), np.float32)
    assert tadc.compile(source)(x).ravel()[-1] == count


@pytest.mark.parametrize("source", [ROWS, COLUMNS])
def test_what_is_no_number_spreads_as_in_a_loop(source: str) -> None:
    x = np.random.default_rng(0).uniform(-1, 1, (4, 9000))
    x[0, 70], x[1, 5000] = np.inf, np.nan
    x[2, [8, 4100, 8000]] = -np.inf, 5, np.inf
    with np.errstate(invalid="ignore"):
        expected = np.cumsum(x, 1)
    found = tadc.compile(source)(x) if source == ROWS else tadc.compile(source)(x.T.copy()).T
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


def test_a_scan_takes_the_place_of_its_terms() -> None:
    """Terms that nobody else reads have no memory of their own."""
    f = tadc.compile("t[i, j] = sin(x[i, j] * w[j])\ny[i, j] = sum[k in range(j + 1)](t[i, k])")
    assert "with y; not stored" in f.emit("plan", {"I": 700, "J": 700})
