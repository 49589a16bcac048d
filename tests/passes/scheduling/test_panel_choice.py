"""What blocks copy: not a few terms at a time."""

from __future__ import annotations

import pytest

import tadc
from passes.scheduling.tile_choice import priced_tiles

STRIDED = """\
w: f32[128, 2, 9, 64]
y: f32[4, 128, 29, 28]
x[n, c in range(64), p in range(28), q in range(28)] = \
sum[o, i in range({low}, {high})](y[n, o, p - i + 1, q] * w[o, i, 4, c])"""
RANGES = {
    # two terms i for each o: their bounds are no numbers, so that a chunk has no more of them
    "of two values": ("max(0, p - 27)", "min(2, p + 1)", False),
    "as numbers": ("0", "2", True),
}


@pytest.mark.parametrize(("low", "high", "copies"), RANGES.values(), ids=RANGES)
def test_a_panel_is_filled_for_many_terms(low: str, high: str, copies: bool) -> None:
    (op,) = tadc.compile(STRIDED.format(low=low, high=high)).program.op.definitions
    column = op.indices[1]
    tiles = [p.tile for p in priced_tiles(op, {}, column)]
    along = [t for t in tiles if t.row_index is op.indices[3] and t.columns == 64]
    assert along
    assert all(bool(tile.panels) == copies and not tile.chunks for tile in along)
