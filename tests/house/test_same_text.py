"""The same program gives the same text, in every process: nothing hangs on the order of hashes."""

from __future__ import annotations

import os
import random
import subprocess
import sys

import tadc
from tests.support.paths import ROOT
from tests.support.random_programs import random_program

COUNT = 8

QUOTIENTS = "y[n, c in range(192), i in range(14), j in range(19)] = " + (
    "v[c] * x[n, c // 4, 2*i + c // 2 % 2, 2*j + c % 2]"
)


def texts() -> str:
    """Derivatives of random programs in the language, as IR and as C."""
    parts: list[str] = []
    for seed in range(COUNT):
        derivative = tadc.compile(random_program(random.Random(seed)).source).derivative()
        parts += [str(derivative), derivative.ir("tensor-index"), derivative.emit("cuda")]
    return "\n".join(parts)


def test_the_same_text_for_every_order_of_hashes() -> None:
    command = [sys.executable, "-c", f"from {__name__} import texts; print(texts())"]
    runs = [
        subprocess.Popen(
            command,
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": ".", "PYTHONHASHSEED": str(seed)},
            stdout=subprocess.PIPE,
            text=True,
        )
        for seed in (1, 2)
    ]
    first, second = (run.communicate()[0] for run in runs)
    assert first == second
    assert first.count("return dx") > COUNT // 2


def test_the_same_code_wherever_values_lie_in_memory() -> None:
    """Sets of values are in the order of their addresses: nothing is emitted in it."""
    sizes = {"V_0": 192, "N": 4, "X_1": 48, "X_2": 28, "X_3": 38}
    codes = {tadc.compile(QUOTIENTS).emit("llvm", sizes, "f32") for _ in range(COUNT)}
    assert len(codes) == 1
