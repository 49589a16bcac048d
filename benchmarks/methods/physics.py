"""Particles, fields and rigid bodies."""

from __future__ import annotations

from typing import Any

import torch
from torch.nn import functional

from benchmarks.methods.method import Method, uniform
from benchmarks.workloads.workload import normal


def _wendland(x: Any, z: Any, c: Any, h: Any) -> Any:
    r = torch.sqrt(((x[:, None] - z) ** 2).sum(-1) + 1e-8) / h
    return (functional.relu(1 - r) ** 4 * (4 * r + 1)) @ c


WENDLAND = Method(
    "Wendland C2 radial basis functions, 4096 x 2048",
    "h: real[]\n"
    "r[n, m] = sqrt(sum[d in range(3)]((x[n, d] - z[m, d])**2) + 1e-8) / h\n"
    "y[n] = sum[m](c[m] * relu(1 - r[n, m])**4 * (4 * r[n, m] + 1))\n"
    "return y",
    lambda rng: {
        "h": uniform(rng, 0.5, 0.6),
        "x": uniform(rng, 0, 1, 4096, 3),
        "z": uniform(rng, 0, 1, 2048, 3),
        "c": normal(rng, 2048),
    },
    lambda h, x, z, c: _wendland(x, z, c, h),
)

WEIGHTS = (4 / 9, 1 / 9, 1 / 36)
"""Of the velocities of lattice Boltzmann, by how many of their two parts are not 0."""


def _boltzmann(f: Any, w: Any) -> Any:
    """Collision and streaming, periodic in both directions; `f[a, b]` moves by (a - 1, b - 1)."""
    along = torch.arange(3) - 1
    rho = f.sum((0, 1))
    ux = (along[:, None, None, None] * f).sum((0, 1)) / rho
    uy = (along[:, None, None] * f).sum((0, 1)) / rho
    cu = along[:, None, None, None] * ux + along[:, None, None] * uy
    equal = 1 + 3 * cu + 4.5 * cu**2 - 1.5 * (ux**2 + uy**2)
    weights = torch.tensor(
        [[WEIGHTS[abs(a) + abs(b)] for b in (-1, 0, 1)] for a in (-1, 0, 1)], dtype=f.dtype
    )
    g = f - w * (f - rho * weights[:, :, None, None] * equal)
    rows = [torch.roll(g[a], a - 1, 1) for a in range(3)]
    return torch.stack([torch.stack([torch.roll(r[b], b - 1, 1) for b in range(3)]) for r in rows])


BOLTZMANN = Method(
    "lattice Boltzmann D2Q9, 512 x 512",
    "f: real[3, 3, H, W]\nw: real[]\n"
    "rho[i, j] = sum[a, b](f[a, b, i, j])\n"
    "ux[i, j] = sum[a, b]((a - 1) * f[a, b, i, j]) / rho[i, j]\n"
    "uy[i, j] = sum[a, b]((b - 1) * f[a, b, i, j]) / rho[i, j]\n"
    "cu[a in range(3), b in range(3), i, j] = (a - 1) * ux[i, j] + (b - 1) * uy[i, j]\n"
    "g[a, b, i, j] = f[a, b, i, j] - w * (f[a, b, i, j] - rho[i, j]"
    f" * ({WEIGHTS[0]} if a == 1 and b == 1"
    f" else {WEIGHTS[1]} if a == 1 or b == 1 else {WEIGHTS[2]})"
    " * (1 + 3 * cu[a, b, i, j] + 4.5 * cu[a, b, i, j]**2 - 1.5 * (ux[i, j]**2 + uy[i, j]**2)))\n"
    "gi[a, b, i in range(H), j] = g[a, b, i - a + 1 + H, j] if i - a + 1 < 0 else"
    " g[a, b, i - a + 1 - H, j] if i - a + 1 >= H else g[a, b, i - a + 1, j]\n"
    "h[a, b, i, j in range(W)] = gi[a, b, i, j - b + 1 + W] if j - b + 1 < 0 else"
    " gi[a, b, i, j - b + 1 - W] if j - b + 1 >= W else gi[a, b, i, j - b + 1]\n",
    lambda rng: {"f": uniform(rng, 0.5, 1.5, 3, 3, 512, 512), "w": uniform(rng, 0.9, 1.1)},
    _boltzmann,
)


def _kalman(a: Any, x: Any, p: Any, q: Any, h: Any, z: Any, r: Any) -> Any:
    predicted = torch.einsum("ij,nj->ni", a, x)
    covariance = torch.einsum("ij,njk,lk->nil", a, p, a) + q
    return z - predicted @ h.T, torch.einsum("ij,njk,lk->nil", h, covariance, h) + r


KALMAN = Method(
    "Kalman prediction and innovation, 16384 x 6",
    "xp[n, i] = sum[j](a[i, j] * x[n, j])\n"
    "pp[n, i, l] = sum[j, k](a[i, j] * p[n, j, k] * a[l, k]) + q[i, l]\n"
    "y[n, i] = z[n, i] - sum[j](h[i, j] * xp[n, j])\n"
    "s[n, i, l] = sum[j, k](h[i, j] * pp[n, j, k] * h[l, k]) + r[i, l]\n"
    "return y, s",
    lambda rng: {
        "a": normal(rng, 6, 6),
        "x": normal(rng, 16384, 6),
        "p": normal(rng, 16384, 6, 6),
        "q": normal(rng, 6, 6),
        "h": normal(rng, 3, 6),
        "z": normal(rng, 16384, 3),
        "r": normal(rng, 3, 3),
    },
    _kalman,
)


def _rotation(q: Any, p: Any) -> Any:
    unit = q / torch.sqrt((q**2).sum(-1, keepdim=True))
    s, r = unit[:, None, :1], unit[:, None, 1:].expand_as(p)
    t = 2 * torch.linalg.cross(r, p)
    return p + s * t + torch.linalg.cross(r, t)


ROTATION = Method(
    "rotations by quaternions, 256 x 4096 points",
    "m[b] = sqrt(sum[k](q[b, k]**2))\n"
    "s[b] = q[b, 0] / m[b]\n"
    "r[b, k in range(3)] = q[b, k + 1] / m[b]\n"
    "t[b, i, k in range(3)] = 2 * (r[b, (k + 1) % 3] * p[b, i, (k + 2) % 3]"
    " - r[b, (k + 2) % 3] * p[b, i, (k + 1) % 3])\n"
    "y[b, i, k in range(3)] = p[b, i, k] + s[b] * t[b, i, k]"
    " + r[b, (k + 1) % 3] * t[b, i, (k + 2) % 3] - r[b, (k + 2) % 3] * t[b, i, (k + 1) % 3]",
    lambda rng: {"q": normal(rng, 256, 4), "p": normal(rng, 256, 4096, 3)},
    _rotation,
)


def _lennard_jones(x: Any, box: Any) -> Any:
    d = x[:, None] - x
    d = d - box * torch.round(d / box)
    s = 1 / ((d**2).sum(-1) + torch.eye(len(x)) * 1e12)
    return 2 * (s**6 - s**3).sum()


LENNARD_JONES = Method(
    "Lennard-Jones energy, periodic, 1728 particles",
    "box: real[]\n"
    "d[i, j, k in range(3)] = x[i, k] - x[j, k] - box * round((x[i, k] - x[j, k]) / box)\n"
    "s[i, j] = 1 / sum[k](d[i, j, k]**2) if i != j else 0\n"
    "e = 2 * sum[i, j](s[i, j]**6 - s[i, j]**3)",
    lambda rng: {"box": uniform(rng, 12, 12.1), "x": _grid(rng)},
    lambda box, x: _lennard_jones(x, box),
)


def _grid(rng: Any) -> Any:
    """Particles near the points of a grid of 12 x 12 x 12."""
    points = torch.cartesian_prod(*[torch.arange(12.0)] * 3).numpy()
    return points + uniform(rng, -0.05, 0.05, *points.shape)


KURAMOTO = Method(
    "Kuramoto oscillators, 2048",
    "k: real[]\ny[i] = w[i] + k * sum[j](sin(p[j] - p[i]))",
    lambda rng: {
        "k": uniform(rng, 0, 0.01),
        "w": normal(rng, 2048),
        "p": uniform(rng, -3, 3, 2048),
    },
    lambda k, w, p: w + k * torch.sin(p - p[:, None]).sum(1),
)


def _around(x: Any) -> Any:
    return torch.roll(x, 1, 0) + torch.roll(x, -1, 0) + torch.roll(x, 1, 1) + torch.roll(x, -1, 1)


def _gray_scott(u: Any, v: Any) -> Any:
    change = u * v * v
    return (
        u + 0.16 * (_around(u) - 4 * u) - change + 0.035 * (1 - u),
        v + 0.08 * (_around(v) - 4 * v) + change - 0.1 * v,
    )


def _laplacian(x: str) -> str:
    at = [f"(i + {a}) % 1024, (j + {b}) % 1024" for a, b in ((1, 0), (1023, 0), (0, 1), (0, 1023))]
    return f"({' + '.join(f'{x}[{place}]' for place in at)} - 4 * {x}[i, j])"


GRAY_SCOTT = Method(
    "Gray-Scott step, periodic, 1024 x 1024",
    "u: real[1024, 1024]\nv: real[1024, 1024]\n"
    f"a[i, j] = u[i, j] + 0.16 * {_laplacian('u')} - u[i, j] * v[i, j]**2 + 0.035 * (1 - u[i, j])\n"
    f"b[i, j] = v[i, j] + 0.08 * {_laplacian('v')} + u[i, j] * v[i, j]**2 - 0.1 * v[i, j]",
    lambda rng: {"u": uniform(rng, 0, 1, 1024, 1024), "v": uniform(rng, 0, 1, 1024, 1024)},
    _gray_scott,
)


def _density(x: Any, m: Any) -> Any:
    r = torch.sqrt(((x[:, None] - x) ** 2).sum(-1) + 1e-8) * 8
    kernel = functional.relu(2 - r) ** 3 - 4 * functional.relu(1 - r) ** 3
    rho = kernel @ m
    return (m * rho**2).sum()


DENSITY = Method(
    "energy of densities (SPH), 2048 particles",
    "r[i, j] = sqrt(sum[k in range(2)]((x[i, k] - x[j, k])**2) + 1e-8) * 8\n"
    "rho[i] = sum[j](m[j] * (relu(2 - r[i, j])**3 - 4 * relu(1 - r[i, j])**3))\n"
    "e = sum[i](m[i] * rho[i]**2)",
    lambda rng: {"x": uniform(rng, 0, 1, 2048, 2), "m": uniform(rng, 0.5, 1, 2048)},
    _density,
)

RING = Method(
    "tensor ring, 96 x 96 x 96 of rank 8",
    "y[i, j, k] = sum[a, b, c](u[a, i, b] * v[b, j, c] * w[c, k, a])",
    lambda rng: {
        "u": normal(rng, 8, 96, 8),
        "v": normal(rng, 8, 96, 8),
        "w": normal(rng, 8, 96, 8),
    },
    lambda u, v, w: torch.einsum("ijac,cka->ijk", torch.einsum("aib,bjc->ijac", u, v), w),
)

PHYSICS = (
    *(WENDLAND, BOLTZMANN, KALMAN, ROTATION, LENNARD_JONES),
    *(KURAMOTO, GRAY_SCOTT, DENSITY, RING),
)
