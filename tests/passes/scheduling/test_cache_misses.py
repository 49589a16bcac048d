"""Lines that come from beyond the caches of a core, as the choice of blocks counts them."""

from __future__ import annotations

import pytest

import tadc
from tadc.passes.analysis.index_uses import IndexUses
from tadc.passes.scheduling.costs.cache_misses import COST_OF_FAR_LINE, cost_of_far_lines
from tadc.passes.scheduling.tiles.sum_lengths import blocked_sums
from tadc.passes.scheduling.tiles.tile import Hoisted, Tile
from tadc.passes.scheduling.tiles.tile_choice import choose_tiles

SOURCE = "y[k, r] = sum[i, j](x[i, j, k] * d[i, j, r])"


def cost(i: int, row: int, rows: int, columns: int, panel: bool = False) -> float:
    """The cost of far lines per element, with rows along k (0) or r (1)."""
    shapes = f"x: f32[{i}, 96, 128]\nd: f32[{i}, 96, 32]\n"
    op = tadc.compile(shapes + SOURCE).program.op.definitions[0]
    (inner,) = blocked_sums(op.body)
    tile = Tile(op.indices[row], op.indices[1 - row], rows, columns, 16, group=3)
    if panel:
        read = inner.body.block.first_op
        assert read is not None
        tile.panels[inner] = (Hoisted(read.results[0], tuple(inner.indices)),)
    return cost_of_far_lines([inner], tile, IndexUses(), {})


@pytest.mark.parametrize(
    ("found", "lines"),
    [
        # 4 lines of x for each term, of 6 MB
        (cost(128, 1, 4, 64), 128 * 96 * 4 / 256),
        (cost(128, 1, 8, 32), 128 * 96 * 2 / 256),
        # d has 1.5 MB
        (cost(128, 0, 8, 32), 0),
        # a core keeps all of it
        (cost(16, 1, 4, 64), 0),
        # what is copied comes once for three blocks
        (cost(128, 1, 4, 64, panel=True), 128 * 96 * 4 / 256 / 3),
        (cost(16, 1, 4, 64, panel=True), 0),
    ],
)
def test_lines_of_what_no_cache_of_a_core_keeps(found: float, lines: float) -> None:
    assert found == pytest.approx(COST_OF_FAR_LINE * lines)


@pytest.mark.parametrize(
    ("i", "columns"),
    [
        # along columns k, x would come from afar for each block; it is read by rows instead
        (128, "r"),
        (16, "k"),
    ],
)
def test_which_columns_are_chosen(i: int, columns: str) -> None:
    shapes = f"x: f32[{i}, 96, 128]\nc: f32[{i}, 32]\nb: f32[96, 32]\n"
    source = "y[k, r] = sum[i, j](x[i, j, k] * (c[i, r] * b[j, r]))"
    op = tadc.compile(shapes + source).program.op.definitions[0]
    assert choose_tiles(op)[0].column_index.name_hint == columns
