"""Quotients by constants have the bits of the division, as two products."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import numpy as np
import pytest

import tadc
from tadc.runtime.machine import machine
from tadc.targets.llvm import LlvmPrinter, print_llvm
from tadc.targets.llvm_quotients import reciprocal
from tests.support.scheduled_programs import parse
from tests.targets.vector_kernels import of_vectors

DIVISORS = (3.0, 7.0, 9.0, 25.0, 49.0, 81.0, 121.0, 0.75, 1e6, -7.0, 999999.0, 2.0**20 - 1)
needs_fused = pytest.mark.skipif(not machine().has("fma"), reason="the machine divides")


def rounded(number: Fraction, bits: int) -> Fraction:
    """A positive number with so many bits, the nearest one."""
    unit = Fraction(2) ** (math.floor(math.log2(number)) - bits + 1)
    while number >= unit * 2**bits:
        unit *= 2
    while number < unit * 2 ** (bits - 1):
        unit /= 2
    return round(number / unit) * unit


@pytest.mark.parametrize(("element", "bits"), [("float", 24), ("double", 53)])
@pytest.mark.parametrize("divisor", DIVISORS)
def test_the_products_are_the_quotient(divisor: float, element: str, bits: int) -> None:
    parts = reciprocal(divisor, element)
    assert parts is not None
    high, low = (abs(Fraction(part)) for part in parts)
    rng = random.Random(str(divisor))
    for n in range(2000):
        # quotients in the middle of two numbers, nearly, are the hardest
        middle = (2 * rng.randrange(2 ** (bits - 1), 2**bits) + 1) * abs(Fraction(divisor))
        x = rounded(middle, bits) if n % 2 else Fraction(rng.randrange(2 ** (bits - 1), 2**bits))
        fused = rounded(x * high + rounded(x * low, bits), bits)
        assert fused == rounded(x / abs(Fraction(divisor)), bits)


@pytest.mark.parametrize("divisor", [1.0, 4.0, 0.1, 1 / 3, 0.0, math.inf, math.nan, 3e20])
def test_other_divisors_divide(divisor: float) -> None:
    assert reciprocal(divisor, "float") is None


@pytest.mark.parametrize(
    ("flag", "fused"), [("contract", True), ("contract", False), ("none", True)]
)
def test_division_stays_where_it_must(flag: str, fused: bool) -> None:
    lines = "%c = arith.constant 49.0 : f32  %d = vector.broadcast %c : f32 to V  "
    lines += f"%r = arith.divf %0, %d fastmath<{flag}> : V"
    module = parse(of_vectors(lines, {"y": "f32", "x0": "f32"}, 4))
    text = print_llvm(module, LlvmPrinter(fused=fused))
    assert ("fdiv" in text) == (flag == "none" or not fused)


@needs_fused
@pytest.mark.parametrize("dtype", ["f32", "f64"])
@pytest.mark.parametrize("divisor", [49, 7, -3, 0.75])
def test_calls_have_the_bits_of_divisions(divisor: float, dtype: str) -> None:
    kind = np.dtype(np.float32 if dtype == "f32" else np.float64)
    f = tadc.compile(f"y[i, j] = x[i, j] / ({divisor})")
    ends = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, np.finfo(kind).max, -1e-15], kind)
    x = np.random.default_rng(1).standard_normal((50, 1001)).astype(kind)
    x[3, : len(ends)] = ends
    with np.errstate(over="ignore"):
        y, expected = np.asarray(f(x)), x / kind.type(divisor)
    assert np.array_equal(y, expected, equal_nan=True)
    assert np.array_equal(np.signbit(y[3, :4]), np.signbit(expected[3, :4]))
