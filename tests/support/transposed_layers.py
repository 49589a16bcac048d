"""Random transposed convolutions, written in three ways."""

from __future__ import annotations

import random
from collections.abc import Sequence
from math import prod
from typing import Any

from tests.support.convolution_layers import OUTER, TAPS
from tests.support.torch_layers import BATCHES, CHANNELS, SIDES, Layer, joined, torch

Term = tuple[str, str, list[str], str]
"""The element of `w` and that of `x`, the indices of the sum, and a condition."""


def by_places(at: Sequence[str], w: str, stride: int, taps: int) -> Term:
    """`y[p] = sum[i](x[i] * w[p - stride*i])`"""
    places = OUTER[: len(at)]
    under = [f"{p} - {stride}*{i}" for p, i in zip(at, places, strict=True)]
    return f"pad(w[{', '.join([w, *under])}])", f"x[{', '.join(['n, c', *places])}]", [*places], ""


def by_equations(at: Sequence[str], w: str, stride: int, taps: int) -> Term:
    """`y[p] = sum[i, u](x[i] * w[u] if p == stride*i + u else 0)`"""
    places, used = OUTER[: len(at)], TAPS[: len(at)]
    tests = [f"{p} == {stride}*{i} + {u}" for p, i, u in zip(at, places, used, strict=True)]
    x, condition = f"x[{', '.join(['n, c', *places])}]", f" if {' and '.join(tests)} else 0"
    return f"w[{', '.join([w, *used])}]", x, [*places, *used], condition


def by_residues(at: Sequence[str], w: str, stride: int, taps: int) -> Term:
    """`y[p] = sum[u](w[p % stride + stride*u] * x[p // stride - u])`"""
    used = TAPS[: len(at)]
    at = [f"({p})" if " " in p else p for p in at]
    rest = [f"{p} % {stride} + {stride}*{u}" for p, u in zip(at, used, strict=True)]
    quotient = [f"{p} // {stride} - {u}" for p, u in zip(at, used, strict=True)]
    weight = f"w[{', '.join([w, *rest])}]"
    weight = f"pad({weight})" if taps % stride else weight
    summed = [f"{u} in range({-(-taps // stride)})" for u in used]
    return weight, f"pad(x[{', '.join(['n, c', *quotient])}])", summed, ""


def random_transposed(rng: random.Random) -> tuple[Layer, int]:
    """Of all channels or of each one, cut at both ends or not."""
    dimensions, depthwise = rng.choice([1, 1, 2, 2, 3]), rng.random() < 0.25
    outer, inner, batch = rng.choice(CHANNELS), rng.choice(CHANNELS), rng.choice(BATCHES)
    stride, taps = rng.choice([1, 2, 2, 3, 4]), rng.choice([1, 2, 3, 4, 5])
    sides = [rng.choice([s for s in SIDES if s <= 31]) for _ in range(dimensions)]
    low = rng.choice([0, 0, 1, 2])
    lengths = [max(1, stride * (n - 1) + taps - low - rng.choice([0, low])) for n in sides]
    way = rng.choice([by_places, by_equations, by_residues])
    places = "pqr"[:dimensions]
    at = [f"{p} + {low}" if low else p for p in places]
    w, x, summed, condition = way(at, "c" if depthwise else "c, o", stride, taps)
    inside = f"c in range({inner})" if way is by_residues else "c"  # where all reads are in `pad`
    summed = joined(rng, summed if depthwise else [inside, *summed], ", ")
    ranges = [f"{p} in range({n})" for p, n in zip(places, lengths, strict=True)]
    head = ", ".join(["n", inside if depthwise else "o", *ranges])
    source = f"y[{head}] = sum[{summed}]({joined(rng, [w, x], ' * ')}{condition})"
    channels = (inner,) if depthwise else (inner, outer)
    shapes = {"x": (batch, inner, *sides), "w": (*channels, *[taps] * dimensions)}

    def reference(x: Any, w: Any) -> Any:
        function = getattr(torch.nn.functional, f"conv_transpose{dimensions}d")
        w, groups = (w[:, None], inner) if depthwise else (w, 1)
        full = function(x, w, stride=stride, groups=groups)
        full = torch.nn.functional.pad(full, [0, low + 1] * dimensions)
        for axis, length in enumerate(lengths, 2):
            full = full.narrow(axis, low, length)
        return full

    return Layer(source, shapes, reference), batch * prod(channels) * prod(sides) * taps**dimensions
