"""Random convolutions of sequences, images and volumes: dense, in groups, of each channel."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from tests.support.torch_layers import BATCHES, CHANNELS, SIDES, Layer, Shape, joined, torch

OUTER, TAPS = ("i", "j", "l"), ("u", "v", "z")
ACTIVATIONS: dict[str, Callable[[Any], Any]] = {"tanh": torch.tanh, "relu": torch.relu}


# --- windows --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Axis:
    """One axis of a convolution: `x[stride*i + step*u - low]`, with `high` zeros behind."""

    size: int
    taps: int
    stride: int = 1
    step: int = 1
    low: int = 0
    high: int = 0

    @property
    def length(self) -> int:
        reach = self.step * (self.taps - 1) + 1
        return (self.size + self.low + self.high - reach) // self.stride + 1

    def read(self, outer: str, tap: str) -> str:
        i = outer if self.stride == 1 else f"{self.stride}*{outer}"
        u = tap if self.step == 1 else f"{self.step}*{tap}"
        return f"{i} + {u}" + (f" - {self.low}" if self.low else "")


def random_axis(rng: random.Random, most: int) -> Axis:
    while True:
        size, taps = rng.choice(SIDES), rng.choice([1, 2, 3, 3, 3, 4, 5, 7])
        stride, step = rng.choice([1, 1, 1, 2, 3]), rng.choice([1, 1, 1, 2, 3])
        low, high = rng.choice([(0, 0), (0, 0), (1, 1), (0, 1), (2, 1), (taps // 2, taps // 2)])
        axis = Axis(size, taps, stride, step, low, high)
        if size <= most and axis.length >= 1:
            return axis


def random_axes(rng: random.Random) -> list[Axis]:
    """Of images mostly: the same window along both axes, or another one along each."""
    dimensions = rng.choice([1, 1, 2, 2, 2, 3])
    first = random_axis(rng, 60 if dimensions < 3 else 19)
    alike = rng.random() < 0.5
    return [first if alike else random_axis(rng, 60) for _ in range(dimensions)]


def read(before: str, axes: Sequence[Axis], behind: str = "") -> str:
    """The element of `x` under a tap of a window, in `pad` where it may be outside."""
    forms = [a.read(i, u) for a, i, u in zip(axes, OUTER, TAPS, strict=False)]
    text = f"x[{', '.join(filter(None, [before, *forms, behind]))}]"
    return f"pad({text})" if any(a.low or a.high for a in axes) else text


def ranged(rng: random.Random, axes: Sequence[Axis]) -> list[str]:
    """The indices of the places of windows, with ranges where these are not inferred, or anyhow."""
    needed = any(a.low or a.high for a in axes) or rng.random() < 0.3
    with_range = lambda i, a: f"{i} in range({a.length})" if needed else i
    return [with_range(i, a) for i, a in zip(OUTER, axes, strict=False)]


def convolve(x: Any, w: Any, axes: Sequence[Axis], groups: int = 1) -> Any:
    """In PyTorch, of `x[n, c, ...]` and `w[o, c, ...]`."""
    pads = [n for a in reversed(axes) for n in (a.low, a.high)]
    strides, steps = [a.stride for a in axes], [a.step for a in axes]
    function = getattr(torch.nn.functional, f"conv{len(axes)}d")
    x = torch.nn.functional.pad(x, pads)
    return function(x, w, stride=strides, dilation=steps, groups=groups)


# --- channels -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Channels:
    """Indices of channels in `x`, in the weights and in the result, and their lengths."""

    x: str
    w: str
    y: str
    head: str
    """`y`, with a range where there is none to infer."""
    x_shape: Shape
    y_shape: Shape
    inner: Shape
    """The channels that an element is a sum over: of one axis, or none for each channel apart."""
    groups: int

    @property
    def w_shape(self) -> Shape:
        return (*self.y_shape, *self.inner)


def random_channels(rng: random.Random) -> Channels:
    """All channels for each, or groups of them: by `//`, by an index, with a channel in each."""
    kind = rng.choice(["dense", "dense", "divided", "own", "depthwise", "multiplied", "beside"])
    outer, inner = rng.choice(CHANNELS), rng.choice(CHANNELS)
    groups, few, some = rng.choice(CHANNELS), rng.choice([1, 2, 3, 4, 8]), rng.choice([1, 2, 3, 8])
    many = groups * few
    head = f"o in range({many})"
    if kind == "divided":
        read = f"o // {few}*{some} + c"
        return Channels(read, "o, c", "o", head, (groups * some,), (many,), (some,), groups)
    if kind == "multiplied":
        return Channels(f"o // {few}", "o", "o", head, (groups,), (many,), (), groups)
    if kind == "own":
        x_shape, y_shape = (groups, some), (groups, few)
        return Channels("g, c", "g, o, c", "g, o", "g, o", x_shape, y_shape, (some,), groups)
    if kind == "depthwise":
        return Channels("c", "c", "c", "c", (groups,), (groups,), (), groups)
    if kind == "beside":
        return Channels("c", "c, m", "c, m", "c, m", (groups,), (groups, few), (), groups)
    return Channels("c", "o, c", "o", "o", (inner,), (outer,), (inner,), 1)


# --- convolutions ---------------------------------------------------------------------------------


def random_convolution(rng: random.Random) -> tuple[Layer, int]:
    """In up to three dimensions, channels in front of them or behind, and perhaps an activation."""
    axes, channels, batch = random_axes(rng), random_channels(rng), rng.choice(BATCHES)
    last, outer = rng.random() < 0.25, ranged(rng, axes)
    taps, sides, lengths = zip(*((a.taps, a.size, a.length) for a in axes), strict=True)
    used = TAPS[: len(axes)]
    if last:
        x, head = read("n", axes, channels.x), ["n", *outer, channels.head]
        x_shape = (batch, *sides, *channels.x_shape)
    else:
        x, head = read(f"n, {channels.x}", axes), ["n", channels.head, *outer]
        x_shape = (batch, *channels.x_shape, *sides)
    summed = joined(rng, ["c", *used] if channels.inner else used, ", ")
    term = joined(rng, [x, f"w[{', '.join([channels.w, *used])}]"], " * ")
    shapes = {"x": x_shape, "w": (*channels.w_shape, *taps)}
    end = rng.choice(["", "", "", "bias", "tanh", "relu"])
    scale = 2.0 ** -(prod((*taps, *channels.inner)).bit_length() // 2)
    total = f"sum[{summed}]({term})"
    if end:
        shapes["b"] = channels.y_shape
        total += f" + b[{channels.y}]"
    if end in ACTIVATIONS:
        total = f"{end}({scale} * ({total}))"
    front, behind = tuple(range(1, 1 + len(axes))), tuple(range(-len(axes), 0))

    def reference(x: Any, w: Any, b: Any = None) -> Any:
        flat = (x.movedim(front, behind) if last else x).reshape(batch, -1, *sides)
        weights = w.reshape(prod(channels.y_shape), *(channels.inner or (1,)), *taps)
        z = convolve(flat, weights, axes, channels.groups)
        z = z if b is None else z + b.reshape(-1, *(1 for _ in axes))
        z = ACTIVATIONS[end](scale * z) if end in ACTIVATIONS else z
        z = z.reshape(batch, *channels.y_shape, *lengths)
        return z.movedim(behind, front) if last else z

    source = f"y[{', '.join(head)}] = {total}"
    products = batch * prod(channels.w_shape) * prod(taps) * prod(lengths)
    return Layer(source, shapes, reference, end not in ACTIVATIONS, whole=end == "relu"), products
