"""Sums beside each other, of which one has vectors along its terms and one along the elements."""

from __future__ import annotations

import numpy as np
import pytest

import tadc
from tadc.passes.derive.outline_reductions import OutlineReductionsPass
from tadc.passes.rewriting.written_sizes import write_sizes

ROWS, COLUMNS = "sum[j](w[i, j] * x[j])", "sum[j](w[j, i] * x[j])"
DECLARED = "w: f64[N, N]\nx: f64[N]\n"
SIZES = write_sizes({"N": 512})


@pytest.mark.parametrize(
    ("body", "labels"),
    [
        (f"{ROWS} + {COLUMNS}", ["y_sum", "y"]),
        (f"{COLUMNS} - 2 * {ROWS}", ["y_sum", "y"]),
        (ROWS.replace("j]", "j in range(i)]", 1) + f" + {COLUMNS}", ["y_sum", "y"]),
        (ROWS, ["y"]),
        (f"{ROWS} + sum[j](w[i, j]**2)", ["y"]),
        (f"{COLUMNS} + sum[j](w[j, i]**2)", ["y"]),
        (f"{ROWS.replace('j]', 'j in range(4)]', 1)} + {COLUMNS}", ["y"]),
    ],
)
def test_a_sum_across_another_gets_a_name(body: str, labels: list[str]) -> None:
    program = tadc.compile(f"{DECLARED}y[i] = {body}").program.op.clone()
    named = OutlineReductionsPass(True, True, SIZES).rewrite(program)
    assert [op.label.data for op in named.definitions] == labels


def test_products_of_matrices_share_panels() -> None:
    """Elements of a row, and of a column, read the same: none has vectors of its own."""
    product = "y[i, k] = sum[j](w[i, j] * w[k, j]) + sum[j](w[j, i] * w[j, k])"
    program = tadc.compile(f"w: f64[N, N]\n{product}").program.op.clone()
    named = OutlineReductionsPass(True, True, SIZES).rewrite(program)
    assert [op.label.data for op in named.definitions] == ["y"]


@pytest.mark.parametrize("size", [257, 500])
def test_both_are_those_of_numpy(size: int) -> None:
    rng = np.random.default_rng(size)
    w, x = rng.normal(size=(size, size)), rng.normal(size=size)
    found = tadc.compile(f"{DECLARED}y[i] = {ROWS} + {COLUMNS}")(w, x)
    np.testing.assert_allclose(found, w @ x + w.T @ x, rtol=1e-12, atol=1e-12)
