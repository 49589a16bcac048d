"""The LLVM target and the CPU runtime: every op against NumPy, accuracy, loops, threads."""

from __future__ import annotations

import ctypes
import os
import re
import threading
from collections.abc import Callable

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects import arith, builtin, func, math, memref, scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser
from xdsl.utils.exceptions import PassFailedException

from dialects.loops import Loops
from tadc.runtime.cpu import CpuKernel, CpuModule
from tadc.targets.llvm import print_llvm
from tadc.targets.llvm_libmvec import library

DTYPES = {"f32": np.float32, "f64": np.float64, "i64": np.int64, "i1": np.bool_}


def parse(text: str) -> ModuleOp:
    ctx = Context()
    dialects = (arith.Arith, builtin.Builtin, func.Func, math.Math, memref.MemRef, scf.Scf, Loops)
    for dialect in dialects:
        ctx.load_dialect(dialect)
    module = Parser(ctx, text).parse_module()
    module.verify()
    return module


def compile_kernel(text: str, name: str = "y") -> CpuKernel:
    return CpuModule(print_llvm(parse(text))).kernel(name)


def call(kernel: CpuKernel, *arguments: np.ndarray | int, work: int = 0) -> None:
    words = [a.ctypes.data if isinstance(a, np.ndarray) else a for a in arguments]
    kernel((ctypes.c_int64 * len(words))(*words), work)


def function(buffers: dict[str, str], sizes: list[str], lines: str) -> str:
    """A scheduled function of the given buffers (name to element type) and sizes."""
    arguments = [f"%{name}: memref<?x{type_}>" for name, type_ in buffers.items()]
    arguments += [f"%{size}: index" for size in sizes]
    return f"func.func @y({', '.join(arguments)}) {{\n{lines}\n func.return }}"


def elementwise(op: str, source: str, result: str, count: int) -> str:
    """`y[i] = op(x0[i], x1[i], ...)`, the op written with %0, %1, ... for its operands."""
    buffers = {"y": result} | {f"x{i}": source for i in range(count)}
    loads = "\n".join(f"%{i} = memref.load %x{i}[%i] : memref<?x{source}>" for i in range(count))
    store = f"memref.store %r, %y[%i] : memref<?x{result}>"
    return function(
        buffers, ["N"], f"loops.parallel (%i) to (%N) {{\n{loads}\n%r = {op}\n{store} }}"
    )


def evaluate(op: str, source: str, result: str, *inputs: np.ndarray) -> np.ndarray:
    inputs = tuple(np.ascontiguousarray(x, dtype=DTYPES[source]) for x in inputs)
    output = np.empty(inputs[0].size, dtype=DTYPES[result])
    kernel = compile_kernel(elementwise(op, source, result, len(inputs)))
    call(kernel, output, *inputs, output.size)
    return output


SPECIAL = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 0.5, -2.5, 1e-310, 1e-40, -1e-42, 1e300]


def pairs(values: list[float] | range) -> tuple[np.ndarray, np.ndarray]:
    a, b = np.meshgrid(np.array(values), np.array(values))
    return a.ravel(), b.ravel()


# ---- arith

INTEGER_OPS: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "addi": np.add,
    "subi": np.subtract,
    "muli": np.multiply,
    "minsi": np.minimum,
    "maxsi": np.maximum,
    "andi": np.bitwise_and,
    "ori": np.bitwise_or,
    "xori": np.bitwise_xor,
    "floordivsi": np.floor_divide,
    "ceildivsi": lambda a, b: -(-a // b),
    "divsi": lambda a, b: np.trunc(a / b).astype(np.int64),
    "remsi": np.fmod,
}


@pytest.mark.parametrize("name", INTEGER_OPS)
def test_integer_op(name: str) -> None:
    a, b = pairs(range(-9, 10))
    if name in ("floordivsi", "ceildivsi", "divsi", "remsi"):
        a, b = a[b != 0], b[b != 0]
    got = evaluate(f"arith.{name} %0, %1 : i64", "i64", "i64", a, b)
    np.testing.assert_array_equal(got, INTEGER_OPS[name](a, b))


@pytest.mark.parametrize("divisor", [1, 2, 3, 7, 8, 64])
def test_division_by_constant_rounds_as_python(divisor: int) -> None:
    a = np.arange(-200, 200)
    for name, expected in (("floordivsi", a // divisor), ("ceildivsi", -(-a // divisor))):
        lines = f"""loops.parallel (%i) to (%N) {{
          %d = arith.constant {divisor} : i64
          %a = memref.load %x[%i] : memref<?xi64>
          %q = arith.{name} %a, %d : i64
          memref.store %q, %y[%i] : memref<?xi64> }}"""
        got = np.empty_like(a)
        call(compile_kernel(function({"y": "i64", "x": "i64"}, ["N"], lines)), got, a, a.size)
        np.testing.assert_array_equal(got, expected)


INTEGER_PREDICATES = {
    "eq": np.equal,
    "ne": np.not_equal,
    "slt": np.less,
    "sle": np.less_equal,
    "sgt": np.greater,
    "sge": np.greater_equal,
}


@pytest.mark.parametrize("name", INTEGER_PREDICATES)
def test_integer_comparison(name: str) -> None:
    a, b = pairs(range(-3, 4))
    got = evaluate(f"arith.cmpi {name}, %0, %1 : i64", "i64", "i1", a, b)
    np.testing.assert_array_equal(got, INTEGER_PREDICATES[name](a, b))


FLOAT_PREDICATES: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "oeq": np.equal,
    "une": np.not_equal,
    "olt": np.less,
    "ole": np.less_equal,
    "ogt": np.greater,
    "oge": np.greater_equal,
    "ult": lambda a, b: ~(a >= b),
    "uno": lambda a, b: np.isnan(a) | np.isnan(b),
    "ord": lambda a, b: ~(np.isnan(a) | np.isnan(b)),
    "one": lambda a, b: (a < b) | (a > b),
}


@pytest.mark.parametrize("name", FLOAT_PREDICATES)
def test_float_comparison(name: str) -> None:
    a, b = pairs(SPECIAL)
    got = evaluate(f"arith.cmpf {name}, %0, %1 : f64", "f64", "i1", a, b)
    np.testing.assert_array_equal(got, FLOAT_PREDICATES[name](a, b))


FLOAT_OPS = {
    "arith.addf": np.add,
    "arith.subf": np.subtract,
    "arith.mulf": np.multiply,
    "arith.divf": np.divide,
    "arith.maximumf": np.maximum,
    "arith.minimumf": np.minimum,
    "arith.maxnumf": np.fmax,
    "arith.minnumf": np.fmin,
    "math.copysign": np.copysign,
}


@pytest.mark.parametrize("type_", ["f32", "f64"])
@pytest.mark.parametrize("name", FLOAT_OPS)
def test_float_op(name: str, type_: str) -> None:
    with np.errstate(all="ignore"):
        a, b = (x.astype(DTYPES[type_]) for x in pairs(SPECIAL))
        got = evaluate(f"{name} %0, %1 : {type_}", type_, type_, a, b)
        np.testing.assert_array_equal(got, FLOAT_OPS[name](a, b))


def test_fma_rounds_once() -> None:
    a, c = np.array([1 + 2.0**-30]), np.array([-1.0])
    got = evaluate("math.fma %0, %0, %1 : f64", "f64", "f64", a, c)
    assert got[0] == 2.0**-29 + 2.0**-60


@pytest.mark.parametrize(
    ("op", "source", "result"),
    [
        ("arith.negf %0 : f64", "f64", "f64"),
        ("arith.truncf %0 : f64 to f32", "f64", "f32"),
        ("arith.extf %0 : f32 to f64", "f32", "f64"),
    ],
)
def test_conversion(op: str, source: str, result: str) -> None:
    with np.errstate(all="ignore"):
        x = np.array(SPECIAL).astype(DTYPES[source])
        expected = (-x if "negf" in op else x).astype(DTYPES[result])
    np.testing.assert_array_equal(evaluate(op, source, result, x), expected)


def test_integers_to_floats_and_select() -> None:
    lines = """loops.parallel (%i) to (%N) {
      %three = arith.constant 3 : index
      %half = arith.constant 0.1 : f32
      %small = arith.cmpi slt, %i, %three : index
      %w = arith.index_cast %i : index to i64
      %f = arith.sitofp %w : i64 to f32
      %r = arith.select %small, %half, %f : f32
      memref.store %r, %y[%i] : memref<?xf32> }"""
    got = np.empty(6, dtype=np.float32)
    call(compile_kernel(function({"y": "f32"}, ["N"], lines)), got, 6)
    np.testing.assert_array_equal(got, np.array([0.1, 0.1, 0.1, 3, 4, 5], dtype=np.float32))


# ---- math


def dense(low: float, high: float, type_: str) -> np.ndarray:
    """Points of every size between the two, and the special ones."""
    random = np.random.default_rng(0)
    points = [random.uniform(max(low, -100), min(high, 100), 100_000), random.normal(size=100_000)]
    points.append(np.exp2(random.uniform(-60, 5, 50_000)) * random.choice([-1, 1], 50_000))
    x = np.concatenate([*points, np.array(SPECIAL)])
    with np.errstate(over="ignore"):
        return np.concatenate([x[(x >= low) & (x <= high)], [np.nan]]).astype(DTYPES[type_])


def erf(x: np.ndarray) -> np.ndarray:
    from math import erf as scalar

    return np.array([scalar(v) for v in x.tolist()])


def ulp_error(got: np.ndarray, exact: np.ndarray) -> float:
    """The largest error in units in the last place of the format, infinities aside."""
    dtype = got.dtype
    rounded = exact.astype(dtype)
    np.testing.assert_array_equal(np.isnan(got), np.isnan(exact))
    finite = np.isfinite(rounded) & np.isfinite(got)
    # At the very edge of overflow, infinity for the largest number is an error of one ulp.
    edge = np.abs(exact) > np.finfo(dtype).max * (1 - 2 * np.finfo(dtype).eps)
    np.testing.assert_array_equal(got[~finite & ~edge], rounded[~finite & ~edge])
    error = np.abs(got[finite].astype(exact.dtype) - exact[finite])
    return float(np.max(error / np.spacing(np.abs(rounded[finite])), initial=0.0))


OWN_RANGE = {
    "exp": (-np.inf, np.inf),
    "expm1": (-np.inf, np.inf),
    "log": (-1.0, np.inf),
    "log1p": (-2.0, np.inf),
    "sinh": (-np.inf, np.inf),
    "cosh": (-np.inf, np.inf),
    "tanh": (-np.inf, np.inf),
}


def everywhere(type_: str) -> np.ndarray:
    """Bit patterns of the format, and more where `exp` neither overflows nor vanishes."""
    random = np.random.default_rng(0)
    if type_ == "f32":
        x = np.arange(0, 2**32, 8191, dtype=np.uint64).astype(np.uint32).view(np.float32)
    else:
        x = random.integers(0, 2**64, 400_000, dtype=np.uint64).view(np.float64)
    many = np.concatenate([random.uniform(-s, s, 200_000) for s in (0.4, 1, 4, 20, 110, 750)])
    near_one = 1 + random.uniform(-0.5, 1, 200_000)
    edges = np.array([88.722835, 88.72284, 89.41599, 709.782712893384, 709.7827128933841, -745.13])
    with np.errstate(over="ignore"):
        extra = np.concatenate([many, near_one, edges, SPECIAL]).astype(DTYPES[type_])
    return np.concatenate([x, extra])


@pytest.mark.parametrize("type_", ["f32", "f64"])
@pytest.mark.parametrize("name", OWN_RANGE)
def test_own_functions_are_within_two_ulp(name: str, type_: str) -> None:
    wide = np.float64 if type_ == "f32" else np.longdouble
    if np.finfo(wide).eps > np.finfo(DTYPES[type_]).eps / 4:
        pytest.skip("no wider format to compare with")
    x = everywhere(type_)
    got = evaluate(f"math.{name} %0 : {type_}", type_, type_, x)
    with np.errstate(all="ignore"):
        assert ulp_error(got, getattr(np, name)(x.astype(wide))) <= 2.0
    zeros = np.array([0.0, -0.0], dtype=x.dtype)
    if name in ("expm1", "log1p", "sinh", "tanh"):
        got = evaluate(f"math.{name} %0 : {type_}", type_, type_, zeros)
        assert list(np.signbit(got)) == [False, True]


LIBM_OPS: dict[str, tuple[Callable[..., np.ndarray], float, float]] = {
    "absf": (np.abs, -np.inf, np.inf),
    "acos": (np.arccos, -2, 2),
    "asin": (np.arcsin, -2, 2),
    "atan": (np.arctan, -np.inf, np.inf),
    "cos": (np.cos, -100, 100),
    "erf": (erf, -10, 10),
    "floor": (np.floor, -np.inf, np.inf),
    "log10": (np.log10, -1, np.inf),
    "log2": (np.log2, -1, np.inf),
    "sin": (np.sin, -100, 100),
    "sqrt": (np.sqrt, -1, np.inf),
    "tan": (np.tan, -10, 10),
}


@pytest.mark.parametrize("type_", ["f32", "f64"])
@pytest.mark.parametrize("name", LIBM_OPS)
def test_library_function(name: str, type_: str) -> None:
    function_, low, high = LIBM_OPS[name]
    x = dense(low, high, type_)
    got = evaluate(f"math.{name} %0 : {type_}", type_, type_, x)
    with np.errstate(all="ignore"):
        assert ulp_error(got, function_(x.astype(np.float64))) <= 4.5


@pytest.mark.parametrize("type_", ["f32", "f64"])
def test_library_functions_of_two_arguments(type_: str) -> None:
    a, b = (x.astype(DTYPES[type_]) for x in pairs([-2.5, -1, -0.0, 0.0, 0.3, 1, 2, 3, np.inf]))
    for name, expected in (("atan2", np.arctan2), ("powf", np.power)):
        got = evaluate(f"math.{name} %0, %1 : {type_}", type_, type_, a, b)
        with np.errstate(all="ignore"):
            assert ulp_error(got, expected(a.astype(np.float64), b)) <= 4.5


@pytest.mark.parametrize("power", [-3, -1, 0, 1, 2, 5, 10])
def test_constant_integer_power(power: int) -> None:
    lines = f"""loops.parallel (%i) to (%N) {{
      %n = arith.constant {power} : i32
      %a = memref.load %x[%i] : memref<?xf64>
      %q = math.fpowi %a, %n : f64, i32
      memref.store %q, %y[%i] : memref<?xf64> }}"""
    x = np.array([-2.0, 0.5, 3.0])
    got = np.empty_like(x)
    call(compile_kernel(function({"y": "f64", "x": "f64"}, ["N"], lines)), got, x, 3)
    np.testing.assert_allclose(got, x**power, rtol=1e-14)


@pytest.mark.parametrize("name", ["exp", "log", "tanh", "sinh", "cosh", "expm1", "log1p"])
@pytest.mark.parametrize("type_", ["f32", "f64"])
def test_own_functions_vectorise(name: str, type_: str) -> None:
    module = CpuModule(print_llvm(parse(elementwise(f"math.{name} %0 : {type_}", type_, type_, 1))))
    assert not re.search(rf"call .*@(tadc\.)?{name}", module.optimized())
    assert re.search(r"load <\d+ x (float|double)>", module.optimized())


@pytest.mark.skipif(library() is None, reason="no libmvec on this platform")
@pytest.mark.parametrize("name", ["sin", "powf", "atan2", "erf"])
def test_library_functions_vectorise(name: str) -> None:
    count = 2 if name in ("powf", "atan2") else 1
    op = f"math.{name} {', '.join(f'%{i}' for i in range(count))} : f64"
    module = CpuModule(print_llvm(parse(elementwise(op, "f64", "f64", count))))
    assert re.search(r"call .*<\d+ x double> @_ZGV", module.optimized())


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
    call(compile_kernel(MATMUL), y, a, b, m, n, k)
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
    call(compile_kernel(function({"y": "f64", "x": "f64"}, ["N"], lines)), y, x, x.size)
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
    call(compile_kernel(scalar), y)
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
    call(compile_kernel(half), y, 7)
    np.testing.assert_array_equal(y, [1, 1, 1, 1, 0, 0, 0])


# ---- threads

SIN_EXP = elementwise("math.exp %0 : f64", "f64", "f64", 1).replace("math.exp", "math.sin")


@pytest.mark.parametrize("size", [1, 63, 64, 65, 1000, 100_003])
def test_same_bits_in_parallel(size: int) -> None:
    x = np.random.default_rng(0).normal(size=size)
    serial, parallel = np.empty_like(x), np.empty_like(x)
    kernel = compile_kernel(SIN_EXP)
    call(kernel, serial, x, size)
    call(kernel, parallel, x, size, work=10**9)
    np.testing.assert_array_equal(serial.view(np.int64), parallel.view(np.int64))


def test_calls_from_many_threads() -> None:
    x = np.random.default_rng(0).normal(size=20_000)
    kernel = compile_kernel(SIN_EXP)
    expected = np.empty_like(x)
    call(kernel, expected, x, x.size)
    outputs = [np.empty_like(x) for _ in range(8)]

    def repeat(output: np.ndarray) -> None:
        for _ in range(20):
            output[:] = 0
            call(kernel, output, x, x.size, work=10**9)

    threads = [threading.Thread(target=repeat, args=(output,)) for output in outputs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for output in outputs:
        np.testing.assert_array_equal(output, expected)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this platform")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_parallel_call_after_fork() -> None:
    x, y = np.zeros(10_000), np.ones(10_000)
    kernel = compile_kernel(SIN_EXP)
    call(kernel, y, x, x.size, work=10**9)
    child = os.fork()
    if child == 0:
        y[:] = 1
        call(kernel, y, x, x.size, work=10**9)
        os._exit(0 if not y.any() else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


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
    with pytest.raises(PassFailedException, match=r'loc\("f.tad":3:7\): llvm: .*math.ctpop'):
        print_llvm(parse(text))
