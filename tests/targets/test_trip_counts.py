"""Bounds on the iterations of loops."""

from __future__ import annotations

import pytest
from xdsl.dialects import scf

from tadc.targets.trip_counts import most_iterations, most_trips
from tests.targets.llvm_kernels import function, parse

LOOP = """
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %two = arith.constant 2 : index
  %ten = arith.constant 10 : index
  loops.parallel (%i) to (%N) {{
    {bounds}
    scf.for %k = %low to %high step %{step} {{
      scf.for %l = %zero to %ten step %one {{
        memref.store %x, %y[%k] : memref<?xf64>
      }}
    }}
  }}"""


@pytest.mark.parametrize(
    ("low", "high", "step", "trips"),
    [
        ("arith.constant 3", "arith.constant 10", "one", 7),
        ("arith.constant 3", "arith.constant 10", "two", 4),
        ("arith.constant 10", "arith.constant 3", "one", 0),
        ("arith.subi %i, %two", "arith.addi %i, %ten", "one", 12),
        ("arith.maxsi %zero, %i", "arith.minsi %more, %N", "two", 5),
        ("arith.maxsi %N, %N", "arith.minsi %more, %N", "one", 0),
        ("arith.maxsi %zero, %i", "arith.addi %N, %ten", "one", None),
        ("arith.minsi %zero, %i", "arith.addi %i, %ten", "one", None),
        ("arith.maxsi %zero, %i", "arith.maxsi %more, %N", "one", None),
        ("arith.constant 0", "arith.addi %i, %i", "one", None),
    ],
)
def test_the_most_trips(low: str, high: str, step: str, trips: int | None):
    bounds = ["%more = arith.addi %i, %ten : index"]
    bounds += [f"%low = {low} : index", f"%high = {high} : index"]
    lines = LOOP.format(bounds="\n".join(bounds), step=step)
    lines = f"%x = arith.constant 0.0 : f64\n{lines}"
    module = parse(function({"y": "f64"}, ["N"], lines))
    loop = next(op for op in module.walk() if isinstance(op, scf.ForOp))
    assert most_trips(loop) == trips
    assert most_iterations(loop.body.block) == 10
    around = loop.parent_block()
    assert around
    assert most_iterations(around) == (None if trips is None else max(1, 10 * trips))
