"""Loads of elements that lie apart: every stride, beside memory that must not be touched."""

from __future__ import annotations

import re

import numpy as np
import pytest

from tadc.targets.llvm import print_llvm
from tests.support.guarded_memory import Guarded
from tests.targets.llvm_kernels import DTYPES, compile_kernel, function, parse
from tests.targets.vector_kernels import run_both, vector_of


def strided(type_: str, lanes: int, stride: int | None) -> str:
    """The lanes `x[first + l stride]`; the stride is a constant, or an argument."""
    constant = "" if stride is None else f"%stride = arith.constant {stride} : index"
    sizes = ["first", *(["stride"] if stride is None else [])]
    lines = f"""loops.parallel () to () {{
      {constant}  %zero = arith.constant 0 : index
      %v = loops.strided_load %x[%first], %stride : memref<?x{type_}>, {vector_of(type_, lanes)}
      vector.store %v, %y[%zero] : memref<?x{type_}>, {vector_of(type_, lanes)} }}"""
    return function({"y": type_, "x": type_}, sizes, lines)


@pytest.mark.parametrize("known", [True, False], ids=["constant", "argument"])
@pytest.mark.parametrize("lanes", [2, 4, 16])
@pytest.mark.parametrize("type_", ["f32", "f64"])
def test_every_stride(type_: str, lanes: int, known: bool) -> None:
    """The first and the last element lie at pages that must not be touched."""
    for stride in (-9, -8, -3, -2, -1, 0, 1, 2, 3, 4, 5, 8, 17):
        count = abs(stride) * (lanes - 1) + 1
        first = count - 1 if stride < 0 else 0
        text = strided(type_, lanes, stride if known else None)
        sizes = (first,) if known else (first, stride)
        values = np.arange(1, count + 1, dtype=DTYPES[type_])
        expected = values[first + stride * np.arange(lanes)]
        for at_end in (False, True):
            x = Guarded((count,), np.dtype(DTYPES[type_]), at_end).array
            x[:] = values
            y = np.zeros(lanes, DTYPES[type_])
            compile_kernel(text)(y, x, *sizes)
            np.testing.assert_array_equal(y, expected)
        _, meaning = run_both(text, y, values, sizes=sizes)
        np.testing.assert_array_equal(meaning, expected)


@pytest.mark.parametrize(("stride", "loads"), [(1, 1), (-1, 1), (2, 2), (-2, 2), (3, 3), (8, 8)])
def test_short_strides_read_whole_vectors(stride: int, loads: int) -> None:
    text = print_llvm(parse(strided("f32", 8, stride)))
    assert len(re.findall(r"= load <8 x float>", text)) == loads
    assert not re.search(r"= load float", text)
