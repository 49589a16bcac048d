"""Where the time until the first result goes, for the example of the paper with its gradients.

    python benchmarks/compile_time.py [--repeat 5]

Each turn is a fresh process: imports, parsing and checking, derivatives, loops, LLVM IR text, LLVM,
the first and the second call. Medians in milliseconds.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from statistics import median

PAPER = """\
a: f32[512, 64]
b: f32[512, 64]
c: f32[512, 512]
d: f32[575]
f[i, j] = exp(-sum[k]((a[i, k] + b[j, k])**2 * c[i, i] + d[i + k]**3))
"""


def one_turn() -> dict[str, float]:
    """The steps of this process, in milliseconds."""
    times: dict[str, float] = {}
    last = time.perf_counter()

    def done(step: str) -> None:
        nonlocal last
        now = time.perf_counter()
        times[step] = (now - last) * 1e3
        last = now

    import numpy as np

    done("import numpy")
    import tadc
    from tadc.runtime.executable import CpuExecutable

    done("import tadc")
    f = tadc.compile(PAPER)
    done("parse and check")
    g = f.derivative()
    done("derivative")
    executable = g.executable("f64")  # of what is not declared: nothing
    assert isinstance(executable, CpuExecutable)
    assert executable.module
    done("loops")
    assert executable.text
    done("LLVM IR")
    assert executable.code
    done("LLVM")
    shapes = [tuple(map(int, t.shape)) for t in g.args]
    arrays = [np.full(shape, 0.01, np.float32) for shape in shapes]
    last = time.perf_counter()
    g(*arrays)
    done("first call")
    g(*arrays)
    done("second call")
    return times


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--one", action="store_true", help="measure this process")
    options = parser.parse_args()
    if options.one:
        print(json.dumps(one_turn()))
        return
    command = [sys.executable, __file__, "--one"]
    outputs = [subprocess.check_output(command, text=True) for _ in range(options.repeat)]
    turns: list[dict[str, float]] = [json.loads(text) for text in outputs]
    for step in turns[0]:
        print(f"{step:16} {median(turn[step] for turn in turns):8.1f} ms")


if __name__ == "__main__":
    main()
