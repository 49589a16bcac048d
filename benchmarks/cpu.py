"""Times tadc on the CPU against NumPy, and torch where it is installed, side by side in one run.

    python benchmarks/cpu.py [--repeat 15] [--only W1] [--save]

Every workload at f32: the value, and the value with the gradients of all arguments. Contenders take
turns, so that a busy machine disturbs all of them; medians are reported, and minima beside them.
Results are checked against NumPy before anything is timed. `--save` writes them with a description
of the machine to `benchmarks/results/cpu-<date>.json` and `.md`.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import time
from collections.abc import Callable
from datetime import date
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from workloads import WORKLOADS, Array, Workload

import tadc

RESULTS = Path(__file__).parent / "results"
Run = Callable[[], Any]
Times = dict[str, tuple[float, float]]
"""Median and minimum of each contender, in milliseconds."""


def arrays_of(workload: Workload) -> dict[str, Array]:
    rng = np.random.default_rng(0)
    return {
        name: (rng.uniform(-1, 1, shape) * workload.scale).astype(np.float32)
        for name, shape in workload.shapes.items()
    }


def declared(workload: Workload, arrays: dict[str, Array]) -> str:
    lines = [f"{name}: f32[{', '.join(map(str, a.shape))}]" for name, a in arrays.items()]
    return "\n".join([*lines, workload.source])


def contenders(
    workload: Workload, arrays: dict[str, Array], dy: Array
) -> tuple[dict[str, Run], dict[str, Run]]:
    """What computes the value, and what computes the value and the gradients."""
    values = list(arrays.values())
    f = tadc.compile(declared(workload, arrays))
    free = tadc.compile(workload.source)

    def gradients(function: Any) -> Any:
        y, pullback = tadc.vjp(function, **arrays)
        return y, pullback(dy)

    def numpy_gradients() -> Any:
        y = workload.value(*values)
        return y, workload.gradients(y, dy, *values)

    value: dict[str, Run] = {
        "tadc": lambda: f(**arrays),
        "tadc, sizes at run time": lambda: free(**arrays),
        "NumPy": lambda: workload.value(*values),
    }
    both: dict[str, Run] = {
        "tadc": lambda: gradients(f),
        "tadc, sizes at run time": lambda: gradients(free),
        "NumPy": numpy_gradients,
    }
    if find_spec("torch"):
        value["torch"], both["torch"] = torch_contenders(workload, values, dy)
    return value, both


def torch_contenders(workload: Workload, values: list[Array], dy: Array) -> tuple[Run, Run]:
    t: Any = import_module("torch")
    plain = [t.from_numpy(a) for a in values]
    leaves = [t.from_numpy(a).requires_grad_() for a in values]
    adjoint = t.from_numpy(dy)

    def value() -> Any:
        with t.no_grad():
            return workload.torch(t, *plain)

    def both() -> Any:
        y = workload.torch(t, *leaves)
        return y, t.autograd.grad(y, leaves, adjoint)

    return value, both


def check(workload: Workload, both: dict[str, Run]) -> None:
    """All contenders agree with NumPy."""
    y, gradients = both["NumPy"]()
    for name, run in both.items():
        other, others = run()
        for a, b in zip((y, *gradients), (other, *others), strict=True):
            error = np.abs(np.asarray(a) - np.asarray(b.detach() if name == "torch" else b)).max()
            limit = 1e-3 * max(1.0, float(np.abs(a).max()))
            assert error < limit, f"{workload.name}: {name} is off by {error}"


def measure(runs: dict[str, Run], repeat: int) -> Times:
    """Take turns; the first turn is not counted."""
    times: dict[str, list[float]] = {name: [] for name in runs}
    for turn in range(repeat + 1):
        for name, run in runs.items():
            start = time.perf_counter()
            run()
            if turn:
                times[name].append((time.perf_counter() - start) * 1e3)
    return {name: (median(all_), min(all_)) for name, all_ in times.items()}


def machine() -> dict[str, Any]:
    """What the times depend on."""
    model = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        names = [line for line in info.read_text().splitlines() if line.startswith("model name")]
        model = names[0].split(":")[1].strip() if names else model
    return {
        "date": date.today().isoformat(),
        "processor": model,
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None,
        "load before": [round(x, 1) for x in os.getloadavg()],
        "python": platform.python_version(),
        "numpy": np.__version__,
        "note": "a shared, noisy machine: compare columns, not runs",
    }


def table(results: dict[str, dict[str, Times]]) -> str:
    """Rows are workloads, columns contenders: median (minimum) in milliseconds."""
    first = next(iter(results.values()))["value"]
    head = ["", *(f"{kind}: {n}" for kind in ("value", "value + gradients") for n in first)]
    rows = [head, ["---"] * len(head)]
    for name, kinds in results.items():
        cells = [f"{m:.3g} ({low:.3g})" for times in kinds.values() for m, low in times.values()]
        rows.append([name, *cells])
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def save(results: dict[str, dict[str, Times]], about: dict[str, Any]) -> None:
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"cpu-{about['date']}"
    data = {"machine": about, "milliseconds": results}
    path.with_suffix(".json").write_text(json.dumps(data, indent=1) + "\n")
    lines = [f"- {key}: {value}" for key, value in about.items()]
    title = "# CPU: milliseconds, median (minimum)"
    path.with_suffix(".md").write_text("\n".join([title, "", *lines, "", table(results), ""]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("--repeat", type=int, default=15)
    parser.add_argument("--only", default="")
    parser.add_argument("--save", action="store_true")
    options = parser.parse_args()
    about = machine()
    results: dict[str, dict[str, Times]] = {}
    for workload in WORKLOADS:
        if workload.name.startswith(options.only):
            arrays = arrays_of(workload)
            y: Array = workload.value(*arrays.values())
            dy: Array = np.random.default_rng(1).uniform(-1, 1, y.shape).astype(np.float32)
            value, both = contenders(workload, arrays, dy)
            check(workload, both)
            results[workload.name] = {
                "value": measure(value, options.repeat),
                "value + gradients": measure(both, options.repeat),
            }
    print(table(results))
    if options.save:
        save(results, about)


if __name__ == "__main__":
    main()
