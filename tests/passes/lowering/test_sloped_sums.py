"""Sums whose bounds move with the column of a block: alone, with another index, by quotients."""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from passes.schedule import schedule
from passes.scheduling.blocking import blocking_chooser
from tadc.interpreter.tensor_index import evaluate
from tests.interpreter.tix_text import parse
from tests.support.scheduled_programs import run_scheduled

STEPS = """
tix.program @f (%x = "x" : !tix.tensor<[2, 3, 2], f64>, %a = "a" : !tix.tensor<[P], f64>) {
  %y = tix.define "y" (%p) : !tix.tensor<[P], f64> {
    %0 = tix.sum (%z, %k) in (%z >= 0, %z <= 1, %k >= 0, %p + %k >= 3 * %z + 2, %z >= %k,
                              3 * %z + 3 >= %p + %k) {
      %1 = tix.read %x[%k, 2 * %z, %k - 3 * %z + %p - 2]
      tix.yield %1
    }
    tix.yield %0
  }
  tix.return %y
}"""


@pytest.mark.parametrize("length", [7, 8, 9, 16, 40])
def test_inner_bounds_know_the_outer_index(length: int) -> None:
    program = parse(STEPS)
    module = ModuleOp(schedule(program, blocking_chooser(True, [])))
    values = [np.random.default_rng(0).uniform(1, 2, (2, 3, 2)), np.zeros(length)]
    (found,) = run_scheduled(module, program, values)
    (expected,) = evaluate(program, dict(zip("xa", values, strict=True)))
    np.testing.assert_allclose(found, expected, rtol=1e-12)


DIVIDED = """
tix.program @f (%b = "b" : !tix.tensor<[3], f64>) {
  %y = tix.define "y" (%p) : !tix.tensor<[LENGTH], f64> {
    %0 = tix.floordiv (%p + 1) by 3
    %1 = tix.sum (%k) in (%k >= 0, 4 * %0 + %k >= %p + 1, %k <= 2) {
      %2 = tix.read %b[%k]
      tix.yield %2
    }
    tix.yield %1
  }
  tix.return %y
}"""


@pytest.mark.parametrize("length", [4, 9, 40])
def test_bounds_with_quotients_of_the_column_do_not_slope(length: int) -> None:
    program = parse(DIVIDED.replace("LENGTH", str(length)))
    module = ModuleOp(schedule(program, blocking_chooser(True, [])))
    b = np.random.default_rng(0).uniform(1, 2, 3)
    (found,) = run_scheduled(module, program, [b])
    (expected,) = evaluate(program, {"b": b})
    np.testing.assert_allclose(found, expected, rtol=1e-12)
