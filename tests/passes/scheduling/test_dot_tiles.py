"""Blocks whose vectors run along terms: how many rows they have."""

from __future__ import annotations

import numpy as np
import pytest

import tadc
from tadc.dialects.tix import AVX_512, Registers
from tadc.passes.lowering.blocks import dot_blocks
from tadc.passes.scheduling.tiles.dot_tiles import MOST_ROWS_APART
from tadc.passes.scheduling.tiles.sum_lengths import blocked_sums
from tadc.passes.scheduling.tiles.tile_analysis import lanes_of
from tadc.passes.scheduling.tiles.tile_choice import choose_tiles, least_cost_of_terms, priced_tiles


@pytest.mark.parametrize(
    ("source", "rows"),
    [
        # rows of 4 KB share one place of the nearest cache
        ("a: f32[1024, 1024]\ny[i] = sum[k](a[i, k] * x[k])", MOST_ROWS_APART),
        ("a: f32[N, M]\ny[i] = sum[k](a[i, k] * x[k])", MOST_ROWS_APART),
        # neighbours read the same lines
        (
            "x: f32[5015]\ny[s in range(16)] = sum[t in range(5000)](z[t] * x[t + s])",
            AVX_512.count // 2,
        ),
    ],
)
def test_rows_that_lie_lines_apart_are_few(source: str, rows: int) -> None:
    op = tadc.compile(source).program.op.definitions[0]
    tile = choose_tiles(op)[0]
    assert tile.column_index not in op.indices
    assert tile.rows == rows


@pytest.mark.parametrize(("terms", "chosen"), [(7, False), (8, True), (14, True), (100, True)])
def test_half_of_a_vector_are_terms(terms: int, chosen: bool) -> None:
    source = f"x: f32[90, {terms}, 2]\ny: f32[90, {terms}, 2]\nd[a, b] = "
    op = tadc.compile(source + "sum[n, t](x[n, t, a] * y[n, t, b])").program.op.definitions[0]
    tiles = choose_tiles(op)
    assert [t.column_index not in op.indices for t in tiles] == [True] * chosen


TERMS = (
    "a: f32[1024, 1024]\ny[i] = sum[k](a[i, k] * x[k])",
    "a: f32[N, M]\ny[i] = sum[k](a[i, k] * x[k])",
    "x: f32[90, 8, 2]\ny: f32[90, 8, 2]\nd[a, b] = sum[n, t](x[n, t, a] * y[n, t, b])",
    "x: f64[5015]\ny[s in range(16)] = sum[t in range(5000)](x[t + s])",
    "a: f32[99, 99]\nx: f32[99]\ny[i] = sum[k](exp(a[i, k]) * x[k])",
)


@pytest.mark.parametrize("source", TERMS)
def test_no_blocks_cost_less_than_adding_terms(source: str) -> None:
    """Tiles that `pack-reads` does not price are no better than those that it has."""
    op = tadc.compile(source).program.op.definitions[0]
    (total,) = blocked_sums(op.body)
    priced = [p for p in priced_tiles(op, {}, AVX_512) if p.tile.column_index not in op.indices]
    assert priced
    assert min(p.cost for p in priced) >= least_cost_of_terms(total, lanes_of(op), {})


VOLUME = (
    "y[n, a, b, d, o] = sum[p in range(3), q in range(3), r in range(3), c]"
    "(x[n, a + p, b + q, d + r, c] * w[p, q, r, c, o])"
)


@pytest.mark.parametrize(("channels", "out", "size"), [(2, 2, 11), (3, 2, 16), (3, 4, 21)])
def test_gradients_of_few_channels_agree_with_the_interpreter(
    channels: int, out: int, size: int
) -> None:
    """Terms run along the last axis of the volume, of which copies are made if need be."""
    rng = np.random.default_rng(size)
    x = rng.uniform(-1, 1, (2, 9, 8, size, channels)).astype(np.float32)
    w = rng.uniform(-1, 1, (3, 3, 3, channels, out)).astype(np.float32)
    found: list[np.ndarray] = []
    for target in ("cpu", "interpret"):
        y, pullback = tadc.vjp(tadc.compile(VOLUME, target=target), x, w, wrt=("w",))
        found += pullback(y)
    np.testing.assert_allclose(found[0], found[1], rtol=1e-4, atol=1e-3)


PADDED = """\
x: real[2, 5, {0}, {1}]
dy: real[2, 5, {0}, {1}]
dw[c, u in range(3), v in range(3)] = \
sum[n, i, j](dy[n, c, i, j] * pad(x[n, c, i + u - 1, j + v - 1]))"""


@pytest.mark.parametrize("columns", [14, 16, 17, 28])
@pytest.mark.parametrize("dtype", ["f32", "f64"])
@pytest.mark.parametrize("written_out", [True, False])
def test_borders_leave_terms_out_of_vectors(
    columns: int, dtype: str, written_out: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Padded windows lack terms at borders, which differ by row of the block, and by lane."""
    if not written_out:
        monkeypatch.setattr(dot_blocks, "MOST_VECTORS_WRITTEN_OUT", 0)
    rows = 9 if written_out else 8  # code of equal programs is compiled once
    source, lanes = PADDED.format(rows, columns), 16 if dtype == "f32" else 8
    plan = f"for {dtype}\ndw[c, u, v]: rows v by 3, all u, terms j by {lanes}"
    rng = np.random.default_rng(columns)
    kind = np.float32 if dtype == "f32" else np.float64
    x, dy = (rng.uniform(-1, 1, (2, 5, rows, columns)).astype(kind) for _ in range(2))
    f = tadc.compile(source, plan=plan)
    assert ": rows v by 3, all u, terms j by" in f.emit("plan", {}, dtype)
    found, expected = f(x=x, dy=dy), f.with_target("interpret")(x=x, dy=dy)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


GROUPS = """\
dy: f32[2, C, 7, 16]
x: f32[2, G, 9, 18]
dw[g in range(12), o in range(3), u in range(3), v in range(3)] = \
sum[n, i, j](dy[n, 3*g + o, i, j] * x[n, g, i + u, j + v]) if 3*g + o < C else 0"""


@pytest.mark.parametrize("channels", [34, 35, 36])
def test_elements_without_terms_are_no_reason_against_vectors(channels: int) -> None:
    """The last group lacks channels: elements of the result that have no terms at all."""
    rng = np.random.default_rng(channels)
    x = rng.uniform(-1, 1, (2, 12, 9, 18)).astype(np.float32)
    dy = rng.uniform(-1, 1, (2, channels, 7, 16)).astype(np.float32)
    f = tadc.compile(GROUPS)
    assert ", terms j by 16" in f.emit("plan", {"C": channels, "G": 12}, "f32")
    found, expected = f(x=x, dy=dy), f.with_target("interpret")(x=x, dy=dy)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("factor", ["", " * (2 if i < j else 3)"])
def test_sums_under_conditions_are_computed_once(factor: str) -> None:
    """The sum of all lanes is what a choice takes, and no loop over numbers adds it up again."""
    source = "a: f32[20, 300]\nx: f32[3, 300]\ny[i, j] = sum[k](a[i, k] * x[j, k])"
    loops: list[int] = []
    for end in (factor, f"{factor} if i + j < 17 else 0"):
        f = tadc.compile(source + end)
        assert ", terms k by" in f.emit("plan", {}, "f32")
        loops.append(f.emit("scheduled", {}, "f32").count("scf.for"))
    assert len({*loops}) == 1


FEW = "x: f32[40, 4096]\nw: f32[8]\nz: f32[4096]\ny[q] = sum[i, j](x[i, j] * exp(-w[q] * z[j]))"


@pytest.mark.parametrize("registers", [AVX_512, Registers(16, 2)])
def test_what_is_chosen_beats_the_plain_nest(registers: Registers) -> None:
    """Vectors along eight columns may cost less than those along terms, which count twice, and more
    than the plain nest, whose vectors run along terms, too."""
    op = tadc.compile(FEW).program.op.definitions[0]
    priced = priced_tiles(op, {}, registers)
    (chosen,) = choose_tiles(op, {}, registers=registers)
    assert any(p.tile.column_index in op.indices and not p.is_good for p in priced)
    assert chosen.column_index not in op.indices
