"""Each operation of the scheduled level as CUDA C, over edge values, against Python and numpy."""

from __future__ import annotations

import functools
import math
import operator
import re

import numpy as np
import pytest

from tadc.targets.cuda import print_cuda
from tests.host_shim.host_shim import load, needs_compiler
from tests.host_shim.scheduled import compiles, function, parse

pytestmark = needs_compiler

# Operations on floats: text, and what numpy does. A row is a kernel over all pairs of EDGES.

EDGES = [
    -math.inf,
    -1e30,
    -2.5,
    -1.0,
    -0.5,
    -0.0,
    0.0,
    1e-30,
    0.5,
    1.0,
    3.7,
    20.0,
    math.inf,
    math.nan,
]
UNARY = {
    "arith.negf": np.negative,
    "math.absf": np.abs,
    "math.acos": np.arccos,
    "math.asin": np.arcsin,
    "math.atan": np.arctan,
    "math.ceil": np.ceil,
    "math.cos": np.cos,
    "math.cosh": np.cosh,
    "math.erf": np.vectorize(math.erf),
    "math.exp": np.exp,
    "math.expm1": np.expm1,
    "math.floor": np.floor,
    "math.log": np.log,
    "math.log10": np.log10,
    "math.log1p": np.log1p,
    "math.log2": np.log2,
    "math.roundeven": np.rint,
    "math.sin": np.sin,
    "math.sinh": np.sinh,
    "math.sqrt": np.sqrt,
    "math.tan": np.tan,
    "math.tanh": np.tanh,
    'loops.libm "erfc"': np.vectorize(math.erfc),
}
BINARY = {
    "arith.addf": np.add,
    "arith.subf": np.subtract,
    "arith.mulf": np.multiply,
    "arith.divf": np.divide,
    "arith.maximumf": np.maximum,
    "arith.minimumf": np.minimum,
    "arith.maxnumf": np.fmax,
    "arith.minnumf": np.fmin,
    "math.atan2": np.arctan2,
    "math.copysign": np.copysign,
    "math.powf": np.power,
}
COMPARE = {
    "false": lambda a, b: np.zeros(a.shape, bool),
    "oeq": lambda a, b: a == b,
    "ogt": lambda a, b: a > b,
    "oge": lambda a, b: a >= b,
    "olt": lambda a, b: a < b,
    "ole": lambda a, b: a <= b,
    "one": lambda a, b: (a < b) | (a > b),
    "ord": lambda a, b: ~(np.isnan(a) | np.isnan(b)),
    "ueq": lambda a, b: ~((a < b) | (a > b)),
    "ugt": lambda a, b: ~(a <= b),
    "uge": lambda a, b: ~(a < b),
    "ult": lambda a, b: ~(a >= b),
    "ule": lambda a, b: ~(a > b),
    "une": lambda a, b: a != b,
    "uno": lambda a, b: np.isnan(a) | np.isnan(b),
    "true": lambda a, b: np.ones(a.shape, bool),
}


def float_rows(t: str) -> dict[str, tuple[str, object]]:
    rows: dict[str, tuple[str, object]] = {}
    for op, meaning in UNARY.items():
        rows[op] = f"%r = {op} %x : {t}", lambda x, y, f=meaning: f(x)
    for op, meaning in BINARY.items():
        rows[op] = f"%r = {op} %x, %y : {t}", meaning
    rows["math.fma"] = f"%r = math.fma %x, %y, %x : {t}", lambda x, y: x * y + x
    for name, meaning in COMPARE.items():
        text = f"%p = arith.cmpf {name}, %x, %y : {t}\n%r = arith.select %p, %x, %un : {t}"
        rows[f"cmpf_{name}"] = text, lambda x, y, f=meaning: np.where(f(x, y), x, x.dtype.type(1))
    for power in (-3, -1, 0, 1, 2, 7):
        text = f"%n = arith.constant {power} : i32\n%r = math.fpowi %x, %n : {t}, i32"
        rows[f"fpowi_{power + 3}"] = text, lambda x, y, n=power: x ** x.dtype.type(n)
    return rows


def identifier(name: str) -> str:
    return re.sub(r"\W+", "_", name).strip("_")


@functools.cache
def float_source(t: str) -> str:
    """One module with a kernel for each row."""
    buffer = f"memref<?x{t}>"
    return print_cuda(
        parse(
            "".join(
                function(
                    identifier(name),
                    f"%out: {buffer}, %a: {buffer}, %b: {buffer}, %N: index",
                    "%N",
                    f"""%un = arith.constant 1.0 : {t}
                    %x = memref.load %a[%i] : {buffer}
                    %y = memref.load %b[%i] : {buffer}
                    {text}
                    memref.store %r, %out[%i] : {buffer}""",
                )
                for name, (text, _) in float_rows(t).items()
            )
        )
    )


@functools.cache
def float_kernels(t: str):
    return load(float_source(t))


@pytest.mark.parametrize("t", ["f32", "f64"])
def test_float_operations_compile(t: str):
    log = compiles(float_source(t))
    assert len(re.findall("Compiling entry", log)) == len(float_rows(t))


@pytest.mark.parametrize("t", ["f32", "f64"])
@pytest.mark.parametrize("name", float_rows("f64"))
def test_float_operations_are_those_of_numpy(name: str, t: str):
    dtype = {"f32": np.float32, "f64": np.float64}[t]
    x, y = (np.ravel(v).astype(dtype) for v in np.meshgrid(EDGES, EDGES))
    out = np.full_like(x, 99)
    float_kernels(t)[identifier(name)](x.size, out, x, y, x.size)
    with np.errstate(all="ignore"):
        expected = float_rows(t)[name][1](x, y).astype(dtype)
    np.testing.assert_allclose(out, expected, rtol=3e-6 if t == "f32" else 1e-14)
    known = ~np.isnan(expected) & ("m" not in name or name == "math.copysign" or expected != 0)
    assert (np.signbit(out) == np.signbit(expected))[known].all()


def test_float_functions_have_the_name_of_their_type():
    assert "expf(" in float_source("f32") and "copysignf(" in float_source("f32")
    assert not re.search(r"\bexp\(|\bfmax\(", float_source("f32"))
    assert "exp(" in float_source("f64") and "expf(" not in float_source("f64")


# Operations on integers, on `index`, `i32` and `i64`

NUMBERS = [-(2**31), -301, -7, -4, -1, 0, 1, 3, 4, 6, 100, 2**31 - 1]
DIVISORS = [1, 2, 3, 4, 7, 100, 2**31 - 1]


def truncated(a: int, b: int) -> int:
    return abs(a) // b * (1 if a >= 0 else -1)


INTEGER = {
    "addi": operator.add,
    "subi": operator.sub,
    "muli": operator.mul,
    "floordivsi": operator.floordiv,
    "ceildivsi": lambda a, b: -(-a // b),
    "divsi": truncated,
    "remsi": lambda a, b: a - b * truncated(a, b),
    "minsi": min,
    "maxsi": max,
    "andi": operator.and_,
    "ori": operator.or_,
    "xori": operator.xor,
}
PREDICATES = {
    "eq": operator.eq,
    "ne": operator.ne,
    "slt": operator.lt,
    "sle": operator.le,
    "sgt": operator.gt,
    "sge": operator.ge,
    "ult": lambda a, b: a % 2**64 < b % 2**64,
    "ule": lambda a, b: a % 2**64 <= b % 2**64,
    "ugt": lambda a, b: a % 2**64 > b % 2**64,
    "uge": lambda a, b: a % 2**64 >= b % 2**64,
}


@functools.cache
def integer_source(t: str) -> str:
    buffer = f"memref<?x{t}>"
    rows = {name: f"%r = arith.{name} %x, %y : {t}" for name in INTEGER}
    for name in PREDICATES:
        rows[name] = f"""%yes = arith.constant 1 : {t}
            %no = arith.constant 0 : {t}
            %p = arith.cmpi {name}, %x, %y : {t}
            %r = arith.select %p, %yes, %no : {t}"""
    return print_cuda(
        parse(
            "".join(
                function(
                    name,
                    f"%out: {buffer}, %a: {buffer}, %b: {buffer}, %N: index",
                    "%N",
                    f"""%x = memref.load %a[%i] : {buffer}
                    %y = memref.load %b[%i] : {buffer}
                    {text}
                    memref.store %r, %out[%i] : {buffer}""",
                )
                for name, text in rows.items()
            )
        )
    )


@functools.cache
def integer_kernels(t: str):
    return load(integer_source(t))


@pytest.mark.parametrize("t", ["i32", "i64", "index"])
@pytest.mark.parametrize("name", [*INTEGER, *PREDICATES])
def test_integer_operations_are_those_of_python(name: str, t: str):
    dtype, bits = (np.int32, 32) if t == "i32" else (np.int64, 64)
    meaning = INTEGER.get(name) or PREDICATES[name]
    pairs = [
        (a, b) for a in NUMBERS for b in (DIVISORS if "div" in name or "rem" in name else NUMBERS)
    ]
    pairs = [(a, b) for a, b in pairs if -(2 ** (bits - 1)) <= int(meaning(a, b)) < 2 ** (bits - 1)]
    a, b = (np.array(v, dtype) for v in zip(*pairs, strict=True))
    out = np.full_like(a, 99)
    integer_kernels(t)[name](a.size, out, a, b, a.size)
    assert out.tolist() == [int(meaning(*pair)) for pair in pairs]


@pytest.mark.parametrize("t", ["i32", "i64", "index"])
def test_integer_operations_compile(t: str):
    compiles(integer_source(t))
