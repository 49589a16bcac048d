"""Sums whose bounds move with the column of a block: alone, with another index, by quotients."""

from __future__ import annotations

import re

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

import tadc
from tadc.dialects.tix import AVX_512, Registers
from tadc.interpreter.tensor_index import evaluate
from tadc.passes.lowering.schedule import schedule
from tadc.passes.scheduling.blocking import blocking_chooser
from tests.interpreter.tix_text import parse
from tests.support.registers import AVX2, choose_loops_for
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


SLOPES = {
    "above": "y[r, i] = sum[j in range(i + 1)](a[r, j] * w[i - j])",
    "below": "y[r, i in range(N)] = sum[j in range(i, N)](a[r, j] * w[j - i])",
    "both": "y[r, i] = sum[j in range(max(0, i - {width}), min(N, i + {width}))]"
    "(a[r, j] * w[i - j + {width}])",
    "steep": "y[r, i in range(N // 3)] = sum[j in range(3 * i, N)](a[r, j] * w[j - 3 * i])",
}


@pytest.mark.parametrize("registers", [AVX_512, AVX2])
@pytest.mark.parametrize("plan", ["columns i by 64", "rows r by 3, columns i by 32"])
@pytest.mark.parametrize("slope", SLOPES)
@pytest.mark.parametrize(("length", "width"), [(200, 9), (205, 33), (330, 150)])
def test_each_vector_has_ends_of_its_own(
    slope: str,
    length: int,
    width: int,
    plan: str,
    registers: Registers,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Also where no term is one of all columns, as in a band narrower than a block."""
    choose_loops_for(registers, monkeypatch)
    source = f"a: real[5, N]\nw: real[2 * N]\n{SLOPES[slope].format(width=width)}"
    rng = np.random.default_rng(length)
    a, w = (rng.normal(size=shape) for shape in ((5, length), 2 * length))
    a[2, length // 2] = np.inf  # what a column lacks is not multiplied
    expected = tadc.compile(source, target="interpret")(a, w)
    found = tadc.compile(source, plan=f"y[r, i]: {plan}")(a, w)
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10)


def test_masks_are_for_the_ends_of_vectors(monkeypatch: pytest.MonkeyPatch) -> None:
    choose_loops_for(AVX_512, monkeypatch)
    source = "a: real[5, 500]\nw: real[500]\n" + SLOPES["above"].replace("N", "500")
    f = tadc.compile(source, plan="y[r, i]: columns i by 64")
    text = f.emit("scheduled", {}, "f32")
    loops = re.findall(r"scf\.for [^{]*\{(?:(?!scf\.for).)*?scf\.yield", text, re.DOTALL)
    ends = [loop for loop in loops if "loops.select" in loop and "mulf" in loop]
    # of four vectors, and where no term is one of all columns
    assert [loop.count("mulf") for loop in ends] == [1, 1, 1, 1, 4]
