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
