"""Programs so large that they run on several threads, in f32, with arguments and all results."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

import tadc

WORKLOADS = {
    "matrix product": ("y[i, j] = sum[k](x[i, k] * w[k, j])", {"x": (300, 70), "w": (70, 250)}),
    "convolution": (
        "y[n, o, i] = sum[c, k](w[o, c, k] * x[n, c, i + k])",
        {"w": (6, 5, 7), "x": (9, 5, 1400)},
    ),
    "pairs": ("y[i, j] = exp(-sum[k]((a[i, k] - b[j, k])**2))", {"a": (270, 5), "b": (260, 5)}),
    "kernel sum": (
        "x: real[307, 3]\nz: real[290, 3]\nb: real[290]\n"
        "y[i] = sum[j](exp(-sum[k]((x[i, k] - z[j, k])**2)) * b[j])",
        {"x": (307, 3), "z": (290, 3), "b": (290,)},
    ),
    "sums of rows": ("y[i] = sum[j](sin(x[i, j]) * x[i, j])", {"x": (301, 407)}),
    "one sum": ("y = sum[i, j](x[i, j]**2)", {"x": (301, 407)}),
    "steps": (
        "u[i, j] = x[i, j] - max[k](x[i, k])\ne[i, j] = exp(u[i, j])\n"
        "y[i, j] = e[i, j] / sum[k](e[i, k])",
        {"x": (203, 331)},
    ),
}


def workload(name: str) -> tuple[tadc.Function, list[np.ndarray]]:
    """A program with its arguments, in their order."""
    source, shapes = WORKLOADS[name]
    f = tadc.compile(source)
    rng = np.random.default_rng(0)
    return f, [rng.uniform(-1, 1, shapes[t.name]).astype(np.float32) for t in f.args]


def results(f: tadc.Function, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Values, and the gradients for these as adjoints."""
    values, pullback = tadc.vjp(f, *arrays)
    values = list(values) if isinstance(values, tuple) else [values]
    return [*map(np.asarray, values), *pullback(*values)]
