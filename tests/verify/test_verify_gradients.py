"""`tadc.verify.verify`: arguments, sizes and precision that it finds by itself."""

from __future__ import annotations

import pickle
import subprocess
import sys

import numpy as np
import pytest

import tadc
from tadc.errors import ArgumentError, SizeError, UnknownNameError
from tadc.verify.gradients import choose_sizes, verify, widened
from tests.support.paths import ROOT


@pytest.mark.parametrize(
    "program",
    [
        "y[i] = asin(x[i]) + log(x[i])",
        "y[i] = 1 / x[i] + abs(x[i]) * relu(z[i]) - sqrt(z[i])",
        "y[i] = sqrt(x[i]**2 - 2)",
        "y[i] = max(x[i], z[i], 0.1) * sign(x[i]) + min(x[i], z[i])",
        "x: f32[N, N + 1]\ny[i] = sum[k](x[i, k]) * s",
        "x: f64[300, 300]\ny[i, j] = sum[k](x[i, k] * x[k, j])",
        "x: f64[0]\ny[i] = x[i] * s",
        "y = s**3",
    ],
)
def test_verify_finds_arguments(program: str):
    verdicts = verify(tadc.compile(program))
    assert verdicts
    assert all(v.ok and v.error < 1e-7 for v in verdicts), verdicts


def test_verify_where_nothing_is_finite():
    with pytest.raises(ArgumentError, match="not finite at any"):
        verify(tadc.compile("y[i] = log(x[i] - 70)"))


@pytest.mark.parametrize("program", ["x: f32[N]\ny[i] = x[i] / 3", "y: f32[3]\ny[i] = x[i] / 3"])
def test_wide_programs_have_no_f32_left(program: str):
    function = tadc.compile(program)
    wide = widened(function)
    assert "f32" in function.ir("tensor-index")
    assert "f32" not in wide.ir("tensor-index")
    assert wide(np.ones(3)).dtype == np.float64
    assert widened(wide) is wide
    assert pickle.loads(pickle.dumps(wide)).args == wide.args


def test_chosen_sizes_make_every_element_exist():
    f = tadc.compile("x: f64[N]\nw: f64[K]\ny[i] = sum[k](w[k] * x[3*i + 5*k])")
    sizes = choose_sizes(f)
    assert sizes["N"] > 5 * sizes["K"]
    assert choose_sizes(f, given={"K": 1})["K"] == 1
    assert choose_sizes(f, given={"N": 40, "K": 2}) == {"N": 40, "K": 2}
    with pytest.raises(UnknownNameError, match=r"no size M\nhint: there are N, K"):
        choose_sizes(f, given={"M": 3})
    with pytest.raises(SizeError, match="outside, or a tensor empty"):
        choose_sizes(f, given={"N": 2, "K": 9})
    with pytest.raises(SizeError, match="no small sizes"):
        choose_sizes(tadc.compile("x: f64[N]\ny[i in range(3)] = x[i + 500]"))


def test_verify_is_there_without_an_import():
    code = "import tadc; print(tadc.verify.verify(tadc.compile('y[i] = x[i]**2'))[0].ok)"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "True\n"
