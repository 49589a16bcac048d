"""Sizes of blocks: registers hold their sums beside what a term, and the terms after it, need."""

from __future__ import annotations

import pytest

import tadc
from tadc.dialects.tix import AVX_512, Registers
from tadc.passes.scheduling.tiles.block_sizes import MOST_ROWS, Room


@pytest.mark.parametrize("registers", [AVX_512, Registers(16, 2), Registers(16, 4)])
@pytest.mark.parametrize("keeps", [False, True])
def test_registers_hold_the_sums_of_all_rows_and_what_they_read(
    keeps: bool, registers: Registers
) -> None:
    room = Room(registers, False, keeps)
    for vectors in (1, 2, 3, 4):
        rows, width = room.rows(vectors), vectors * registers.of_vector
        kept = rows if keeps else 1
        assert rows == 1 or rows * width + width + kept <= registers.count
        more = rows + 1
        is_full = more * width > registers.count * 3 // 4
        is_full |= more * width + width + (more if keeps else 1) > registers.count
        assert is_full or rows == MOST_ROWS


def test_the_rows_of_known_processors() -> None:
    rows = {
        registers: [Room(registers, False, False).rows(vectors) for vectors in (1, 2, 4)]
        for registers in (AVX_512, Registers(16, 2), Registers(16, 4))
    }
    assert [*rows.values()] == [[8, 8, 6], [6, 2, 1], [2, 1, 1]]


@pytest.mark.parametrize(
    ("taps", "length", "blocks"),
    [
        # seven rows and three taps read x[v + t] at nine places, each for all columns
        (3, 15, "rows v by 7, columns o by 48"),
        # so many taps are a loop, which reads each place anew
        (20, 18, "rows v by 6, columns o by 64"),
        # two blocks have room for so many rows
        (20, 15, "rows v by 8, columns o by 48"),
    ],
)
def test_rows_that_taps_share_are_in_registers(taps: int, length: int, blocks: str) -> None:
    source = "y[o, v] = sum[c, t](w[c, t, o] * x[c, v + t])"
    sizes = {"O": 80, "C": 500, "T": taps, "X_1": length + taps - 1}
    plan = tadc.compile(source).emit("plan", sizes, "f32")
    assert blocks in plan
