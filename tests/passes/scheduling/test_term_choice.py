"""Blocks whose vectors run along terms: how many rows they have."""

from __future__ import annotations

import pytest

import tadc
from passes.scheduling.tiles.term_choice import MOST_ROWS_APART, MOST_SUMS
from passes.scheduling.tiles.tile_choice import choose_tiles


@pytest.mark.parametrize(
    ("source", "rows"),
    [
        # rows of 4 KB share one place of the nearest cache
        ("a: f32[1024, 1024]\ny[i] = sum[k](a[i, k] * x[k])", MOST_ROWS_APART),
        ("a: f32[N, M]\ny[i] = sum[k](a[i, k] * x[k])", MOST_ROWS_APART),
        # neighbours read the same lines
        ("x: f32[5015]\ny[s in range(16)] = sum[t in range(5000)](z[t] * x[t + s])", MOST_SUMS),
    ],
)
def test_rows_that_lie_lines_apart_are_few(source: str, rows: int) -> None:
    op = tadc.compile(source).program.op.definitions[0]
    tile = choose_tiles(op)[0]
    assert tile.column_index not in op.indices
    assert tile.rows == rows
