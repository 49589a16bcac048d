"""Random moves of elements, by `//` and `%`, each element times a weight of its channel."""

from __future__ import annotations

import random
from collections.abc import Callable
from math import prod
from typing import Any

from tests.support.torch_layers import BATCHES, CHANNELS, SIDES, Layer, Shape, torch

KINDS: dict[str, tuple[str, Callable[[Any, int, int], Any]]] = {
    "up": (
        "y[n, c in range({c}), i in range({h}*{r}), j in range({w}*{r})]"
        " = v[c] * x[n, c*{rr} + i % {r} * {r} + j % {r}, i // {r}, j // {r}]",
        lambda x, c, r: torch.nn.functional.pixel_shuffle(x, r),
    ),
    "down": (
        "y[n, c in range({c}*{rr}), i in range({h}), j in range({w})]"
        " = v[c] * x[n, c // {rr}, {r}*i + c // {r} % {r}, {r}*j + c % {r}]",
        lambda x, c, r: torch.nn.functional.pixel_unshuffle(x, r),
    ),
    "channels": (
        "y[n, c in range({c}*{r}), i, j] = v[c] * x[n, c % {r} * {c} + c // {r}, i, j]",
        lambda x, c, r: x.unflatten(1, (r, c)).transpose(1, 2).flatten(1, 2),
    ),
    "nearest": (
        "y[n, c, i in range({h}*{r}), j in range({w}*{r})] = v[c] * x[n, c, i // {r}, j // {r}]",
        lambda x, c, r: torch.nn.functional.interpolate(x, scale_factor=r),
    ),
    "flip": (
        "y[n, c, i in range({h}), j in range({w})] = v[c] * x[n, c, {h} - 1 - i, j]",
        lambda x, c, r: x.flip(2),
    ),
    "patches": (
        "y[n, c, i in range({h}), j in range({w}), k in range({rr})]"
        " = v[c] * x[n, c, {r}*i + k // {r}, {r}*j + k % {r}]",
        lambda x, c, r: x.unflatten(3, (-1, r)).unflatten(2, (-1, r)).transpose(3, 4).flatten(4),
    ),
    "heads": (
        "y[n, i, c in range({c}*{r})] = v[c] * x[n, c // {r}, i, c % {r}]",
        lambda x, c, r: x.transpose(1, 2).flatten(2),
    ),
}


def random_shuffle(rng: random.Random) -> tuple[Layer, int]:
    """Of pixels into channels and back, of channels among groups, of heads side by side, ..."""
    batch, c, r = rng.choice(BATCHES), rng.choice(CHANNELS), rng.choice([2, 2, 3, 4])
    h, w = rng.choice(SIDES), rng.choice(SIDES)
    kind = rng.choice(list(KINDS))
    text, move = KINDS[kind]
    shapes: dict[str, Shape] = {
        "up": (batch, c * r * r, h, w),
        "down": (batch, c, h * r, w * r),
        "channels": (batch, c * r, h, w),
        "patches": (batch, c, h * r, w * r),
        "heads": (batch, c, h, r),
    }
    x_shape = shapes.get(kind, (batch, c, h, w))
    channels = c * {"down": r * r, "channels": r, "heads": r}.get(kind, 1)

    def reference(v: Any, x: Any) -> Any:
        y = move(x, c, r)
        return v * y if kind == "heads" else v.reshape(-1, *[1] * (y.ndim - 2)) * y

    source = text.format(c=c, r=r, rr=r * r, h=h, w=w)
    return Layer(source, {"v": (channels,), "x": x_shape}, reference), 20 * r * r * prod(x_shape)
