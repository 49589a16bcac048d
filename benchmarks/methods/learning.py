"""Layers and losses of networks."""

from __future__ import annotations

from typing import Any

import torch
from torch.nn import functional

from benchmarks.methods.method import Method, uniform
from benchmarks.workloads.workload import normal


def _involution(k: Any, x: Any) -> Any:
    n, c, h, w = x.shape
    seen = functional.unfold(x, 7, padding=3).view(n, 4, c // 4, 7, 7, h, w)
    return (k[:, :, None] * seen).sum((3, 4)).view(n, c, h, w)


INVOLUTION = Method(
    "involution 7 x 7, 4 x 64 x 56 x 56",
    "k: real[N, 4, 7, 7, H, W]\nx: real[N, 64, H, W]\n"
    "y[n, c in range(64), i, j] = "
    "sum[u, v](k[n, c // 16, u, v, i, j] * pad(x[n, c, i + u - 3, j + v - 3]))",
    lambda rng: {"k": normal(rng, 4, 4, 7, 7, 56, 56), "x": normal(rng, 4, 64, 56, 56)},
    _involution,
)


def _neighbours(q: Any, k: Any, v: Any) -> Any:
    k, v = (functional.pad(a, (0, 0, 7, 7)).unfold(1, 15, 1) for a in (k, v))
    scores = torch.einsum("hid,hidu->hiu", q, k) * 0.125
    place = torch.arange(q.shape[1])[:, None] + torch.arange(15) - 7
    scores = scores.masked_fill((place < 0) | (place >= q.shape[1]), -torch.inf)
    return torch.einsum("hiu,hidu->hid", torch.softmax(scores, -1), v)


NEIGHBOURS = Method(
    "neighbourhood attention in 1-D, 8 x 1024 x 64, of 15",
    "q: real[B, N, D]\nk: real[B, N, D]\nv: real[B, N, D]\n"
    "s[h, i, u in range(15)] = "
    "sum[d](q[h, i, d] * k[h, i + u - 7, d]) * 0.125 if 0 <= i + u - 7 < N else -1e30\n"
    "m[h, i] = max[u](s[h, i, u])\n"
    "e[h, i, u] = exp(s[h, i, u] - m[h, i])\n"
    "y[h, i, d] = sum[u](e[h, i, u] * pad(v[h, i + u - 7, d])) / sum[u](e[h, i, u])",
    lambda rng: {name: normal(rng, 8, 1024, 64) for name in "qkv"},
    _neighbours,
)


def _ordered(x: Any, w: Any) -> Any:
    windows = x.unfold(2, 2, 2).unfold(3, 2, 2).flatten(4)
    return torch.sort(windows, -1, descending=True).values @ w


ORDERED = Method(
    "ordered weighted averages of 2 x 2, 8 x 32 x 128 x 128",
    "x: real[N, C, 2*H, 2*W]\nw: real[4]\n"
    "r[n, c, i in range(H), j in range(W), p in range(4)] = sum[q in range(4)]("
    "1 if x[n, c, 2*i + q // 2, 2*j + q % 2] > x[n, c, 2*i + p // 2, 2*j + p % 2]"
    " or (q < p and x[n, c, 2*i + q // 2, 2*j + q % 2] == x[n, c, 2*i + p // 2, 2*j + p % 2])"
    " else 0)\n"
    "y[n, c, i, j] = sum[p, k]("
    "w[k] * x[n, c, 2*i + p // 2, 2*j + p % 2] if r[n, c, i, j, p] == k else 0)",
    lambda rng: {"x": normal(rng, 8, 32, 128, 128), "w": normal(rng, 4)},
    _ordered,
)

GROUPS = Method(
    "group norm, 16 x 64 x 56 x 56",
    "x: real[N, 8, C, H, W]\na: real[8, C]\nb: real[8, C]\n"
    "m[n, g] = sum[c, i, j](x[n, g, c, i, j]) / (C * H * W)\n"
    "v[n, g] = sum[c, i, j]((x[n, g, c, i, j] - m[n, g])**2) / (C * H * W)\n"
    "y[n, g, c, i, j] = "
    "(x[n, g, c, i, j] - m[n, g]) / sqrt(v[n, g] + 1e-5) * a[g, c] + b[g, c]\n"
    "return y",
    lambda rng: {
        "x": normal(rng, 16, 8, 8, 56, 56),
        "a": normal(rng, 8, 8),
        "b": normal(rng, 8, 8),
    },
    lambda x, a, b: functional.group_norm(x.view(16, 64, 56, 56), 8, a.view(-1), b.view(-1)).view(
        x.shape
    ),
)


def _focal(x: Any, t: Any) -> Any:
    p = torch.sigmoid(x)
    loss = functional.binary_cross_entropy_with_logits(x, t, reduction="none")
    return ((p + t - 2 * p * t) ** 2 * loss).mean()


FOCAL = Method(
    "focal loss, 2048 x 1024",
    "p[n, c] = sigmoid(x[n, c])\n"
    "l[n, c] = relu(x[n, c]) - x[n, c] * t[n, c] + log1p(exp(-abs(x[n, c])))\n"
    "y = sum[n, c]((p[n, c] + t[n, c] - 2 * p[n, c] * t[n, c])**2 * l[n, c]) / (2048 * 1024)",
    lambda rng: {"x": normal(rng, 2048, 1024), "t": uniform(rng, 0, 1, 2048, 1024)},
    _focal,
)


def _rotated(x: Any, c: Any, s: Any) -> Any:
    first, second = x[..., :32], x[..., 32:]
    return torch.cat([first * c - second * s, second * c + first * s], -1)


def _rotary(q: Any, k: Any, v: Any) -> Any:
    angle = torch.arange(q.shape[1])[:, None] * 10000 ** (-torch.arange(32) / 32)
    c, s = torch.cos(angle), torch.sin(angle)
    return functional.scaled_dot_product_attention(
        _rotated(q, c, s), _rotated(k, c, s), v, is_causal=True
    )


def _rotation(x: str) -> str:
    return (
        f"{x}r[h, i, d in range(64)] = {x}[h, i, d] * c[i, d] - {x}[h, i, d + 32] * s[i, d]"
        f" if d < 32 else {x}[h, i, d] * c[i, d - 32] + {x}[h, i, d - 32] * s[i, d - 32]\n"
    )


ROTARY = Method(
    "causal attention with rotary embedding, 8 x 512 x 64",
    "q: real[B, N, 64]\nk: real[B, N, 64]\nv: real[B, N, 64]\n"
    "c: f32[N, 32]\ns: f32[N, 32]\n"
    "c[i in range(N), d in range(32)] = cos(i * 10000**(-d / 32))\n"
    "s[i in range(N), d in range(32)] = sin(i * 10000**(-d / 32))\n"
    + _rotation("q")
    + _rotation("k")
    + "a[h, i, j in range(N)] = sum[d](qr[h, i, d] * kr[h, j, d]) * 0.125 if j <= i else -1e30\n"
    "m[h, i] = max[j](a[h, i, j])\n"
    "e[h, i, j] = exp(a[h, i, j] - m[h, i]) if j <= i else 0\n"
    "y[h, i, d] = sum[j](e[h, i, j] * v[h, j, d]) / sum[j](e[h, i, j])",
    lambda rng: {name: normal(rng, 8, 512, 64) for name in "qkv"},
    _rotary,
)


def _state_space(a: Any, f: Any, c: Any, x: Any) -> Any:
    n = x.shape[1]
    place = torch.arange(n)
    kernel = (
        c[..., None] * torch.exp(-a[..., None] * place) * torch.cos(f[..., None] * place)
    ).sum(1)
    return torch.fft.irfft(torch.fft.rfft(kernel, 2 * n) * torch.fft.rfft(x, 2 * n), 2 * n)[:, :n]


STATE_SPACE = Method(
    "state space (S4D) and causal convolution, 64 x 2048",
    "a: real[C, 16]\nf: real[C, 16]\nc: real[C, 16]\nx: real[C, L]\n"
    "k[h, l in range(L)] = sum[n](c[h, n] * exp(-a[h, n] * l) * cos(f[h, n] * l))\n"
    "y[h, t in range(L)] = sum[l in range(t + 1)](k[h, l] * x[h, t - l])",
    lambda rng: {
        "a": uniform(rng, 0.001, 0.1, 64, 16),
        "f": uniform(rng, 0, 0.5, 64, 16),
        "c": normal(rng, 64, 16),
        "x": normal(rng, 64, 2048),
    },
    _state_space,
)


def _windows(q: Any, k: Any, v: Any, b: Any) -> Any:
    place = torch.arange(8)
    far = (place[:, None] - place + 7).repeat_interleave(8, 0).repeat_interleave(8, 1)
    near = (place[:, None] - place + 7).repeat(8, 8)
    return functional.scaled_dot_product_attention(q, k, v, attn_mask=b[:, far, near])


WINDOWS = Method(
    "attention in windows of 8 x 8 with a table (Swin), 64 x 4 x 64 x 32",
    "q: real[B, 4, 64, 32]\nk: real[B, 4, 64, 32]\nv: real[B, 4, 64, 32]\nb: real[4, 15, 15]\n"
    "s[w, h, i, j] = sum[d](q[w, h, i, d] * k[w, h, j, d]) * 0.17677669529663687"
    " + b[h, i // 8 - j // 8 + 7, i % 8 - j % 8 + 7]\n"
    "m[w, h, i] = max[j](s[w, h, i, j])\n"
    "e[w, h, i, j] = exp(s[w, h, i, j] - m[w, h, i])\n"
    "y[w, h, i, d] = sum[j](e[w, h, i, j] * v[w, h, j, d]) / sum[j](e[w, h, i, j])",
    lambda rng: {
        **{name: normal(rng, 64, 4, 64, 32) for name in "qkv"},
        "b": normal(rng, 4, 15, 15),
    },
    _windows,
)


def _contrast(x: Any, z: Any) -> Any:
    x, z = (a / torch.sqrt((a**2).sum(1, keepdim=True)) for a in (x, z))
    return functional.cross_entropy(x @ z.T * 10, torch.arange(len(x)))


CONTRAST = Method(
    "InfoNCE, 1024 x 128",
    "x: real[N, D]\nz: real[N, D]\n"
    "a[i, k] = x[i, k] / sqrt(sum[l](x[i, l]**2))\n"
    "b[i, k] = z[i, k] / sqrt(sum[l](z[i, l]**2))\n"
    "s[i, j] = sum[k](a[i, k] * b[j, k]) * 10\n"
    "m[i] = max[j](s[i, j])\n"
    "y = sum[i](m[i] + log(sum[j](exp(s[i, j] - m[i]))) - s[i, i]) / N",
    lambda rng: {"x": normal(rng, 1024, 128), "z": normal(rng, 1024, 128)},
    _contrast,
)

SHUFFLE = Method(
    "pixel shuffle by 2, 8 x 64 x 64 x 64",
    "x: real[N, C, 2, 2, H, W]\n"
    "y[n, c, i in range(2*H), j in range(2*W)] = x[n, c, i % 2, j % 2, i // 2, j // 2]",
    lambda rng: {"x": normal(rng, 8, 16, 2, 2, 64, 64)},
    lambda x: functional.pixel_shuffle(x.flatten(1, 3), 2),
)


def _volume(x: Any, z: Any) -> Any:
    h, w = x.shape[1:]
    z = functional.pad(z, (4, 4, 4, 4))
    parts = [(x * z[:, u : u + h, v : v + w]).sum(0) for u in range(9) for v in range(9)]
    return torch.stack(parts).view(9, 9, h, w) / 32


VOLUME = Method(
    "cost volume 9 x 9, 32 x 64 x 96",
    "x: real[C, H, W]\nz: real[C, H, W]\n"
    "y[u in range(9), v in range(9), i, j] = "
    "sum[c](x[c, i, j] * pad(z[c, i + u - 4, j + v - 4])) / 32",
    lambda rng: {"x": normal(rng, 32, 64, 96), "z": normal(rng, 32, 64, 96)},
    _volume,
)

LEARNING = (
    *(INVOLUTION, NEIGHBOURS, ORDERED, GROUPS, FOCAL, ROTARY),
    *(STATE_SPACE, WINDOWS, CONTRAST, SHUFFLE, VOLUME),
)
