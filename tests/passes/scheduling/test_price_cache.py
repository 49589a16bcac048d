"""Prices that are known are those of programs that are alike, in what they say of sizes, too."""

from __future__ import annotations

import pytest

import tadc
from tadc.dialects import tix
from tadc.passes.scheduling.costs import price_cache
from tadc.passes.scheduling.tiles.tile_choice import priced_for


def test_what_was_priced_before_makes_no_difference(monkeypatch: pytest.MonkeyPatch):
    """The short sum is unrolled for at most 128 columns; for more, it is not known to be short."""
    text = "y[i, j] = sum[k](a[i, k] * w[k, j]) * sum[t in range(12)](exp(x[i, j + t]))"
    f = tadc.compile(text)

    def prices(columns: int) -> list[tuple[int, int, float]]:
        program = f.program.op.clone()
        names = f.program.summary.size_names()
        limits = {name: columns if name == "J" else 4095 for name in names}
        program.most = tix.size_limits(limits)
        (op,) = program.definitions
        priced = priced_for(op, dict.fromkeys(names, 512), tix.AVX_512)
        return [(p.tile.rows, p.tile.columns, p.cost) for p in priced]

    few = prices(128)
    many = prices(4095)
    assert few != many
    monkeypatch.setattr(price_cache, "_known", {})
    assert prices(4095) == many
    assert prices(128) == few
