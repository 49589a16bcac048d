"""The interpreter of scheduled programs."""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.utils.exceptions import VerifyException

from tadc.interpreter.loops import LoopsError, run
from tests.support.scheduled_programs import parse

CORRELATION = """
func.func @y(%y: memref<?xTYPE>, %w: memref<?xTYPE>, %x: memref<?xTYPE>, %n: index, %m: index) {
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  loops.parallel (%i) to (%n) {
    %zero = arith.constant 0.0 : TYPE
    %sum = scf.for %k = %0 to %m step %1 iter_args(%acc = %zero) -> (TYPE) {
      %at = arith.addi %i, %k : index
      %a = memref.load %w[%k] : memref<?xTYPE>
      %b = memref.load %x[%at] : memref<?xTYPE>
      %c = arith.mulf %a, %b : TYPE
      %d = arith.addf %acc, %c : TYPE
      scf.yield %d : TYPE
    }
    memref.store %sum, %y[%i] : memref<?xTYPE>
  }
  func.return
}
"""


@pytest.mark.parametrize(("type_", "dtype"), [("f32", np.float32), ("f64", np.float64)])
def test_a_sum_is_the_correlation_of_numpy(type_: str, dtype: type) -> None:
    rng = np.random.default_rng(0)
    w, x = rng.random(3).astype(dtype), rng.random(9).astype(dtype)
    y = np.empty(7, dtype)
    run(parse(CORRELATION.replace("TYPE", type_)), "y", [y, w, x], [7, 3])
    assert np.allclose(y, np.correlate(x, w, "valid"))


def test_f32_rounds_every_operation() -> None:
    w, x = np.ones(3, np.float32), np.array([1e8, 1, -1e8], np.float32)
    y = np.empty(1, np.float32)
    run(parse(CORRELATION.replace("TYPE", "f32")), "y", [y, w, x], [1, 3])
    assert y[0] == 0


def test_a_load_outside_its_buffer() -> None:
    module = parse(CORRELATION.replace("TYPE", "f64"))
    with pytest.raises(LoopsError, match="element 8 of 8"):
        run(module, "y", [np.empty(7), np.ones(3), np.ones(8)], [7, 3])


def test_a_hint_may_name_any_position() -> None:
    module = parse("""
    func.func @y(%y: memref<?xf64>, %n: index) {
      loops.parallel () to () {
        loops.prefetch %y[%n] : memref<?xf64>
      }
      func.return
    }""")
    y = np.ones(1)
    run(module, "y", [y], [1000])
    assert y == 1


def test_two_iterations_that_write_one_element() -> None:
    module = parse("""
    func.func @y(%y: memref<?xf64>, %n: index) {
      loops.parallel (%i, %j) to (%n, %n) {
        %a = arith.constant 1.0 : f64
        memref.store %a, %y[%i] : memref<?xf64>
      }
      func.return
    }""")
    run(module, "y", [np.empty(1)], [1])
    with pytest.raises(LoopsError, match="both write 0"):
        run(module, "y", [np.empty(2)], [2])


SHIFTED = """
    func.func @y(%y: memref<?xf64>, %n: index, %d: index) {{
      %two = arith.constant 2 : index
      %one = arith.constant 1.0 : f64
      loops.parallel (%i) to (%n) {supersteps}{{
        %place = arith.remsi %i, %two : index
        %next = arith.addi %place, %d : index
        %other = arith.remsi %next, %two : index
        %a = memref.load %y[%other] : memref<?xf64>
        %b = arith.addf %a, %one : f64
        memref.store %b, %y[%place] : memref<?xf64>
      }}
      func.return
    }}"""


def test_supersteps_know_what_was_written_before_them() -> None:
    y = np.zeros(2)
    run(parse(SHIFTED.format(supersteps="in 3 ")), "y", [y], [6, 0])
    np.testing.assert_array_equal(y, 3)
    with pytest.raises(LoopsError, match="both write 0"):
        run(parse(SHIFTED.format(supersteps="")), "y", [y], [6, 0])


def test_no_iteration_reads_what_another_one_of_its_superstep_writes() -> None:
    module = parse(SHIFTED.format(supersteps="in 3 "))
    with pytest.raises(LoopsError, match=r"\(1,\) reads 0, which \(0,\) writes"):
        run(module, "y", [np.zeros(2)], [6, 1])
    with pytest.raises(LoopsError, match="7 iterations have no 3 equal parts"):
        run(module, "y", [np.zeros(2)], [7, 0])


def test_supersteps_are_printed_and_verified() -> None:
    module = parse(SHIFTED.format(supersteps="in 3 "))
    assert "loops.parallel (%i) to (%n) in 3 {" in str(module)
    assert module.is_structurally_equivalent(parse(str(module)))
    with pytest.raises(VerifyException, match="one part or more"):
        parse(SHIFTED.format(supersteps="in 0 "))


def integer(op: str, a: int, b: int) -> int:
    """`op` on two indices."""
    module = parse(f"""
    func.func @y(%y: memref<?xi64>, %a: index, %b: index) {{
      loops.parallel () to () {{
        %zero = arith.constant 0 : index
        %r = {op} %a, %b : index
        %i = arith.index_cast %r : index to i64
        memref.store %i, %y[%zero] : memref<?xi64>
      }}
      func.return
    }}""")
    y = np.empty(1, np.int64)
    run(module, "y", [y], [a, b])
    return int(y[0])


@pytest.mark.parametrize(
    ("op", "results"),
    [
        ("arith.divsi", (2, -2, -2, 2)),
        ("arith.remsi", (1, -1, 1, -1)),
        ("arith.floordivsi", (2, -3, -3, 2)),
        ("arith.ceildivsi", (3, -2, -2, 3)),
    ],
)
def test_divisions_round_as_their_operations_say(op: str, results: tuple[int, ...]) -> None:
    signs = [(7, 3), (-7, 3), (7, -3), (-7, -3)]
    assert tuple(integer(op, a, b) for a, b in signs) == results


def test_an_integer_that_does_not_fit() -> None:
    with pytest.raises(LoopsError, match="does not fit 64 bits"):
        integer("arith.muli", 1 << 40, 1 << 40)


@pytest.mark.parametrize(
    ("predicate", "expected"),
    [
        *(("oeq", "0100"), ("olt", "1000"), ("oge", "0110"), ("one", "1010"), ("ord", "1110")),
        *(("ueq", "0101"), ("ult", "1001"), ("une", "1011"), ("uno", "0001"), ("true", "1111")),
    ],
)
def test_comparisons_of_floats_know_nan(predicate: str, expected: str) -> None:
    module = parse(f"""
    func.func @y(%y: memref<?xf64>, %x: memref<?xf64>, %n: index) {{
      %one = arith.constant 1.0 : f64
      %zero = arith.constant 0.0 : f64
      loops.parallel (%i) to (%n) {{
        %a = memref.load %x[%i] : memref<?xf64>
        %c = arith.cmpf {predicate}, %a, %one : f64
        %r = scf.if %c -> (f64) {{ scf.yield %one : f64 }} else {{ scf.yield %zero : f64 }}
        memref.store %r, %y[%i] : memref<?xf64>
      }}
      func.return
    }}""")
    y = np.empty(4)
    run(module, "y", [y, np.array([0, 1, 2, np.nan])], [4])
    assert "".join(str(int(v)) for v in y) == expected
