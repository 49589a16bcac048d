"""Where the time until the first gradient goes, step by step, for some programs.

    python -m benchmarks.compile_time [--repeat 5] [--save]

Each turn is a fresh process: the imports, a first program of one line (which also loads what is
loaded late), and then the program: parsing and checking, its derivative with respect to all
arguments, loops, LLVM IR, machine code, the first and the second call, and the derivative as text.
Numbers are the least of all turns, in milliseconds: the time of the processor, which other work on
the machine changes least, and the time of the clock for the whole way to the first result.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks import machine, tables
from benchmarks.timing import Watch, fresh, least

if TYPE_CHECKING:
    from tadc.function import Function
    from tadc.runtime.on_cpu import CpuExecutable

Times = Mapping[str, float]

MODULE = "benchmarks.compile_time"
EXAMPLES = Path(__file__).parent.parent / "examples"
IN_BLOCKS = ("W1", "W2", "W3b")
"""Workloads whose sums are computed in blocks."""
FIRST = "x: f64[4]\ny = sum[i](exp(x[i]))"
STEPS = ("parse and check", "derivative", "loops", "LLVM IR", "machine code", "first call")
"""What is between a program and the first gradient."""


def stencil(terms: int, term: str, around: str = "{}") -> str:
    """A sum of neighbours with weights of their own."""
    total = " + ".join(term.format(weight=n + 1, offset=n) for n in range(terms))
    return f"x: f64[1000]\ny[i in range({1001 - terms})] = {around.format(total)}"


def programs() -> dict[str, str]:
    """The texts that are compiled, by their titles, with numbers for sizes."""
    import numpy as np  # the process that is measured does that itself

    from benchmarks.workloads import WORKLOADS

    in_blocks = [w for w in WORKLOADS if w.name in IN_BLOCKS]
    return {
        "section 6 of the paper": (EXAMPLES / "paper.tad").read_text(encoding="utf-8"),
        **{w.name: w.declared(w.inputs(np.random.default_rng(0))) for w in in_blocks},
        "stencil of 200 terms": stencil(200, "{weight}*x[i + {offset}]"),
        "exp of 200 squares": stencil(200, "{weight}*x[i + {offset}]**2", "exp(-({}))"),
        "sum of 1000 terms": "x: f64[9]\ny = " + " + ".join(["x[0]*2"] * 1000),
    }


def one_turn(source: str) -> Times:
    """The steps of this process."""
    watch = Watch()
    import numpy as np

    watch.done("import numpy")
    import tadc

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
    executable = executable_of(g, arrays)
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


def executable_of(f: Function, arrays: Sequence[Any]) -> CpuExecutable:
    """The code that a call runs, of which nothing is made yet."""
    from tadc.runtime.on_cpu import CpuExecutable
    from tadc.runtime.size_class import size_class

    sizes = f.runner.sizes(arrays, {})
    executable = f.runner.executable("f64", size_class(f.program.summary, sizes))
    assert isinstance(executable, CpuExecutable)
    return executable


def table(results: Mapping[str, Times]) -> str:
    """The results as Markdown, one column per program."""
    steps = next(iter(results.values()))
    rows = [[step, *(f"{times[step]:.1f}" for times in results.values())] for step in steps]
    return tables.markdown(["ms", *results], rows)


def main() -> None:
    """Print the table of times in milliseconds; with `--one`, those of this process alone."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--save", action="store_true", help="write the table to the results")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(one_turn(sys.stdin.read())))
        return
    results: dict[str, Times] = {}
    for name, program in programs().items():
        turns = [fresh(MODULE, "--one", text=program) for _ in range(options.repeat)]
        results[name] = least(turns)
    text = table(results)
    print(text)
    if options.save:
        head = f"# Time to the first gradient\n\n{machine.headline()}."
        tables.save("compile-time", f"{head}\n\n{text}")


if __name__ == "__main__":
    main()
