"""A function in the languages of all contenders, with inputs."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
Numba = tuple[Callable[..., None], Callable[..., None]]


@dataclass(frozen=True)
class Workload:
    """A function of arrays, whose arguments stand everywhere in the order of the text.

    `value(*arrays)` and `gradients(y, dy, *arrays)` are NumPy in any precision, gradients derived
    by hand: in f64 they are the reference for all. `torch(t, *tensors)` and `jax(j, *arrays)` are
    given the module. `numba(nb)` compiles `value(*arrays, y)` and
    `gradients(*arrays, y, dy, *gradients)`. `saved` has the shapes of what the C keeps. Where the
    text has names for sizes, `declarations` introduces them, and `sizes` says what they are.
    """

    name: str
    title: str
    source: str
    inputs: Callable[[np.random.Generator], dict[str, Array]]
    value: Callable[..., Array]
    gradients: Callable[..., tuple[Array, ...]]
    torch: Callable[..., Any]
    jax: Callable[..., Any]
    saved: tuple[tuple[int, ...], ...] = ()
    numba: Callable[[Any], Numba] | None = None
    declarations: str = ""
    sizes: Mapping[str, int] = field(default_factory=dict[str, int])

    def free(self) -> str:
        """The text for all sizes."""
        return self.declarations + self.source

    def declared(self, arrays: dict[str, Array]) -> str:
        """The text with all sizes as numbers."""
        lines = (f"{name}: f32[{', '.join(map(str, a.shape))}]" for name, a in arrays.items())
        source = re.sub(r"\w+", lambda word: str(self.sizes.get(word[0], word[0])), self.source)
        return "\n".join([*lines, source])


@dataclass(frozen=True)
class Contender:
    """Calls for the value, and for the value and the gradients of all arguments."""

    value: Callable[[], Any]
    both: Callable[[], tuple[Any, Sequence[Any]]]


def normal(rng: np.random.Generator, *shape: int, scale: float = 1.0) -> Array:
    return (scale * rng.standard_normal(shape)).astype(np.float32)


def aligned(array: Array) -> Array:
    """A copy that starts at a page, for stores of whole vectors past the caches.

    A page of zeros behind it may be read, for loads of whole vectors.
    """
    raw = np.zeros(array.nbytes + 2 * 4096, np.uint8)
    start = -raw.ctypes.data % 4096
    copy = raw[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy
