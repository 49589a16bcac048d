"""Definitions that share rows compute what they compute apart, for all kinds and sizes of rows."""

from __future__ import annotations

from itertools import pairwise
from random import Random
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

import tadc
from tadc.function import Function
from tadc.passes.lowering.schedule import schedule
from tadc.passes.lowering.set_precision import set_precision
from tadc.passes.scheduling.blocking import blocking_chooser
from tadc.passes.scheduling.rows import rfactored_sums, unroll_and_jam
from tadc.passes.splitting import cut_sums
from tadc.passes.splitting.rfactor import row_cuts
from tests.support.campaign import CAMPAIGN, in_turn, seeds
from tests.support.long_calls import count_all_calls_as_long
from tests.support.reduction_chains import random_chain
from tests.support.row_programs import LAYER_NORM, SOFTMAX, written

TWO_SUMS = "sum[j](exp(x[i, j]) * x[i, j]) / sum[j](exp(x[i, j]))"
BATCH_NORM = """\
m[c] = sum[n, i](x[n, c, i]) / 150
v[c] = sum[n, i]((x[n, c, i] - m[c])**2) / 150
y[n, c, i] = (x[n, c, i] - m[c]) / sqrt(v[c] + 1e-3) * g[c] + b[c]"""
CASES = {
    "softmax": SOFTMAX,
    "batch norm": BATCH_NORM,
    "rows and columns of planes": "s[n] = sum[c, i](x[n, c, i])\nt[c] = sum[n, i](x[n, c, i])\n"
    "y[n, c, i] = x[n, c, i] * s[n] + t[c]",
    "rows of pairs": "x: real[N, C, I]\ns[i, n] = sum[c, j](x[n, c, j] * a[i, c, j])\n"
    "y[i, c, n, j] = x[n, c, j] * s[i, n]",
    "log softmax": "m[i] = max[j](x[i, j])\ns[i] = sum[j](exp(x[i, j] - m[i]))\n"
    "y[i, j] = x[i, j] - m[i] - log(s[i])",
    "layer norm": LAYER_NORM,
    "three indices": "m[n, i] = min[j](x[n, i, j])\ny[n, i, j] = x[n, i, j] - m[n, i]",
    "plane": "m[n] = sum[i, j](x[n, i, j]**2)\ny[n, i, j] = x[n, i, j] / (1 + m[n])",
    "products": "p[i] = prod[j](1 + x[i, j] / 50)\ny[i, j] = p[i] / (2 + x[i, j])",
    "triangle": "x: real[J, J]\nm[i] = max[j in range(i + 1)](x[i, j])\n"
    "y[i] = sum[j in range(i + 1)](exp(x[i, j] - m[i]))",
    "trapezium": "x: real[I, J]\nm[i] = max[j in range(J - i)](x[i, j])\n"
    "y[i] = sum[j in range(J - i)](exp(x[i, j] - m[i]))",
    "ranges that end before they begin": "x: real[I, J]\n"
    "m[i] = max[j in range(40*i, J)](x[i, j])\ny[i, j] = x[i, j] * exp(m[i])",
    "backwards": "x: real[N, J]\nr[i, j in range(J)] = x[i, J - 1 - j] + 1\n"
    "s[i] = sum[j](r[i, j] * x[i, j])\ny[i, j in range(J)] = r[i, J - 1 - j] * s[i]",
    "condition on values": "s[i] = sum[j](x[i, j] if x[i, j] > 0 else 0)\n"
    "y[i, j] = x[i, j] * s[i] if x[i, j] > s[i] else s[i]",
    "condition on indices": "x: real[I, J]\n"
    "s[i in range(I)] = sum[j in range(J)](x[i, j - 1] if j > 0 else 2)\n"
    "y[i in range(I), j in range(J)] = x[i, j - 1] * s[i] if j > 2 else s[i]",
    "window": "s[i] = sum[j](x[i, j]**2)\n"
    "y[i, j in range(J - 2)] = sum[k in range(3)](x[i, j + k]) * s[i]\nx: real[I, J]",
    "numbers between": "s[i] = sum[j](x[i, j])\nt[i] = 1 / (3 + s[i]**2)\ny[i, j] = x[i, j] * t[i]",
    "several results": "m[i] = max[j](x[i, j])\ne[i, j] = exp(x[i, j] - m[i])\n"
    "s[i] = sum[j](e[i, j])\nreturn e, s, m",
    "chain in one place": "s[i] = sum[j](x[i, j])\na[i, j] = x[i, j] + s[i]\n"
    "t[i] = sum[j](a[i, j]**2)\n"
    "c[i, j] = exp(a[i, j] / (1 + t[i]))\nu[i] = sum[j](c[i, j])\ny[i, j] = c[i, j] * u[i]",
}
SHAPES = {2: [(3, 1), (2, 4100), (7, 150), (0, 40), (4, 33)], 3: [(2, 3, 50)]}
SHAPES[2] += [(5, 31), (4, 64), (3, 0)] if CAMPAIGN else []


@pytest.fixture(autouse=True)
def every_call_is_long(monkeypatch: pytest.MonkeyPatch) -> None:
    count_all_calls_as_long(monkeypatch)


# --- what is shared -------------------------------------------------------------------------------


def test_only_the_result_of_a_softmax_has_memory():
    assert written(tadc.compile(SOFTMAX)) == [("y",)]


def test_its_gradient_is_one_function_too():
    both = tadc.compile(SOFTMAX).with_pullback()
    assert written(Function(both.gradients.program, "cpu")) == [("dx",)]


def test_rows_of_channels_lie_apart_in_memory():
    both = tadc.compile("x: f64[8, 64, 700]\n" + BATCH_NORM).with_pullback()
    assert written(Function(both.value.program, "cpu")) == [("m_sum", "m", "v", "y")]
    assert written(Function(both.gradients.program, "cpu")) == [("dx", "dg", "db")]
    large = tadc.compile("x: f64[800, 64, 700]\n" + BATCH_NORM)
    assert ("y",) in written(large)  # a row leaves the near caches


def test_rows_that_others_read_have_memory():
    assert written(tadc.compile(f"{SOFTMAX}\nreturn e, y")) == [("e", "y")]


def test_the_row_of_a_tensor_that_is_read_elsewhere_in_the_row_has_memory():
    text = "s[i] = sum[j](x[i, j])\na[i, j] = x[i, j] * s[i]\ny[i, j in range(J)] = a[i, J - 1 - j]"
    assert written(tadc.compile(f"x: real[I, J]\n{text}")) == [("a", "y")]


def test_sums_with_tiles_along_their_terms_are_in_the_row_of_those_without():
    """Blocks of rows load `g` once; a row that is there already saves more."""
    text = "s[i] = sum[j](x[i, j] * g[j])\ny[i, j] = x[i, j] * s[i]"
    assert written(tadc.compile(f"x: f64[640, 768]\n{text}")) == [("y",)]
    alone = "s[i] = sum[j](x[i, j] * g[j])\nt[i] = sum[j](x[i, j] * h[j])\nreturn s, t"
    assert len(written(tadc.compile(f"x: f64[640, 768]\n{alone}"))) == 2


@pytest.mark.parametrize(("text", "by_rows"), [("max[j](x[i, j])", True), (TWO_SUMS, False)])
def test_a_reduction_alone_is_a_row(text: str, by_rows: bool):
    """Two sums over the same terms share a loop instead, which computes what both need once."""
    f = tadc.compile(f"x: f64[640, 64]\ny[i] = {text}")
    made = schedule(set_precision(f.program.op, "f64"), blocking_chooser(True, ()))
    assert ("vector.reduction" in str(ModuleOp(made))) == by_rows


APART = {
    "rows of another one": "s[i] = sum[j](x[i, j])\ny[i in range(40), j] = x[i, j] * s[i + 1]",
    "all rows": "s[i] = sum[j](x[i, j])\ny[i, j] = x[i, j] * sum[k](s[k])",
    "other sizes": "s[i] = sum[j](x[i, j])\ny[i in range(40), j] = x[i, j] * s[i]",
    "short rows": "s[i] = max[j in range(9)](x[i, j])\ny[i, j in range(9)] = x[i, j] * s[i]",
    "no rows": "s[i] = sum[j](x[i, j])\ny[i] = sqrt(s[i]) + s[i]",
}


@pytest.mark.parametrize("why", APART)
def test_definitions_stay_apart(why: str):
    assert len(written(tadc.compile(f"x: f64[60, 70]\n{APART[why]}\nreturn s, y"))) == 2


@pytest.mark.parametrize(("length", "functions"), [(10, 2), (40, 1), (512, 1)])
def test_rows_of_few_elements_stay_apart(length: int, functions: int):
    """Sizes that are known at run time only are those of the example."""
    f = tadc.compile("s[i] = sum[j](x[i, j])\ny[i, j] = x[i, j] * s[i]")
    choose = blocking_chooser(True, ("I=512", f"J={length}"))
    made = [*schedule(set_precision(f.program.op, "f64"), choose)]
    assert len(made) == functions


def test_precisions_stay_apart():
    text = "x: f64[60, 70]\ns: f32[60]\ns[i] = sum[j](x[i, j])\ny[i, j] = x[i, j] * s[i]"
    assert len(written(tadc.compile(text))) == 2


def test_sums_that_a_comparison_reads_are_added_in_order():
    """A vector has its terms in another order: then the term that is the maximum is not found."""
    text = "t[i, j] = sum[k](x[i, j, k])\nm[i] = max[j](t[i, j])"
    x = np.random.default_rng(0).uniform(-1, 1, (5, 40, 50)).astype(np.float32)
    _, pullback = tadc.vjp(tadc.compile(text), x)
    (dx,) = pullback(np.ones(5, np.float32))
    assert dx.sum() == 5 * 50


# --- what it computes -----------------------------------------------------------------------------


def arguments(f: Function, shape: tuple[int, ...], dtype: str) -> list[np.ndarray]:
    rng = np.random.default_rng(len(shape))
    given = {t.name: shape[-len(t.shape) :] if len(t.shape) < 2 else shape for t in f.args}
    given |= {t.name: shape[1:2] for t in f.args if t.shape == ("C",)}
    return [rng.uniform(-1, 1, given[t.name]).astype(dtype) for t in f.args]


@pytest.fixture
def jammed_rows_of_few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows are jammed, however few there are."""
    monkeypatch.setattr(unroll_and_jam, "FEWEST_ROWS", 0)


@pytest.mark.parametrize(("name", "dtype"), in_turn(CASES, ["f4", "f8"]))
def test_rows_agree_with_the_interpreter(name: str, dtype: str):
    check_rows(name, dtype)


@pytest.mark.usefixtures("jammed_rows_of_few")
@pytest.mark.parametrize(("name", "dtype"), in_turn(CASES, ["f8", "f4"]))
def test_rows_side_by_side_agree_with_the_interpreter(name: str, dtype: str):
    check_rows(name, dtype)


def check_rows(name: str, dtype: str) -> None:
    f, close = tadc.compile(CASES[name]), {"f4": 2e-4, "f8": 1e-11}[dtype]
    for shape in shapes_of(CASES[name]):
        values = arguments(f, shape, "f8")
        expected, slow = results_and_pullback(f.with_target("interpret"), values)
        dys = [np.cos(np.arange(r.size)).reshape(r.shape) for r in expected]
        gradients = slow(*dys)
        found, pullback = results_and_pullback(f, [v.astype(dtype) for v in values])
        found = [*found, *pullback(*(dy.astype(dtype) for dy in dys))]
        for a, b in zip(found, [*expected, *gradients], strict=True):
            assert a.dtype == dtype
            np.testing.assert_allclose(a, b, rtol=close, atol=close)


PIECES = {
    "layer norm": LAYER_NORM,
    "matrix and its transpose": "u[i] = sum[j](x[i, j] * g[j])\nv[j] = sum[i](x[i, j] * h[i])\n"
    "return u, v",
    "two reductions": "u[i] = sum[j](x[i, j] * g[j])\nt[i] = sum[j](abs(x[i, j]) * b[j])\n"
    "v[j] = sum[i](x[i, j] * t[i])\nreturn u, v",
    "of what rows make": "s[i] = max[j](x[i, j])\nr[i, j] = exp(x[i, j] - s[i])\n"
    "c[j] = sum[i](r[i, j] * x[i, j])\nreturn s, c",
    "three indices": "s[n, i] = sum[j](x[n, i, j]**2)\nc[j] = sum[n, i](x[n, i, j] * s[n, i])\n"
    "return s, c",
    "four indices": "s[m, n, i] = sum[j](x[m, n, i, j]**2)\n"
    "c[j] = sum[m, n, i](x[m, n, i, j] * s[m, n, i])\nreturn s, c",
    "inside a formula": "s[i] = sum[j](x[i, j])\n"
    "y[j] = g[j] / (1 + abs(sum[i](x[i, j] * s[i] / 99))) - sum[i](x[i, j])\nreturn s, y",
    "under a condition": "s[i] = sum[j](x[i, j])\n"
    "c[j] = sum[i](x[i, j] if x[i, j] > s[i] / 9 else g[j])\nreturn s, c",
    "rows that are made": "y[i, j] = tanh(x[i, j] * g[j])\nc[j] = sum[i](x[i, j] * y[i, j])\n"
    "return y, c",
    "very many rows": "m[j] = sum[i](x[i, j])\nc[j] = sum[i](x[i, j]**2)\n"
    "y[i, j] = x[i, j] * m[j] / (1 + c[j])\nreturn y",
}
"""Programs in which, or in whose derivatives, rows add to sums over them."""


@pytest.mark.parametrize(("name", "dtype"), in_turn(PIECES, ["f4", "f8"]))
def test_sums_over_rows_agree_with_the_interpreter(name: str, dtype: str):
    f, close = tadc.compile(PIECES[name]), {"f4": 3e-4, "f8": 1e-11}[dtype]
    shapes = {
        "three indices": [(4, 70, 40)],
        "four indices": [(2, 3, 70, 40)],
        "very many rows": [(4100, 70), (4099, 64)],
    }
    for shape in shapes.get(name, [(256, 33), (300, 70), (97, 300)]):
        rng, sizes = np.random.default_rng(1), {"g": shape[-1:], "b": shape[-1:], "h": shape[:1]}
        values = [rng.uniform(-1, 1, sizes.get(t.name, shape)) for t in f.args]
        expected, slow = results_and_pullback(f.with_target("interpret"), values)
        dys = [np.cos(np.arange(r.size)).reshape(r.shape) for r in expected]
        found, pullback = results_and_pullback(f, [v.astype(dtype) for v in values])
        found = [*found, *pullback(*(dy.astype(dtype) for dy in dys))]
        for a, b in zip(found, [*expected, *slow(*dys)], strict=True):
            scale = close * max(1, np.abs(b).max())
            np.testing.assert_allclose(a, b, rtol=close, atol=scale)


@pytest.mark.parametrize("name", PIECES)
def test_rows_add_to_sums_over_them(name: str):
    """The sums over pieces are written by the function that computes the rows."""
    f = tadc.compile(PIECES[name])
    f = Function(f.with_pullback().gradients.program, "cpu") if name == "layer norm" else f
    sizes = {"M": 3, "N": 4, "I": 4096, "J": 512, "K": 512}
    own = {n: sizes[n] for n in f.program.summary.size_names()}
    lines = f.emit("plan", own).splitlines()
    entry, others = next((a, b) for a, b in pairwise(lines) if "pieces[" in a)
    assert "row by row" in entry
    assert "with" in others


def test_sums_over_pieces_of_the_same_rows_share_them() -> None:
    piece = "sum[i in range(32*p, 32*p + 32)]"
    text = f"x: f64[256, 64]\na[p in range(8), j] = {piece}(x[i, j])\n"
    both = f"{text}b[p in range(8), j] = {piece}(x[i, j]**2)\nreturn a, b"
    assert written(tadc.compile(both)) == [("a", "b")]
    f = tadc.compile(f"{text}b[p in range(8), j] = {piece}(x[i, j] * a[p, j])\nreturn a, b")
    assert written(f) == [("a",), ("b",)]
    x = np.random.default_rng(0).uniform(-1, 1, (256, 64))
    a, b = f(x)
    rows = x.reshape(8, 32, 64)
    np.testing.assert_allclose(a, rows.sum(1), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(b, (rows * a[:, None]).sum(1), rtol=1e-12, atol=1e-12)


def test_sums_over_rows_have_the_bits_of_their_sizes(monkeypatch: pytest.MonkeyPatch):
    """Whatever the number of threads, and how far rows are from each other."""
    f = tadc.compile(PIECES["of what rows make"])
    x = np.random.default_rng(0).uniform(-1, 1, (1000, 333)).astype(np.float32)
    wide = np.full((1000, 400), np.nan, np.float32)
    wide[:, 5:338] = x
    expected, before = f(x), tadc.get_num_threads()
    for threads in (1, 2, 7):
        tadc.set_num_threads(threads)
        try:
            for found in (f(x), f(wide[:, 5:338])):
                np.testing.assert_array_equal(found.s, expected.s)
                np.testing.assert_array_equal(found.c, expected.c)
        finally:
            tadc.set_num_threads(before)


@pytest.fixture
def short_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pieces of few rows: random programs have small sizes."""
    monkeypatch.setattr(cut_sums, "ROWS_OF_PIECE", 3)
    monkeypatch.setattr(rfactored_sums, "ROWS_OF_PIECE", 3)
    monkeypatch.setattr(row_cuts, "FEWEST_ROWS", 1)
    monkeypatch.setattr(row_cuts, "FEWEST_PIECES", 0)
    monkeypatch.setattr(row_cuts, "FEWEST_ELEMENTS_OF_ROW", 1)
    monkeypatch.setattr(row_cuts, "FEWEST_COLUMNS_OF_STRIP", 1)
    monkeypatch.setattr(row_cuts, "MOST_TERMS_OF_STRIP", 1)


def shapes_of(source: str) -> list[tuple[int, ...]]:
    if "real[J, J]" in source:
        return [(n, n) for n in (0, 1, 31, 64, 150)]
    if "x[n, c," in source:
        return [(3, 4, 50), (4, 4, 40), (2, 1, 33)]
    if "x[n, i, j]" in source:
        return SHAPES[3]
    least = 2 if "J - 2" in source else 0
    return [(i, j) for i, j in SHAPES[2] if j >= (i if "J - i" in source else least)]


def results_and_pullback(f: Function, values: list[np.ndarray]) -> tuple[list[np.ndarray], Any]:
    found, pullback = tadc.vjp(f, *values)
    return [found] if isinstance(found, np.ndarray) else list(found), pullback


@pytest.mark.parametrize("source", [SOFTMAX, LAYER_NORM], ids=["softmax", "layer norm"])
def test_bits_do_not_depend_on_threads_nor_on_strides(source: str):
    f = tadc.compile(source)
    values = arguments(f, (300, 333), "f4")
    expected = f(*values)
    wide = np.full((300, 1000), np.nan, np.float32)
    wide[:, 5:338] = values[0]
    before = tadc.get_num_threads()
    for threads in (1, 2, 3):
        tadc.set_num_threads(threads)
        try:
            np.testing.assert_array_equal(f(*values), expected)
            np.testing.assert_array_equal(f(wide[:, 5:338], *values[1:]), expected)
        finally:
            tadc.set_num_threads(before)


def test_not_a_number_spreads():
    x = np.random.default_rng(0).uniform(-1, 1, (4, 100))
    x[1, 70] = np.nan
    y = tadc.compile(SOFTMAX)(x)
    assert np.isnan(y[1]).all()
    assert np.isfinite(y[[0, 2, 3]]).all()


LAYOUTS = (("i", "j", "i, j"), ("c", "n, i", "n, c, i"), ("n", "c, i", "n, c, i"))
"""The indices of a row, those of its elements, and all of them."""


@pytest.mark.usefixtures("short_pieces")
@pytest.mark.parametrize("seed", seeds(20, of=800))
def test_random_programs_agree_with_the_interpreter(seed: int, monkeypatch: pytest.MonkeyPatch):
    random = Random(seed)
    monkeypatch.setattr(unroll_and_jam, "FEWEST_ROWS", random.choice([0, 64]))
    kept, reduced, every = LAYOUTS[seed % len(LAYOUTS)]
    f = tadc.compile(random_chain(random, kept, reduced, every, columns=seed % 2 == 1))
    shape = [random.randrange(1, 9) for _ in every.split(", ")]
    shape[-1] = random.randrange(1, 200)
    f = f.derivative() if random.random() < 0.5 and f.args else f
    sizes = dict(zip(f.args[0].shape, shape, strict=True)) if f.args else {}
    rng = np.random.default_rng(seed)
    values = [rng.uniform(-1, 1, [sizes[name] for name in t.shape]) for t in f.args]
    expected = f.with_target("interpret").call(values, {})
    for a, b in zip(f.call(values, {}), expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9)
