"""Lines that rows read term by term, as the choice of blocks and copies counts them."""

from __future__ import annotations

import pytest

import tadc
from tadc.passes.analysis.index_uses import IndexUses
from tadc.passes.scheduling.costs.strided_lines import (
    COST_OF_LINE,
    COST_OF_LINE_IN_ONE_PLACE,
    COST_OF_LINE_IN_TWO_PLACES,
    cost_of_row_lines,
)
from tadc.passes.scheduling.tiles.sum_lengths import blocked_sums
from tadc.passes.scheduling.tiles.tile import Tile


def cost(source: str, row: str | None, column: str) -> float:
    """The cost of the lines of a term of a block of 6 rows and 16 columns, or of one row."""
    op = tadc.compile(source).program.op.definitions[0]
    (inner,) = blocked_sums(op.body)
    index = {v.name_hint: v for v in op.indices}
    rows = 1 if row is None else 6
    tile = Tile(None if row is None else index[row], index[column], rows, 16, 16)
    return cost_of_row_lines([inner], tile, IndexUses(), {}) * rows * 16 / 64


DOWN = "y[i, j] = sum[k](a[k, i] * b[k, j])"


@pytest.mark.parametrize(
    ("source", "row", "expected"),
    [
        # rows are neighbours in a line, which holds one term
        (f"a: f32[64, 1000]\nb: f32[64, J]\n{DOWN}", "i", COST_OF_LINE),
        (f"a: f32[64, 1024]\nb: f32[64, J]\n{DOWN}", "i", COST_OF_LINE_IN_ONE_PLACE),
        (f"a: f32[64, 1024]\nb: f32[64, J]\n{DOWN}", None, COST_OF_LINE_IN_ONE_PLACE),
        (f"a: f32[64, 1536]\nb: f32[64, J]\n{DOWN}", "i", COST_OF_LINE_IN_TWO_PLACES),
        (f"a: f32[64, I]\nb: f32[64, J]\n{DOWN}", "i", COST_OF_LINE),
        # rows have lines of their own
        (
            f"a: f32[64, 1000, 32]\nb: f32[64, J]\n{DOWN.replace('k, i', 'k, i, 3')}",
            "i",
            6 * COST_OF_LINE,
        ),
        # terms share a line
        (f"a: f32[I, 64]\nb: f32[64, J]\n{DOWN.replace('k, i', 'i, k')}", "i", 0),
        (f"a: f32[64, 8]\nb: f32[64, J]\n{DOWN}", "i", 0),
        # lines of few terms are still there for the next rows
        (f"a: f32[16, 1024]\nb: f32[16, J]\n{DOWN}", "i", 0),
    ],
)
def test_lines_of_a_term(source: str, row: str | None, expected: float) -> None:
    assert cost(source, row, "j") == pytest.approx(expected)


def test_what_moves_with_columns_is_no_row() -> None:
    assert cost("a: f32[64, 1024]\ny[i in range(9), j] = sum[k](a[k, i + j])", "i", "j") == 0
