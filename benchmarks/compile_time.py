"""Where the time until the first gradient goes, step by step, for some programs.

    python -m benchmarks.compile_time [--repeat 5] [--save]

Each turn is a fresh process that has nothing on disk: the imports, a first program of one line
(which also loads what is loaded late), and then the program: parsing and checking, its derivative
with respect to all arguments, loops, LLVM IR, machine code, the first and the second call, and the
derivative as text. Then all of the work is in this process. In turns of its own it goes the same
way at one go, in which other processes compile what is planned (`tadc/runtime/compilation.py`). The
last row is that way in a later process, which finds derivatives and machine code on disk. Numbers
are the least of all turns, in milliseconds: the time of the processor, which other work on the
machine changes least, and for the whole way at one go the time of the clock: where it is the second
program of a process, and warm, where the process has compiled all the others; warm also as far as
machine code, without the call.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from benchmarks import machine, tables
from benchmarks.timing import Clock, Watch, fresh, least

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
BY_THE_CLOCK = "at one go, by the clock"
WARM = "the same, warm"
WARM_CODE = "text to machine code, warm"
LATER = "a later process"


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


def whole_turn(source: str) -> Times:
    """The way to the first gradient by the clock."""
    return way_at_one_go(source, BY_THE_CLOCK, time.perf_counter)


def warm_turn(source: str) -> Times:
    """The way to machine code and to the first gradient by the clock, of a process that compiled
    others before."""
    import tadc

    for text in programs().values():
        if text != source:
            way_at_one_go(text, WARM, time.perf_counter)
    start = time.perf_counter()
    g = tadc.compile(source).derivative()
    arrays = arrays_of(g)
    assert executable_of(g, arrays).code
    code = time.perf_counter()
    g(*arrays)
    end = time.perf_counter()
    return {WARM: (end - start) * 1e3, WARM_CODE: (code - start) * 1e3}


def later_turn(source: str) -> Times:
    """The way to the first gradient with what there is on disk."""
    return way_at_one_go(source, LATER, time.process_time)


def way_at_one_go(source: str, title: str, clock: Clock) -> Times:
    """The way to the first gradient in this process, after the first program."""
    import numpy as np

    import tadc

    tadc.grad(tadc.compile(FIRST))(np.ones(4))
    watch = Watch(clock)
    g = tadc.compile(source).derivative()
    g(*arrays_of(g))
    watch.done(title)
    return watch.times


def arrays_of(g: Function) -> list[Any]:
    """Arguments of a program with numbers for sizes."""
    import numpy as np

    kinds = {"f32": np.float32, "f64": np.float64}
    return [np.full([int(n) for n in t.shape], 0.01, kinds[t.dtype]) for t in g.args]


def one_turn(source: str) -> Times:
    """The steps of this process."""
    watch = Watch()
    import numpy as np

    watch.done("import numpy")
    import tadc

    watch.done("import tadc")
    tadc.grad(tadc.compile(FIRST))(np.ones(4))
    watch.done("first program")
    f = tadc.compile(source)
    watch.done("parse and check")
    g = f.derivative()
    watch.done("derivative")
    arrays = arrays_of(g)
    executable = executable_of(g, arrays)
    assert executable.module
    watch.done("loops")
    assert executable.text
    watch.done("LLVM IR")
    assert executable.code
    watch.done("machine code")
    g(*arrays)
    watch.done("first call")
    g(*arrays)
    watch.done("second call")
    str(g)
    watch.done("text of the derivative")
    times = watch.times
    total = sum(times[step] for step in STEPS)
    return {**times, "program to first gradient": total}


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
    """Print the table of times in milliseconds; with the name of a turn, its times."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--save", action="store_true", help="write the table to the results")
    turns_of = {
        "--one": one_turn,
        "--whole": whole_turn,
        "--warm": warm_turn,
        "--later": later_turn,
    }
    for option in turns_of:
        parser.add_argument(
            option, dest="turn", action="store_const", const=option, help=argparse.SUPPRESS
        )
    options = parser.parse_args()
    if options.turn:
        print(json.dumps(turns_of[options.turn](sys.stdin.read())))
        return
    results: dict[str, Times] = {}
    for name, program in programs().items():
        alone = {"TADC_CACHE": "off", "TADC_COMPILER_PROCESSES": "0"}
        turns = [fresh(MODULE, "--one", text=program, **alone) for _ in range(options.repeat)]
        whole, warm = (
            [fresh(MODULE, turn, text=program, TADC_CACHE="off") for _ in range(options.repeat)]
            for turn in ("--whole", "--warm")
        )
        with TemporaryDirectory() as folder:
            _, *later = (
                fresh(MODULE, "--later", text=program, TADC_CACHE=folder)
                for _ in range(options.repeat + 1)
            )
        results[name] = {**least(turns), **least(whole), **least(warm), **least(later)}
    text = table(results)
    print(text)
    if options.save:
        head = f"# Time to the first gradient\n\n{machine.headline()}."
        tables.save("compile-time", f"{head}\n\n{text}")


if __name__ == "__main__":
    main()
