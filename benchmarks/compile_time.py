"""Where the time until the first gradient goes, step by step, for some programs.

    python benchmarks/compile_time.py [--repeat 5] [--markdown results.md]

Each turn is a fresh process: the imports, a first program of one line (which also loads what is
loaded late), and then the program: parsing and checking, its derivative with respect to all
arguments, loops, LLVM IR, machine code, the first and the second call, and the derivative as text.
Numbers are the least of all turns, in milliseconds: the time of the processor, which other work on
the machine changes least, and the time of the clock for the whole way to the first result.
"""

from __future__ import annotations

import argparse
import json
import platform
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

Times = Mapping[str, float]

EXAMPLES = Path(__file__).parent.parent / "examples"
FIRST = "x: f64[4]\ny = sum[i](exp(x[i]))"
LARGE = """\
a: f32[512, 64]
b: f32[512, 64]
c: f32[512, 512]
d: f32[575]
f[i, j] = exp(-sum[k]((a[i, k] + b[j, k])**2 * c[i, i] + d[i + k]**3))
"""
STEPS = ("parse and check", "derivative", "loops", "LLVM IR", "machine code", "first call")
"""What is between a program and the first gradient."""


def stencil(terms: int, term: str, around: str = "{}") -> str:
    """A sum of neighbours with weights of their own."""
    total = " + ".join(term.format(weight=n + 1, offset=n) for n in range(terms))
    return f"x: f64[1000]\ny[i in range({1001 - terms})] = {around.format(total)}"


def programs() -> dict[str, str]:
    return {
        "section 6 of the paper": (EXAMPLES / "paper.tad").read_text(encoding="utf-8"),
        "the same, 512 x 512 x 64": LARGE,
        "stencil of 200 terms": stencil(200, "{weight}*x[i + {offset}]"),
        "exp of 200 squares": stencil(200, "{weight}*x[i + {offset}]**2", "exp(-({}))"),
        "sum of 1000 terms": "x: f64[9]\ny = " + " + ".join(["x[0]*2"] * 1000),
    }


class Watch:
    """Times of the processor between steps."""

    def __init__(self) -> None:
        self.times: dict[str, float] = {}
        self.last = time.process_time()

    def done(self, step: str) -> None:
        now = time.process_time()
        self.times[step] = (now - self.last) * 1e3
        self.last = now


def one_turn(source: str) -> Times:
    """The steps of this process."""
    watch = Watch()
    import numpy as np

    watch.done("import numpy")
    import tadc
    from tadc.runtime.on_cpu import CpuExecutable

    watch.done("import tadc")
    tadc.grad(tadc.compile(FIRST))(np.ones(4))
    watch.done("first program")
    start = time.perf_counter()
    f = tadc.compile(source)
    watch.done("parse and check")
    g = f.derivative()
    watch.done("derivative")
    arrays: list[Any] = [
        np.full([int(n) for n in t.shape], 0.01, np.float32 if t.dtype == "f32" else np.float64)
        for t in g.args
    ]
    executable = g.runner.prepare(arrays, {}).executable
    assert isinstance(executable, CpuExecutable)
    assert executable.module
    watch.done("loops")
    assert executable.text
    watch.done("LLVM IR")
    assert executable.code
    watch.done("machine code")
    g(*arrays)
    watch.done("first call")
    wall = (time.perf_counter() - start) * 1e3
    g(*arrays)
    watch.done("second call")
    str(g)
    watch.done("text of the derivative")
    times = watch.times
    total = sum(times[step] for step in STEPS)
    return {**times, "program to first gradient": total, "the same by the clock": wall}


def least(source: str, repeat: int) -> Times:
    command = [sys.executable, __file__, "--one"]
    turns = [
        json.loads(subprocess.run(command, input=source, text=True, check=True, stdout=-1).stdout)
        for _ in range(repeat)
    ]
    return {step: min(turn[step] for turn in turns) for step in turns[0]}


def table(results: Mapping[str, Times]) -> str:
    """The results as Markdown, one column per program."""
    lines = [
        f"| ms | {' | '.join(results)} |",
        f"|---|{'---:|' * len(results)}",
    ]
    steps = next(iter(results.values()))
    for step in steps:
        lines.append(f"| {step} | {' | '.join(f'{r[step]:.1f}' for r in results.values())} |")
    return "\n".join(lines)


def main() -> None:
    """Print the table of times in milliseconds; with `--one`, those of this process alone."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--markdown", type=Path, help="write the table to this file")
    parser.add_argument("--one", action="store_true", help="measure this process")
    options = parser.parse_args()
    if options.one:
        print(json.dumps(one_turn(sys.stdin.read())))
        return
    results = {name: least(text, options.repeat) for name, text in programs().items()}
    text = table(results)
    print(text)
    if options.markdown:
        about = f"{platform.machine()}, Python {platform.python_version()}"
        head = f"# Time to the first gradient\n\n`python benchmarks/compile_time.py`, {about}.\n"
        options.markdown.write_text(f"{head}\n{text}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
