"""Kernels, distances and likelihoods."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from benchmarks.methods.method import Method, uniform
from benchmarks.workloads.workload import normal

SINKHORN = Method(
    "Sinkhorn half step, 2048 x 2048",
    "s[i, j] = (g[j] - c[i, j]) * 10\n"
    "m[i] = max[j](s[i, j])\n"
    "f[i] = a[i] - 0.1 * (m[i] + log(sum[j](exp(s[i, j] - m[i]))))\n"
    "return f",
    lambda rng: {
        "g": normal(rng, 2048),
        "c": uniform(rng, 0, 1, 2048, 2048),
        "a": normal(rng, 2048),
    },
    lambda g, c, a: a - 0.1 * torch.logsumexp((g - c) * 10, 1),
)

HERMITE = np.array(
    [
        *([1, 0, 0, 0, 0, 0], [0, 1, 0, 0, 0, 0], [-1, 0, 1, 0, 0, 0]),
        *([0, -3, 0, 1, 0, 0], [3, 0, -6, 0, 1, 0], [0, 15, 0, -10, 0, 1]),
    ],
    np.float32,
)


def _chaos(x: Any, e: Any, c: Any) -> Any:
    p = x[..., None] ** torch.arange(6)
    h = p @ e.T
    return ((h[:, 0] @ c) * h[:, 1]).sum(1)


CHAOS = Method(
    "polynomial chaos, Hermite, 262144 x 2, degree 5",
    "h[n, d, k] = sum[m](e[k, m] * x[n, d]**m)\n"
    "y[n] = sum[a, b](c[a, b] * h[n, 0, a] * h[n, 1, b])\n"
    "return y",
    lambda rng: {"x": uniform(rng, 0.1, 2, 262144, 2), "e": HERMITE, "c": normal(rng, 6, 6)},
    _chaos,
)


def _spectral(x: Any, z: Any, w: Any, v: Any, mu: Any) -> Any:
    t = (x[:, None] - z)[:, :, None]
    return (torch.exp(-(t**2) * v) * torch.cos(t * mu)).prod(-1) @ w


SPECTRAL = Method(
    "spectral mixture kernel, 768 x 768, Q 4, D 3",
    "k[i, j] = sum[q](w[q] * prod[d](exp(-(x[i, d] - z[j, d])**2 * v[q, d])"
    " * cos((x[i, d] - z[j, d]) * mu[q, d])))",
    lambda rng: {
        "x": uniform(rng, 0, 1, 768, 3),
        "z": uniform(rng, 0, 1, 768, 3),
        "w": normal(rng, 4),
        "v": uniform(rng, 0.5, 2, 4, 3),
        "mu": normal(rng, 4, 3),
    },
    _spectral,
)

WASSERSTEIN = Method(
    "Wasserstein-1 by cumulated differences, 512 x 4096",
    "c[b, i] = sum[k in range(i + 1)](p[b, k] - q[b, k])\ny[b] = sum[i](abs(c[b, i]))\nreturn y",
    lambda rng: {"p": uniform(rng, 0, 1, 512, 4096), "q": uniform(rng, 0, 1, 512, 4096)},
    lambda p, q: torch.cumsum(p - q, 1).abs().sum(1),
)

MINHASH = Method(
    "MinHash of weighted sets, 256 x 128 x 2048",
    "y[b, k] = min[i](h[k, i] / s[b, i])",
    lambda rng: {"h": uniform(rng, 0.1, 2, 128, 2048), "s": uniform(rng, 0.5, 1.5, 256, 2048)},
    lambda h, s: (h / s[:, None]).amin(-1),
)


def _hawkes(mu: Any, a: Any, b: Any, t: Any) -> Any:
    d = t[:, None] - t
    excited = torch.tril(torch.exp(-b * torch.tril(d, -1)), -1).sum(1)
    tail = (1 - torch.exp(-b * (t[-1] - t))).sum()
    return torch.log(mu + a * excited).sum() - mu * t[-1] - a / b * tail


HAWKES = Method(
    "log likelihood of a Hawkes process, 4096 events",
    "mu: real[]\na: real[]\nb: real[]\nt: real[N]\n"
    "r[i in range(N)] = sum[j in range(i)](exp(-b * (t[i] - t[j])))\n"
    "y = sum[i](log(mu + a * r[i])) - mu * t[N - 1]"
    " - a / b * sum[i](1 - exp(-b * (t[N - 1] - t[i])))",
    lambda rng: {
        "mu": uniform(rng, 0.5, 1),
        "a": uniform(rng, 0.5, 1),
        "b": uniform(rng, 1, 2),
        "t": np.sort(uniform(rng, 0, 100, 4096)),
    },
    _hawkes,
)

CHAMFER = Method(
    "Chamfer distance, 4 x 1024 x 1024 points",
    "d[b, i, j] = sum[k in range(3)]((x[b, i, k] - z[b, j, k])**2)\n"
    "y[b] = sum[i](min[j](d[b, i, j])) / 1024 + sum[j](min[i](d[b, i, j])) / 1024",
    lambda rng: {"x": normal(rng, 4, 1024, 3), "z": normal(rng, 4, 1024, 3)},
    lambda x, z: _nearest(((x[:, :, None] - z[:, None]) ** 2).sum(-1)),
)


def _nearest(d: Any) -> Any:
    return d.amin(2).mean(1) + d.amin(1).mean(1)


def _crps(x: Any, y: Any) -> Any:
    spread = (x[:, :, None] - x[:, None]).abs().mean((1, 2))
    return (x - y[:, None]).abs().mean(1) - 0.5 * spread


CRPS = Method(
    "continuous ranked probability score, 16384 x 32",
    "s[n] = sum[i](abs(x[n, i] - y[n])) / 32 - 0.5 * sum[i, j](abs(x[n, i] - x[n, j])) / 1024",
    lambda rng: {"x": normal(rng, 16384, 32), "y": normal(rng, 16384)},
    _crps,
)

STATISTICS = (SINKHORN, CHAOS, SPECTRAL, WASSERSTEIN, MINHASH, HAWKES, CHAMFER, CRPS)
