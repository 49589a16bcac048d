"""The LLVM target and the CPU runtime: loops, branches, threads, errors."""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.utils.exceptions import PassFailedException

from tadc.targets.llvm import print_llvm
from tests.targets.llvm_kernels import compile_kernel, elementwise, function, parse

# ---- loops

MATMUL = function(
    {"y": "f32", "a": "f32", "b": "f32"},
    ["M", "N", "K"],
    """loops.parallel (%i, %j) to (%M, %N) {
      %zero = arith.constant 0 : index
      %one = arith.constant 1 : index
      %start = arith.constant 0.0 : f32
      %sum = scf.for %k = %zero to %K step %one iter_args(%acc = %start) -> (f32) {
        %0 = arith.muli %i, %K : index
        %1 = arith.addi %0, %k : index
        %2 = arith.muli %k, %N : index
        %3 = arith.addi %2, %j : index
        %4 = memref.load %a[%1] : memref<?xf32>
        %5 = memref.load %b[%3] : memref<?xf32>
        %6 = arith.mulf %4, %5 fastmath<reassoc,contract> : f32
        %7 = arith.addf %acc, %6 fastmath<reassoc,contract> : f32
        scf.yield %7 : f32
      }
      %8 = arith.muli %i, %N : index
      %9 = arith.addi %8, %j : index
      memref.store %sum, %y[%9] : memref<?xf32> }""",
)


@pytest.mark.parametrize("shape", [(5, 7, 9), (64, 3, 128), (0, 3, 4), (3, 0, 4), (3, 4, 0)])
def test_sum_loop_of_any_size(shape: tuple[int, int, int]) -> None:
    m, n, k = shape
    random = np.random.default_rng(0)
    a, b = random.normal(size=(m, k)).astype("f4"), random.normal(size=(k, n)).astype("f4")
    y = np.full((m, n), np.nan, dtype="f4")
    compile_kernel(MATMUL)(y, a, b, m, n, k)
    np.testing.assert_allclose(y, a @ b, rtol=1e-4, atol=1e-5)


def test_branches_two_carried_values_and_stack_buffer() -> None:
    """The largest element of a window of 4 that must lie inside, and where it is."""
    lines = """loops.parallel (%i) to (%N) {
      %zero = arith.constant 0 : index
      %one = arith.constant 1 : index
      %four = arith.constant 4 : index
      %low = arith.constant -1.0e30 : f64
      %window = memref.alloca() : memref<4xf64>
      scf.for %k = %zero to %four step %one {
        %at = arith.addi %i, %k : index
        %inside = arith.cmpi slt, %at, %N : index
        %v = scf.if %inside -> (f64) {
          %0 = memref.load %x[%at] : memref<?xf64>
          scf.yield %0 : f64
        } else {
          scf.yield %low : f64
        }
        memref.store %v, %window[%k] : memref<4xf64>
      }
      %best, %where = scf.for %k = %zero to %four step %one
          iter_args(%m = %low, %p = %zero) -> (f64, index) {
        %v = memref.load %window[%k] : memref<4xf64>
        %more = arith.cmpf ogt, %v, %m : f64
        %m1 = arith.select %more, %v, %m : f64
        %p1 = arith.select %more, %k, %p : index
        scf.yield %m1, %p1 : f64, index
      }
      %even = arith.cmpi eq, %where, %zero : index
      scf.if %even {
        memref.store %best, %y[%i] : memref<?xf64>
      } else {
        %w = arith.index_cast %where : index to i64
        %f = arith.sitofp %w : i64 to f64
        %s = arith.addf %best, %f : f64
        memref.store %s, %y[%i] : memref<?xf64>
      } }"""
    x = np.random.default_rng(0).normal(size=101)
    y = np.empty_like(x)
    compile_kernel(function({"y": "f64", "x": "f64"}, ["N"], lines))(y, x, x.size)
    windows = [x[i : i + 4] for i in range(x.size)]
    np.testing.assert_array_equal(y, [w.max() + w.argmax() for w in windows])


def test_no_index_and_size_computed_before_the_loop() -> None:
    scalar = function(
        {"y": "f64"},
        [],
        """loops.parallel () to () {
          %zero = arith.constant 0 : index
          %v = arith.constant 2.5 : f64
          memref.store %v, %y[%zero] : memref<?xf64> }""",
    )
    y = np.zeros(1)
    compile_kernel(scalar)(y)
    assert y[0] == 2.5
    half = function(
        {"y": "f64"},
        ["N"],
        """%two = arith.constant 2 : index
        %half = arith.ceildivsi %N, %two : index
        %v = arith.constant 1.0 : f64
        loops.parallel (%i) to (%half) { memref.store %v, %y[%i] : memref<?xf64> }""",
    )
    y = np.zeros(7)
    compile_kernel(half)(y, 7)
    np.testing.assert_array_equal(y, [1, 1, 1, 1, 0, 0, 0])


# ---- parts

SIN_EXP = elementwise("math.exp %0 : f64", "f64", "f64", 1).replace("math.exp", "math.sin")


@pytest.mark.parametrize("size", [1, 63, 64, 65, 1000, 10_003])
def test_same_bits_in_parts(size: int) -> None:
    x = np.random.default_rng(0).normal(size=size)
    whole, parts = np.empty_like(x), np.empty_like(x)
    kernel = compile_kernel(SIN_EXP)
    kernel(whole, x, size)
    for begin in range(0, size, kernel.kernel.grain):
        kernel.part((parts, x, size), begin, min(size, begin + kernel.kernel.grain))
    np.testing.assert_array_equal(whole.view(np.int64), parts.view(np.int64))


# ---- text and errors


def test_text_is_the_interface() -> None:
    text = print_llvm(parse(MATMUL))
    assert "ptr noalias captures(none) writeonly %y" in text
    assert "ptr noalias captures(none) readonly %b" in text
    assert "fadd reassoc contract float" in text
    assert "@y.grain = constant i64 1" in text


def test_unknown_op_says_where() -> None:
    text = function(
        {"y": "f32"},
        ["N"],
        """loops.parallel (%i) to (%N) {
          %c = arith.constant 1 : i32
          %v = math.ctpop %c : i32 loc("f.tad":3:7) }""",
    )
    with pytest.raises(PassFailedException, match=r"f.tad:3:7: llvm: .*math.ctpop"):
        print_llvm(parse(text))
