"""The interpreter on vectors: what each operation means, and wrong use of it."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from tadc.interpreter.loops import LoopsError, run
from tadc.interpreter.loops_scalars import fused
from tests.interpreter.test_loops import parse


def block(lines: str, sizes: str = "%n: index") -> str:
    return f"""func.func @y(%y: memref<?xf32>, %x: memref<?xf32>, {sizes}) {{
      loops.parallel () to () {{
        %zero = arith.constant 0 : index
        {lines}
      }}
      func.return }}"""


def execute(lines: str, x: list[float], count: int, n: int = 0) -> list[float]:
    """The `count` elements of y that the lines write, reading x."""
    y = np.full(count, np.nan, np.float32)
    run(parse(block(lines)), "y", [y, np.array(x, np.float32)], [n])
    return y.tolist()


LOAD = "%0 = vector.load %x[%zero] : memref<?xf32>, vector<4xf32>"
STORE = "vector.store %r, %y[%zero] : memref<?xf32>, vector<4xf32>"
COUNT = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("%r = arith.addf %0, %0 : vector<4xf32>", [2, 4, 6, 8]),
        ("%r = math.fma %0, %0, %0 : vector<4xf32>", [2, 6, 12, 20]),
        ("%r = vector.fma %0, %0, %0 : vector<4xf32>", [2, 6, 12, 20]),
        ("%c = arith.constant dense<[3.0, 0.0, 1.0, 9.0]> : vector<4xf32>"
         "%r = arith.maximumf %0, %c : vector<4xf32>", [3, 2, 3, 9]),
        ("%s = memref.load %x[%n] : memref<?xf32>"
         "%r = vector.broadcast %s : f32 to vector<4xf32>", [3, 3, 3, 3]),
        ("%r = vector.shuffle %0, %0 [3, 7, 0, 4] : vector<4xf32>, vector<4xf32>", [4, 4, 1, 1]),
        ("%s = vector.extract %0[3] : f32 from vector<4xf32>"
         "%r = vector.insert %s, %0 [1] : f32 into vector<4xf32>", [1, 4, 3, 4]),
        ("%m = vector.create_mask %n : vector<4xi1> %d = arith.negf %0 : vector<4xf32>"
         "%r = loops.select %m, %0, %d : vector<4xi1>, vector<4xf32>", [1, 2, -3, -4]),
        ('%m = loops.compare "ogt" %0, %c : vector<4xf32> -> vector<4xi1>'
         "%r = loops.select %m, %0, %c : vector<4xi1>, vector<4xf32>", [2, 2, 3, 4]),
        ("%l = arith.constant dense<[3, -2, 1, 0]> : vector<4xindex>"
         "%r = loops.convert %l : vector<4xindex> to vector<4xf32>", [3, -2, 1, 0]),
        ("%t = vector.reduction <add>, %0 fastmath<reassoc> : vector<4xf32> into f32"
         "%r = vector.broadcast %t : f32 to vector<4xf32>", [10, 10, 10, 10]),
        ("%m = vector.create_mask %n : vector<4xi1>"
         "%r = vector.maskedload %x[%n], %m, %c : memref<?xf32>, vector<4xi1>, vector<4xf32>"
         " into vector<4xf32>", [3, 4, 2, 2]),
        ('%r = loops.libm "erfc" %c : vector<4xf32>', [0.0046777348] * 4),
    ],
)  # fmt: skip
def test_the_value_of(lines: str, expected: list[float]) -> None:
    if "%c" in lines and "%c =" not in lines:
        lines = "%c = arith.constant dense<2.0> : vector<4xf32>\n" + lines
    got = execute(f"{LOAD}\n{lines}\n{STORE}", COUNT, 4, n=2)
    assert got == np.array(expected, np.float32).tolist()


def test_reductions_combine_halves() -> None:
    lines = """%t = vector.reduction <add>, %0 fastmath<reassoc> : vector<4xf32> into f32
               memref.store %t, %y[%zero] : memref<?xf32>"""
    assert execute(f"{LOAD}\n{lines}", [1e8, 1, -1e8, 2], 1) == [3]
    assert execute(f"{LOAD}\n{lines}", [1e8, -1e8, 3, 0], 1) == [0]  # 1e8 + 3 is 1e8


def test_a_masked_store_writes_where_the_mask_is_on() -> None:
    lines = f"""{LOAD}
      %m = vector.create_mask %n : vector<4xi1>
      vector.maskedstore %y[%n], %m, %0 : memref<?xf32>, vector<4xi1>, vector<4xf32>"""
    y = execute(lines, COUNT, 4, n=2)
    assert np.isnan(y[:2]).all() and y[2:] == [1, 2]


def test_vectors_are_carried() -> None:
    lines = f"""{LOAD}
      %one = arith.constant 1 : index
      %r = scf.for %k = %zero to %n step %one iter_args(%s = %0) -> (vector<4xf32>) {{
        %t = arith.addf %s, %0 : vector<4xf32>
        scf.yield %t : vector<4xf32>
      }}
      {STORE}"""
    assert execute(lines, COUNT, 4, n=3) == [4, 8, 12, 16]


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("vector.load %x[%n] : memref<?xf32>, vector<4xf32>", "element 8 of 8"),
        ("vector.load %x[%zero] : memref<?xf32>, vector<3xf32>", "no vector has the type"),
        ("vector.load %x[%zero] : memref<?xf32>, vector<128xf32>", "no vector has the type"),
        ("vector.load %x[%n] {alignment = 16 : i64} : memref<?xf32>, vector<2xf32>",
         "no multiple of 16 bytes"),
        ("vector.shuffle %0, %0 [0, -1] : vector<4xf32>, vector<4xf32>", "a lane is undefined"),
        ("vector.extract %0[%n] : f32 from vector<4xf32>", "the position must be one number"),
        ("vector.broadcast %0 : vector<4xf32> to vector<4xf32>", "only a number"),
        ("vector.reduction <add>, %0 : vector<4xf32> into f32", "must say fastmath<reassoc>"),
        ("vector.reduction <minui>, %0 : vector<4xf32> into f32", "no meaning"),
        ("vector.bitcast %0 : vector<4xf32> to vector<2xf64>", "no meaning"),
    ],
)  # fmt: skip
def test_wrong_use(lines: str, message: str) -> None:
    with pytest.raises(LoopsError, match=message):
        execute(f"{LOAD}\n%e = {lines}", COUNT, 4, n=5)


def test_lanes_of_a_store_that_lie_outside() -> None:
    with pytest.raises(LoopsError, match="element 3 of 3"):
        execute(f"{LOAD}\n%r = arith.negf %0 : vector<4xf32>\n{STORE}", COUNT, 3)


def test_lanes_that_two_iterations_write() -> None:
    module = parse("""
    func.func @y(%y: memref<?xf32>, %n: index) {
      %a = arith.constant dense<1.0> : vector<2xf32>
      loops.parallel (%i) to (%n) {
        vector.store %a, %y[%i] : memref<?xf32>, vector<2xf32>
      }
      func.return
    }""")
    run(module, "y", [np.empty(2, np.float32)], [1])
    with pytest.raises(LoopsError, match="both write 1"):
        run(module, "y", [np.empty(3, np.float32)], [2])


def test_the_alignment_of_stores_that_bypass_the_caches() -> None:
    """Stack buffers are aligned; so is an element at a multiple of 64 bytes from their first."""
    lines = """%s = memref.alloca() : memref<64xf32>
      %a = arith.constant dense<1.0> : vector<16xf32>
      vector.store %a, %s[%n] {nontemporal = true} : memref<64xf32>, vector<16xf32>"""
    execute(lines, COUNT, 1, n=32)
    with pytest.raises(LoopsError, match="no multiple of 64 bytes"):
        execute(lines, COUNT, 1, n=8)


def test_addresses() -> None:
    lines = """%a = "memref.extract_aligned_pointer_as_index"(%x) : (memref<?xf32>) -> index
      %e = arith.cmpi eq, %a, %n : index  %one = arith.constant 1.0 : f32
      %none = arith.constant 0.0 : f32  %r = arith.select %e, %one, %none : f32
      memref.store %r, %y[%zero] : memref<?xf32>"""
    x, y = np.ones(1, np.float32), np.empty(1, np.float32)
    run(parse(block(lines)), "y", [y, x], [x.ctypes.data])
    assert y[0] == 1


@pytest.mark.parametrize("type_", [np.float32, np.float64])
def test_fused_products_are_the_nearest_numbers(type_: type) -> None:
    """The error of the result is at most half the distance to its neighbours."""
    rng = np.random.default_rng(0)
    for _ in range(500):
        a, b = (type_(rng.normal() * 10.0 ** rng.integers(-12, 12)) for _ in range(2))
        c = type_(-(a * b) * (1 + rng.integers(-3, 4) * np.finfo(type_).eps))
        got = fused(a, b, c)
        exact = Fraction(float(a)) * Fraction(float(b)) + Fraction(float(c))
        error = abs(Fraction(float(got)) - exact)
        for neighbour in (np.nextafter(got, type_(-np.inf)), np.nextafter(got, type_(np.inf))):
            assert error <= abs(Fraction(float(neighbour)) - exact)


def test_fused_products_of_ties() -> None:
    """The sum lies just beside the middle of two numbers: rounding twice would miss it."""
    one, small = np.float32(1), np.float32(2.0**-24)
    above = fused(small, one + np.float32(2.0**-23), one)
    assert above == np.nextafter(one, np.float32(2))
    assert fused(small, one, one) == one


def test_fused_products_of_large_numbers_and_zeros() -> None:
    large, inf, one = np.float32(1e30), np.float32(np.inf), np.float32(1)
    with np.errstate(all="ignore"):
        assert fused(large, large, -inf) == -inf
        assert fused(large, -large, one) == -inf
        assert np.signbit(fused(np.float32(-0.0), one, np.float32(-0.0)))
        assert np.isnan(fused(inf, np.float32(0), one))
