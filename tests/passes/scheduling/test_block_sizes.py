"""Sizes of blocks: registers hold their sums beside what a term, and the terms after it, need."""

from __future__ import annotations

import pytest

import tadc
from passes.scheduling.tiles.block_sizes import Room


@pytest.mark.parametrize(("keeps", "rows"), [(False, [8, 8, 8, 6]), (True, [8, 8, 7, 5])])
def test_the_rows_of_so_many_vectors_of_columns(keeps: bool, rows: list[int]) -> None:
    room = Room(24, keeps)
    assert [room.rows(vectors) for vectors in (1, 2, 3, 4)] == rows
    for vectors, height in enumerate(rows, 1):
        kept = height if keeps else 1
        assert height * vectors + vectors + kept <= 32


@pytest.mark.parametrize(
    ("taps", "blocks"),
    [
        # seven rows and three taps read x[v + t] at nine places, each for all columns
        (3, "rows v by 7, columns o by 48"),
        # so many taps are a loop, which reads each place anew
        (20, "rows v by 6, columns o by 64"),
    ],
)
def test_rows_that_taps_share_are_in_registers(taps: int, blocks: str) -> None:
    source = "y[o, v] = sum[c, t](w[c, t, o] * x[c, v + t])"
    sizes = {"O": 80, "C": 500, "T": taps, "X_1": 14 + taps}
    plan = tadc.compile(source).emit("plan", sizes, "f32")
    assert blocks in plan
