"""Times the inverse modes against forward mode, side by side in one run, and what they keep.

    python -m benchmarks.inverse_modes [--repeat 31] [--save]

`leapfrog`: 1,000 steps of 1,000 particles in a chain, as one text of 2,000 updates. `flow`: eight
coupling layers with networks of one hidden layer over two halves of 64 numbers, 256 samples.
`dense`: 20 layers that mix 100 numbers by a full matrix, which LAPACK solves with.

Each mode is a ratio to jvp, the median of the ratios of runs that follow each other; compilation is
not counted. Memory is what a call allocates at its worst moment, arguments apart. `--save` writes
a file of the results.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np

import tadc
from benchmarks import machine, tables
from tadc.runtime.memory import memory_of
from tadc.runtime.runner import Runner

STEPS = 1000
LEAPFROG = (
    """x: f64[1000]
v: f64[1000]
"""
    + STEPS
    * (
        "x[i] += 0.01 * v[i]\n"
        "v[i] -= 0.01 * (sin(x[i]) + 0.1 * (2 * x[i] - pad(x[i - 1]) - pad(x[i + 1])))\n"
    )
)
FLOW_HEADER = """x: f64[256, 64]
y: f64[256, 64]
u: f64[8, 128, 64]
s: f64[8, 64, 128]
t: f64[8, 64, 128]
"""
FLOW_LAYER = """
h{k}[n, j] = tanh(sum[i](u[{k}, j, i] * {other}[n, i]))
g{k}[n, i] = exp(sum[j](s[{k}, i, j] * h{k}[n, j]))
{half}[n, i] = {half}[n, i] * g{k}[n, i] + sum[j](t[{k}, i, j] * h{k}[n, j])
"""
DENSE_HEADER = "w: f64[20, 100, 100]\nx: f64[100]\n"
DENSE_LAYER = "x[i] = x[i] + tanh(sum[j](w[{k}, i, j] * x[j]))\n"


@dataclass(frozen=True)
class Workload:
    """A program, and how large its random arguments are, by name."""

    name: str
    source: str
    scales: dict[str, float]


def workloads() -> list[Workload]:
    halves = [("x", "y") if k % 2 else ("y", "x") for k in range(8)]
    layers = (FLOW_LAYER.format(k=k, half=a, other=b) for k, (a, b) in enumerate(halves))
    dense = (DENSE_LAYER.format(k=k) for k in range(20))
    return [
        Workload("leapfrog", LEAPFROG, {}),
        Workload("flow", FLOW_HEADER + "".join(layers), {"u": 0.1, "s": 0.05, "t": 0.1}),
        Workload("dense", DENSE_HEADER + "".join(dense), {"w": 0.03}),
    ]


@dataclass
class Measured:
    """The times of a workload in milliseconds, and bytes, by mode."""

    times: dict[str, float]
    ratios: dict[str, float]
    peaks: dict[str, int]
    error: float


def measure(workload: Workload, repeat: int) -> Measured:
    """All modes of a workload, in turns."""
    f = tadc.compile(workload.source)
    rng = np.random.default_rng(0)
    arguments = [_normal(rng, t) * workload.scales.get(t.name, 1) for t in f.args]
    vectors = {t.name: _normal(rng, t) for t in f.results}
    tangents = [vectors.get(t.name) for t in f.args]
    seeds = list(vectors.values())
    modes: dict[str, Callable[[], Any]] = {
        "jvp": lambda: tadc.jvp(f, arguments, tangents),
        "inverse_jvp": lambda: tadc.inverse_jvp(f, arguments, seeds),
        "inverse_vjp": lambda: tadc.inverse_vjp(f, arguments, seeds),
        "log_abs_det": lambda: tadc.log_abs_det(f, arguments),
    }
    error = _undone(f, arguments, tangents, seeds)
    for run in modes.values():
        run()
    times: dict[str, list[float]] = {name: [] for name in modes}
    for _ in range(repeat):
        for name, run in modes.items():
            start = time.perf_counter()
            run()
            times[name].append((time.perf_counter() - start) * 1e3)
    ratios = {
        name: median(t / j for t, j in zip(ts, times["jvp"], strict=True))
        for name, ts in times.items()
    }
    return Measured({n: median(ts) for n, ts in times.items()}, ratios, _peaks(f, modes), error)


def _normal(rng: Any, tensor: Any) -> Any:
    return rng.normal(size=tensor.shape)


def _undone(
    f: tadc.Function, arguments: Sequence[Any], tangents: Sequence[Any], seeds: Sequence[Any]
) -> float:
    """How far `J⁻¹ J v` is from `v`, as a part of it."""
    _, forward = tadc.jvp(f, arguments, tangents)
    back = tadc.inverse_jvp(f, arguments, forward)
    gaps = [np.abs(a - b).max() / np.abs(b).max() for a, b in zip(back, seeds, strict=True)]
    return float(max(gaps))


def _peaks(f: tadc.Function, modes: dict[str, Any]) -> dict[str, int]:
    """The bytes of what the steps of each mode allocate, the worst of its parts."""
    names = [t.name for t in f.args if t.name in {r.name for r in f.results}]
    forward = [f.forward(*names, keep_values=True).runner]
    parts: dict[str, list[Any]] = {"jvp": forward}
    for name in modes:
        if name != "jvp":
            parts[name] = f.inverse(name.replace("_", "-")).steps
    return {
        name: max(_peak(part) for part in programs if isinstance(part, Runner))
        for name, programs in parts.items()
    }


def _peak(part: Runner) -> int:
    zeros: Any = np.zeros
    return memory_of(part, [zeros(t.shape) for t in part.program.args], {}).peak


def table(results: dict[str, Measured]) -> str:
    """Markdown, and how exactly the modes undo each other."""
    rows: list[list[str]] = []
    for name, measured in results.items():
        for mode, ms in measured.times.items():
            ratio, peak = measured.ratios[mode], measured.peaks[mode] / 1e6
            rows.append([f"{name}, {mode}", f"{ms:.2f}", f"{ratio:.2f}", f"{peak:.2f} MB"])
    errors = (f"{name}: J⁻¹ J v is v up to {m.error:.1e}" for name, m in results.items())
    head = ["workload, mode", "ms", "ratio to jvp", "memory"]
    return "\n".join([tables.markdown(head, rows), "", *errors])


def main() -> None:
    """Measure what the command line asks for, and print the table; save it if asked."""
    parser = argparse.ArgumentParser(description="Times of the inverse modes.")
    parser.add_argument("--repeat", type=int, default=31, help="how often each mode runs")
    parser.add_argument("--only", help="one workload")
    parser.add_argument("--save", action="store_true", help="write the results to a file")
    options = parser.parse_args()
    results: dict[str, Measured] = {}
    for workload in workloads():
        if options.only in (None, workload.name):
            print(f"{workload.name} ...", flush=True)
            results[workload.name] = measure(workload, options.repeat)
    text = table(results)
    print(text)
    if options.save:
        tables.save("inverse-modes", f"# Inverse modes\n\n{machine.headline()}.\n\n{text}")


if __name__ == "__main__":
    main()
