"""Tiles compute what the plain nest computes: for every size, in pieces too, each element once."""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

import tadc
from tadc.passes.lowering.schedule import schedule
from tadc.passes.lowering.set_precision import set_precision
from tadc.passes.scheduling.blocking import blocking_chooser, chosen_blocking
from tadc.passes.scheduling.costs import line_reuse, tile_cost
from tadc.passes.scheduling.tiles import (
    block_sizes,
    packing,
    sum_lengths,
    tile_analysis,
    tile_choice,
)
from tadc.runtime import size_class
from tadc.runtime.cpu import CpuModule
from tadc.runtime.on_cpu import CpuExecutable
from tadc.sizes import bind_sizes
from tadc.targets.llvm import print_llvm
from tests.support.campaign import CAMPAIGN, seeds
from tests.support.long_calls import count_all_calls_as_long
from tests.support.random_programs import random_program
from tests.support.scheduled_programs import run_scheduled
from tests.targets.llvm_kernels import CompiledKernel

MATMUL = "y[i, j] = sum[k](x[i, k] * w[k, j])"
DISTANCES = "y[i, j] = sum[k](abs(x[i, k] - z[j, k]))"
KERNEL = "y[i] = sum[j](exp(-sum[k]((x[i, k] - z[j, k])**2)) * b[j])"
CONVOLUTION = "y[n, o, t in range(40)] = sum[c, s](w[o, c, s] * x[n, c, 2*t + 3*s])"
CORRELATION = "y[i] = sum[k](d[i + k] * v[k])"
PAPER = "f[i, j] = exp(-sum[k]((a[i, k] + b[j, k])**2 * c[i, i] + d[i + k]**3) / 9)"
SLOPED = (
    "y[n, j in range(99)] = sum[k in range(max(0, j - 40), min(60, j + 1))](x[n, k] * w[5, j - k])"
)
BANDED = "y[i, j] = sum[k in range(max(0, j - 20), min(70, j + 30))](a[i, k] * b[k, j] * c[j])"
TWO_SUMS = "y[i, j] = sum[k](x[i, k] * w[j, k]) / (1 + sum[k](abs(w[j, k])) + sum[k](x[i, k]**2))"
SHARED = "y[n, c, p] = sum[o](x[n, o] * w[o, c, p])"
FILTERS = "w[o, s, t] = sum[n, h, v](y[n, o, h, v] * x[n, h + s, v + t])"
BACKWARDS = (
    "w[s in range(5)] = sum[n, t in range(100)](exp(y[n, t] + 0.1 * x[n, 99 + s - t]) * y[n, t])"
)
SQUARES = "y[b, i, j] = sum[k](x[b, i, k] * z[b, j, k])"
CHOSEN = """\
r[i, j] = sum[k]((x[i, k] - z[j, k])**2)
y[i] = sum[j](b[j] * (40 - r[i, j]) / r[i, j] if 0 < r[i, j] < 40 else 0.5 * b[j])"""
CHOSEN_UNDER_GUARDS = """\
y[i, j in range(90)] = sum[k](\
log(x[i, j + k - 3]) * w[k] if j + k >= 3 and x[i, j + k - 3] > 0 else w[k])"""
LONG_ROWS = "y[i] = 1 + u[i] * sum[j, k](x[i, j, k] * v[j, k] / (1 + v[j, k]**2))"
TROPICAL = "y[i, j] = max[k](x[i, k] + w[k, j])"
DILATION = "y[i, j] = min[k in range(5), l in range(5)](x[i + k, j + l] * w[k, l])"
EXTREMES = "y[i] = max[j](prod[k](1 + x[i, k] * z[j, k]) - min[k](x[i, k] - z[j, k]))"
QUOTIENTS = "y[i, j] = sum[k](x[k, j] * w[k, i] if k >= i // 3 else 0)"

CASES: list[tuple[str, dict[str, tuple[int, ...]]]] = [
    (PAPER, {"a": (67, 37), "b": (69, 37), "c": (67, 67), "d": (103,)}),
    (QUOTIENTS, {"x": (45, 70), "w": (45, 50)}),
    (MATMUL, {"x": (37, 301), "w": (301, 75)}),
    (MATMUL, {"x": (3, 301), "w": (301, 130)}),
    (MATMUL, {"x": (300, 40), "w": (40, 13)}),
    (KERNEL, {"x": (77, 3), "z": (99, 3), "b": (99,)}),
    (KERNEL, {"x": (77, 21), "z": (99, 21), "b": (99,)}),
    (KERNEL, {"x": (77, 3), "z": (0, 3), "b": (0,)}),
    (CONVOLUTION, {"w": (19, 9, 5), "x": (3, 9, 92)}),
    (DISTANCES, {"x": (70, 40), "z": (150, 40)}),
    (CORRELATION, {"d": (299,), "v": (100,)}),
    (SLOPED, {"x": (5, 60), "w": (6, 41)}),
    (BANDED, {"a": (40, 70), "b": (70, 90), "c": (90,)}),
    (TWO_SUMS, {"x": (30, 50), "w": (90, 50)}),
    (SHARED, {"x": (9, 40), "w": (40, 70, 5)}),
    (FILTERS, {"y": (2, 7, 11, 37), "x": (2, 13, 40)}),
    (FILTERS, {"y": (1, 40, 3, 130), "x": (1, 3, 131)}),
    (BACKWARDS, {"y": (3, 100), "x": (3, 106)}),
    (CHOSEN, {"x": (77, 3), "z": (99, 3), "b": (99,)}),
    (CHOSEN, {"x": (70, 19), "z": (130, 19), "b": (130,)}),
    (SQUARES, {"x": (90, 12, 12), "z": (90, 12, 12)}),
    (CHOSEN_UNDER_GUARDS, {"x": (40, 130), "w": (20,)}),
    (TROPICAL, {"x": (37, 301), "w": (301, 75)}),
    (TROPICAL, {"x": (3, 301), "w": (301, 7)}),
    (DILATION, {"x": (40, 71), "w": (5, 5)}),
    (EXTREMES, {"x": (77, 21), "z": (99, 21)}),
    (LONG_ROWS, {"u": (9,), "x": (9, 90, 70), "v": (90, 70)}),
]


def declared(source: str, arrays: dict[str, np.ndarray], numbers: bool) -> str:
    """The source with its arguments declared, with numbers for sizes or none."""
    dtype = {4: "f32", 8: "f64"}
    lines = (
        f"{name}: {dtype[a.itemsize]}[{', '.join(map(str, a.shape))}]" for name, a in arrays.items()
    )
    return "\n".join([*lines, source]) if numbers else source


def arrays_of(shapes: dict[str, tuple[int, ...]], dtype: Any) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(7)
    return {name: rng.uniform(-1, 1, shape).astype(dtype) for name, shape in shapes.items()}


def value_and_gradients(
    source: str, arrays: dict[str, np.ndarray], monkeypatch: pytest.MonkeyPatch, tile: bool
) -> list[np.ndarray]:
    monkeypatch.setattr(CpuExecutable, "tiles", tile)
    monkeypatch.setattr(size_class, "MOST_WORK_WITHOUT_TILES", -1)  # no call is too small for tiles
    f = tadc.compile(source)
    values = [arrays[t.name] for t in f.args]
    y, pullback = tadc.vjp(f, *values)
    gradients = pullback(np.cos(np.arange(y.size, dtype=y.dtype)).reshape(y.shape))
    return [y, *gradients]


@pytest.mark.parametrize(("source", "shapes"), CASES)
def test_tiles_agree_with_the_plain_nest(
    source: str, shapes: dict[str, tuple[int, ...]], monkeypatch: pytest.MonkeyPatch
):
    """With numbers for sizes in single precision, and for any sizes in double precision."""
    single = arrays_of(shapes, np.float32)
    double = {name: a.astype(np.float64) for name, a in single.items()}
    plain = value_and_gradients(source, double, monkeypatch, tile=False)
    for arrays, numbers, tolerance in ((single, True, 1e-5), (double, False, 1e-13)):
        text = declared(source, arrays, numbers)
        tiled = value_and_gradients(text, arrays, monkeypatch, tile=True)
        for a, b in zip(plain, tiled, strict=True):
            assert b.dtype == np.result_type(*arrays.values())
            np.testing.assert_allclose(a, b, rtol=0, atol=tolerance * np.max(np.abs(a), initial=0))


def test_a_matrix_product_in_tiles_is_that_of_numpy():
    x, w = np.random.default_rng(1).uniform(-1, 1, (2, 200, 200)).astype(np.float32)
    np.testing.assert_allclose(tadc.compile(MATMUL)(x, w), x @ w, atol=1e-4)


def test_a_sum_along_vectors_has_one_partial_sum_per_lane():
    x = np.random.default_rng(1).uniform(-1, 1, (150, 64)).astype(np.float32)
    v = np.random.default_rng(2).uniform(1, 2, 64).astype(np.float32)
    f = tadc.compile("x: f32[150, 64]\nv: f32[64]\ny = sum[j, k](x[j, k]**2 * v[k])")
    np.testing.assert_allclose(f(x, v), (x**2 * v).sum(), rtol=1e-5)
    assert "lanes" in str(f.runner.executable("f32").module)


def test_columns_whose_terms_differ_are_masked_at_both_ends():
    x, w = (np.random.default_rng(n).uniform(-1, 1, n).astype(np.float32) for n in (900, 300))
    f = tadc.compile(
        "x: f32[900]\nw: f32[300]\n"
        "y[p in range(1199)] = sum[k in range(max(0, p - 299), min(900, p + 1))](x[k] * w[p - k])"
    )
    np.testing.assert_allclose(f(x, w), np.convolve(x, w), atol=1e-4)
    assert "vector.maskedload" in str(f.runner.executable("f32").module)


def test_rows_share_what_they_read_under_one_condition():
    f = tadc.compile(
        "w: f32[32, 32, 3]\nx: f32[32, 512]\ny[o, v] = sum[c, t](w[o, c, t] * x[c, v + t])"
    )
    text = str(f.derivative("x").runner.executable("f32").module)
    # two of three terms of the first vector, and of the last, for all eight rows, each of which
    # adds what the mask lets through; all other lanes have the terms wherever the block begins
    assert text.count("vector.maskedload") == 2 * 2
    assert text.count("loops.select") == 2 * 2 * 8


def test_results_of_few_elements_have_vectors_along_terms():
    y, x = arrays_of({"y": (4, 8, 30, 40), "x": (4, 32, 42)}, np.float32).values()
    f = tadc.compile(declared(FILTERS, {"y": y, "x": x}, numbers=True))
    windows = np.lib.stride_tricks.sliding_window_view(x, (30, 40), (1, 2))
    expected = np.einsum("nohv,nsthv->ost", y, windows)
    np.testing.assert_allclose(f(y, x), expected, atol=1e-3)
    text = str(f.runner.executable("f32").module)
    assert "vector.reduction" in text
    # three vectors of 16 lanes hold 40 terms: what the last one lacks is not read
    assert "vector.maskedload" in text


@pytest.mark.parametrize("length", [300, 333, 5])
def test_terms_of_vectors_may_lie_two_apart(length: int):
    y, x = arrays_of({"y": (20, 2 * length), "x": (20, length + 3)}, np.float32).values()
    source = "w[p in range(2), s in range(4)] = sum[i, k](y[i, 2*k + p] * x[i, k + s])"
    f = tadc.compile(declared(source, {"y": y, "x": x}, numbers=True))
    windows = np.lib.stride_tricks.sliding_window_view(x, length, 1)
    expected = np.einsum("ikp,isk->ps", y.reshape(20, length, 2), windows)
    np.testing.assert_allclose(f(y, x), expected, atol=1e-3)
    assert length == 5 or "terms k" in f.emit("plan", {}, "f32")


@pytest.mark.parametrize("length", [3, 5])
def test_terms_that_are_written_out_may_be_read_lane_by_lane(length: int):
    """The last of 20 terms, under a mask, are two apart."""
    y, x = arrays_of({"y": (5, 20, 20), "x": (3, 38 + length, 38 + length)}, np.float64).values()
    source = f"w[c, d, k in range({length}), l in range({length})] = "
    source += "sum[i, j](y[c, i, j] * x[d, 2*i + k, 2*j + l])"
    f = tadc.compile(declared(source, {"y": y, "x": x}, numbers=True))
    windows = np.lib.stride_tricks.sliding_window_view(x, (length, length), (1, 2))[:, ::2, ::2]
    expected = np.einsum("cij,dijkl->cdkl", y, windows)
    np.testing.assert_allclose(f(y, x), expected, atol=1e-12)


@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("width", [3, 70])
def test_maxima_in_tiles_are_of_all_numbers(number: float, width: int):
    x, w = np.random.default_rng(1).uniform(-1, 1, (2, 60, 60)).astype(np.float32)
    x[7, 50] = w[20, 2] = number
    expected = (x[:, :, None] + w[:, :width]).max(axis=1)
    np.testing.assert_array_equal(tadc.compile(TROPICAL)(x, w[:, :width].copy()), expected)


def test_sums_along_vectors_are_found_again_by_their_bits():
    """The gradient of a maximum finds the largest of its values again."""
    f = tadc.compile("x: f32[6, 4000]\nw: f32[4000]\ny = max[i](sum[k](x[i, k] * w[k]))")
    x = np.random.default_rng(3).uniform(-1, 1, (6, 4000)).astype(np.float32)
    w = np.linspace(-1, 1, 4000, dtype=np.float32)
    _, pullback = tadc.vjp(f, x, w)
    dx, _ = pullback(np.float32(1))
    np.testing.assert_array_equal(dx, w * (np.arange(6) == (x @ w).argmax())[:, None])


def test_what_is_the_same_for_all_terms_is_read_once_where_a_sum_may_be_empty():
    """Three rows share x[i, :] and the exponential: all of it is there, whatever M is."""
    source = "z: f64[M, 3]\nx: f64[N, 3]\n"
    f = tadc.compile(source + "y[i, k] = sum[j](exp(-sum[l]((x[i, l] - z[j, l])**2)) * z[j, k])")
    program = set_precision(f.program.op, "f64")
    (tile,) = tile_choice.choose_tiles(program.definitions[0])
    assert (tile.rows, tile.row_index) == (3, program.definitions[0].indices[1])


def test_blocks_have_four_columns_where_no_axis_has_room_for_half_a_vector():
    source = "x: f32[6, 80]\nw: f32[80, 9]\ny[i, j] = sum[k, u in range(3)](x[i, k] * w[k, j + u])"
    program = set_precision(tadc.compile(source).program.op, "f32")
    (tile,) = tile_choice.choose_tiles(program.definitions[0])
    assert (tile.columns, tile.lanes, tile.column_index.name_hint) == (4, 4, "j")


@pytest.mark.parametrize("terms", [17, 300, 5000])
def test_sums_without_chunks_are_added_beside_those_that_wait(terms: int) -> None:
    rng = np.random.default_rng(terms)
    x, w = (rng.uniform(-1, 1, (70, terms)) for _ in range(2))
    u, v = (rng.uniform(-1, 1, (70, 40)) for _ in range(2))
    source = "y[i, j] = sum[k](x[i, k] * w[j, k]) + sum[l](u[i, l] * v[j, l])"
    shapes = f"x: f64[70, {terms}]\nw: f64[70, {terms}]\nu: f64[70, 40]\nv: f64[70, 40]\n"
    plan = "y[i, j]: rows i by 4, columns j by 16, 3 blocks a group\n"
    plan += "  sum 1 over k in chunks of 16 of k\n"
    f = tadc.compile(shapes + source, plan=plan)
    np.testing.assert_allclose(f(x, w, u, v), x @ w.T + u @ v.T, rtol=0, atol=1e-10)


# --- every element once, the same bits in pieces --------------------------------------------------


class Kernel:
    """The last definition of a program in tiles, as code, with arrays for its buffers."""

    def __init__(self, source: str, arrays: dict[str, np.ndarray], shape: tuple[int, ...]):
        program = set_precision(tadc.compile(source).program.op, "f64")
        (function,) = schedule(
            program, partial(chosen_blocking, choose=tile_choice.choose_tiles, example={})
        )
        self.code = CompiledKernel(
            CpuModule(print_llvm(ModuleOp([function]))), function.sym_name.data
        )
        self.out = np.full(shape, np.nan)
        step = CpuExecutable(tadc.compile(source).program, "f64").steps[0]
        self.buffers = arrays | {step.buffers[0]: self.out}
        known = bind_sizes(program, {n: a.shape for n, a in arrays.items()})
        sizes = [known[s] for s in step.sizes]
        self.words = [*(self.buffers[b] for b in step.buffers), *sizes]
        self.extent = self.code.extent(*self.words)

    def run(self, begin: int, end: int) -> np.ndarray:
        self.out[...] = np.nan
        self.code.part(self.words, begin, end)
        return self.out.copy()


SHAPES = [
    (64, 64, 64),
    (70, 40, 97),
    (70, 40, 150),
    (137, 20, 67),
    (5, 20, 300),
    (300, 30, 7),
    (2, 3, 4),
]


@pytest.mark.parametrize(
    ("m", "k", "n", "numbers"),
    [(*shape, numbers) for shape in SHAPES for numbers in (True, False)][:: 1 if CAMPAIGN else 3],
)
def test_exactly_one_iteration_writes_an_element_and_alone_with_the_same_bits(
    m: int, k: int, n: int, numbers: bool
):
    arrays = arrays_of({"x": (m, k), "z": (n, k)}, np.float64)
    kernel = Kernel(declared(DISTANCES, arrays, numbers), arrays, (m, n))
    whole = kernel.run(0, kernel.extent)
    written = np.zeros((m, n), int)
    for unit in range(kernel.extent):
        part = kernel.run(unit, unit + 1)
        there = ~np.isnan(part)
        written += there
        assert np.array_equal(part[there], whole[there])
    assert (written == 1).all()


# --- random programs, with tiles that fit into their small sizes ----------------------------------


@pytest.fixture(params=[2, 0])
def small_tiles(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Blocks of few elements, taken wherever they are possible, with vectors along terms or not."""
    monkeypatch.setattr(tile_choice, "COST_OF_TERMS", request.param)
    analysis = {"VECTOR_BYTES": 16, "PANEL_ELEMENTS": 6}
    for name in ("MOST_TERMS_TO_UNROLL", "MOST_TERMS_OF_WINDOW"):
        monkeypatch.setattr(sum_lengths, name, 0)
    panels = {"MOST_ROWS_PER_PANEL": 4, "FEWEST_TERMS_OF_CHUNK": 1}
    for name, value in analysis.items():
        monkeypatch.setattr(tile_analysis, name, value)
    monkeypatch.setattr(block_sizes, "MOST_COLUMNS", 2)
    monkeypatch.setattr(tile_choice, "MOST_OF_PLAIN_COST", 1e9)
    for name, value in panels.items():
        monkeypatch.setattr(packing, name, value)
    for name in ("LINES_APART", "BYTES_IN_ORDER"):
        monkeypatch.setattr(line_reuse, name, 0)
    monkeypatch.setattr(tile_cost, "COST_OF_FAR_ELEMENT", 0)
    yield


@pytest.mark.usefixtures("small_tiles")
@pytest.mark.parametrize("seed", seeds(8, of=32))
def test_random_programs_in_small_tiles_agree_with_the_interpreter(seed: int):
    program = random_program(random.Random(seed), index_values=seed % 2 == 0)
    f = tadc.compile(program.source)
    arguments = [program.arguments[t.name] for t in f.args]
    expected = f.with_target("interpret").call(arguments, {})
    for a, b in zip(f.call(arguments, {}), expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9)


@pytest.mark.usefixtures("small_tiles")
@pytest.mark.parametrize("rows", [4, 5, 6, 9, 11])
def test_the_last_block_overlaps_one_of_its_own_iteration(rows: int):
    """The interpreter of loops notices an element that two iterations write."""
    source = f"x: f64[2]\nz: f64[{rows}]\ng: f64[{rows}, 2]\n"
    f = tadc.compile(source + "s[j, i] = sum[k](g[j, k] * cos(x[i] * z[j]))")
    program = set_precision(f.program.op, "f64")
    values = [np.linspace(-1, 1, int(np.prod(s))).reshape(s) for s in ((2,), (rows,), (rows, 2))]
    module = ModuleOp(schedule(program.clone(), blocking_chooser(True, ())))
    (found,) = run_scheduled(module, program, values)
    (expected,) = f.with_target("interpret").call(values, {})
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("small_tiles", [2], indirect=True)
@pytest.mark.usefixtures("small_tiles")
@pytest.mark.parametrize("source", [PAPER, MATMUL, KERNEL, CORRELATION, TWO_SUMS])
def test_gradients_in_small_tiles_agree_with_the_plain_nest(
    source: str, monkeypatch: pytest.MonkeyPatch
):
    shapes = next(s for text, s in CASES if text is source)
    arrays = arrays_of({n: tuple(min(d, 9) for d in s) for n, s in shapes.items()}, np.float64)
    if "d" in arrays:
        arrays["d"] = np.linspace(-1, 1, 17)
    plain = value_and_gradients(source, arrays, monkeypatch, tile=False)
    tiled = value_and_gradients(source, arrays, monkeypatch, tile=True)
    for a, b in zip(plain, tiled, strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-12 * np.abs(a).max())


QUOTIENTS_IN_TESTS = (
    "sum[k, l in range(5)](w[k, i] * x[k, j] if 2*(i // 3) + l < k + 3 else 0)",
    "sum[k](w[k, i] * (x[k, j] if k + 2*(i // 3) < 40 else 0))",
    "sum[k, l in range(3)](w[k, i] * x[k, j] if l + 2*(i // 3) < 40 else 0)",
)


@pytest.mark.parametrize("total", QUOTIENTS_IN_TESTS)
def test_tests_of_terms_have_quotients_of_rows(total: str, monkeypatch: pytest.MonkeyPatch) -> None:
    source = f"x: real[K, J]\nw: real[K, I]\ny[i, j] = {total}"
    rng = np.random.default_rng(0)
    x, w = rng.uniform(-1, 1, (40, 64)), rng.uniform(-1, 1, (40, 70))
    plain = tadc.compile(source, target="interpret")(x, w)
    count_all_calls_as_long(monkeypatch)
    np.testing.assert_allclose(tadc.compile(source)(x, w), plain, rtol=1e-12, atol=1e-12)
