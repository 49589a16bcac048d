"""Windows on processors with few registers: loops over terms have no tests, and strided ones share
no numbers, which changes nothing of what they compute."""

from __future__ import annotations

import re

import numpy as np
import pytest

import tadc
from tadc.dialects.tix import AVX_512, Registers
from tests.support.registers import AVX2, choose_loops_for

PADDED = (
    "x: real[C, H, W]\nw: real[O, C, {k}, {k}]\n"
    "y[o, i in range({h}), j in range({w})] = sum[c, u in range({k}), v in range({k})]"
    "(pad(x[c, {s}*i + u - {p}, {s}*j + v - {p}]) * w[o, c, u, v])"
)
BY_CHANNELS = "y[o, i, j]: rows o by 4, columns j by 16"
BY_PLACES = "y[o, i, j]: rows j by 4, columns o by 16"


def padded(height: int, width: int, kernel: int, stride: int) -> str:
    """A padded convolution of an image of this size."""
    p = kernel // 2
    h, w = ((n + 2 * p - kernel) // stride + 1 for n in (height, width))
    return PADDED.format(k=kernel, s=stride, p=p, h=h, w=w)


def arrays(height: int, width: int, kernel: int) -> list[np.ndarray]:
    rng = np.random.default_rng(height)
    shapes = (3, height, width), (20, 3, kernel, kernel)
    return [rng.standard_normal(shape).astype("f4") for shape in shapes]


def inner_loop(text: str) -> str:
    """The first one of the innermost loops of a scheduled program that holds products."""
    found = re.findall(r"scf\.for [^{]*\{(?:(?!scf\.for).)*?scf\.yield", text, re.DOTALL)
    return next(body for body in found if "mulf" in body)


@pytest.mark.parametrize("plan", [BY_CHANNELS, BY_PLACES])
@pytest.mark.parametrize(("kernel", "stride"), [(3, 1), (5, 1), (3, 2), (7, 2), (5, 3), (4, 2)])
@pytest.mark.parametrize(("height", "width"), [(1, 60), (5, 49), (9, 67), (22, 100)])
def test_windows_agree_with_the_interpreter(
    height: int, width: int, kernel: int, stride: int, plan: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, (x, w) = padded(height, width, kernel, stride), arrays(height, width, kernel)
    expected = tadc.compile(source, target="interpret")(x, w)
    choose_loops_for(AVX2, monkeypatch)
    found = tadc.compile(source, plan=plan)(x, w)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("plan", [BY_CHANNELS, BY_PLACES])
@pytest.mark.parametrize(("kernel", "stride"), [(3, 1), (7, 2)])
def test_terms_that_are_left_out_multiply_no_infinity(
    kernel: int, stride: int, plan: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, (x, w) = padded(9, 67, kernel, stride), arrays(9, 67, kernel)
    w[3, 1, 0, 0] = np.inf
    masked = tadc.compile(source, plan=plan)(x, w)
    choose_loops_for(AVX2, monkeypatch)
    found = tadc.compile(source, plan=plan)(x, w)
    assert np.isinf(found[3]).any() and np.isfinite(found[3]).any()
    np.testing.assert_allclose(found, masked, rtol=1e-4, atol=1e-4)


def test_inner_loops_of_windows_have_no_branches(monkeypatch: pytest.MonkeyPatch) -> None:
    choose_loops_for(AVX2, monkeypatch)
    text = tadc.compile(padded(60, 60, 3, 1), plan=BY_CHANNELS).emit("scheduled", {}, "f32")
    loop = inner_loop(text)
    assert loop.count("mulf") == 3 * 4  # terms and rows
    assert "scf.if" not in loop


@pytest.mark.parametrize(("registers", "fences"), [(AVX_512, 0), (AVX2, 7)])
def test_terms_of_strided_windows_read_numbers_anew(
    registers: Registers, fences: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    choose_loops_for(registers, monkeypatch)
    f = tadc.compile(padded(112, 112, 7, 2), plan=BY_PLACES)
    loop = inner_loop(f.emit("scheduled", {}, "f32"))
    assert loop.count("loops.fence") == fences
    if fences:  # of rows that all have all terms
        assert "scf.if" not in loop
        assert loop.count("memref.load %x") == 7 * 4


def test_llvm_takes_no_load_across_a_fence(monkeypatch: pytest.MonkeyPatch) -> None:
    choose_loops_for(AVX2, monkeypatch)
    f = tadc.compile(padded(112, 112, 7, 2), plan=BY_PLACES)
    text = f.emit("llvm", {}, "f32")
    found = re.search(r"define void @y.entry\((.*?)\n\}", text, re.DOTALL)
    assert found is not None
    assert found[1].count('fence syncscope("singlethread")') >= 7
    assert "%y" not in found[1].split("{")[0]  # of no buffer a parameter says that it is read alone
