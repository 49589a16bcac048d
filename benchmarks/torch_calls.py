"""Times small calls in PyTorch: what a call of an op costs apart from its work.

    python -m benchmarks.torch_calls [--rounds 9] [--save]

Microseconds of a convolution of 3 weights with 9 points, `y[i] = sum[k](w[k] * x[2*i + k])`, as an
op, beside `conv1d` and a sum of two tensors, and the ratio to `conv1d`; all take turns in one run.
"With backward" is a call and the gradients by both of its arguments.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from typing import Any

import torch

import tadc.torch
from benchmarks import machine, tables
from benchmarks.timing import Run, Times, measure

CASES = ("no gradient", "gradient wanted", "with backward", "compiled")


def calls() -> dict[str, dict[str, Run]]:
    """A function to time for each case of each contender."""
    make: Callable[..., Any] = lambda *shape: torch.rand(shape, dtype=torch.float64)
    conv1d: Callable[[Any, Any], Any] = lambda w, x: torch.conv1d(x, w, stride=2)
    op = tadc.torch.op("y[i] = sum[k](w[k] * x[2*i + k])")
    return {
        "tadc": cases(op, make(3), make(9)),
        "conv1d": cases(conv1d, make(1, 1, 3), make(1, 1, 9)),
        "a sum": cases(lambda w, x: w + x, make(9), make(9)),
    }


def cases(f: Callable[[Any, Any], Any], w: Any, x: Any) -> dict[str, Run]:
    """The cases of a function of two tensors."""
    leaves = w.clone().requires_grad_(), x.clone().requires_grad_()
    adjoint = torch.ones_like(f(w, x))
    compiled = torch.compile(f, fullgraph=True)
    runs: tuple[Run, ...] = (
        lambda: f(w, x),
        lambda: f(*leaves),
        lambda: torch.autograd.grad(f(*leaves), leaves, adjoint),
        lambda: compiled(w, x),
    )
    return dict(zip(CASES, runs, strict=True))


def table(times: Mapping[str, Times]) -> str:
    """Microseconds of a call, minimum and median, and the minima as multiples of `conv1d`."""
    rows: list[list[str]] = []
    for name, t in times.items():
        beside = times[f"conv1d, {name.partition(', ')[2]}"]
        microseconds = [f"{s * 1e6:.2f}" for s in (t.minimum, t.median)]
        rows.append([name, *microseconds, f"{t.minimum / beside.minimum:.2f}x"])
    return tables.markdown(["microseconds of a call", "minimum", "median", "conv1d"], rows)


def main() -> None:
    """Measure all calls, and print the table; save it if asked."""
    parser = argparse.ArgumentParser(description="Times of small calls in PyTorch.")
    parser.add_argument("--rounds", type=int, default=9, help="turns of each call")
    parser.add_argument("--save", action="store_true", help="write benchmarks/results/torch-<date>")
    options = parser.parse_args()
    torch.set_num_threads(1)
    made = {f"{name}, {case}": run for name, runs in calls().items() for case, run in runs.items()}
    text = table(measure(made, rounds=options.rounds, share=0.03))
    print(text)
    if options.save:
        tables.save("torch", f"# Calls in PyTorch\n\n{tables.listed(machine.about())}\n\n{text}")


if __name__ == "__main__":
    main()
