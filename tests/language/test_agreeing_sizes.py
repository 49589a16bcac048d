"""Sizes that an index has to run over alike, where only a call can tell that they agree."""

import random
from typing import NamedTuple

import numpy as np
import pytest

import tadc
from tadc.errors import SizeError

WINDOWS = "m[i] = sum[k](w[k] * x[i + k])\nn[i] = sum[k](v[k] * z[i + k])\ny[i] = m[i] * n[i]"


class TwoWindows(NamedTuple):
    """A program that reads two windows alike, and lengths of its arguments that fit."""

    text: str
    lengths: dict[str, int]
    stride: int


def two_windows(seed: int) -> TwoWindows:
    rng = random.Random(seed)
    stride, first = rng.choice([1, 1, 2, 3]), rng.randint(0, 2)
    result, w, v = rng.randint(1, 6), rng.randint(1, 4), rng.randint(1, 4)
    x = stride * (result - 1) + w + first + rng.randrange(stride)
    read = f"{stride}*i + k" + f" + {first}" * (first > 0)
    sizes = {"w": "K", "x": "N", "v": "L", "z": "M"}
    kind = rng.choice(["real", "f64"])
    declared = [f"{name}: {kind}[{size}]" for name, size in sizes.items() if rng.random() < 0.5]
    lines = [
        *declared,
        f"m[i] = sum[k](w[k] * x[{read}])",
        "n[i] = sum[k](v[k] * z[i + k])",
        rng.choice(["y[i] = m[i] * n[i]", "y = sum[i](n[i] * sin(m[i]))", "m[i] += n[i] * m[i]"]),
    ]
    lengths = {"w": w, "x": x, "v": v, "z": result + v - 1}
    return TwoWindows("\n".join(lines), lengths, stride)


def expected(text: str, arrays: dict[str, np.ndarray], stride: int) -> np.ndarray:
    first = int(text.split(f"{stride}*i + k + ")[1][0]) if f"{stride}*i + k + " in text else 0
    windows = np.lib.stride_tricks.sliding_window_view
    m = windows(arrays["x"][first:], len(arrays["w"]))[::stride] @ arrays["w"]
    n = windows(arrays["z"], len(arrays["v"])) @ arrays["v"]
    if "sin" in text:
        return (n * np.sin(m)).sum()
    return m + n * m if "+= " in text else m * n


def arguments(f: tadc.Function, lengths: dict[str, int], seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {t.name: rng.normal(size=lengths[t.name]) for t in f.args}


@pytest.mark.parametrize("seed", range(24))
def test_windows_over_different_arguments(seed):
    text, lengths, stride = two_windows(seed)
    f = tadc.compile(text)
    arrays = arguments(f, lengths, seed)
    for g in (f, f.with_target("interpret"), tadc.compile(str(f))):
        np.testing.assert_allclose(g(**arrays), expected(text, arrays, stride), atol=1e-13)
    derivative = f.derivative()
    adjoint = {t.name: f(**arrays) for t in derivative.args[len(f.args) :]}
    gradients = derivative(**arrays, **adjoint)
    for g in (tadc.compile(str(derivative)), derivative.with_target("interpret")):
        for one, other in zip(g(**arrays, **adjoint), gradients, strict=True):
            np.testing.assert_allclose(one, other, atol=1e-12)
    y, pullback = tadc.vjp(f, **arrays)
    for one, other in zip(pullback(y), gradients, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-12)
    assert all(verdict.ok for verdict in tadc.verify.verify(f))


@pytest.mark.parametrize("seed", range(24))
@pytest.mark.parametrize("change", [-1, 1, 3])
def test_a_call_checks_that_they_agree(seed, change):
    text, lengths, stride = two_windows(seed)
    f = tadc.compile(text, file="f.tad")
    changed = {**lengths, "x": lengths["x"] + change * stride}
    if changed["x"] < lengths["w"] + 2:
        changed["x"] = lengths["x"] + stride
    arrays = arguments(f, changed, seed)
    for g in (f, f.with_target("interpret"), tadc.compile(str(f)), f.batched("w")):
        given = dict(arrays)
        if any(t.name == "w" and len(t.shape) == 2 for t in g.args):
            given["w"] = np.stack([given["w"]] * 2)
        with pytest.raises(SizeError) as caught:
            g(**given)
        error = caught.value
        assert error.argument in lengths and error.line and error.dimension == 0
        assert error.size == changed[error.argument]
        assert f"is {error.size}, expected " in error.message
    with pytest.raises(SizeError):
        tadc.vjp(f, **arrays)


def test_the_program_says_what_it_checks():
    f = tadc.compile(WINDOWS)
    assert "z: real[K2 - K + X_0]" in str(f)
    with pytest.raises(SizeError) as caught:
        f(np.ones(2), np.ones(8), np.ones(3), np.ones(8))
    assert caught.value.message == "dimension 0 of z is 8, expected -K + K2 + X_0 = 9"
    assert caught.value.argument == "z"


def test_a_size_that_a_formula_reads_is_not_replaced_by_what_may_be_negative():
    declared = "x: real[N]\nz: real[M]\nw: real[K]\nv: real[L]\n"
    f = tadc.compile(f"{declared}{WINDOWS}\ns = M * 2\nreturn y, s")
    assert "x: real[K - L + M]\nz: real[M]" in str(f)
    y, s = f(np.ones(9), np.ones(10), np.ones(2), np.ones(3))
    assert y.shape == (8,) and s == 20
    with pytest.raises(SizeError, match="runs over dimension 0 of m"):
        tadc.compile(f"{declared}{WINDOWS}\ns = M * N * K * L\nreturn y, s")


def test_what_no_call_can_make_agree():
    with pytest.raises(SizeError, match=r"of x \(size N\) and .* of m \(size N - K \+ 1\)"):
        tadc.compile("x: real[N]\nm[i] = sum[k](w[k] * x[i + k])\ny[i] = x[i] * m[i]")


def test_messages_name_the_sizes():
    text = "m[i] = sum[k](w[k] * x[2*i + k])\nn[i] = sum[k](v[k] * z[2*i + k])\ny[i] = m[i] * n[i]"
    with pytest.raises(SizeError) as caught:
        tadc.compile(text)
    assert "(size (X_0 - K + 2) // 2)" in caught.value.message
    assert "..." not in caught.value.message
