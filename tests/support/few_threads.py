"""Passes for GPUs as if a GPU were small: test programs are."""

from __future__ import annotations

import pytest

from tadc.passes.layout import transpose_reads
from tadc.passes.lowering.gpu_threads import thread_costs
from tadc.passes.splitting import spread_reductions

LIMITS = {
    spread_reductions: {
        "THREADS": 64,
        "TERMS_OF_PIECE": 1.5,
        "FEWEST_TERMS": 3,
        "FEWEST_PIECES": 2,
        "LANES": 2,
        "SHORT": range(3, 5),
    },
    transpose_reads: {"FEWEST_READS": 0.01, "WARP": 1},
    thread_costs: {"NEEDED_THREADS": 1, "WARP": 2},
}


def pretend_few_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a GPU have a few threads, in warps of two."""
    for module, limits in LIMITS.items():
        for name, value in limits.items():
            monkeypatch.setattr(module, name, value)
