"""Quotients of the row of a block, as numbers: each row has its own."""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

import tadc
from tadc.interpreter.tensor_index import evaluate
from tadc.passes.lowering.schedule import schedule
from tadc.passes.scheduling.blocking import blocking_chooser
from tests.interpreter.tix_text import parse
from tests.support.scheduled_programs import run_scheduled

PROGRAM = """
tix.program @f (%x = "x" : !tix.tensor<[20, 32], f64>, %w = "w" : !tix.tensor<[32, 32], f64>) {
  %y = tix.define "y" (INDICES) : !tix.tensor<[SHAPE], f64> {
    %0 = tix.sum (%m, %k) in (%m >= 0, %m <= 1, %k >= 0, %k <= 15 * %m + 16) {
      %1 = tix.read %x[%i, %k]
      %2 = tix.read %w[PLACE]
      %3 = tix.mul %1, %2
      tix.yield %3
    }
    %4 = tix.floordiv (%i) by 3
    %5 = tix.index_to_real (%4)
    %6 = tix.mul %0, %5
    tix.yield %6
  }
  tix.return %y
}"""


@pytest.mark.parametrize(
    ("indices", "shape", "place"),
    [("%i, %j", "20, 32", "%k, %j"), ("%i", "20", "0, %k")],
    ids=["columns", "terms"],
)
def test_rows_have_quotients_of_their_own(indices: str, shape: str, place: str) -> None:
    """In blocks with vectors along columns, and in those with vectors along terms."""
    text = PROGRAM.replace("INDICES", indices).replace("SHAPE", shape).replace("PLACE", place)
    program = parse(text)
    module = ModuleOp(schedule(program, blocking_chooser(True, [])))
    values = [np.random.default_rng(0).uniform(-1, 1, n) for n in ((20, 32), (32, 32))]
    (found,) = run_scheduled(module, program, values)
    (expected,) = evaluate(program, dict(zip("xw", values, strict=True)))
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


def test_tests_of_rows_are_no_tests_of_terms() -> None:
    """Tests that all terms of a row have in common are made where no term is at hand."""
    place = "i + (2*k + 1) % 3 - 9"
    source = (
        "a: f64[4]\ny[i in range(24), j in range(40)] = "
        f"sum[k in range(16), l in range(5)](a[{place}] if 0 <= {place} < 4 else 0)"
    )
    f = tadc.compile(source)
    assert "scf.for %k" in f.emit("scheduled", {}, "f64")
    a = np.random.default_rng(0).normal(size=4)
    np.testing.assert_allclose(f(a), f.with_target("interpret")(a))
