"""Definitions that share strips compute what they compute apart, for all kinds and sizes."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

import tadc
from tadc.function import Function
from tadc.passes.lowering.schedule import schedule
from tadc.passes.lowering.set_precision import set_precision
from tadc.passes.scheduling.blocking import blocking_chooser
from tadc.runtime.executable import kernel_calls
from tests.support.campaign import CAMPAIGN, in_turn, seeds
from tests.support.long_calls import count_all_calls_as_long
from tests.support.reduction_chains import random_chain

SOFTMAX = """\
m[j] = max[i](x[i, j])
e[i, j] = exp(x[i, j] - m[j])
s[j] = sum[i](e[i, j])
y[i, j] = e[i, j] / s[j]"""
NORM = """\
m[j] = sum[i](x[i, j]) / 5
v[j] = sum[i]((x[i, j] - m[j])**2) / 5
y[i, j] = (x[i, j] - m[j]) / sqrt(v[j] + 1e-3) * g[i] + b[j]"""
CASES = {
    "softmax": SOFTMAX,
    "norm": NORM,
    "logarithm of sums": "m[j] = max[i](x[i, j])\ny[j] = m[j] + log(sum[i](exp(x[i, j] - m[j])))",
    "products": "p[j] = prod[i](1 + x[i, j] / 50)\ny[i, j] = p[j] / (2 + x[i, j])",
    "half": "x: real[2*I, J]\nm[j] = max[i in range(I)](x[2*i, j])\n"
    "y[j] = sum[i in range(I)](exp(x[2*i + 1, j] - m[j]))",
    "triangle": "x: real[I, J]\nm[j] = sum[i](x[i, j]**2)\n"
    "s[j] = sum[i in range(I), k in range(i)](x[k, j] * x[i, j])\ny[i, j] = x[i, j] * m[j] + s[j]",
    "condition on values": "s[j] = sum[i](x[i, j] if x[i, j] > 0 else 0)\n"
    "y[i, j] = x[i, j] * s[j] if x[i, j] > s[j] else s[j]",
    "condition on indices": "x: real[I, J]\ns[j in range(J)] = sum[i in range(I)](x[i, j]**2)\n"
    "y[i in range(I), j in range(J)] = x[i, j - 1] * s[j] if j > 2 else s[j]",
    "numbers between": "s[j] = sum[i](x[i, j])\nt[j] = 1 / (3 + s[j]**2)\ny[i, j] = x[i, j] * t[j]",
    "several results": f"{SOFTMAX}\nreturn e, s, m",
    "one number for all": "s[j] = sum[i](x[i, j] * g[i])\ny[i, j] = x[i, j] * s[j] * sum[k](g[k])",
    "chain in one place": "s[j] = sum[i](x[i, j])\na[i, j] = x[i, j] + s[j]\n"
    "t[j] = sum[i](a[i, j]**2)\nc[i, j] = exp(a[i, j] / (1 + t[j]))\n"
    "u[j] = sum[i](c[i, j])\ny[i, j] = c[i, j] * u[j]",
}
SHAPES = [(1, 3), (5, 150), (0, 40), *([(7, 31), (4, 64), (3, 0)] if CAMPAIGN else [])]
LONG = (4100, 35)
"""Sums in two segments."""
PLANES = {
    "softmax of channels": "m[n, p] = max[c](x[n, c, p])\ne[n, c, p] = exp(x[n, c, p] - m[n, p])\n"
    "s[n, p] = sum[c](e[n, c, p])\ny[n, c, p] = e[n, c, p] / s[n, p]",
    "of two indices": "m[p] = sum[n, c](x[n, c, p]) / 9\ny[n, c, p] = x[n, c, p] - m[p]",
}


@pytest.fixture(autouse=True)
def every_call_is_long(monkeypatch: pytest.MonkeyPatch) -> None:
    count_all_calls_as_long(monkeypatch)


def written(f: Function, *sizes: str) -> list[tuple[str, ...]]:
    """The tensors that each function writes."""
    program = set_precision(f.program.op, "f64")
    made = schedule(program, blocking_chooser(True, sizes))
    return [step.written for step in kernel_calls(ModuleOp(made))]


# --- what is shared -------------------------------------------------------------------------------


def test_only_the_result_of_a_softmax_has_memory():
    assert written(tadc.compile(SOFTMAX)) == [("y",)]


def test_its_gradient_is_one_function_too():
    both = tadc.compile(SOFTMAX).with_pullback()
    assert written(Function(both.gradients.program, "cpu")) == [("dx",)]


def test_two_sums_of_the_same_columns_share_strips():
    text = "m[j] = sum[i](x[i, j]) / 9\ny[j] = sum[i]((x[i, j] - m[j])**2)"
    assert written(tadc.compile(text)) == [("y",)]


APART = {
    "columns of another one": "s[j] = sum[i](x[i, j])\ny[i, j in range(40)] = x[i, j] * s[j + 1]",
    "all columns": "s[j] = sum[i](x[i, j])\ny[i, j] = x[i, j] * sum[k](s[k])",
    "rows that are read again": "s[i, j] = sum[k](x[i, k] * x[k, j])\ny[i, j] = x[i, j] * s[i, j]",
    "another tensor": "s[j] = sum[i](x[i, j])\ny[j] = s[j] + sum[i](z[i, j]**2)",
    "elements across rows": "s[j] = sum[i](x[i, j])\ny[i, j] = x[j, i] * s[j]",
}


@pytest.mark.parametrize("why", APART)
def test_definitions_stay_apart(why: str):
    assert len(written(tadc.compile(f"x: f64[70, 70]\n{APART[why]}\nreturn s, y"))) == 2


@pytest.mark.parametrize(("length", "functions"), [(2048, 1), (5000, 4)])
def test_strips_that_no_near_cache_has_room_for_stay_apart(length: int, functions: int):
    f = tadc.compile(SOFTMAX)
    assert len(written(f, f"I={length}", "J=512")) == functions


# --- what it computes -----------------------------------------------------------------------------


DTYPES = [("f4", 3e-4), ("f8", 1e-11)]
"""Precisions, with the largest error."""


def assert_agrees(
    source: str, shape: tuple[int, ...], dtypes: Sequence[tuple[str, float]] = DTYPES
) -> None:
    """Values and gradients with the interpreter's."""
    f, rng = tadc.compile(source), np.random.default_rng(len(shape))
    sizes = {"g": shape[:1], "b": shape[-1:], "x": shape}
    if "2*I" in source:
        sizes["x"] = (2 * shape[0], *shape[1:])
    values = [rng.uniform(-1, 1, sizes[t.name]) for t in f.args]
    expected, slow = tadc.vjp(f.with_target("interpret"), *values)
    expected = [expected] if isinstance(expected, np.ndarray) else [*expected]
    dys = [np.cos(np.arange(r.size)).reshape(r.shape) for r in expected]
    expected += slow(*dys)
    for dtype, close in dtypes:
        found, pullback = tadc.vjp(f, *(v.astype(dtype) for v in values))
        found = [found] if isinstance(found, np.ndarray) else [*found]
        found += pullback(*(dy.astype(dtype) for dy in dys))
        for a, b in zip(found, expected, strict=True):
            assert a.dtype == dtype
            np.testing.assert_allclose(
                a, b, rtol=close, atol=close * max(1, np.abs(b).max(initial=0))
            )


@pytest.mark.parametrize(("name", "dtype"), in_turn(CASES, DTYPES), ids=str)
def test_strips_agree_with_the_interpreter(name: str, dtype: tuple[str, float]):
    for shape in [*SHAPES, *([LONG] if CASES[name] is NORM else [])]:
        assert_agrees(CASES[name], shape, [dtype])


@pytest.mark.parametrize("source", PLANES.values(), ids=PLANES)
def test_strips_of_planes_agree_with_the_interpreter(source: str):
    assert len(written(tadc.compile(source), "N=3", "C=5", "P=512")) == 1
    for shape in [(2, 3, 70), (1, 5, 200), (3, 1, 16)]:
        assert_agrees(source, shape)


@pytest.mark.parametrize("source", [SOFTMAX, NORM], ids=["softmax", "norm"])
def test_bits_do_not_depend_on_threads_nor_on_strides(source: str):
    f, rng = tadc.compile(source), np.random.default_rng(0)
    x = rng.uniform(-1, 1, (300, 333)).astype("f4")
    others = {"g": x[:, 0].copy(), "b": x[0].copy()}
    rest = [others[t.name] for t in f.args[1:]]
    wide = np.full((300, 1000), np.nan, np.float32)
    wide[:, 5:338] = x
    expected, before = f(x, *rest), tadc.get_num_threads()
    for threads in (1, 2, 7):
        tadc.set_num_threads(threads)
        try:
            np.testing.assert_array_equal(f(x, *rest), expected)
            np.testing.assert_array_equal(f(wide[:, 5:338], *rest), expected)
        finally:
            tadc.set_num_threads(before)


def test_not_a_number_spreads_along_its_column():
    x = np.random.default_rng(0).uniform(-1, 1, (40, 100))
    x[1, 70] = np.nan
    y = tadc.compile(SOFTMAX)(x)
    assert np.isnan(y[:, 70]).all()
    assert np.isfinite(np.delete(y, 70, 1)).all()


def test_long_sums_keep_their_digits():
    """A number of float32 stops growing at 2**24."""
    x = np.ones((3 << 23, 1), np.float32)
    source = "m[j] = sum[i](x[i, j])\ny[j] = sum[i](x[i, j] - m[j] + m[j])\nreturn m, y"
    f = tadc.compile(source)
    assert written(f, "I=2048", "J=512") == [("m", "y")]
    assert f(x).m[0] == 3 << 23


@pytest.mark.parametrize("seed", seeds(15, of=400))
def test_random_programs_agree_with_the_interpreter(seed: int):
    random = Random(seed)
    f = tadc.compile(random_chain(random, kept="j", reduced="i"))
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, (random.randrange(1, 9), random.randrange(1, 200)))
    f = f.derivative() if random.random() < 0.5 and f.args else f
    values = [rng.uniform(-1, 1, x.shape[2 - len(t.shape) :]) for t in f.args]
    expected = f.with_target("interpret").call(values, {})
    for a, b in zip(f.call(values, {}), expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9)
