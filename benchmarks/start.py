"""Times the way to the first gradient in a new process, and the memory of many compilations.

    python -m benchmarks.start [--repeat 7] [--compilations 10000] [--save]

The first table: milliseconds from the imports to the gradients of the paper's example, 512 x 512 x
64 in f32, of the processor and of the clock, the least of all turns. Each turn is a process; one
before them, not counted, fills what is kept on disk. The second: megabytes that one process
occupies while it compiles and calls one program after another, all different.
"""

from __future__ import annotations

import argparse
import gc
import json
import sys
import time
from typing import Any

from benchmarks import machine, tables
from benchmarks.timing import Clock, Watch, fresh, least

CHECKS = 10
"""The number of times that memory is looked at."""


def turn(clock: Clock) -> dict[str, float]:
    """The steps of this process, in milliseconds."""
    watch = Watch(clock)
    import numpy as np

    watch.done("import numpy")
    import tadc

    watch.done("import tadc")
    from benchmarks.workloads.w1_paper import PAPER

    arrays = list(PAPER.inputs(np.random.default_rng(0)).values())
    dy = np.ones((len(arrays[0]), len(arrays[1])), np.float32)
    watch.done("inputs")
    f = tadc.compile(PAPER.free())
    watch.done("compile")
    _, pullback = tadc.vjp(f, *arrays)
    watch.done("first value")
    pullback(dy)
    watch.done("first gradients")
    del watch.times["inputs"]
    return {**watch.times, "in all": sum(watch.times.values())}


def steps(repeat: int) -> str:
    """A table of the steps by both clocks."""
    fresh("benchmarks.start", "--turn", "processor")
    columns = {
        clock: least([fresh("benchmarks.start", "--turn", clock) for _ in range(repeat)])
        for clock in CLOCKS
    }
    first, second = columns.values()
    rows = [[step, f"{first[step]:.1f}", f"{second[step]:.1f}"] for step in first]
    return tables.markdown(["ms", *columns], rows)


CLOCKS = {"processor": time.process_time, "clock": time.perf_counter}


def memory(compilations: int) -> str:
    """A table of what this process occupies after so many compilations."""
    import numpy as np

    import tadc

    x = np.ones(8)
    rows: list[list[str]] = []
    for n in range(1, compilations + 1):
        tadc.compile(program(n))(x)
        if n == 1 or n % max(1, compilations // CHECKS) == 0:
            gc.collect()
            rows.append([str(n), f"{machine.resident():.1f}"])
            print(f"{n} compilations: {rows[-1][1]} MB", file=sys.stderr)
    return tables.markdown(["compilations", "MB"], rows)


def program(number: int) -> str:
    """A program like no other: the number's bits choose what is computed, and it is a factor."""
    functions = [("sin", "cos")[number >> bit & 1] for bit in range(6)]
    terms = (f"{name}({n + number} * x[i])" for n, name in enumerate(functions))
    return f"x: f64[8]\ny[i] = {' + '.join(terms)}"


def main() -> None:
    """Measure both, and print the tables; save them if asked."""
    parser = argparse.ArgumentParser(description="The way to the first gradient, and memory.")
    parser.add_argument("--repeat", type=int, default=7, help="how many processes")
    parser.add_argument("--compilations", type=int, default=0, help="for memory; none by default")
    parser.add_argument("--save", action="store_true", help="write benchmarks/results/start-<date>")
    parser.add_argument("--turn", choices=CLOCKS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.turn:
        print(json.dumps(turn(CLOCKS[options.turn])))
        return
    parts: list[Any] = [steps(options.repeat)] if options.repeat else []
    if options.compilations:
        parts.append(memory(options.compilations))
    text = "\n\n".join(parts)
    print(text)
    if options.save:
        head = f"# The way to the first gradient, and memory\n\n{tables.listed(machine.about())}"
        tables.save("start", f"{head}\n\n{text}")


if __name__ == "__main__":
    main()
