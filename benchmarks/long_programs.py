"""What programs of thousands of statements take: leapfrog steps of many particles, written out.

    python -m benchmarks.long_programs [--steps 10 100 1000] [--repeat 3] [--save]

Each turn is a fresh process that has compiled a program of one line: the text becomes a program,
is called, derived by `vjp`, whose value is called, and the pullback is called; then each is called
again. Numbers are the least of all turns: of the processor for what happens once, of the clock for
calls. The last columns are what the plan says of memory.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from benchmarks import machine, tables
from benchmarks.timing import fresh, least

Numbers = Mapping[str, Any]

STEP = """\
x[i] += 0.01 * v[i]
v[i] -= 0.01 * (sin(x[i]) + 0.1*(2*x[i] - pad(x[i - 1]) - pad(x[i + 1])))
"""
ONCE = ("compile", "first call", "first vjp", "first pullback")
"""What happens once; the sum of these is what a user waits for before anything is repeated."""
CALLS = ("call", "vjp", "pullback")
COLUMNS = ("statements", *ONCE, "in all", *CALLS, "peak", "kept", "peak of the pullback")


def leapfrog(steps: int, particles: int) -> str:
    return f"x: f64[{particles}]\nv: f64[{particles}]\n" + STEP * steps


def seconds(work: Callable[[], Any], clock: Callable[[], float] = time.process_time) -> float:
    start = clock()
    work()
    return clock() - start


def again(work: Callable[[], Any]) -> float:
    """The least time of some calls."""
    return min(seconds(work, time.perf_counter) for _ in range(7))


def measure(steps: int, particles: int) -> dict[str, Any]:
    """One turn, in this process."""
    import tadc
    from tadc.runtime.memory import readable

    first = tadc.compile("x: f64[4]\ny[i] = sin(x[i])")
    tadc.vjp(first, np.ones(4))[1](np.ones(4))
    x, v = np.random.default_rng(0).standard_normal((2, particles))
    made: list[Any] = []
    times = {"compile": seconds(lambda: made.append(tadc.compile(leapfrog(steps, particles))))}
    f = made[0]
    times["first call"] = seconds(lambda: f(x, v))
    times["first vjp"] = seconds(lambda: made.append(tadc.vjp(f, x, v)[1]))
    pullback = made[1]
    times["first pullback"] = seconds(lambda: pullback(x, v))
    times["call"] = again(lambda: f(x, v))
    times["vjp"] = again(lambda: tadc.vjp(f, x, v))
    times["pullback"] = again(lambda: pullback(x, v))
    memory = f.pullback_memory(x, v)
    return times | {
        "peak": readable(f.memory(x, v).peak),
        "kept": readable(memory.kept),
        "peak of the pullback": readable(memory.pullback.peak),
    }


def best(steps: int, particles: int, repeat: int) -> Numbers:
    """The least of some turns."""
    command = ("benchmarks.long_programs", "--turn", steps, particles)
    turns = [fresh(*command) for _ in range(repeat)]
    times = least([{name: turn[name] for name in (*ONCE, *CALLS)} for turn in turns])
    return {**turns[0], **times, "in all": sum(times[name] for name in ONCE)}


def row(steps: int, numbers: Numbers) -> list[str]:
    texts = {name: f"{numbers[name]:.2f} s" for name in (*ONCE, "in all")}
    texts |= {name: f"{numbers[name] * 1e3:.2f} ms" for name in CALLS}
    texts |= {"statements": str(2 * steps)}
    return [f"{steps}", *(texts.get(c) or str(numbers[c]) for c in COLUMNS)]


def main() -> None:
    """Measure each number of steps, and print the table; save it if asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, nargs="+", default=[10, 100, 1000])
    parser.add_argument("--particles", type=int, default=1000)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--save", action="store_true", help="write the table to the results")
    parser.add_argument("--turn", type=int, nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.turn:
        print(json.dumps(measure(*options.turn)))
        return
    rows = [row(n, best(n, options.particles, options.repeat)) for n in options.steps]
    text = tables.markdown(["steps", *COLUMNS], rows)
    print(text)
    if options.save:
        head = f"# Leapfrog steps of {options.particles} particles\n\n{machine.headline()};"
        clocks = "processor time up to `in all`, clock time of calls."
        tables.save("long-programs", f"{head} {clocks}\n\n{text}")


if __name__ == "__main__":
    main()
