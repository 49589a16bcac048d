"""Layers of networks as programs, beside functions of PyTorch that compute the same.

    layer = Layer("y[i] = sum[k](x[i + k] * w[k])", {"x": (60,), "w": (3,)}, convolve)
    arguments = layer.arguments(rng)
    compare(layer, arguments, adjoint, [y, dx, dw])

PyTorch computes value and gradients in float64, so that all differences are rounding errors of the
program. How large these may be is known exactly where a layer is linear in each argument: each
result is a sum of products, which is off by a few roundings of the sum of their absolute values,
and this sum is what the same layer makes of the absolute values of its arguments.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np
import pytest

torch: Any = pytest.importorskip("torch", reason="PyTorch is not installed")

Shape = tuple[int, ...]
Array = np.ndarray

ROUNDING = 2.0**-24
ROUNDINGS_OF_SUMS = 64
"""By the sum of absolute values: segments of 4096 terms are off by about the root of that."""
ROUNDINGS = 1000
"""By the largest element, of layers that are not linear."""

TIMES_AS_ROUGH = 20
"""By the largest error of PyTorch, which adds in another order."""

MOST_PRODUCTS = 30_000_000
MOST_ELEMENTS = 1_000_000

CHANNELS = (1, 1, 2, 3, 3, 4, 6, 8, 12, 16, 17, 24, 32, 33, 48, 64, 65, 96, 128, 130)
SIDES = (1, 2, 3, 5, 7, 7, 8, 9, 12, 14, 16, 19, 28, 31, 33, 47, 56, 60)
BATCHES = (1, 1, 2, 3, 4, 5, 8, 16)


@dataclass(frozen=True)
class Layer:
    """A program of the arguments of these `shapes`, with one result, and the same in PyTorch."""

    source: str
    shapes: Mapping[str, Shape]
    torch: Callable[..., Any]
    """Takes the arguments in the order of `shapes`."""
    linear: bool = True
    """In each argument alone."""
    cancels: bool = False
    """Large numbers may cancel each other: how much that leaves, PyTorch in float32 tells."""
    whole: bool = False
    """Arguments are small integers: sums of them are exact, and `relu` bends at the same places."""

    def declared(self, rng: random.Random) -> Layer:
        """With declarations of some arguments: of all their sizes, of some, or of none."""
        chance = rng.choice([0, 0, 0.3, 1])
        lines: list[str] = []
        for name, shape in self.shapes.items():
            if rng.random() < chance:
                names = [f"{name.upper()}{d}" for d in range(len(shape))]
                known = rng.choice([0.5, 1, 1])
                sizes = [
                    str(n) if rng.random() < known else s for n, s in zip(shape, names, strict=True)
                ]
                lines.append(f"{name}: f32[{', '.join(sizes)}]\n")
        return replace(self, source="".join(lines) + self.source)

    def arguments(self, rng: np.random.Generator) -> dict[str, Array]:
        """Without two equal elements in one of them, so that maxima are at one place alone."""
        return {name: self.numbers(shape, rng) for name, shape in self.shapes.items()}

    def numbers(self, shape: Shape, rng: np.random.Generator) -> Array:
        if self.whole:
            return rng.integers(-2, 3, shape).astype(np.float32)
        if self.cancels:  # those below do so exactly
            return rng.uniform(-1, 1, shape).astype(np.float32)
        count = prod(shape)
        places = (rng.permutation(count) + 0.5) * (2 / max(count, 1)) - 1
        return places.astype(np.float32).reshape(shape)

    def expected(
        self, arguments: Sequence[Array], adjoint: Array, dtype: type = np.float64
    ) -> list[Array]:
        """The value and all gradients, computed in a precision."""
        tensors = [torch.from_numpy(np.asarray(a, dtype)).requires_grad_() for a in arguments]
        value = self.torch(*tensors)
        weight = torch.from_numpy(np.asarray(adjoint, dtype))
        gradients = torch.autograd.grad(value, tensors, weight, materialize_grads=True)
        return [t.detach().numpy() for t in (value, *gradients)]

    def __str__(self) -> str:
        shapes = ", ".join(f"{name}: {shape}" for name, shape in self.shapes.items())
        return f"{self.source}\n# {shapes}"


def compare(
    layer: Layer, arguments: Mapping[str, Array], adjoint: Array, found: Sequence[Array]
) -> None:
    """Raises where a value or a gradient is not, up to rounding, what PyTorch finds."""
    arrays = list(arguments.values())
    expected = layer.expected(arrays, adjoint)
    if layer.linear:
        sums = layer.expected([np.abs(a) for a in arrays], np.abs(adjoint))
        limits = [ROUNDINGS_OF_SUMS * ROUNDING * s for s in sums]
    else:
        limits = [ROUNDINGS * ROUNDING * np.max(np.abs(e), initial=1e-3) for e in expected]
    if layer.cancels:
        rough = layer.expected(arrays, adjoint, np.float32)
        errors = (np.max(np.abs(r - e), initial=0) for r, e in zip(rough, expected, strict=True))
        limits = [
            limit + TIMES_AS_ROUGH * error for limit, error in zip(limits, errors, strict=True)
        ]
    names = ["the value", *(f"the gradient by {name}" for name in arguments)]
    for name, a, e, limit in zip(names, found, expected, limits, strict=True):
        assert a.dtype == np.float32, f"{name} is of {a.dtype}"
        assert a.shape == e.shape, f"{name} has the shape {a.shape}, not {e.shape}"
        wrong = ~(np.abs(a - e) <= limit)
        if wrong.any():
            place = tuple(map(int, np.argwhere(wrong)[0]))
            what = f"{a[place]}, not {e[place]}, and {wrong.sum()} of {wrong.size} are wrong"
            raise AssertionError(f"{name} at {place} is {what}\n{layer}")


def drawn(rng: random.Random, make: Callable[[random.Random], tuple[Layer, int]]) -> Layer:
    """The largest one of up to four layers of `make`, with few enough products and elements."""
    found: list[tuple[int, Layer]] = []
    draws = rng.choice([1, 2, 4])
    while len(found) < draws:
        layer, products = make(rng)
        elements = max(prod(shape) for shape in layer.shapes.values())
        if products <= MOST_PRODUCTS and elements <= MOST_ELEMENTS:
            found.append((products, layer))
    return max(found, key=lambda pair: pair[0])[1]


def joined(rng: random.Random, parts: Sequence[str], by: str) -> str:
    """The parts in any order."""
    return by.join(rng.sample(parts, len(parts)))
