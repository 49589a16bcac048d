"""Operations on vectors: machine code against the interpreter, and against those on numbers."""

from __future__ import annotations

import re

import numpy as np
import pytest

from tadc.runtime.cpu import CpuModule
from tadc.runtime.llvm_compiler import assembly, optimized_ir
from tadc.runtime.machine import machine
from tadc.targets.llvm import LlvmPrinter, print_llvm
from tadc.targets.llvm_libmvec import library
from tests.targets.llvm_kernels import DTYPES, CompiledKernel, compile_kernel, elementwise, parse
from tests.targets.vector_kernels import (
    apply,
    arguments,
    assert_same_bits,
    of_vectors,
    run_both,
    vector_of,
)

REAL = {
    "add": "%r = arith.addf %0, %1 : V",
    "sub": "%r = arith.subf %0, %1 : V",
    "mul": "%r = arith.mulf %0, %1 : V",
    "div": "%r = arith.divf %0, %1 : V",
    "neg": "%r = arith.negf %0 : V",
    "maximum": "%r = arith.maximumf %0, %1 : V",
    "minimum": "%r = arith.minimumf %0, %1 : V",
    "abs": "%r = math.absf %0 : V",
    "ceil": "%r = math.ceil %0 : V",
    "floor": "%r = math.floor %0 : V",
    "trunc": "%r = math.trunc %0 : V",
    "round": "%r = math.roundeven %0 : V",
    "sqrt": "%r = math.sqrt %0 : V",
    "copysign": "%r = math.copysign %0, %1 : V",
    "fma": "%r = math.fma %0, %1, %2 : V",
    "vector.fma": "%r = vector.fma %0, %1, %2 : V",
    "constant": "%c = arith.constant dense<0.1> : V  %r = arith.mulf %0, %c : V",
    "select": """%c = loops.compare "olt" %0, %1 : V -> M
                 %r = loops.select %c, %0, %1 : M , V""",
    "masks": """%c = loops.compare "olt" %0, %1 : V -> M  %d = loops.compare "une" %1, %2 : V -> M
                %e = arith.andi %c, %d : M  %f = arith.ori %e, %c : M  %g = arith.xori %f, %d : M
                %t = arith.constant dense<true> : M  %h = arith.xori %g, %t : M
                %r = loops.select %h, %0, %1 : M , V""",
    "create_mask": "%c = vector.create_mask %b : M  %r = loops.select %c, %0, %1 : M , V",
    "one for all": """%one = arith.constant 1 : index  %c = arith.cmpi sgt, %b, %one : index
                      %r = arith.select %c, %0, %1 : V""",
    "if": """%one = arith.constant 1 : index  %c = arith.cmpi sgt, %b, %one : index
             %r = scf.if %c -> ( V ) { scf.yield %0 : V } else { scf.yield %1 : V }""",
    "power": "%c = arith.constant -5 : i32  %r = math.fpowi %0, %c : V , i32",
}


@pytest.mark.parametrize("lanes", [2, 16])
@pytest.mark.parametrize("type_", ["f32", "f64"])
@pytest.mark.parametrize("name", REAL)
def test_real_numbers(name: str, type_: str, lanes: int) -> None:
    x = arguments(type_, 3, lanes)
    got, expected = apply(REAL[name], lanes, type_, type_, *x)
    if name == "power":
        np.testing.assert_allclose(got, expected, rtol=1e-6)
    else:
        assert_same_bits(got, expected)


@pytest.mark.parametrize("lanes", [4, 8, 32, 64])
@pytest.mark.parametrize("type_", ["f32", "f64"])
def test_vectors_of_every_width(type_: str, lanes: int) -> None:
    for name in ("fma", "select", "create_mask"):
        assert_same_bits(*apply(REAL[name], lanes, type_, type_, *arguments(type_, 3, lanes)))


@pytest.mark.parametrize("type_", ["f32", "f64"])
def test_fused_products_round_once(type_: str) -> None:
    """Products that cancel but for their rounding, overflow, and vanish."""
    rng = np.random.default_rng(0)
    a, b = (rng.normal(size=4096) * 10.0 ** rng.integers(-30, 30, 4096) for _ in range(2))
    a, b = a.astype(DTYPES[type_]), b.astype(DTYPES[type_])
    with np.errstate(all="ignore"):
        near = -(a * b) * (1 + np.finfo(a.dtype).eps * rng.integers(-2, 3, 4096))
    c = np.where(rng.random(4096) < 0.8, near, np.roll(near, 1)).astype(a.dtype)
    assert_same_bits(*apply("%r = math.fma %0, %1, %2 : V", 8, type_, type_, a, b, c))


COMPARISONS = ("oeq", "ogt", "oge", "olt", "ole", "one", "ord")
COMPARISONS += ("ueq", "ugt", "uge", "ult", "ule", "une", "uno")


@pytest.mark.parametrize("predicate", COMPARISONS)
def test_comparisons_of_real_numbers(predicate: str) -> None:
    lines = f"""%c = loops.compare "{predicate}" %0, %1 : V -> M
      %one = arith.constant dense<1.0> : V  %zero = arith.constant dense<0.0> : V
      %r = loops.select %c, %one, %zero : M , V"""
    assert_same_bits(*apply(lines, 8, "f32", "f32", *arguments("f32", 2, 8)))


INTEGERS = {
    "add": "%r = arith.addi %0, %1 : V",
    "sub": "%r = arith.subi %0, %1 : V",
    "mul": "%r = arith.muli %0, %1 : V",
    "min": "%r = arith.minsi %0, %1 : V",
    "max": "%r = arith.maxsi %0, %1 : V",
    "and": "%r = arith.andi %0, %1 : V",
    "floordiv": "%r = arith.floordivsi %0, %d : V",
    "ceildiv": "%r = arith.ceildivsi %0, %d : V",
    "rem": "%r = arith.remsi %0, %d : V",
    "narrow": """%s = loops.convert %0 : V to vector<8xi32>
                 %r = loops.convert %s : vector<8xi32> to V""",
    "index": """%s = loops.convert %0 : V to vector<8xindex>
                %r = loops.convert %s : vector<8xindex> to V""",
    "shuffle": "%r = vector.shuffle %0, %1 [0, 8, 3, 15, 7, 1, 2, 9] : V , V",
} | {
    predicate: f"""%c = loops.compare "{predicate}" %0, %1 : V -> M
                   %r = loops.select %c, %d, %0 : M , V"""
    for predicate in ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge")
}


@pytest.mark.parametrize("name", INTEGERS)
def test_integers(name: str) -> None:
    a, b = np.meshgrid(np.arange(-9, 11), np.arange(-10, 10))
    lines = f"%d = arith.constant dense<[1, 2, 3, -3, 5, 7, -8, 64]> : V  {INTEGERS[name]}"
    got, expected = apply(lines, 8, "i64", "i64", a.ravel(), b.ravel())
    np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("element", ["f32", "f64"])
def test_lane_numbers_become_real_numbers(element: str) -> None:
    lines = f"""%l = arith.constant dense<[0, 1, 2, 3]> : vector<4xindex>
      %f = vector.broadcast %i : index to vector<4xindex>  %p = arith.addi %f, %l : vector<4xindex>
      %c = loops.convert %p : vector<4xindex> to {vector_of(element, 4)}
      %r = arith.mulf %c, %0 : V"""
    got, expected = apply(lines, 4, element, element, np.ones(20))
    assert_same_bits(got, expected)
    np.testing.assert_array_equal(got, np.arange(20))


@pytest.mark.parametrize(
    ("source", "result", "op"), [("f32", "f64", "extf"), ("f64", "f32", "truncf")]
)
def test_precisions(source: str, result: str, op: str) -> None:
    lines = f"%r = arith.{op} %0 : V to W"
    assert_same_bits(*apply(lines, 8, source, result, *arguments(source, 1, 8)))


LANES = {
    "broadcast": "%k = arith.constant 0.25 : f32  %r = vector.broadcast %k : f32 to V",
    "of an element": """%s = memref.load %x0[%b] : memref<?xf32>
                        %r = vector.broadcast %s : f32 to V""",
    "shuffle": "%r = vector.shuffle %0, %1 [0, 8, 3, 15, 7, 7, 2, 9] : V , V",
    "narrow": """%h = vector.shuffle %0, %1 [1, 9, 2, 10] : V , V
                 %r = vector.shuffle %h, %h [0, 1, 2, 3, 4, 5, 6, 7]
                        : vector<4xf32>, vector<4xf32>""",
    "extract and insert": """%s = vector.extract %0[5] : f32 from V
                             %r = vector.insert %s, %1 [2] : f32 into V""",
    "list": """%c = arith.constant dense<[0.1, -0.0, 1.0e-42, 3.0, 4.0, 5.5, 1.0e30, -7.0]> : V
               %r = arith.subf %0, %c : V""",
}


@pytest.mark.parametrize("name", LANES)
def test_lanes_move(name: str) -> None:
    assert_same_bits(*apply(LANES[name], 8, "f32", "f32", *arguments("f32", 2, 8)))


# --- elementary functions -------------------------------------------------------------------------

OWN = ("cos", "cosh", "erf", "exp", "expm1", "log", "log1p", "sin", "sinh", "tanh")
LIBRARY = (
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atanh",
    "cbrt",
    "exp2",
    "log10",
    "log2",
    "tan",
)
FUNCTIONS = {name: f"math.{name} %0" for name in (*OWN, *LIBRARY, "rsqrt")} | {
    "pow": "math.powf %0, %1",
    "atan2": "math.atan2 %0, %1",
    "erfc": 'loops.libm "erfc" %0',
}


@pytest.mark.parametrize("type_", ["f32", "f64"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_elementary_functions_have_the_bits_of_numbers(name: str, type_: str) -> None:
    """Some lanes are so large that `sin` and `cos` branch."""
    op, lanes = FUNCTIONS[name], 8
    x = arguments(type_, 2 if "%1" in op else 1, lanes)
    if name == "pow":
        x[0] = np.abs(x[0])  # NumPy does not know that (-1)**inf is 1
    with np.errstate(over="ignore"):
        x = [np.concatenate([a, a * np.array(1e6, a.dtype)]) for a in x]
    got, expected = apply(f"%r = {op} : V", lanes, type_, type_, *x)
    np.testing.assert_allclose(got, expected, rtol=2e-6 if type_ == "f32" else 1e-14, atol=1e-37)
    numbers = np.empty_like(got)
    compile_kernel(elementwise(f"{op} : {type_}", type_, type_, len(x)))(numbers, *x, got.size)
    assert_same_bits(got, numbers)


@pytest.mark.skipif(not machine().has("avx512f"), reason="no AVX-512")
@pytest.mark.parametrize("type_", ["f32", "f64"])
@pytest.mark.parametrize("op", ["math.exp %0", "math.sinh %0", "math.powf %0, %1"])
def test_exponents_that_scale_at_once(op: str, type_: str) -> None:
    """One instruction of AVX-512 in vectors of every width, never a call of the C library."""
    x = [np.resize(a, 512) for a in arguments(type_, 2 if "%1" in op else 1, 2)]
    buffers = {"y": type_} | {f"x{i}": type_ for i in range(len(x))}
    plain, _ = apply(f"%r = {op} : V", 4, type_, type_, *x)
    for lanes in (2, 8, 16, 64):
        text = of_vectors(f"%r = {op} : V", buffers, lanes)
        code = print_llvm(parse(text), LlvmPrinter(512, scaled_exponents=True))
        got = np.zeros_like(plain)
        CompiledKernel(CpuModule(code), "y")(got, *x, 512 // lanes)
        assert_same_bits(got, plain)
        assert "ldexp" not in assembly(code).replace("llvm.ldexp", "")


def exponentials(type_: str, lines: str) -> tuple[str, list[np.ndarray]]:
    """Code that stores an exponential of vectors in whole registers, and arguments of all kinds."""
    lanes = 16 if type_ == "f32" else 8
    special = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-45, 1e308, -1e308, 87.5, -87.5, 103.9, -103.9]
    special += [709.5, -709.5, 745.1, -745.1, 88.8, -88.8, 90.99, -90.99, 104.1, -104.1]
    with np.errstate(over="ignore", under="ignore"):
        x = np.concatenate([np.linspace(-800, 800, 490), special]).astype(DTYPES[type_])
    text = of_vectors(lines, {"y": type_, "x0": type_}, lanes)
    return text, [np.resize(x, 512)]


@pytest.mark.parametrize("at_once", [False, True])
@pytest.mark.parametrize("type_", ["f32", "f64"])
@pytest.mark.parametrize("form", ["%n = arith.negf %0 : V", "%n = arith.negf %s : V"])
def test_exponentials_of_negative_numbers_have_the_same_bits(
    form: str, type_: str, at_once: bool
) -> None:
    """exp(-x), and exp(-s) of a number s that is not below 0, as exp of the negated number."""
    if at_once and not machine().has("avx512f"):
        pytest.skip("no AVX-512")
    text, x = exponentials(type_, f"%s = math.absf %0 : V  {form}  %r = math.exp %n : V")
    code = print_llvm(parse(text), LlvmPrinter(scaled_exponents=at_once))
    assert ("@tadc.decay" in code) == ("%s :" in form)
    got, expected = np.zeros_like(x[0]), np.zeros_like(x[0])
    count = x[0].size // (16 if type_ == "f32" else 8)
    CompiledKernel(CpuModule(code), "y")(got, *x, count)
    argument = x[0] if "%0" in form else np.abs(x[0])
    plain, _ = exponentials(type_, "%r = math.exp %0 : V")
    CompiledKernel(CpuModule(print_llvm(parse(plain))), "y")(expected, -argument, count)
    assert_same_bits(got, expected)


def test_numbers_and_vectors_of_one_function() -> None:
    """One module has `sin` for numbers and for vectors of two widths."""
    lines = """%s = memref.load %x0[%i] : memref<?xf32>  %a = math.sin %s : f32
      %v = math.sin %0 : V  %f = vector.broadcast %a : f32 to V  %w = arith.addf %v, %f : V
      %h = vector.shuffle %w, %w [0, 1] : V , V  %k = math.sin %h : vector<2xf32>
      %l = vector.shuffle %k, %k [0, 1, 0, 1] : vector<2xf32>, vector<2xf32>
      %r = arith.addf %w, %l : V"""
    (x,) = arguments("f32", 1, 4)
    got, expected = apply(lines, 4, "f32", "f32", x)
    np.testing.assert_allclose(got, expected, rtol=1e-5)


# --- sums -----------------------------------------------------------------------------------------

KINDS = ("add", "mul", "maximumf", "minimumf", "maxnumf", "minnumf")


def total(kind: str, type_: str, lanes: int, start: str = "", flag: str = "") -> str:
    flag = flag or ("reassoc" if kind in ("add", "mul") else "none")
    flags = f" fastmath<{flag}>"
    start = f", {start}" if start else ""
    lines = f"""%s = vector.extract %0[0] : {type_} from V
      %t = vector.reduction <{kind}>, %0{start}{flags} : V into {type_}
      %r = vector.broadcast %t : {type_} to V"""
    return of_vectors(lines, {"y": type_, "x": type_}, lanes)


@pytest.mark.parametrize("lanes", [2, 4, 8, 16, 32, 64])
@pytest.mark.parametrize("type_", ["f32", "f64"])
@pytest.mark.parametrize("kind", KINDS)
def test_reductions_have_one_order(kind: str, type_: str, lanes: int) -> None:
    x = np.random.default_rng(lanes).normal(size=lanes * 20).astype(DTYPES[type_])
    for start in ("", "%s"):
        text = total(kind, type_, lanes, start)
        got, expected = run_both(text, np.zeros_like(x), x, sizes=(20,))
        assert_same_bits(got, expected)


def test_reductions_of_special_numbers() -> None:
    for kind in ("add", "mul", "maximumf", "minimumf"):
        (x,) = arguments("f32", 1, 4)
        text = total(kind, "f32", 4)
        assert_same_bits(*run_both(text, np.zeros_like(x), x, sizes=(x.size // 4,)))


@pytest.mark.parametrize("kind", ["maximumf", "minimumf"])
def test_extremes_may_forget_the_signs_of_zeros(kind: str) -> None:
    """They are equal as numbers, and what is no number stays."""
    (x,) = arguments("f32", 1, 4)
    text = total(kind, "f32", 4, flag="nsz")
    np.testing.assert_array_equal(*run_both(text, np.zeros_like(x), x, sizes=(x.size // 4,)))


@pytest.mark.parametrize("kind", ["add", "mul", "and", "or", "xor", "maxsi", "minsi"])
def test_reductions_of_integers(kind: str) -> None:
    lines = f"""%t = vector.reduction <{kind}>, %0 : V into i64
                %r = vector.broadcast %t : i64 to V"""
    x = np.random.default_rng(0).integers(-9, 9, 80)
    got, expected = apply(lines, 8, "i64", "i64", x)
    np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("kind", ["and", "or"])
def test_reductions_of_masks(kind: str) -> None:
    lines = f"""%c = loops.compare "olt" %0, %1 : V -> M
      %t = vector.reduction <{kind}>, %c : M into i1  %r = arith.select %t, %0, %1 : V"""
    assert_same_bits(*apply(lines, 4, "f32", "f32", *arguments("f32", 2, 4)))


def test_the_order_of_a_sum() -> None:
    """Lanes 0 and 4, 1 and 5, 2 and 6, 3 and 7 come first."""
    x = np.array([1e8, 1, 0, 0, -1e8, 0, 0, 3], np.float32)
    got, _ = run_both(total("add", "f32", 8), np.zeros_like(x), x, sizes=(1,))
    assert got[0] == 4
    x = np.array([1e8, -1e8, 0, 0, 3, 0, 0, 0], np.float32)
    got, _ = run_both(total("add", "f32", 8), np.zeros_like(x), x, sizes=(1,))
    assert got[0] == 0  # 1e8 + 3 is 1e8


@pytest.mark.skipif(library() is None, reason="no libmvec on this platform")
@pytest.mark.skipif(not machine().has("sse4.2"), reason="instructions that libmvec has no form for")
@pytest.mark.parametrize("lanes", [2, 4, 8, 16, 64])
@pytest.mark.parametrize("type_", ["f32", "f64"])
@pytest.mark.parametrize("op", ["math.tan %0", "math.atan2 %0, %1", 'loops.libm "erfc" %0'])
def test_library_functions_of_vectors(op: str, type_: str, lanes: int) -> None:
    """Functions of the C library call its vector forms, where they may round otherwise."""
    x = np.random.default_rng(0).uniform(-1.5, 1.5, (2 if "%1" in op else 1, 8 * lanes))
    lines = f"%r = {op} fastmath<afn> : V"
    got, expected = apply(lines, lanes, type_, type_, *x)
    np.testing.assert_allclose(got, expected, rtol=1e-6 if type_ == "f32" else 1e-14, atol=1e-30)
    buffers = {"y": type_} | {f"x{i}": type_ for i in range(len(x))}
    ir = optimized_ir(print_llvm(parse(of_vectors(lines, buffers, lanes))))
    if lanes * (32 if type_ == "f32" else 64) >= 128:
        assert re.search(r"call <\d+ x (float|double)> @_ZGV", ir)
    assert "@_ZGV" not in optimized_ir(
        print_llvm(parse(of_vectors(f"%r = {op} : V", buffers, lanes)))
    )
