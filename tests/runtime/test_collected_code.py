"""Machine code that is no longer used goes away, however the collector comes to it."""

from __future__ import annotations

import subprocess
import sys

CYCLES = """
import gc, numpy, tadc
for k in range(10):
    f = tadc.compile(f"x: f64[N]\\ny[i] = x[i] * {k}")
    assert f(numpy.ones(2))[1] == k
    f.itself = f
    del f
    gc.collect()
"""


def test_code_of_functions_in_cycles():
    """The collector ends what refers to each other in any order; code must end before its context.

    In a process of its own, since the wrong order ends the process.
    """
    subprocess.run([sys.executable, "-c", CYCLES], check=True)
