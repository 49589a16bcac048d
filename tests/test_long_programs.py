"""Programs of many terms and deep ones: derived, called, printed and kept, whatever their size."""

from __future__ import annotations

import gc
import pickle
import sys
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tadc
from tadc.support.garbage import collect_young, rarely_collecting


@pytest.fixture
def x() -> np.ndarray:
    return np.random.default_rng(0).uniform(0.99, 1.01, 9)


def test_a_long_sum(x: np.ndarray) -> None:
    derivative = tadc.compile("x: f64[9]\ny = " + " + ".join(["x[0]*2"] * 400)).derivative()
    assert derivative(x, 1.0).tolist() == [800.0] + [0.0] * 8


def test_a_long_difference(x: np.ndarray) -> None:
    f = tadc.compile("x: f64[9]\ny = x[1]" + " - x[0] + x[1]" * 100)
    assert f.derivative()(x, 1.0).tolist() == [-100.0, 101.0] + [0.0] * 7


def test_a_long_product(x: np.ndarray) -> None:
    f = tadc.compile("x: f64[9]\ny = " + " * ".join(f"x[{k % 9}]" for k in range(36)))
    np.testing.assert_allclose(f.derivative()(x, 1.0), 4 * f(x) / x, rtol=1e-12)


def test_a_long_mixture(x: np.ndarray) -> None:
    f = tadc.compile("x: f64[9]\ny = x[0]" + " + x[1]*2 - x[2] * x[3] / x[4]" * 50)
    c, d, e = x[2:5]
    known = [1, 100, -50 * d / e, -50 * c / e, 50 * c * d / e**2, 0, 0, 0, 0]
    np.testing.assert_allclose(f.derivative()(x, 1.0), known, rtol=1e-12)


def test_a_long_product_in_a_sum(x: np.ndarray) -> None:
    f = tadc.compile("x: f64[9]\ny = sum[i](" + " * ".join(["x[i]"] * 40) + ")")
    np.testing.assert_allclose(f.derivative()(x, 1.0), 40 * x**39, rtol=1e-12)


# --- nesting --------------------------------------------------------------------------------------


def chain(count: int) -> str:
    """`0 if i == 0 else 2*x[i] if i == 1 else 3*x[i] ...`, and `x[i]` at last."""
    parts = "".join(f"{n + 1}*x[i] if i == {n} else " for n in range(count))
    return f"x: f64[{count + 1}]\ny[i] = {parts}x[i]"


def nested_sums(count: int) -> str:
    """`sum[i0](x[i0] * sum[i1](x[i1] * ...))`, of one term each."""
    parts = "".join(f"sum[i{n}](x[i{n}] * " for n in range(count))
    return f"x: f64[1]\ny = {parts}1{')' * count}"


def nested_calls(count: int) -> str:
    return f"x: f64[1]\ny[i] = {'sin(' * count}x[i]{')' * count}"


def signs(count: int) -> str:
    return f"x: f64[1]\ny[i] = {'-' * count}x[i]"


DEEP = {
    "else": (chain(40), np.r_[1.0:41, 1]),
    "sums": (nested_sums(12), [12.0]),
    "calls": (nested_calls(100), None),
    "signs": (signs(1001), [-1.0]),
}


@pytest.mark.parametrize("case", DEEP)
def test_deep_programs_are_derived_called_and_printed(case: str) -> None:
    text, known = DEEP[case]
    limit = sys.getrecursionlimit()
    f = tadc.compile(text)
    x = np.ones([int(n) for n in f.args[0].shape])
    adjoint = np.ones([int(n) for n in f.results[0].shape])
    derivative = f.derivative()
    found = derivative(x, adjoint)
    if known is not None:
        np.testing.assert_allclose(found, known)
    for same in (tadc.compile(str(derivative)), pickle.loads(pickle.dumps(derivative))):
        np.testing.assert_allclose(same(x, adjoint), found, rtol=1e-12)
    assert sys.getrecursionlimit() == limit


WAYS: dict[str, Callable[[tadc.Function], Any]] = {
    "print": str,
    "derive": lambda f: f.derivative(),
    "gradients": lambda f: tadc.vjp(f, np.ones(1)),
    "call": lambda f: f(np.ones(1)),
    "interpret": lambda f: f.with_target("interpret")(np.ones(1)),
    "pickle": pickle.dumps,
    "ir": lambda f: f.ir("scheduled"),
    "llvm": lambda f: f.emit("llvm"),
}


@pytest.mark.parametrize("way", WAYS)
def test_what_is_too_deep_is_an_error(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    f = tadc.compile(nested_sums(60))
    monkeypatch.setattr("tadc.support.recursion.DEEPEST_CALLS", 1)
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(120)
    try:
        with pytest.raises(tadc.TadcError, match="nested too deeply here") as caught:
            WAYS[way](f)
    finally:
        sys.setrecursionlimit(limit)
    assert caught.value.line == 2


def test_the_garbage_collector_is_as_before(x: np.ndarray) -> None:
    before = gc.get_threshold()
    f = tadc.compile("x: f64[9]\ny[i] = exp(x[i])").derivative()
    f(x, x)
    with pytest.raises(tadc.TadcError):
        tadc.compile("x: f64[9]\ny[i] = x[i + 1")
    assert gc.get_threshold() == before
    with rarely_collecting, rarely_collecting:
        assert gc.get_threshold() != before
    assert gc.get_threshold() == before
    with rarely_collecting:
        gc.set_threshold(600, 9, 9)  # somebody else's wish stays
    assert gc.get_threshold() == (600, 9, 9)
    gc.set_threshold(*before)


def test_young_garbage_is_collected_where_the_collector_runs() -> None:
    class Cycle:
        def __init__(self) -> None:
            self.own = self

    gc.disable()
    try:
        made = weakref.ref(Cycle())
        collect_young()
        assert made()
    finally:
        gc.enable()
    collect_young()
    assert not made()
