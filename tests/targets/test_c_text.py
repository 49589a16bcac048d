"""Literals of C are read back as the same numbers, and are as short as those of NumPy."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from tadc.targets.c_text import floating

SMALLEST, LARGEST = np.finfo(np.float32).smallest_subnormal, np.finfo(np.float32).max
EDGES = [0.0, 0.1, 1 / 3, 1e16, 123456789.0, 2.0**24 + 1, float(SMALLEST), float(LARGEST)]


def text(value: float) -> str:
    return floating(value, "float").text


def decimal(value: float) -> Decimal:
    return Decimal(text(value).removesuffix("f"))


@pytest.mark.parametrize("value", EDGES)
def test_edges_of_single_precision(value: float):
    assert decimal(value) == Decimal(str(np.float32(value)))


def test_random_numbers_of_single_precision():
    bits = np.random.default_rng(0).integers(0, 2**31, 2000, dtype=np.uint32)
    for value in filter(np.isfinite, bits.view(np.float32)):
        error = abs(Fraction(decimal(float(value))) - Fraction(float(value)))
        steps = (np.nextafter(value, np.float32(end)) - value for end in (-np.inf, np.inf))
        assert 2 * error < min(abs(Fraction(float(step))) for step in steps)
        assert len(decimal(float(value)).normalize().as_tuple().digits) <= 9


def test_numbers_that_single_precision_rounds_away():
    assert text(1e-50) == "0.0f"
    assert text(1e39) == text(math.inf) == "__int_as_float(0x7f800000)"
    assert text(-1e39) == f"-{text(math.inf)}"
    assert floating(1e39, "double").text == "1e+39"
