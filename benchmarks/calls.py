"""Times small calls: what a call costs apart from its work.

    python -m benchmarks.calls [--rounds 9] [--definitions 1 10 100 400] [--save]

Microseconds of a call, on arrays of 4 x 4 unless said otherwise, all in turns in one run, of the
clock; torch beside them where it is installed. "Sizes in turn" calls one function with matrices of
so many sizes, one after the other, all of which it has seen.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

import tadc
from benchmarks import machine, tables
from benchmarks.timing import Run, Times, measure

ADD = "y[i, j] = a[i, j] + b[i, j]"
Calls = dict[str, tuple[Run, int]]
"""A function to time, and the number of calls that it makes."""


def calls(definitions: list[int]) -> Calls:
    """All that is measured, by the words of the table."""
    a, b, dy = np.random.default_rng(0).standard_normal((3, 4, 4))
    add = tadc.compile(ADD)
    small = [x.astype(np.float32) for x in (a, b)]
    found: Calls = {
        "add": (lambda: add(a, b), 1),
        "add, f32": (lambda: add(*small), 1),
        "add, vjp and pullback": (lambda: tadc.vjp(add, a, b)[1](dy), 1),
        "add, NumPy": (lambda: a + b, 1),
    }
    if find_spec("torch"):
        found |= torch_calls(a, b, dy)
    for count in definitions:
        f = tadc.compile(chain(count))
        found[f"{count} definitions"] = (lambda f=f: f(a, b), 1)
    for count in (20, 200):
        found[f"add, {count} sizes in turn"] = (in_turn(count), count)
    return found


def chain(definitions: int) -> str:
    """Products of matrices one after the other, none of which is worth recomputing."""
    lines = ["t0[i, j] = a[i, j] + b[i, j]"]
    for n in range(1, definitions):
        lines.append(f"t{n}[i, j] = sum[k](t{n - 1}[i, k] * b[k, j]) / 4")
    return "\n".join(lines)


def in_turn(count: int) -> Run:
    """Calls with matrices of `n` rows and four columns, for all `n` up to `count`."""
    f = tadc.compile(ADD)
    rng = np.random.default_rng(0)
    pairs = [rng.standard_normal((2, n, 4)) for n in range(1, count + 1)]

    def run() -> None:
        for a, b in pairs:
            f(a, b)

    return run


def torch_calls(*arrays: Any) -> Calls:
    t: Any = import_module("torch")
    a, b, dy = (t.from_numpy(x) for x in arrays)
    leaves = [x.clone().requires_grad_() for x in (a, b)]

    def backward() -> Any:
        return t.autograd.grad(leaves[0] + leaves[1], leaves, dy)

    return {"add, torch": (lambda: a + b, 1), "add with backward, torch": (backward, 1)}


def table(times: Mapping[str, Times], made: Calls) -> str:
    """Microseconds of a call."""
    microseconds: Callable[[str, float], str] = lambda name, s: f"{s * 1e6 / made[name][1]:.2f}"
    rows = [[n, microseconds(n, t.minimum), microseconds(n, t.median)] for n, t in times.items()]
    return tables.markdown(["microseconds of a call", "minimum", "median"], rows)


def main() -> None:
    """Measure all calls, and print the table; save it if asked."""
    parser = argparse.ArgumentParser(description="Times of small calls.")
    parser.add_argument("--rounds", type=int, default=9, help="turns of each call")
    parser.add_argument("--definitions", type=int, nargs="+", default=[1, 10, 100, 400])
    parser.add_argument("--save", action="store_true", help="write benchmarks/results/calls-<date>")
    options = parser.parse_args()
    made = calls(options.definitions)
    runs = {name: run for name, (run, _) in made.items()}
    text = table(measure(runs, rounds=options.rounds, share=0.03), made)
    print(text)
    if options.save:
        head = f"# Small calls\n\n{tables.listed(machine.about())}"
        tables.save("calls", f"{head}\n\n{text}")


if __name__ == "__main__":
    main()
