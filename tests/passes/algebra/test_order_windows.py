"""Windows of columns come last where that is the same sum, and only there."""

from __future__ import annotations

import numpy as np
import pytest

import tadc
from tadc.dialects import tix
from tadc.passes.algebra.order_windows import order_windows
from tests.support.derivations import interpret

GRADIENT = """\
v: real[5]
w: real[3]
dy: real[N, M]
z[i, q in range(M + 4)] =\
 sum[t in range(max(0, q - M + 1), min(5, q + 1))](v[t] * dy[i, q - t]) / 9 if N >= 2 else 0
y[p in range(N + 2), q] =\
 sum[s in range(max(0, p - N + 1), min(3, p + 1))](w[s] * z[p - s, q]) + 1
return y"""
VOLUME = """\
x: real[L + 2, N + 2, M + 2]
z0[i in range(L + 2), j in range(N + 2), k in range(M)] = sum[u in range(3)](x[i, j, k + u])
z1[i in range(L + 2), j in range(N), k] = sum[t in range(3)](-z0[i, j + t, k])
y[i in range(L), j, k] = exp(sum[s in range(3)](z1[i + s, j, k]))
return y"""


def ordered(source: str) -> tuple[tix.ProgramOp, tix.ProgramOp]:
    """A program before and after."""
    program = tadc.compile(source).program.op
    return program, order_windows(program.clone())


def columns_read(program: tix.ProgramOp) -> list[bool]:
    """For each definition, whether it reads windows of columns."""
    return [
        any(isinstance(o, tix.ReadOp) and len(o.forms[-1].indices) > 1 for o in op.walk())
        for op in program.definitions
    ]


@pytest.mark.parametrize(
    ("source", "shapes"),
    [(GRADIENT, [(5,), (3,), (6, 8)]), (GRADIENT, [(5,), (3,), (1, 8)]), (VOLUME, [(5, 6, 7)])],
)
def test_windows_of_columns_come_last(source: str, shapes: list[tuple[int, ...]]) -> None:
    before, after = ordered(source)
    assert columns_read(before)[0]
    assert columns_read(after) == [False] * (len(columns_read(before)) - 1) + [True]
    rng = np.random.default_rng(0)
    values = [rng.uniform(-1, 1, shape) for shape in shapes]
    (expected,), (found,) = interpret(before, values), interpret(after, values)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


STAY = {
    "others read it": GRADIENT + ", z",
    "weights of rows": GRADIENT.replace("v[t] *", "v[t] * dy[i, 0] *"),
    "weights of columns": GRADIENT.replace("w[s] *", "w[s] * dy[0, 0*q] *")
    .replace("dy[0, 0*q]", "u[q]")
    .replace("w: real[3]", "w: real[3]\nu: real[M + 4]"),
    "no sum": GRADIENT.replace("w[s] * z[p - s, q]", "w[s] * exp(z[p - s, q])"),
    "something beside it": GRADIENT.replace("/ 9 if", "+ dy[i, 0] if"),
    "long windows": GRADIENT.replace("min(5,", "min(N,").replace("v: real[5]", "v: real[N]"),
}


@pytest.mark.parametrize("why", STAY)
def test_others_stay(why: str) -> None:
    before, after = ordered(STAY[why])
    assert columns_read(after) == columns_read(before)


ONE_ROW = "v: real[5]\nw: real[3]\nx: real[N, M]\n"


@pytest.mark.parametrize(
    "definitions",
    [
        "z = sum[t in range(5)](v[t] * x[0, t])\n"
        "y[p in range(N), q in range(M)] = sum[s in range(3)](w[s] * z)",
        "z[i in range(4), q in range(8)] = sum[t in range(5)](v[t] * x[i, q + t])\n"
        "y = sum[s in range(3), q in range(8)](w[s] * z[s, q])",
    ],
    ids=["windows of one element", "one element of windows"],
)
def test_what_has_no_columns_stays(definitions: str) -> None:
    before, after = ordered(f"{ONE_ROW}{definitions}")
    assert str(after) == str(before)
