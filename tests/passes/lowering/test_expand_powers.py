"""Powers by small indices as products: what programs mean, and which powers these are."""

from __future__ import annotations

import numpy as np
import pytest

import tadc
from tadc.dialects.tix import elementwise as ew
from tadc.passes.lowering.expand_powers import expand_powers
from tests.support.derivations import Case
from tests.support.rewritten import check_meaning

SMALL = {
    "a short sum": "y[n] = sum[m in range(6)](x[n]**m)",
    "negative ones": "y[n] = sum[m in range(4)](x[n]**(m - 2))",
    "an index of the element": "y[n, m in range(17)] = x[n]**m",
    "under a condition": "y[n] = sum[m in range(40)](x[n]**m if m < 9 else 0)",
    "of two indices": "y[n] = sum[k in range(3), m in range(4)](x[n]**(k + m))",
    "of one value": "y[n] = sum[m in range(3, 4)](x[n]**m)",
}


@pytest.mark.parametrize("name", SMALL)
def test_powers_become_products(name: str) -> None:
    f = tadc.compile(SMALL[name])
    program = expand_powers(f.program.op)
    assert not any(isinstance(op, ew.PowOp) for op in program.walk())
    x = np.array([-1.5, -1, 0.25, 1, 3])
    check_meaning(expand_powers, Case(SMALL[name], {"x": x}))


LARGE = {
    "large ones": "y[n] = sum[m in range(18)](x[n]**m)",
    "sizes": "y[n] = sum[m](c[m] * x[n]**m)",
    "numbers": "y[n] = x[n]**3",
    "values": "y[n] = x[n]**c[n]",
}


@pytest.mark.parametrize("why", LARGE)
def test_others_stay(why: str) -> None:
    program = tadc.compile(LARGE[why]).program.op
    found = expand_powers(program)
    assert any(isinstance(op, ew.PowOp) for op in found.walk())


def test_zero_and_infinity_have_the_powers_that_they_have() -> None:
    f = tadc.compile("y[n, m in range(4)] = x[n]**m")
    x = np.array([0.0, -np.inf, np.nan])
    np.testing.assert_array_equal(f(x), x[:, None] ** np.arange(4))


def test_derivatives_of_polynomials_have_no_powers() -> None:
    f = tadc.compile("c: f64[6]\nx: f64[N]\ny[n] = sum[m](c[m] * x[n]**m)")
    assert "pow" not in f.derivative().emit("llvm", {"N": 64})
