"""The CUDA C of hand-written scheduled modules: it compiles for a GPU and is right on the CPU."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from xdsl.utils.exceptions import PassFailedException

from tadc.targets.cuda import functions, kernel_names, print_cuda, thread_count
from tests.host_shim.host_shim import load, needs_compiler
from tests.host_shim.scheduled import compiles, function, parse

pytestmark = needs_compiler

TRANSPOSE = function(
    "transpose",
    "%y: memref<?xf32>, %x: memref<?xf32>, %N: index, %M: index, %K: index",
    "%N, %M, %K",
    """%a = arith.muli %k, %M : index
    %b = arith.addi %a, %j : index
    %c = arith.muli %b, %N : index
    %d = arith.addi %c, %i : index
    %v = memref.load %x[%d] : memref<?xf32>
    %e = arith.muli %i, %M : index
    %f = arith.addi %e, %j : index
    %g = arith.muli %f, %K : index
    %h = arith.addi %g, %k : index
    memref.store %v, %y[%h] : memref<?xf32>""",
)


@pytest.mark.parametrize("n, m, k", [(3, 5, 7), (1, 1, 1), (16, 16, 1), (0, 5, 7), (40, 9, 30)])
def test_indices_are_the_digits_of_the_thread(n: int, m: int, k: int):
    module = parse(TRANSPOSE)
    x = np.arange(n * m * k, dtype=np.float32).reshape(k, m, n)
    y = np.full((n, m, k), -1, np.float32)
    threads = thread_count(functions(module)[0], [n, m, k])
    assert threads == n * m * k
    kernels(print_cuda(module))["transpose"](threads, y, x, n, m, k)
    assert (y == x.transpose(2, 1, 0)).all()


@functools.cache
def kernels(source: str):
    return load(source)


def constant_sizes(*sizes: int, scale: int = 1) -> str:
    """`y[linear index * scale] = 1` over constant sizes."""
    constants = "".join(f"%n{i} = arith.constant {n} : index\n" for i, n in enumerate(sizes))
    names = ", ".join(f"%n{i}" for i in range(len(sizes)))
    return function(
        "f",
        "%y: memref<?xf64>",
        names,
        f"""%m = arith.constant {scale} : index
        %a = arith.muli %i, %m : index
        memref.store %one, %y[%a] : memref<?xf64>""",
    ).replace("%zero =", f"{constants}%zero =")


@pytest.mark.parametrize(
    "sizes, scale, index",
    [
        ((1000,), 1, "int"),
        ((2**31 - 256,), 1, "int"),
        ((2**31 - 255,), 1, "long long"),  # the last block has threads beyond
        ((1000,), 2149633, "int"),
        ((1000,), 2149634, "long long"),  # 999 times that is more than 2**31
        ((1000,), -2149633, "int"),
        ((70000, 70000), 1, "long long"),
        ((0, 70000), 1, "int"),
    ],
)
def test_indices_have_32_bits_where_that_is_proven(sizes: tuple[int, ...], scale: int, index: str):
    source = print_cuda(parse(constant_sizes(*sizes, scale=scale)))
    assert ("long long" if "long long" in source else "int") == index
    compiles(source)


def test_no_thread_where_a_size_is_below_one():
    module = parse(constant_sizes(0, 7))
    assert thread_count(functions(module)[0], []) == 0
    y = np.zeros(7)
    kernels(print_cuda(module))["f"](256, y)
    assert not y.any()
    shrunk = function("f", "%y: memref<?xf64>, %N: index", "%m, %m", "").replace(
        "%zero =", "%m = arith.subi %N, %c1 : index\n%zero ="
    )
    (kernel,) = functions(parse(shrunk))
    assert [thread_count(kernel, [n]) for n in (-1, 0, 1, 2, 4)] == [0, 0, 0, 1, 9]


def test_no_index_is_one_thread():
    body = "memref.store %one, %y[%c0] : memref<?xf64>"
    module = parse(function("f", "%y: memref<?xf64>", "", body).replace("(%i)", "()"))
    y = np.zeros(3)
    assert thread_count(functions(module)[0], []) == 1
    kernels(print_cuda(module))["f"](256, y)
    assert y.tolist() == [1, 0, 0]


DIVISIONS = function(
    "f",
    "%y: memref<?xindex>, %N: index",
    "%N",
    """%a = arith.constant 7 : index
    %b = arith.constant 3 : index
    %s = arith.subi %i, %a : index
    %q = arith.floordivsi %s, %b : index
    %p = arith.floordivsi %i, %b : index
    %r = arith.muli %q, %a : index
    %t = arith.addi %p, %r : index
    memref.store %t, %y[%i] : memref<?xindex>""",
)


def test_only_what_may_be_negative_needs_a_floor():
    source = print_cuda(parse(DIVISIONS))
    assert "y[i] = i / 3 + floor_div(i - 7, 3LL) * 7;" in source
    y = np.zeros(20, np.int64)
    kernels(source)["f"](20, y, 20)
    assert y.tolist() == [i // 3 + (i - 7) // 3 * 7 for i in range(20)]


# Text

NAMES = function(
    "exp",
    "%int: memref<?xf64>, %y0: memref<?xf64>, %x: memref<?xf64>, %id: index, %M: index",
    "%id, %M",
    """%a = arith.muli %i, %M : index
    %sinf = arith.addi %a, %j : index
    %threadIdx = memref.load %y0[%sinf] : memref<?xf64>
    %for = math.exp %threadIdx : f64
    %1 = arith.mulf %for, %threadIdx : f64
    %x.1 = arith.addf %1, %for : f64
    memref.store %x.1, %int[%sinf] : memref<?xf64>""",
)


def test_names_have_no_other_meaning_in_c():
    module = parse(NAMES + function("index", "%y: memref<?xf64>, %N: index", "%N", ""))
    assert kernel_names(module) == {"exp": "exp_", "index": "index"}
    source = print_cuda(module)
    compiles(source)
    x, y = np.linspace(-1, 1, 6), np.zeros(6)
    kernels(source)["exp_"](6, y, x, x, 2, 3)
    np.testing.assert_allclose(y, x * np.exp(x) + np.exp(x), rtol=1e-15)


def test_a_kernel_reads_as_if_by_hand():
    assert (
        print_cuda(parse(TRANSPOSE))
        == """\
extern "C" __global__ void __launch_bounds__(256)
transpose(
    float *__restrict__ y,
    const float *__restrict__ x,
    long long N,
    long long M,
    long long K) {
  const long long id = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (id >= N * M * K) return;
  const long long i = id / (M * K);
  const long long j = id / K % M;
  const long long k = id % K;
  y[(i * M + j) * K + k] = x[(k * M + j) * N + i];
}
"""
    )


def test_the_same_module_has_the_same_text():
    assert print_cuda(parse(TRANSPOSE + NAMES)) == print_cuda(parse(TRANSPOSE + NAMES))
    assert print_cuda(parse("builtin.module {}")) == ""


ERRORS = {
    "no CUDA C for arith.shli": "%r = arith.shli %i, %i : index\n"
    "memref.store %one, %y[%r] : memref<?xf64>",
    "no C type for f16": "%h = arith.truncf %one : f64 to f16\n%r = arith.extf %h : f16 to f64\n"
    "memref.store %r, %y[%i] : memref<?xf64>",
    "no CUDA C for loops.parallel": "loops.parallel (%a) to (%N) {}",
}


@pytest.mark.parametrize("message", ERRORS)
def test_an_operation_without_cuda_is_named_in_the_error(message: str):
    with pytest.raises(PassFailedException, match=message):
        print_cuda(parse(function("f", "%y: memref<?xf64>, %N: index", "%N", ERRORS[message])))


def test_a_module_that_is_not_scheduled_is_an_error():
    with pytest.raises(PassFailedException, match=r"0 loops\.parallel in"):
        print_cuda(parse("func.func @f() {\n  func.return\n}"))
    with pytest.raises(PassFailedException, match="stands outside a function"):
        print_cuda(parse("%a = arith.constant 1 : index"))
