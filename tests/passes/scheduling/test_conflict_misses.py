"""Vectors of rows in one place of a cache, as the choice of blocks and copies counts them."""

from __future__ import annotations

import pytest

import tadc
from tadc.dialects import tix
from tadc.passes.analysis.index_uses import IndexUses
from tadc.passes.scheduling.costs.conflict_misses import cost_of_row_vectors
from tadc.passes.scheduling.costs.strided_lines import COST_OF_LINE_IN_TWO_PLACES
from tadc.passes.scheduling.tiles.sum_lengths import blocked_sums
from tadc.passes.scheduling.tiles.tile import Hoisted, Tile

CORRELATION = "z[c, h, p in range(64)] = sum[d in range(64)](x[d, h, p] * f[c, h, p + d])"


def vectors(
    formula: str = CORRELATION,
    *,
    element: str = "f32",
    length: int = 256,
    rows: int = 8,
    panel: bool = False,
) -> float:
    """The vectors of a term of a block of rows c and 32 columns p that are loaded again, with or
    without a panel of what all rows read."""
    shape = f"{element}[64, 64, {length}]"
    op = tadc.compile(f"x: {shape}\nf: {shape}\n{formula}").program.op.definitions[0]
    (inner,) = blocked_sums(op.body)
    first = next(o for o in inner.body.block.ops if isinstance(o, tix.ReadOp))
    panels = {inner: (Hoisted(first.result, inner.indices),)} if panel else {}
    lanes = 16 if element == "f32" else 8
    tile = Tile(op.indices[0], op.indices[-1], rows, 32, lanes, panels=panels)
    cost = cost_of_row_vectors([inner], tile, IndexUses(), {}, {})
    return cost * rows * 32 / COST_OF_LINE_IN_TWO_PLACES / 64


def test_terms_take_the_place_of_rows() -> None:
    assert vectors() == 8 * 2
    assert vectors(rows=4) == 4 * 2
    assert vectors(element="f64") == 8 * 4
    assert vectors(rows=1) == 0


@pytest.mark.parametrize(
    ("read", "instead"),
    [
        ("x[d, h, p]", "x[h, d, p]"),  # terms lie side by side
        ("x[d, h, p]", "x[d, h, 0]"),  # they are no vectors, but elements
        ("f[c, h, p + d]", "f[h, c, p + d]"),  # rows lie side by side
        ("f[c, h, p + d]", "f[c, d, p]"),  # the next terms read other lines of them
    ],
)
def test_rows_stay_where_little_comes_between(read: str, instead: str) -> None:
    assert vectors(CORRELATION.replace(read, instead)) == 0


def test_places_are_four_thousand_bytes_apart() -> None:
    """Rows of 260 numbers, and as many matrices of 64 of them, are in other places."""
    assert vectors(length=260) == 0
    assert vectors(length=272) == 8 * 2  # 64 rows of 1088 bytes are 17 times as many


def test_what_a_panel_holds_takes_no_place() -> None:
    assert vectors(panel=True) == 0
