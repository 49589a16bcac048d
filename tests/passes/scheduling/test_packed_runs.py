"""Runs of panels: which terms lie side by side, and that squares of them hold what they read."""

from __future__ import annotations

import numpy as np
import pytest

import tadc
from tadc.dialects import tix
from tadc.passes.analysis.index_uses import IndexUses
from tadc.passes.scheduling.tiles.packed_runs import run_of
from tadc.passes.scheduling.tiles.sum_lengths import blocked_sums
from tadc.passes.scheduling.tiles.tile import Hoisted


@pytest.mark.parametrize(
    ("shape", "read", "run"),
    [
        ("J, C, 3, 3", "w[j, c, u, v]", "cuv"),
        ("J, C, 3, 3", "w[j, c, u, 2 - v]", ""),  # backwards
        ("J, C, 3, 4", "w[j, c, u, v]", ""),  # three of four, too short a run
        ("J, C, 4, 3", "w[j, c, u, v]", "uv"),  # nine of twelve
        ("J, C, 7, 3", "w[j, c, 2*u, v]", ""),  # every second one
        ("C, J, 3, 3", "w[c, j, u, v]", "uv"),
        ("C, 3, 3, J", "w[c, u, v, j]", ""),  # columns lie side by side
        ("J, C, N, 3", "w[j, c, u, v]", "uv"),  # how far c moves is not known
        ("J, 3, 3, C", "w[j, u, v, c]", ""),  # the sum goes along v first
    ],
)
def test_terms_side_by_side_are_a_run(shape: str, read: str, run: str) -> None:
    source = f"""\
x: f32[64, C, 3, 3]
w: f32[{shape}]
y[i, j in range(48)] = sum[c in range(20), u in range(3), v in range(3)](x[i, c, u, v] * {read})"""
    (op,) = tadc.compile(source).program.op.definitions
    (inner,) = blocked_sums(op.body)
    uses, column = IndexUses(), op.indices[1]
    (value,) = (
        o.result
        for o in inner.walk()
        if isinstance(o, tix.ReadOp) and column in uses.of_operation(o)
    )
    used = tuple(v for v in inner.indices if v in uses.of(value))
    found = run_of(Hoisted(value, used), inner, column, uses)
    assert "".join(v.name_hint or "" for v in found) == run


SIDES = (2, 9), (5, 3), (8, 2), (16, 3), (17, 2), (31, 3)
PANEL = "\n  sum 1 over c, k{chunks}: panel w[{read}]"


@pytest.mark.parametrize("dtype", ["f32", "f64"])
@pytest.mark.parametrize("read", ["j, c, k", "c, j, k"])
@pytest.mark.parametrize("chunks", ["", " in chunks of 4 of c"])
def test_panels_hold_what_the_sum_reads(chunks: str, read: str, dtype: str) -> None:
    """Runs of all lengths, with a last square that a mask cuts; of one sum, or of several outside.

    The sum of a panel without chunks has numbers for bounds.
    """
    rng = np.random.default_rng(0)
    for channels, taps in SIDES:
        sizes = f"C, {taps}" if chunks else f"{channels}, {taps}"
        first, *others = sizes.split(", ")
        shape = f"J, {sizes}" if read[0] == "j" else f"{first}, J, {', '.join(others)}"
        plan = f"for {dtype}\ny[i, j]: rows i by 3, columns j by 32, 4 blocks a group"
        plan += PANEL.format(chunks=chunks, read=read)
        f = tadc.compile(
            f"x: {dtype}[{first}, I]\nw: {dtype}[{shape}]\n"
            f"y[i in range(13), j] = sum[c, k](x[c, i + k] * w[{read}])",
            plan=plan,
        )
        x = rng.normal(size=(channels, 12 + taps)).astype(dtype.replace("f", "float"))
        w = rng.normal(size=(45, channels, taps)).astype(x.dtype)
        windows = np.stack([x[:, k : k + 13] for k in range(taps)], -1)
        expected = np.einsum("cik,jck->ij", windows, w)
        y = f(x, w if read[0] == "j" else np.ascontiguousarray(np.swapaxes(w, 0, 1)))
        np.testing.assert_allclose(y, expected, rtol=0, atol=1e-4)


@pytest.mark.parametrize("taps", [3, 5])
def test_panels_of_views_hold_what_the_sum_reads(
    taps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows of a view lie apart: a run of them all would read what lies between them."""
    monkeypatch.setattr("tadc.runtime.arguments.FEWEST_BYTES_NOT_COPIED", 0)
    rng = np.random.default_rng(taps)
    f = tadc.compile(
        "x: f64[C, I]\nw: f64[J, C, K]\ny[i in range(13), j] = sum[c, k](x[c, i + k] * w[j, c, k])"
    )
    x, room = rng.normal(size=(6, 12 + taps)), rng.normal(size=(48, 9, taps + 2))
    w = room[:45, 1:7, 1 : taps + 1]
    windows = np.stack([x[:, k : k + 13] for k in range(taps)], -1)
    np.testing.assert_allclose(f(x, w), np.einsum("cik,jck->ij", windows, w), atol=1e-9)
