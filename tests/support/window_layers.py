"""Random windows over images, and sums over the places before or around: one channel at a time."""

from __future__ import annotations

import random
from math import prod
from typing import Any

from tests.support.convolution_layers import (
    TAPS,
    Axis,
    convolve,
    random_axes,
    ranged,
    read,
)
from tests.support.torch_layers import BATCHES, CHANNELS, SIDES, Layer, joined, torch

OUTSIDE = -9
"""Less than all elements: what maxima are taken with around an image."""


def windows(x: Any, axes: list[Axis], outside: float = 0) -> Any:
    """The elements of each window, in one more axis at the end."""
    pads = [n for a in reversed(axes) for n in (a.low, a.high)]
    x = torch.nn.functional.pad(x, pads, value=outside)
    for axis, a in enumerate(axes, x.ndim - len(axes)):
        starts = torch.arange(a.length)[:, None] * a.stride
        places = starts + torch.arange(a.taps) * a.step
        taken = x.index_select(axis, places.flatten())
        x = taken.unflatten(axis, (a.length, a.taps)).movedim(axis + 1, -1)
    return x.flatten(x.ndim - len(axes))


def random_pooling(rng: random.Random) -> tuple[Layer, int]:
    """The sum, the mean or the largest element of each window."""
    axes, batch, channels = random_axes(rng), rng.choice(BATCHES), rng.choice(CHANNELS)
    kind = rng.choice(["sum", "mean", "max"])
    lead = rng.choice(["", "n", "n, c"])
    x = read(lead, axes)
    count = prod(a.taps for a in axes)
    if kind == "max":
        x = f"{x[:-1]}, {OUTSIDE})" if x.startswith("pad") else x
    word = "max" if kind == "max" else "sum"
    taps = [f"{u} in range({a.taps})" for u, a in zip(TAPS, axes, strict=False)]
    total = f"{word}[{joined(rng, taps, ', ')}]({x})"
    total += f" / {count}" if kind == "mean" else ""
    front = {"": (), "n": (batch,), "n, c": (batch, channels)}[lead]
    head = [*([lead] if lead else []), *ranged(rng, axes)]

    def reference(x: Any) -> Any:
        if kind == "max":
            return windows(x, axes, OUTSIDE).amax(-1)
        y = windows(x, axes).sum(-1)
        return y / count if kind == "mean" else y

    source = f"y[{', '.join(head)}] = {total}"
    shapes = {"x": (*front, *[a.size for a in axes])}
    products = 5 * prod(front) * count * prod(a.length for a in axes)
    return Layer(source, shapes, reference, linear=kind != "max"), products


def random_filter(rng: random.Random) -> tuple[Layer, int]:
    """Sums over windows by weights of each axis alone, of all planes or of each channel."""
    axes, batch, channels = random_axes(rng), rng.choice(BATCHES), rng.choice(CHANNELS)
    each = rng.random() < 0.3
    names = "abd"[: len(axes)]
    weights = [f"{a}[{'c, ' if each else ''}{u}]" for a, u in zip(names, TAPS, strict=False)]
    term = joined(rng, [*weights, read("n, c", axes)], " * ")
    total = f"sum[{joined(rng, TAPS[: len(axes)], ', ')}]({term})"
    source = f"y[{', '.join(['n', 'c', *ranged(rng, axes)])}] = {total}"
    shapes: dict[str, tuple[int, ...]] = {"x": (batch, channels, *[a.size for a in axes])}
    front = (channels,) if each else ()
    shapes |= {name: (*front, a.taps) for name, a in zip(names, axes, strict=True)}

    def reference(x: Any, *weights: Any) -> Any:
        weights = [w if each else w.expand(channels, -1) for w in weights]
        used = TAPS[: len(axes)]
        equation = f"{','.join(f'c{u}' for u in used)}->c{''.join(used)}"
        kernel = torch.einsum(equation, *weights)
        return convolve(x, kernel[:, None], axes, channels)

    products = batch * channels * prod(a.taps * a.length for a in axes)
    return Layer(source, shapes, reference), 2 * products


# --- places before and around ---------------------------------------------------------------------


BANDED = {
    "plain": ("x[n, s, k]", "is"),
    "matrix": ("w[i, s] * x[n, s, k]", "is"),
    "own matrix": ("w[n, i, s] * x[n, s, k]", "nis"),
    "differences": ("w[i - s + {last}, k] * x[n, s, k]", "isk"),
    "max": ("x[n, s, k]", ""),
}
"""A term, and the axes of its weights."""


def random_banded(rng: random.Random) -> tuple[Layer, int]:
    """Sums over the places before each one, or in a band around it, and maxima over these."""
    batch, d = rng.choice(BATCHES), rng.choice(CHANNELS)
    t = rng.choice([*SIDES, 65, 130, 200])
    below, above = rng.choice([0, 1, 2, 5, 16, 999]), rng.choice([0, 0, 1, 3, 16, 999])
    ends = [] if below > t else [f"max(0, i - {below})"]
    ends += [f"{t}" if above > t else f"min({t}, i + {above + 1})" if above else "i + 1"]
    order = joined(rng, "nik", "")
    head = ", ".join(order).replace("i", f"i in range({t})")
    kind = rng.choice(list(BANDED))
    term, axes = BANDED[kind]
    word = "max" if kind == "max" else "sum"
    source = f"y[{head}] = {word}[s in range({', '.join(ends)})]({term.format(last=t - 1)})"
    weights = {"matrix": (t, t), "own matrix": (batch, t, t), "differences": (2 * t - 1, d)}
    shapes = {"x": (batch, t, d)} | ({"w": weights[kind]} if kind in weights else {})
    inside = torch.ones(t, t, dtype=torch.float64).tril(above).triu(-below)
    places = torch.arange(t)[:, None] - torch.arange(t) + t - 1

    def reference(x: Any, w: Any = None) -> Any:
        mask = inside.to(x.dtype)
        if kind == "max":
            y = torch.where(mask[:, :, None] > 0, x[:, None], OUTSIDE).amax(2)
        else:
            w = w[places] if kind == "differences" else w
            mask = mask[:, :, None] if kind == "differences" else mask
            y = torch.einsum(f"{axes},nsk->nik", mask if w is None else mask * w, x)
        return y.permute(["nik".index(v) for v in order])

    products = (20 if kind == "max" else 1) * batch * t * t * d
    return Layer(source, shapes, reference, linear=kind != "max"), products
