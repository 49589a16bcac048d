"""The CUDA C of hand-written scheduled modules: it compiles for a GPU and is right on the CPU."""

from __future__ import annotations

import functools
import math

import numpy as np
import pytest
from xdsl.utils.exceptions import PassFailedException

from tadc.targets.cuda import functions, kernel_names, print_cuda, thread_count
from tests.host_shim.host_shim import load, needs_compiler
from tests.host_shim.scheduled import compiles, function, parse

pytestmark = needs_compiler

# Loops, branches and names. Each row is a body over `%i`, and what it makes of element i of x.

X = np.array([3.0, -1.0, 4.0, -1.5, 5.0, -9.0, 2.0, 6.0])


def fibonacci(i: int) -> float:
    a, b = 0.0, 1.0
    for _ in range(i):
        a, b = b, a + b
    return a - 10 * b


STATEMENTS = {
    "triangle": (
        """%n = arith.addi %i, %c1 : index
        %r = scf.for %j = %c0 to %n step %c1 iter_args(%s = %zero) -> (f64) {
          %v = memref.load %x[%j] : memref<?xf64>
          %t = arith.addf %s, %v : f64
          scf.yield %t : f64
        }""",
        lambda i: sum(X[: i + 1]),
    ),
    "accumulator_shared_by_nested_loops": (
        """%r = scf.for %j = %c0 to %i step %c1 iter_args(%s = %one) -> (f64) {
          %q = scf.for %k = %c0 to %j step %c1 iter_args(%s2 = %s) -> (f64) {
            %v = memref.load %x[%k] : memref<?xf64>
            %t = arith.addf %s2, %v : f64
            scf.yield %t : f64
          }
          scf.yield %q : f64
        }""",
        lambda i: 1 + sum(X[k] for j in range(i) for k in range(j)),
    ),
    "accumulator_read_besides": (
        """%r = scf.for %j = %c0 to %i step %c1 iter_args(%s = %one) -> (f64) {
          %q = scf.for %k = %c0 to %j step %c1 iter_args(%s2 = %s) -> (f64) {
            %t = arith.addf %s2, %s : f64
            scf.yield %t : f64
          }
          scf.yield %q : f64
        }""",
        lambda i: math.prod(1 + j for j in range(i)),
    ),
    "swap": (
        """%a, %b = scf.for %j = %c0 to %i step %c1
            iter_args(%p = %zero, %q = %one) -> (f64, f64) {
          %t = arith.addf %p, %q : f64
          scf.yield %q, %t : f64, f64
        }
        %c = arith.constant -10.0 : f64
        %d = arith.mulf %b, %c : f64
        %r = arith.addf %a, %d : f64""",
        fibonacci,
    ),
    "rotate_three": (
        """%v = memref.load %x[%i] : memref<?xf64>
        %a, %b, %c = scf.for %j = %c0 to %i step %c1
            iter_args(%p = %zero, %q = %one, %w = %v) -> (f64, f64, f64) {
          scf.yield %q, %w, %p : f64, f64, f64
        }
        %d = arith.subf %b, %c : f64
        %r = arith.subf %a, %d : f64""",
        lambda i: (v := [0, 1, X[i]], v[i % 3] - (v[(i + 1) % 3] - v[(i + 2) % 3]))[1],
    ),
    "guarded_load": (
        """%j = arith.subi %i, %c1 : index
        %in = arith.cmpi sge, %j, %c0 : index
        %r = scf.if %in -> (f64) {
          %v = memref.load %x[%j] : memref<?xf64>
          scf.yield %v : f64
        } else {
          scf.yield %zero : f64
        }""",
        lambda i: X[i - 1] if i else 0,
    ),
    "guarded_sum": (
        """%n = arith.constant 8 : index
        %r = scf.for %j = %c0 to %n step %c1 iter_args(%s = %zero) -> (f64) {
          %v = memref.load %x[%j] : memref<?xf64>
          %positive = arith.cmpf ogt, %v, %zero : f64
          %t = scf.if %positive -> (f64) {
            %u = arith.addf %s, %v : f64
            scf.yield %u : f64
          } else {
            scf.yield %s : f64
          }
          scf.yield %t : f64
        }""",
        lambda i: X[X > 0].sum(),
    ),
    "branch_beside_another_reader": (
        """%a, %b = scf.for %j = %c0 to %i step %c1
            iter_args(%s = %zero, %last = %one) -> (f64, f64) {
          %v = memref.load %x[%j] : memref<?xf64>
          %positive = arith.cmpf ogt, %v, %zero : f64
          %t = scf.if %positive -> (f64) {
            %u = arith.addf %s, %v : f64
            scf.yield %u : f64
          } else {
            scf.yield %s : f64
          }
          scf.yield %t, %s : f64, f64
        }
        %r = arith.subf %a, %b : f64""",
        lambda i: max(X[i - 1], 0) if i else -1,
    ),
    "branch_with_two_results": (
        """%v = memref.load %x[%i] : memref<?xf64>
        %positive = arith.cmpf ogt, %v, %zero : f64
        %a, %b = scf.if %positive -> (f64, f64) {
          %e = math.sqrt %v : f64
          %f = arith.mulf %e, %e : f64
          scf.yield %f, %e : f64, f64
        } else {
          scf.yield %v, %one : f64, f64
        }
        %r = arith.subf %a, %b : f64""",
        lambda i: math.sqrt(X[i]) ** 2 - math.sqrt(X[i]) if X[i] > 0 else X[i] - 1,
    ),
    "branch_without_result": (
        """%in = arith.cmpi sgt, %i, %c1 : index
        scf.if %in {
          memref.store %one, %out[%i] : memref<?xf64>
        }
        %r = memref.load %out[%i] : memref<?xf64>""",
        lambda i: 1.0 if i > 1 else 99.0,
    ),
    "load_before_store": (
        """%r = memref.load %out[%i] : memref<?xf64>
        memref.store %zero, %out[%i] : memref<?xf64>""",
        lambda i: 99.0,
    ),
    "steps": (
        """%n = arith.constant 11 : index
        %two = arith.constant 2 : index
        %three = arith.constant 3 : index
        %r = scf.for %j = %two to %n step %three iter_args(%s = %zero) -> (f64) {
          %w = arith.index_cast %j : index to i64
          %v = arith.sitofp %w : i64 to f64
          %t = arith.addf %s, %v : f64
          scf.yield %t : f64
        }""",
        lambda i: 2 + 5 + 8,
    ),
    "brackets": (
        """%two = arith.constant 2 : index
        %a = arith.addi %i, %two : index
        %b = arith.subi %i, %a : index
        %c = arith.subi %c1, %b : index
        %d = arith.muli %c, %a : index
        %e = arith.remsi %d, %two : index
        %f = arith.muli %a, %e : index
        %g = arith.ceildivsi %b, %two : index
        %h = arith.subi %f, %g : index
        %w = arith.index_cast %h : index to i64
        %s = arith.sitofp %w : i64 to f64
        %m = arith.negf %s : f64
        %n = arith.negf %m : f64
        %u = arith.divf %one, %n : f64
        %r = arith.divf %one, %u : f64""",
        lambda i: (i + 2) * (3 * (i + 2) % 2) + 1,
    ),
    "logic": (
        """%two = arith.constant 2 : index
        %true = arith.constant true
        %p = arith.cmpi slt, %i, %two : index
        %q = arith.remsi %i, %two : index
        %o = arith.cmpi eq, %q, %c1 : index
        %not = arith.xori %o, %true : i1
        %and = arith.andi %p, %not : i1
        %or = arith.ori %and, %o : i1
        %x1 = arith.xori %or, %p : i1
        %r = arith.select %x1, %one, %zero : f64""",
        lambda i: float(((i < 2 and i % 2 == 0) or i % 2 == 1) != (i < 2)),
    ),
    "casts": (
        """%v = memref.load %x[%i] : memref<?xf64>
        %f = arith.truncf %v : f64 to f32
        %third = arith.constant 0.3 : f32
        %m = arith.mulf %f, %third : f32
        %r = arith.extf %m : f32 to f64""",
        lambda i: float(np.float32(X[i]) * np.float32(0.3)),
    ),
    "bool_as_number": (
        """%p = arith.cmpi eq, %i, %c1 : index
        %r = arith.sitofp %p : i1 to f64""",
        lambda i: -1.0 if i == 1 else 0.0,
    ),
    "large_literals": (
        """%a = arith.constant 100000 : index
        %b = arith.muli %a, %a : index
        %c = arith.constant 3 : index
        %m = arith.minsi %a, %c : index
        %d = arith.muli %b, %m : index
        %e = arith.addi %d, %i : index
        %w = arith.index_cast %e : index to i64
        %r = arith.sitofp %w : i64 to f64""",
        lambda i: 3e10 + i,
    ),
    "smallest_integers": (
        """%a = arith.constant -9223372036854775808 : i64
        %b = arith.constant -2147483648 : i64
        %c = arith.index_cast %i : index to i64
        %d = arith.addi %b, %c : i64
        %m = arith.maxsi %a, %d : i64
        %r = arith.sitofp %m : i64 to f64""",
        lambda i: -(2.0**31) + i,
    ),
    "literals": (
        """%inf = arith.constant 0x7FF0000000000000 : f64
        %ninf = arith.constant 0xFFF0000000000000 : f64
        %nz = arith.constant -0.0 : f64
        %tenth = arith.constant 0.1 : f64
        %small = arith.constant 5.0e-324 : f64
        %big = arith.constant 1.7976931348623157e308 : f64
        %a = arith.divf %one, %inf : f64
        %b = arith.divf %one, %ninf : f64
        %c = math.copysign %tenth, %nz : f64
        %d = arith.divf %small, %small : f64
        %e = arith.divf %big, %big : f64
        %f = arith.addf %a, %b : f64
        %g = arith.addf %f, %c : f64
        %h = arith.addf %d, %e : f64
        %r = arith.addf %g, %h : f64""",
        lambda i: -0.1 + 2,
    ),
}
ARGUMENTS = "%out: memref<?xf64>, %x: memref<?xf64>, %N: index"


@functools.cache
def statement_source() -> str:
    store = "\nmemref.store %r, %out[%i] : memref<?xf64>"
    rows = STATEMENTS.items()
    return print_cuda(
        parse("".join(function(name, ARGUMENTS, "%N", body + store) for name, (body, _) in rows))
    )


@functools.cache
def statement_kernels():
    return load(statement_source())


@pytest.mark.parametrize("name", STATEMENTS)
def test_statement(name: str):
    out = np.full_like(X, 99)
    statement_kernels()[name](X.size, out, X, X.size)
    expected = [STATEMENTS[name][1](i) for i in range(X.size)]
    np.testing.assert_allclose(out, expected, rtol=1e-15)


def test_statements_compile_without_spilling():
    log = compiles(statement_source())
    assert log.count("0 bytes spill stores, 0 bytes spill loads") == len(STATEMENTS)
    assert log.count("0 bytes stack frame") == len(STATEMENTS)


# Indices and sizes

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


def test_kernel():
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


def test_same_module_same_text():
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
def test_error(message: str):
    with pytest.raises(PassFailedException, match=message):
        print_cuda(parse(function("f", "%y: memref<?xf64>, %N: index", "%N", ERRORS[message])))


def test_error_of_a_module_that_is_not_scheduled():
    with pytest.raises(PassFailedException, match=r"0 loops\.parallel in"):
        print_cuda(parse("func.func @f() {\n  func.return\n}"))
    with pytest.raises(PassFailedException, match="stands outside a function"):
        print_cuda(parse("%a = arith.constant 1 : index"))
