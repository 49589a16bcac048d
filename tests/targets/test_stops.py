"""Loops that leave their function when a word says so, and strips of long loops."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest

from tadc.runtime.cpu import CpuModule
from tadc.targets.llvm import LlvmPrinter, print_llvm
from tests.targets.llvm_kernels import function, parse

TERMS = "%sum = scf.for %k = %zero to {high} step %{step} iter_args(%acc = %start) -> (f64)"
ROWS = """
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %three = arith.constant 3 : index
  %many = arith.constant 200000 : index
  %start = arith.constant 0.0 : f64
  loops.parallel (%i, %j) to (%N, {columns}) {{
    {terms} {{
      %n = arith.index_cast %k : index to i64
      %v = arith.sitofp %n : i64 to f64
      %next = arith.addf %acc, %v fastmath<reassoc,contract> : f64
      scf.yield %next : f64
    }}
    %row = arith.muli %i, {columns} : index
    %at = arith.addi %row, %j : index
    memref.store %sum, %y[%at] : memref<?xf64>
  }}"""


def text(columns: str, high: str, step: str = "one") -> str:
    """Each of N rows has the sum of numbers below `high` in each column."""
    terms = TERMS.format(high=high, step=step)
    return function({"y": "f64"}, ["N", "J", "K"], ROWS.format(columns=columns, terms=terms))


LARGEST = {"N": 1000, "J": 1 << 62, "K": 1 << 62}


def run(program: str, strips: bool, stop: int, shape: tuple[int, int], terms: int) -> np.ndarray:
    """The result where the word to stop is as given, of code that has strips where it may."""
    printer = LlvmPrinter(largest=LARGEST if strips else {})
    module = CpuModule(print_llvm(parse(program), printer))
    word = ctypes.c_void_p
    entry: Any = ctypes.CFUNCTYPE(None, word, ctypes.c_int64, ctypes.c_int64, word)
    y = np.full(shape, -1.0)
    words = (ctypes.c_int64 * 4)(y.ctypes.data, *shape, terms)
    stopped = ctypes.c_int64(stop)
    entry(module.address("y.entry"))(words, 0, shape[0], ctypes.byref(stopped))
    return y


@pytest.mark.parametrize("strips", [False, True])
@pytest.mark.parametrize("step", ["one", "three"])
@pytest.mark.parametrize("terms", [0, 1, 7, 65535, 65536, 65537, 200_000])
@pytest.mark.parametrize("high", ["%K", "%many"])
def test_strips_run_every_iteration_once(strips: bool, step: str, terms: int, high: str):
    if high == "%many":
        terms = 200_000
    y = run(text("%J", high, step), strips, 0, (3, 2), terms)
    assert np.all(y == sum(range(0, terms, {"one": 1, "three": 3}[step])))


def test_a_loop_of_long_iterations_ends_after_the_first():
    y = run(text("%J", "%K"), False, 1, (3, 2), 10)
    assert y.tolist() == [[45, -1], [-1, -1], [-1, -1]]


def test_a_loop_of_short_iterations_goes_on():
    y = run(text("%J", "%three"), False, 1, (3, 2), 0)
    assert y.tolist() == [[3, 3], [-1, -1], [-1, -1]]


@pytest.mark.parametrize(("strips", "expected"), [(False, 70_000), (True, 65_536 // 3)])
def test_strips_end_long_loops_without_a_bound(strips: bool, expected: int):
    y = run(text("%J", "%three"), strips, 1, (1, 70_000), 0)
    assert (y == 3).sum() == expected


def test_a_number_tells_that_a_loop_is_long():
    assert run(text("%J", "%many"), False, 1, (1, 1), 0) == -1


def test_short_loops_have_no_tests():
    printer = LlvmPrinter(largest=LARGEST | {"K": 100})
    for columns, high in [("%three", "%three"), ("%three", "%K")]:
        assert "volatile" not in print_llvm(parse(text(columns, high)), printer)
    assert "volatile" in print_llvm(parse(text("%N", "%K")), printer)
