"""What blocks copy: not a few terms at a time."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view

import tadc
from tadc.dialects.tix import AVX_512
from tadc.passes.lowering.set_precision import set_precision
from tadc.passes.scheduling.blocking import blocking_chooser
from tadc.passes.scheduling.tiles.tile_choice import priced_tiles

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
    tiles = [p.tile for p in priced_tiles(op, {}, AVX_512, column)]
    along = [t for t in tiles if t.row_index is op.indices[3] and t.columns == 64]
    assert along
    assert all(bool(tile.panels) == copies and not tile.chunks for tile in along)


LATE_LAYER = """\
x: f32[{n}, {c}, {side}, {side}]
w: f32[{o}, {c}, 3, 3]
y[n, o, i in range({side}), j in range({side})] = \
sum[c, s, t](pad(x[n, c, i + s - 1, j + t - 1]) * w[o, c, s, t])"""


@pytest.mark.parametrize(
    ("n", "c", "o", "side"), [(1, 128, 256, 14), (1, 256, 520, 7), (3, 300, 200, 7)]
)
def test_images_of_few_rows_share_panels(n: int, c: int, o: int, side: int) -> None:
    f = tadc.compile(LATE_LAYER.format(n=n, c=c, o=o, side=side))
    plan = f.emit("plan", precision="f32")
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, c, side, side)).astype(np.float32)
    w = rng.normal(size=(o, c, 3, 3)).astype(np.float32)
    padded = np.pad(x.astype(np.float64), [(0, 0), (0, 0), (1, 1), (1, 1)])
    windows = sliding_window_view(padded, (3, 3), (2, 3))
    expected = np.einsum("ocst,ncijst->noij", w, windows, optimize=True)
    assert "a group for" in plan
    found: list[bytes] = []
    for threads in (1, 2, 7):
        tadc.set_num_threads(threads)
        found.append((y := f(x, w)).tobytes())
        np.testing.assert_allclose(y, expected, rtol=0, atol=1e-5 * np.abs(expected).max())
    assert len({*found}) == 1


@pytest.mark.parametrize("empty", "NIKJ")
def test_sizes_may_be_nothing(empty: str):
    """Panels that all values of an index share are not divided among none."""
    text = "y[n, i, j] = sum[k](a[n, i, k] * w[k, j])"
    program = set_precision(tadc.compile(text).program.op, "f32")
    sizes = {"N": 5, "I": 14, "K": 256, "J": 256, empty: 0}
    choose = blocking_chooser(True, [f"{name}={size}" for name, size in sizes.items()])
    assert choose is not None
    (op,) = program.definitions
    assert bool(choose(op).tiles) == (empty != "K"), "there are no terms"
