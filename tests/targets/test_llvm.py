"""The LLVM target: every op against NumPy, accuracy, and what becomes vectors."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pytest

from tadc.runtime.llvm_compiler import optimized_ir
from tadc.targets.llvm import print_llvm
from tadc.targets.llvm_libmvec import library
from tadc.targets.llvm_math import CALLED
from tests.targets.llvm_kernels import (
    DTYPES,
    compile_kernel,
    elementwise,
    evaluate,
    function,
    parse,
)

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
def test_integer_operations_are_those_of_numpy(name: str) -> None:
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
        compile_kernel(function({"y": "i64", "x": "i64"}, ["N"], lines))(got, a, a.size)
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
def test_integer_comparisons_are_those_of_numpy(name: str) -> None:
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
def test_float_comparisons_are_those_of_numpy(name: str) -> None:
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
def test_float_operations_are_those_of_numpy(name: str, type_: str) -> None:
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
def test_conversions_are_those_of_numpy(op: str, source: str, result: str) -> None:
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
    compile_kernel(function({"y": "f32"}, ["N"], lines))(got, 6)
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
    "cos": (-np.inf, np.inf),
    "sin": (-np.inf, np.inf),
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
        x = random.integers(0, 2**64, 200_000, dtype=np.uint64).view(np.float64)
    many = np.concatenate([random.uniform(-s, s, 100_000) for s in (0.4, 1, 4, 20, 110, 750)])
    near_one = 1 + random.uniform(-0.5, 1, 100_000)
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
    "erf": (erf, -10, 10),
    "floor": (np.floor, -np.inf, np.inf),
    "log10": (np.log10, -1, np.inf),
    "log2": (np.log2, -1, np.inf),
    "sqrt": (np.sqrt, -1, np.inf),
    "tan": (np.tan, -10, 10),
}


@pytest.mark.parametrize("type_", ["f32", "f64"])
@pytest.mark.parametrize("name", LIBM_OPS)
def test_library_functions_are_accurate(name: str, type_: str) -> None:
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
    compile_kernel(function({"y": "f64", "x": "f64"}, ["N"], lines))(got, x, 3)
    np.testing.assert_allclose(got, x**power, rtol=1e-14)


@pytest.mark.parametrize("name", OWN_RANGE)
@pytest.mark.parametrize("type_", ["f32", "f64"])
def test_own_functions_vectorise(name: str, type_: str) -> None:
    ir = optimized_ir(print_llvm(parse(elementwise(f"math.{name} %0 : {type_}", type_, type_, 1))))
    loops = function_text(ir, "y")
    if name in CALLED:
        assert re.search(rf"call <\d+ x (float|double)> @tadc\.{name}\.v", loops)
    else:
        assert not re.search(rf"call .*@(tadc\.)?{name}", loops)
        assert re.search(r"load <\d+ x (float|double)>", loops)


def function_text(ir: str, name: str) -> str:
    """The definition of one function in LLVM IR."""
    found = re.search(rf"^define [^\n]*@{name}\(.*?^\}}", ir, re.MULTILINE | re.DOTALL)
    assert found is not None
    return found[0]


@pytest.mark.skipif(library() is None, reason="no libmvec on this platform")
@pytest.mark.parametrize("name", ["tan", "atan", "atan2", "asin"])
def test_library_functions_vectorise(name: str) -> None:
    count = 2 if name == "atan2" else 1
    op = f"math.{name} {', '.join(f'%{i}' for i in range(count))} fastmath<afn> : f64"
    ir = optimized_ir(print_llvm(parse(elementwise(op, "f64", "f64", count))))
    assert re.search(r"call .*<\d+ x double> @_ZGV", ir)


def test_functions_round_alike_unless_they_may_be_approximate() -> None:
    ir = optimized_ir(print_llvm(parse(elementwise("math.tan %0 : f64", "f64", "f64", 1))))
    assert "@_ZGV" not in ir
