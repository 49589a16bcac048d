"""Sums of which some elements have no terms: their bounds lie in the other order."""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from tadc.interpreter.tensor_index import evaluate
from tadc.passes.lowering.schedule import SchedulePass
from tests.interpreter.tix_text import parse
from tests.support.scheduled_programs import run_scheduled

SHIFTED = """
tix.program @f (%x = "x" : !tix.tensor<[9, 90], f64>) {
  %y = tix.define "y" (%p, %i) : !tix.tensor<[9, 40], f64> {
    %0 = tix.sum (%k) in (%k >= 0, %k <= 30, 10 * %p >= %k + 50) {
      %1 = tix.read %x[%p, %i + %k]
      tix.yield %1
    }
    tix.yield %0
  }
  tix.return %y
}"""
LONG = """
tix.program @f (%x = "x" : !tix.tensor<[9, 90], f64>) {
  %y = tix.define "y" (%p) : !tix.tensor<[9], f64> {
    %0 = tix.sum (%k) in (%k >= 0, %k <= 30, 10 * %p >= %k + 50) {
      %1 = tix.read %x[%p, %k]
      tix.yield %1
    }
    tix.yield %0
  }
  tix.return %y
}"""


@pytest.mark.parametrize(
    ("source", "plan"),
    [(SHIFTED, "y[p, i]: columns i by 8"), (LONG, "y[p]: terms k by 16")],
    ids=["terms a vector apart", "vectors of terms"],
)
def test_sums_without_terms_are_zero(source: str, plan: str) -> None:
    program = parse(source)
    module = ModuleOp(SchedulePass(tile=True, plan=plan).steps(program))
    assert "vector" in str(module)
    x = np.random.default_rng(0).uniform(1, 2, (9, 90))
    (found,) = run_scheduled(module, program, [x])
    (expected,) = evaluate(program, {"x": x})
    assert not expected[:5].any()
    np.testing.assert_allclose(found, expected, rtol=1e-12)
