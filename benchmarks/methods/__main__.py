"""Times methods from the literature beside torch, eager and compiled.

    python -m benchmarks.methods [--only bilateral chaos] [--threads 1] [--no-compile] [--save]

In float32; on one thread the time of the processor, on more that of the clock; all take turns in
one run. A row has milliseconds of the value, and of the value with all gradients: of tadc, and of
the faster one of torch and `torch.compile`; then the multiple of that, and the time of value and
gradients as a multiple of the value's. Multiples above 1.1, and those of gradients above 6, are
**bold**. Results are compared before anything is timed.
"""

from __future__ import annotations

import argparse
import gc
import time
from collections.abc import Callable, Mapping, Sequence
from statistics import geometric_mean
from typing import Any

import numpy as np
import torch

import tadc
from benchmarks import machine, tables
from benchmarks.methods import METHODS
from benchmarks.methods.method import Method
from benchmarks.timing import Clock, Run, measure
from benchmarks.workloads.workload import Array, normal

LIMIT = 2e-3
"""The largest difference allowed, by the largest element of the result."""

BEHIND, DEAR = 1.1, 6.0
"""Multiples of torch, and of the value, that are bold."""

PARTS = ("value", "value + gradients")
HEAD = ["ms (of torch)", *PARTS, "x torch", "x torch, with gradients", "x value"]

Arrays = Mapping[str, Array]
Runs = dict[str, dict[str, Run]]
"""By part and contender."""


def several(found: Any) -> tuple[Any, ...]:
    """The results of a call as a tuple."""
    return tuple(found) if isinstance(found, tuple) else (found,)  # pyright: ignore


def runs_of(method: Method, compiled: bool) -> Runs:
    """The calls of all contenders, whose results agree."""
    rng = np.random.default_rng(0)
    arrays = method.inputs(rng)
    f = tadc.compile(method.source)
    own = [arrays[t.name] for t in f.args]
    values, pullback = tadc.vjp(f, *own)
    adjoints = [normal(rng, *np.shape(y)) for y in several(values)]
    given = [t.name for t in f.args]
    gradients = dict(zip(given, pullback(*adjoints), strict=True))
    ours: dict[str, Run] = {
        "value": lambda: f(*own),
        "value + gradients": lambda: tadc.vjp(f, *own)[1](*adjoints),
    }
    found: Runs = {part: {"tadc": run} for part, run in ours.items()}
    for name, function in _rivals(method.torch, compiled).items():
        value, both = _torch(function, arrays, adjoints)
        _compare(method, several(values), several(value()))
        _compare(method, [gradients[name] for name in arrays], both())
        found["value"][name], found["value + gradients"][name] = value, both
    return found


def _rivals(function: Callable[..., Any], compiled: bool) -> dict[str, Callable[..., Any]]:
    if not compiled:
        return {"torch": function}
    torch.compiler.reset()
    return {"torch": function, "torch.compile": torch.compile(function, dynamic=False)}


def _torch(
    function: Callable[..., Any], arrays: Arrays, adjoints: Sequence[Array]
) -> tuple[Run, Run]:
    plain = [torch.from_numpy(np.asarray(a)) for a in arrays.values()]
    leaves = [t.clone().requires_grad_() for t in plain]
    dy = [torch.from_numpy(np.asarray(a)) for a in adjoints]

    def value() -> Any:
        with torch.no_grad():
            return function(*plain)

    def both() -> Any:
        return torch.autograd.grad(several(function(*leaves)), leaves, dy)

    return value, both


def _compare(method: Method, found: Sequence[Any], expected: Sequence[torch.Tensor]) -> None:
    for own, other in zip(found, expected, strict=True):
        difference = np.abs(own - other.numpy()).max()
        if not difference <= LIMIT * max(1.0, float(other.abs().max())):
            raise ValueError(f"{method.name}: differs from torch by {difference:.1e}")


def row_of(
    method: Method, compiled: bool, clock: Clock, rounds: int
) -> tuple[list[str], list[float]]:
    """The cells of a method, and its three multiples."""
    own: list[float] = []
    best: list[float] = []
    for runs in runs_of(method, compiled).values():
        gc.collect()
        times = {name: t.minimum * 1e3 for name, t in measure(runs, clock, rounds).items()}
        own.append(times.pop("tadc"))
        best.append(min(times.values()))
    multiples = [own[0] / best[0], own[1] / best[1], own[1] / own[0]]
    cells = [f"{a:.3g} ({b:.3g})" for a, b in zip(own, best, strict=True)]
    shown = zip(multiples, (BEHIND, BEHIND, DEAR), strict=True)
    return [method.name, *cells, *(tables.multiple(m, limit) for m, limit in shown)], multiples


def table(methods: Sequence[Method], compiled: bool, clock: Clock, rounds: int) -> str:
    """A row for each method, and the geometric means."""
    rows: list[list[str]] = []
    all_multiples: list[list[float]] = []
    for method in methods:
        row, multiples = row_of(method, compiled, clock, rounds)
        rows.append(row)
        all_multiples.append(multiples)
        print(" | ".join(row), flush=True)
    means = [f"{geometric_mean(column):.2f}x" for column in zip(*all_multiples, strict=True)]
    return tables.markdown(HEAD, [*rows, ["geometric mean", "", "", *means]])


def main() -> None:
    """Measure all methods, and print the table; save it if asked."""
    parser = argparse.ArgumentParser(description="Methods from the literature beside torch.")
    parser.add_argument("--only", nargs="+", default=[""], help="those whose names hold these")
    parser.add_argument("--threads", type=int, default=1, help="of all")
    parser.add_argument("--no-compile", action="store_true", help="without torch.compile")
    parser.add_argument("--rounds", type=int, default=4, help="turns of each")
    parser.add_argument(
        "--save", action="store_true", help="write benchmarks/results/methods-<date>"
    )
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    tadc.set_num_threads(options.threads)
    clock = time.process_time if options.threads == 1 else time.perf_counter
    start = time.perf_counter()
    chosen = [m for m in METHODS if any(name in m.name for name in options.only)]
    text = table(chosen, not options.no_compile, clock, options.rounds)
    print(f"\n{text}\n\nin {time.perf_counter() - start:.0f} s")
    if options.save:
        machine.save("methods", "Methods from the literature beside torch", options.threads, text)


if __name__ == "__main__":
    main()
