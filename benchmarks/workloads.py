"""The workloads of `cpu.py`: a definition, the same in NumPy with gradients by hand, and in torch.

NumPy stands for what one would write by hand, with matrix products where they are seen at once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Workload:
    """`value(*arrays)` and `gradients(y, dy, *arrays)` in NumPy; `torch(t, *tensors)` in torch."""

    name: str
    source: str
    shapes: dict[str, tuple[int, ...]]
    value: Callable[..., Array]
    gradients: Callable[..., tuple[Array, ...]]
    torch: Callable[..., Any]
    scale: float = 1.0


# --- paper: f[i, j] = exp(-sum[k]((a[i, k] + b[j, k])**2 * c[i, i] + d[i + k]**3)) ----------------


def paper(a: Array, b: Array, c: Array, d: Array) -> Array:
    squares = ((a[:, None] + b[None]) ** 2).sum(-1)
    cubes = (sliding_window_view(d, a.shape[1]) ** 3).sum(-1)
    return np.exp(-(squares * np.diag(c)[:, None] + cubes[:, None]))


def paper_gradients(
    f: Array, df: Array, a: Array, b: Array, c: Array, d: Array
) -> tuple[Array, ...]:
    weights = -df * f
    scaled = 2 * weights * np.diag(c)[:, None]
    da = a * scaled.sum(1)[:, None] + scaled @ b
    db = b * scaled.sum(0)[:, None] + scaled.T @ a
    dc = np.diag((weights * ((a[:, None] + b[None]) ** 2).sum(-1)).sum(1))
    rows = np.convolve(weights.sum(1), np.ones(a.shape[1], a.dtype))
    return da, db, dc, 3 * d**2 * rows


def paper_torch(t: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
    squares = ((a[:, None] + b[None]) ** 2).sum(-1)
    cubes = (d.unfold(0, a.shape[1], 1) ** 3).sum(-1)
    return t.exp(-(squares * t.diag(c)[:, None] + cubes[:, None]))


# --- kernel: y[i] = sum[j](exp(-sum[k]((x[i, k] - z[j, k])**2)) * b[j]) ---------------------------


def kernel(x: Array, z: Array, b: Array) -> Array:
    return np.exp(-((x[:, None] - z[None]) ** 2).sum(-1)) @ b


def kernel_gradients(y: Array, dy: Array, x: Array, z: Array, b: Array) -> tuple[Array, ...]:
    e = np.exp(-((x[:, None] - z[None]) ** 2).sum(-1))
    w = -2 * e * dy[:, None] * b[None]
    return x * w.sum(1)[:, None] - w @ z, z * w.sum(0)[:, None] - w.T @ x, dy @ e


def kernel_torch(t: Any, x: Any, z: Any, b: Any) -> Any:
    return t.exp(-((x[:, None] - z[None]) ** 2).sum(-1)) @ b


# --- convolution: y[n, o, t] = sum[c, s](w[o, c, s] * x[n, c, 2*t + 3*s]) -------------------------


def _windows(x: Array, taps: int, length: int) -> Array:
    """Strided by 2, dilated by 3: n, c, t, s."""
    return sliding_window_view(x, 3 * taps - 2, 2)[:, :, ::2, ::3][:, :, :length]


def convolution(w: Array, x: Array) -> Array:
    return np.einsum("ocs,ncts->not", w, _windows(x, w.shape[2], 512), optimize=True)


def convolution_gradients(y: Array, dy: Array, w: Array, x: Array) -> tuple[Array, ...]:
    windows = _windows(x, w.shape[2], dy.shape[2])
    dw = np.einsum("not,ncts->ocs", dy, windows, optimize=True)
    dx = np.zeros_like(x)
    for s in range(w.shape[2]):
        part = np.einsum("oc,not->nct", w[:, :, s], dy, optimize=True)
        dx[:, :, 3 * s : 3 * s + 2 * dy.shape[2] : 2] += part
    return dw, dx


def convolution_torch(t: Any, w: Any, x: Any) -> Any:
    return t.nn.functional.conv1d(x, w, stride=2, dilation=3)[:, :, :512]


# --- the others -----------------------------------------------------------------------------------


def product(x: Array, w: Array) -> Array:
    return x @ w


def product_gradients(y: Array, dy: Array, x: Array, w: Array) -> tuple[Array, ...]:
    return dy @ w.T, x.T @ dy


def product_torch(t: Any, x: Any, w: Any) -> Any:
    return x @ w


def correlation(d: Array, v: Array) -> Array:
    return np.correlate(d, v, "valid")


def correlation_gradients(y: Array, dy: Array, d: Array, v: Array) -> tuple[Array, ...]:
    return np.convolve(dy, v), np.correlate(d, dy, "valid")


def correlation_torch(t: Any, d: Any, v: Any) -> Any:
    return t.nn.functional.conv1d(d[None, None], v[None, None])[0, 0]


def stencil(x: Array) -> Array:
    return x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:] - 4 * x[1:-1, 1:-1]


def stencil_gradients(y: Array, dy: Array, x: Array) -> tuple[Array, ...]:
    dx = np.zeros_like(x)
    dx[:-2, 1:-1] += dy
    dx[2:, 1:-1] += dy
    dx[1:-1, :-2] += dy
    dx[1:-1, 2:] += dy
    dx[1:-1, 1:-1] -= 4 * dy
    return (dx,)


def stencil_torch(t: Any, x: Any) -> Any:
    return x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:] - 4 * x[1:-1, 1:-1]


def log_sum_exp(x: Array) -> Array:
    return np.log(np.exp(x).sum(1))


def log_sum_exp_torch(t: Any, x: Any) -> Any:
    return t.log(t.exp(x).sum(1))


def log_sum_exp_gradients(y: Array, dy: Array, x: Array) -> tuple[Array, ...]:
    return ((dy / np.exp(y))[:, None] * np.exp(x),)


def distances(x: Array, z: Array) -> Array:
    return np.abs(x[:, None] - z[None]).sum(-1)


def distances_torch(t: Any, x: Any, z: Any) -> Any:
    return (x[:, None] - z[None]).abs().sum(-1)


def distances_gradients(y: Array, dy: Array, x: Array, z: Array) -> tuple[Array, ...]:
    signs = np.sign(x[:, None] - z[None])
    return np.einsum("ij,ijk->ik", dy, signs), -np.einsum("ij,ijk->jk", dy, signs)


WORKLOADS = [
    Workload(
        "W1 paper",
        "f[i, j] = exp(-sum[k]((a[i, k] + b[j, k])**2 * c[i, i] + d[i + k]**3))",
        {"a": (512, 64), "b": (512, 64), "c": (512, 512), "d": (575,)},
        paper,
        paper_gradients,
        paper_torch,
        0.05,
    ),
    Workload(
        "W2 kernel sum",
        "y[i] = sum[j](exp(-sum[k]((x[i, k] - z[j, k])**2)) * b[j])",
        {"x": (1024, 3), "z": (1024, 3), "b": (1024,)},
        kernel,
        kernel_gradients,
        kernel_torch,
    ),
    Workload(
        "W3 convolution",
        "y[n, o, t in range(512)] = sum[c, s](w[o, c, s] * x[n, c, 2*t + 3*s])",
        {"w": (32, 32, 5), "x": (8, 32, 1036)},
        convolution,
        convolution_gradients,
        convolution_torch,
    ),
    Workload(
        "W4 matrix product",
        "y[i, j] = sum[k](x[i, k] * w[k, j])",
        {"x": (512, 512), "w": (512, 512)},
        product,
        product_gradients,
        product_torch,
    ),
    Workload(
        "W5 stencil",
        "y[i in range(1022), j in range(1022)] = "
        "x[i, j+1] + x[i+2, j+1] + x[i+1, j] + x[i+1, j+2] - 4*x[i+1, j+1]",
        {"x": (1024, 1024)},
        stencil,
        stencil_gradients,
        stencil_torch,
    ),
    Workload(
        "W6 correlation",
        "y[i] = sum[k](d[i + k] * v[k])",
        {"d": (8191,), "v": (4096,)},
        correlation,
        correlation_gradients,
        correlation_torch,
    ),
    Workload(
        "W7 log-sum-exp",
        "y[i] = log(sum[j](exp(x[i, j])))",
        {"x": (1024, 1024)},
        log_sum_exp,
        log_sum_exp_gradients,
        log_sum_exp_torch,
    ),
    Workload(
        "W8 distances",
        "y[i, j] = sum[k](abs(x[i, k] - z[j, k]))",
        {"x": (512, 64), "z": (512, 64)},
        distances,
        distances_gradients,
        distances_torch,
    ),
]
