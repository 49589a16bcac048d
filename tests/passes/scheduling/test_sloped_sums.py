"""Sums whose bounds move with the column: their price, and what stands beside them."""

from __future__ import annotations

import numpy as np
import pytest

import tadc

MOVED = "sum[k in range(max(0, i - 39), min(1000, i + 1))](w[b, i - k] * x[b, k])"
GUARDED = "(sum[l](w[b, l] * x[b, i + l]) if i < 1000 else 0)"
ARGUMENTS = "w: f32[8, 40]\nx: f32[8, X]\n"


def plan(body: str) -> str:
    """The line of a plan for rows of 1039 elements, of a result with that body."""
    f = tadc.compile(f"{ARGUMENTS}y[b, i in range(X)] = {body}")
    lines = f.emit("plan", {"X": 1039}).splitlines()
    return next(line for line in lines if line.startswith("y[b, i]"))


@pytest.mark.parametrize("body", [MOVED, f"{GUARDED} + {MOVED}", f"{MOVED} - {GUARDED}"])
def test_sums_with_conditions_are_in_blocks_beside_others(body: str) -> None:
    """Elements of x are there for each term, by the bound that some column has."""
    assert "rows b by 8, columns i by 16" in plan(body)


def test_wide_blocks_walk_over_terms_that_most_columns_lack() -> None:
    """A window of 512 terms is long beside a block."""
    long = ARGUMENTS.replace("40", "512")
    f = tadc.compile(f"{long}y[b, i in range(X)] = {MOVED.replace('39', '511')}")
    columns = f.emit("plan", {"X": 1039}).partition("columns i by ")[2]
    assert int(columns.split()[0].rstrip(",")) > 16


def test_columns_have_no_terms_in_common_where_bounds_move_by_more_than_there_are() -> None:
    """Pieces of 63 terms: of what a block of 48 of them walks over, each has a 48th part."""
    f = tadc.compile(
        "a: f32[700, 2]\nb: f32[2995, 2]\nc: f32[700]\n"
        "y[j] = sum[k, i](abs(a[i, j] - b[k, j] - c[i]))"
    )
    pieces = next(line for line in f.emit("plan").splitlines() if line.startswith("y_pieces"))
    assert "terms k" in pieces and "columns p" not in pieces


@pytest.mark.parametrize("size", [1039, 1040, 1100])
@pytest.mark.parametrize("body", [MOVED, f"{GUARDED} + {MOVED}"])
def test_sums_in_such_blocks_are_those_of_numpy(size: int, body: str) -> None:
    source = f"{ARGUMENTS}y[b, i in range(X)] = {body}".replace("f32", "f64")
    rng = np.random.default_rng(size)
    w, x = rng.normal(size=(8, 40)), rng.normal(size=(8, size))
    found = tadc.compile(source)(w, x)
    padded = np.pad(x[:, :1000], [(0, 0), (39, size - 1000)])
    expected = np.zeros((8, size))
    for k in range(40):
        expected += w[:, [k]] * padded[:, 39 - k : 39 - k + size]
        if body != MOVED:
            expected[:, :1000] += w[:, [k]] * x[:, k : k + 1000]
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
