"""Filters, transforms and comparisons of images."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from torch.nn import functional

from benchmarks.methods.method import Method, uniform
from benchmarks.workloads.workload import Array, normal


def _variation(x: Any) -> Any:
    down, right = x[1:, :-1] - x[:-1, :-1], x[:-1, 1:] - x[:-1, :-1]
    return torch.sqrt(down**2 + right**2 + 1e-6).sum()


VARIATION = Method(
    "total variation, 2048 x 2048",
    "x: real[H, W]\n"
    "y = sum[i in range(H - 1), j in range(W - 1)]"
    "(sqrt((x[i + 1, j] - x[i, j])**2 + (x[i, j + 1] - x[i, j])**2 + 1e-6))",
    lambda rng: {"x": normal(rng, 2048, 2048)},
    _variation,
)


def _lifting(x: Any) -> Any:
    even, odd = x[:, ::2], x[:, 1::2]
    d = odd - 0.5 * (even + torch.cat([even[:, 1:], even[:, -1:]], 1))
    return even + 0.25 * (torch.cat([d[:, :1], d[:, :-1]], 1) + d), d


LIFTING = Method(
    "wavelet lifting 5/3, 1024 x 4096",
    "x: real[H, 2*N]\n"
    "d[i, j in range(N)] = x[i, 2*j + 1]"
    " - 0.5 * (x[i, 2*j] + (x[i, 2*j + 2] if j < N - 1 else x[i, 2*j]))\n"
    "s[i, j in range(N)] = x[i, 2*j] + 0.25 * ((d[i, j - 1] if j > 0 else d[i, j]) + d[i, j])\n"
    "return s, d",
    lambda rng: {"x": normal(rng, 1024, 4096)},
    _lifting,
)


def _window(length: int, width: float) -> Array:
    """A bell of a length, whose sum is 1."""
    bell = np.exp(-0.5 * ((np.arange(length) - length // 2) / width) ** 2)
    return (bell / bell.sum()).astype(np.float32)


def _similarity(w: Any, x: Any, y: Any) -> Any:
    kernel = (w[:, None] * w)[None, None]

    def mean(a: Any) -> Any:
        return functional.conv2d(a[:, None], kernel)[:, 0]

    mx, my = mean(x), mean(y)
    vx, vy, vxy = mean(x * x) - mx**2, mean(y * y) - my**2, mean(x * y) - mx * my
    ratio = (2 * mx * my + 1e-4) * (2 * vxy + 9e-4) / ((mx**2 + my**2 + 1e-4) * (vx + vy + 9e-4))
    return ratio.mean()


def _mean(name: str, read: str) -> str:
    return f"{name}[n, i, j] = sum[u, v](w[u] * w[v] * {read})\n"


_X, _Y = "x[n, i + u, j + v]", "y[n, i + u, j + v]"
SIMILARITY = Method(
    "structural similarity (SSIM) 11 x 11, 8 x 256 x 256",
    "w: real[K]\nx: real[B, H, W]\ny: real[B, H, W]\n"
    + _mean("mx", _X)
    + _mean("my", _Y)
    + _mean("xx", f"{_X}**2")
    + _mean("yy", f"{_Y}**2")
    + _mean("xy", f"{_X} * {_Y}")
    + "r[n, i, j] = (2 * mx[n, i, j] * my[n, i, j] + 1e-4)"
    " * (2 * (xy[n, i, j] - mx[n, i, j] * my[n, i, j]) + 9e-4)"
    " / ((mx[n, i, j]**2 + my[n, i, j]**2 + 1e-4)"
    " * (xx[n, i, j] - mx[n, i, j]**2 + yy[n, i, j] - my[n, i, j]**2 + 9e-4))\n"
    "s = sum[n, i, j](r[n, i, j]) / (8 * 246 * 246)",
    lambda rng: {
        "w": _window(11, 1.5),
        "x": uniform(rng, 0, 1, 8, 256, 256),
        "y": uniform(rng, 0, 1, 8, 256, 256),
    },
    _similarity,
)


def _hough(x: Any) -> Any:
    t = torch.arange(60.0) * (math.pi / 60)
    i, r = torch.arange(48.0), torch.arange(64.0)
    d = i[:, None, None] * torch.cos(t) + i[:, None] * torch.sin(t)
    far = d[..., None] - 1.5 * r + 20
    return torch.einsum("ij,ijtr->tr", x, torch.exp(-0.5 * far**2))


HOUGH = Method(
    "soft Hough transform, 48 x 48, 60 angles, 64 distances",
    "y[t in range(60), r in range(64)] = sum[i, j](x[i, j] * exp(-0.5 * "
    f"(i * cos(t * {math.pi / 60}) + j * sin(t * {math.pi / 60}) - 1.5 * r + 20)**2))",
    lambda rng: {"x": uniform(rng, 0, 1, 48, 48)},
    _hough,
)


def _structure(w: Any, x: Any) -> Any:
    gx = functional.pad(x[2:] - x[:-2], (0, 0, 1, 1))
    gy = functional.pad(x[:, 2:] - x[:, :-2], (1, 1))
    kernel = (w[:, None] * w)[None, None]
    xx, xy, yy = (
        functional.conv2d(a[None, None], kernel, padding=3)[0, 0]
        for a in (gx * gx, gx * gy, gy * gy)
    )
    return ((xx - yy) ** 2 + 4 * xy**2) / (xx + yy + 1e-3) ** 2


def _moment(name: str, product: str) -> str:
    return (
        f"{name}[i in range(H), j in range(W)] = sum[u, v](w[u] * w[v] * ({product}"
        " if 0 <= i + u - 3 < H and 0 <= j + v - 3 < W else 0))\n"
    )


_GX, _GY = "gx[i + u - 3, j + v - 3]", "gy[i + u - 3, j + v - 3]"
STRUCTURE = Method(
    "structure tensor 7 x 7, 1024 x 1024",
    "w: real[K]\nx: real[H, W]\n"
    "gx[i in range(H), j] = x[i + 1, j] - x[i - 1, j] if i >= 1 and i < H - 1 else 0\n"
    "gy[i, j in range(W)] = x[i, j + 1] - x[i, j - 1] if j >= 1 and j < W - 1 else 0\n"
    + _moment("xx", f"{_GX}**2")
    + _moment("xy", f"{_GX} * {_GY}")
    + _moment("yy", f"{_GY}**2")
    + "y[i, j] = ((xx[i, j] - yy[i, j])**2 + 4 * xy[i, j]**2) / (xx[i, j] + yy[i, j] + 1e-3)**2",
    lambda rng: {"w": _window(7, 2), "x": normal(rng, 1024, 1024)},
    _structure,
)


def _bilateral(x: Any, ss: Any, sr: Any) -> Any:
    around = torch.arange(-3, 4)
    near = torch.exp(-(around[:, None] ** 2 + around**2) / (2 * ss**2)).flatten()[:, None, None]
    inside = functional.pad(torch.ones_like(x), (3, 3, 3, 3)).unfold(0, 7, 1).unfold(1, 7, 1)
    seen = functional.pad(x, (3, 3, 3, 3)).unfold(0, 7, 1).unfold(1, 7, 1)
    seen, inside = (a.permute(2, 3, 0, 1).reshape(49, *x.shape) for a in (seen, inside))
    weight = near * torch.exp(-((seen - x) ** 2) / (2 * sr**2)) * inside
    return (weight * seen).sum(0) / weight.sum(0)


_INSIDE = "0 <= i + u < H and 0 <= j + v < W"
_WEIGHT = "exp(-(u*u + v*v) / (2*ss**2)) * exp(-(x[i + u, j + v] - x[i, j])**2 / (2*sr**2))"
_AROUND = "sum[u in range(-3, 4), v in range(-3, 4)]"
BILATERAL = Method(
    "bilateral filter 7 x 7, 512 x 512",
    "x: real[H, W]\nss: real[]\nsr: real[]\n"
    f"n[i, j] = {_AROUND}({_WEIGHT} * x[i + u, j + v] if {_INSIDE} else 0)\n"
    f"d[i, j] = {_AROUND}({_WEIGHT} if {_INSIDE} else 0)\n"
    "y[i, j] = n[i, j] / d[i, j]",
    lambda rng: {
        "x": uniform(rng, 0, 1, 512, 512),
        "ss": uniform(rng, 1.5, 2),
        "sr": uniform(rng, 0.2, 0.3),
    },
    _bilateral,
)

COSINES = Method(
    "discrete cosine transform (DCT-II) as a sum, 1024 x 512",
    f"x: real[B, N]\ny[b, k in range(N)] = sum[n](x[b, n] * cos({math.pi} / N * (n + 0.5) * k))",
    lambda rng: {"x": normal(rng, 1024, 512)},
    lambda x: (
        x
        @ torch.cos(
            (math.pi / x.shape[1])
            * (torch.arange(x.shape[1])[:, None] + 0.5)
            * torch.arange(x.shape[1])
        )
    ),
)


def _cubic() -> Any:
    t = (torch.arange(20) / 20)[:, None]
    parts = ((1 - t) ** 3, 3 * t**3 - 6 * t**2 + 4, -3 * t**3 + 3 * t**2 + 3 * t + 1, t**3)
    return torch.cat(parts, 1) / 6


def _deformation(b: Any, c: Any) -> Any:
    rows = torch.einsum("ru,iuj->irj", b, c.unfold(0, 4, 1).permute(0, 2, 1))
    both = torch.einsum("sv,irjv->irjs", b, rows.unfold(2, 4, 1))
    return both.reshape(both.shape[0] * 20, -1)


DEFORMATION = Method(
    "free deformation by cubic B-splines, 1000 x 1000",
    "b: real[20, 4]\nc: real[M, N]\n"
    "y[i in range(20*M - 60), j in range(20*N - 60)] = "
    "sum[u, v](b[i % 20, u] * b[j % 20, v] * c[i // 20 + u, j // 20 + v])",
    lambda rng: {"b": _cubic().numpy(), "c": normal(rng, 53, 53)},
    _deformation,
)

IMAGES = (
    *(VARIATION, LIFTING, SIMILARITY, HOUGH, STRUCTURE),
    *(BILATERAL, COSINES, DEFORMATION),
)
