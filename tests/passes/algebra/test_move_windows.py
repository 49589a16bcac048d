"""Windows are where other sums have them, if that is the same sum and takes fewer operations."""

from __future__ import annotations

import re
from functools import partial

import numpy as np
import pytest

import tadc
from tadc.dialects import tix
from tadc.passes.algebra.factor_sums import factor_sums
from tadc.passes.algebra.move_windows import move_windows
from tests.support.derivations import interpret

SIZES = {"N": 128, "M": 128}
FILTER = """\
a: real[5]
b: real[5]
dy: real[N, M]
z: real[N + 4, M + 4]
dx[i in range(N + 4), j in range(M + 4)] = sum[s in range(max(0, i - N + 1), min(5, i + 1)),\
 t in range(max(0, j - M + 1), min(5, j + 1))](a[s] * b[t] * dy[i - s, j - t])
db[t] = sum[i, j, s](a[s] * dy[i, j] * z[i + s, j + t])
da[s] = sum[i, j, t](b[t] * dy[i, j] * z[i + s, j + t])
return dx, db, da"""


def test_sums_have_the_windows_of_the_adjoint() -> None:
    program = tadc.compile(FILTER).program.op
    _, db, da = map(without_numbers, move_windows(program.clone(), SIZES).definitions)
    assert "read %dy[%i - %s, %j]" in db
    assert "read %z[%i, %j + %t]" in db
    assert "read %dy[%i, %j - %t]" in da
    assert "read %z[%i + %s, %j]" in da


def without_numbers(op: tix.DefineOp) -> str:
    """A definition whose indices have the names that they have in the text."""
    return re.sub(r"(%[a-z]+)_\d+", r"\1", str(op))


def test_partial_sums_are_shared() -> None:
    program = tadc.compile(FILTER).program.op
    factored = partial(factor_sums, scans=True, sizes=SIZES)
    assert len(factored(program).definitions) == 6
    labels = [op.label.data for op in factored(move_windows(program, SIZES)).definitions]
    assert labels == ["dx_sum", "dx", "db", "da_sum", "da"]


STAY = {
    "no other windows": re.sub(r"dx\[.*\n", "", FILTER).replace("return dx, ", "return "),
    "other weights": FILTER.replace("a[s] * b[t] * dy[i - s", "c[s] * d[t] * dy[i - s"),
    "short windows": FILTER.replace("real[5]", "real[2]").replace("+ 4", "+ 1").replace("5", "2"),
    "weights that are read elsewhere": FILTER.replace(
        "a[s] * dy[i, j]", "a[s] * s * dy[i, j]"
    ).replace("b[t] * dy[i, j]", "b[t] * t * dy[i, j]"),
    "a third factor": FILTER.replace("dy[i, j]", "dy[i, j] * v[i, j]"),
}


@pytest.mark.parametrize("why", STAY)
def test_windows_stay(why: str) -> None:
    program = tadc.compile(STAY[why]).program.op
    before = str(program)
    assert str(move_windows(program, SIZES)) == before


@pytest.mark.parametrize(("n", "m"), [(1, 1), (3, 7), (6, 2), (9, 11)])
def test_sums_are_the_same(n: int, m: int) -> None:
    f, rng = tadc.compile(FILTER), np.random.default_rng(0)
    shapes = {"a": [5], "b": [5], "dy": [n, m], "z": [n + 4, m + 4]}
    values = [rng.normal(size=shapes[t.name]) for t in f.args]
    program = move_windows(f.program.op.clone(), SIZES)
    assert str(program) != str(f.program.op)
    for a, b in zip(interpret(program, values), interpret(f.program.op, values), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)
