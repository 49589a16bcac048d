"""Random blocks: a convolution, and another layer of what it gives."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from tests.support.convolution_layers import convolve, random_axis, ranged, read
from tests.support.torch_layers import BATCHES, CHANNELS, Layer, torch

BEHIND: dict[str, tuple[str, Callable[..., Any]]] = {
    "pointwise": (
        "y[n, q, i, j] = sum[k](p[q, k] * h[n, k, i, j])",
        lambda h, p: torch.einsum("qk,nkij->nqij", p, h),
    ),
    "again": (
        "y[n, k, i in range({length}), j in range({length})]"
        " = sum[s, t](pad(h[n, k, i + s - 1, j + t - 1]) * p[k, s, t])",
        lambda h, p: torch.conv2d(h, p[:, None], padding=1, groups=len(p)),
    ),
    "pooled": ("y[n, k] = sum[i, j](h[n, k, i, j])", lambda h: h.sum((2, 3))),
    "halved": (
        "y[n, k, i in range({length} // 2), j in range({length} // 2)]"
        " = max[s in range(2), t in range(2)](h[n, k, 2*i + s, 2*j + t])",
        lambda h: torch.nn.functional.max_pool2d(h, 2),
    ),
    "swish": (
        "y[n, k, i, j] = h[n, k, i, j] * sigmoid(h[n, k, i, j])",
        torch.nn.functional.silu,
    ),
    "residual": (
        "y[n, k, i, j] = h[n, k, i, j] + tanh(0.5 * h[n, k, i, j])",
        lambda h: h + torch.tanh(0.5 * h),
    ),
    "batch norm": (
        "mean[k] = sum[n, i, j](h[n, k, i, j]) / {count}\n"
        "spread[k] = sum[n, i, j]((h[n, k, i, j] - mean[k])**2) / {count}\n"
        "y[n, k, i, j] = (h[n, k, i, j] - mean[k]) / sqrt(spread[k] + 1)",
        lambda h: torch.nn.functional.batch_norm(h, None, None, training=True, eps=1),
    ),
    "softmax": (
        "e[n, k, i, j] = exp(h[n, k, i, j] - max[K](h[n, K, i, j]))\n"
        "y[n, k, i, j] = e[n, k, i, j] / sum[K](e[n, K, i, j])",
        lambda h: torch.softmax(h, 1),
    ),
}
LINEAR = ("pointwise", "again", "pooled")


def random_block(rng: random.Random) -> tuple[Layer, int]:
    """A convolution with square windows, dense or of each channel, and what follows it."""
    axis = random_axis(rng, 60)
    axes = [axis, axis]
    batch, inner, depthwise = rng.choice(BATCHES), rng.choice(CHANNELS), rng.random() < 0.4
    channels = inner if depthwise else rng.choice(CHANNELS)
    taps, length = axis.taps, axis.length
    head = ", ".join(["n, k", *ranged(rng, axes)])
    if depthwise:
        total = f"sum[u, v]({read('n, k', axes)} * w[k, u, v])"
    else:
        total = f"sum[c, u, v]({read('n, c', axes)} * w[k, c, u, v])"
    scale = 2.0 ** -((taps * taps * (1 if depthwise else inner)).bit_length() // 2)
    kind = rng.choice([k for k in BEHIND if k != "halved" or length > 1])
    text, behind = BEHIND[kind]
    text = text.replace("{length} // 2", str(length // 2)).format(
        length=length, count=batch * length * length
    )
    weights = (channels, taps, taps) if depthwise else (channels, inner, taps, taps)
    shapes = {"x": (batch, inner, axis.size, axis.size), "w": weights}
    if kind in ("pointwise", "again"):
        q = rng.choice(CHANNELS)
        shapes["p"] = (q, channels) if kind == "pointwise" else (channels, 3, 3)

    def reference(x: Any, w: Any, *rest: Any) -> Any:
        groups = inner if depthwise else 1
        w = w[:, None] if depthwise else w
        return behind(scale * convolve(x, w, axes, groups), *rest)

    products = batch * channels * length**2 * (taps**2 * (1 if depthwise else inner) + 20)
    products += batch * length**2 * shapes["p"][0] * channels if kind == "pointwise" else 0
    source = f"h[{head}] = {scale} * {total}\n{text}"
    return Layer(source, shapes, reference, linear=kind in LINEAR), products
