"""Types of results, as pyright finds them in the code of users where it is installed."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from tests.support.paths import ROOT

USER = """
import jax
import numpy as np
import numpy.typing as npt
import tadc
import tadc.jax
import tadc.torch
import torch


def normalised(x: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    return x / x.sum()


f = tadc.compile("y[i] = sum[k](w[k] * x[2*i + k])")
x, w = np.arange(9.0), np.ones(3)
y = f(w, x)
print(normalised(y) @ y.T, y[0] + 1.0, len(y), y.shape, float(y.mean()), y > 0, tadc.__version__)
y = y * 2.0
y, pullback = tadc.vjp(f, w, x)
dw, dx = pullback(np.ones_like(y))
print(dw.sum() + normalised(dx))
y, y_dot = tadc.jvp(f, (w, x), (w, None))
print(y + y_dot, [v for v in y])

g = tadc.grad(tadc.compile("s = sum[i](a[i] * b[i])"))
da, db = g(w, w)
both = g(w, w)
print(normalised(both.da), both[1].shape, both._fields, da + db)
state = tadc.compile("p: real[N]\\nq: real[N]\\np[i] += q[i]\\nq[i] -= sin(p[i])")
tangents = tadc.inverse_jvp(state, g(w, w), (w, w))
print(tangents.p.sum(), tangents[1].sum(), tadc.log_abs_det(state, (w, w))[1] + 1.0)
for _ in range(3):
    both = state(*both)


class Layer(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.w = torch.nn.Parameter(torch.rand(3))
        self.conv = tadc.torch.op("y[i] = sum[k](w[k] * x[2*i + k])")

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.conv(self.w, x))


op = tadc.torch.op("y[i] = a[i]\\nz[i] = 2 * a[i]")
found = op(torch.ones(3))
found.y.square().sum().backward()
first, second = op(torch.ones(3))
loss: torch.Tensor = first.sum() + op(second)[0] + Layer()(first)


@tadc.torch.op
def decorated(x: torch.Tensor):
    \"\"\"y[i] = x[i]\"\"\"


print(decorated(first).shape, decorated.function.args)
scaled = tadc.jax.op("y[i] = h * x[i]")


def energy(x: jax.Array) -> jax.Array:
    return scaled(2.0, x).sum()


print(jax.grad(energy)(jax.numpy.ones(3)))
"""
WRONG = {
    "y.summ()": "Object of type",
    "tadc.vjp(f, w, x)[0].reshap(3)": "Object of type",
    "g(w, w).da.summ()": "Cannot access attribute",
    "op(torch.ones(3)).backwards()": "Object of type",
    "pullback(y)[0].summ()": "Cannot access attribute",
    "scaled(2.0, jax.numpy.ones(3)).summ()": "Cannot access attribute",
    "text: str = op(torch.ones(3))": "is not assignable",
    "tadc.compile(3)": "Argument of type",
    "f.derivativ('x')": "Cannot access attribute",
}
"""Mistakes of users, and a part of what is said about each."""


@cache
def said() -> dict[int, str]:
    """Messages of pyright about the user's code and the mistakes behind it, by line from 0."""
    pytest.importorskip("torch")
    pytest.importorskip("jax")
    if not shutil.which("pyright"):
        pytest.skip("pyright is not installed")
    with TemporaryDirectory() as place:
        file = Path(place, "user.py")
        file.write_text(USER + "".join(f"{mistake}\n" for mistake in WRONG))
        settings = {"typeCheckingMode": "standard", "extraPaths": [str(ROOT)]}
        Path(place, "pyrightconfig.json").write_text(json.dumps(settings))
        command = ["pyright", "--outputjson", "--pythonpath", sys.executable, "-p", place]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    found: list[Any] = json.loads(done.stdout)["generalDiagnostics"]
    errors = [each for each in found if each["severity"] == "error"]
    return {each["range"]["start"]["line"]: each["message"] for each in errors}


def test_ordinary_code_has_no_errors() -> None:
    lines = USER.splitlines()
    assert {lines[n]: text for n, text in said().items() if n < len(lines)} == {}


@pytest.mark.parametrize("mistake", WRONG)
def test_mistakes_are_found(mistake: str) -> None:
    line = len(USER.splitlines()) + list(WRONG).index(mistake)
    assert WRONG[mistake] in said().get(line, "")
