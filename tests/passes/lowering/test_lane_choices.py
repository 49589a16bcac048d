"""Choices in the lanes of blocks, and what they read ahead of their masks."""

from __future__ import annotations

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from tadc.interpreter.tensor_index import evaluate
from tadc.passes.lowering.schedule import schedule
from tadc.passes.scheduling.blocking import blocking_chooser
from tests.interpreter.tix_text import parse
from tests.support.scheduled_programs import run_scheduled

SHORT_SUM_AHEAD = """
tix.program @f (%x = "x" : !tix.tensor<[9, 25, 8], f64>, %v = "v" : !tix.tensor<[40], f64>) {
  %y = tix.define "y" (%i, %j) : !tix.tensor<[9, 25], f64> {
    %0 = tix.sum (%k) in (%k >= 0, %k <= 7) {
      %1 = tix.read %x[%i, %j, %k]
      %2 = tix.if (%i == %j, %k >= %i + 1) {
        tix.yield %1
      } else {
        %3 = tix.constant 0.0
        tix.yield %3
      }
      tix.yield %2
    }
    %4 = tix.if (%i == %j) {
      %5 = tix.mul %0, %0
      tix.yield %5
    } else {
      %6 = tix.constant 0.0
      tix.yield %6
    }
    %7 = tix.sum (%l) in (%l >= 0, %l + %i <= 39) {
      %8 = tix.read %v[%l]
      tix.yield %8
    }
    %9 = tix.mul %4, %7
    tix.yield %9
  }
  tix.return %y
}"""


def test_terms_of_short_sums_have_no_place_ahead_of_a_choice() -> None:
    """The choice needs x[i, j, k] of all terms, in lanes that lie apart."""
    program = parse(SHORT_SUM_AHEAD)
    module = ModuleOp(schedule(program, blocking_chooser(True, [])))
    values = [np.random.default_rng(0).uniform(-1, 1, n) for n in ((9, 25, 8), 40)]
    (found,) = run_scheduled(module, program, values)
    (expected,) = evaluate(program, dict(zip("xv", values, strict=True)))
    np.testing.assert_allclose(found, expected, rtol=1e-12)
