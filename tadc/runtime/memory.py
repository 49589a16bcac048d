"""How much memory calls take: the bytes of the tensors that they allocate, at the worst moment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tadc.runtime.arguments import Array
from tadc.runtime.buffer_assignment import Tensor

if TYPE_CHECKING:
    from tadc.function import Function


@dataclass(frozen=True)
class Memory:
    """What a call allocates; its arguments are apart, and none of these bytes."""

    peak: int
    """The bytes of all tensors at the worst moment, results among them."""
    buffers: int
    """How many buffers they lie in then."""
    arguments: int
    """The bytes of the arguments."""

    def __str__(self) -> str:
        return (
            f"peak memory: {in_buffers(self.peak, self.buffers)} "
            f"(arguments: {readable(self.arguments)})"
        )


@dataclass(frozen=True)
class PullbackMemory:
    """What a value and its pullback allocate."""

    value: Memory
    """Of the value, with what it keeps for the pullback."""
    kept: int
    """The bytes of what is kept beside arguments."""
    buffers: int
    """In how many buffers that lies."""
    pullback: Memory
    """Of one call of the pullback, for which what is kept is among the arguments."""

    def __str__(self) -> str:
        kept = in_buffers(self.kept, self.buffers)
        return f"{self.value}\nkept for the pullback: {kept}\npullback: {self.pullback}"


def memory_of(f: Function, positional: Sequence[Any], named: Mapping[str, Any]) -> Memory:
    """What a call of `f` with these arguments allocates; it is not run."""
    executable, _, plan, arrays = f.prepare(positional, named)
    elements = zip((a.size for a in arrays), executable.argument_dtypes, strict=True)
    arguments = sum(size * dtype.itemsize for size, dtype in elements)
    return Memory(plan.assignment.peak, plan.assignment.count, arguments)


def pullback_memory_of(
    f: Function, positional: Sequence[Any], named: Mapping[str, Any], wrt: Sequence[str] = ()
) -> PullbackMemory:
    """What `vjp` of `f` with these arguments and its pullback allocate; they are not run."""
    value, gradients = f.with_pullback(*wrt)
    inputs = f.bound(positional, named)
    _, _, plan, _ = value.prepare(inputs, {})
    first, count = len(f.args), len(f.results)
    saved = [plan.tensors[t.name] for t in gradients.args[first : len(gradients.args) - count]]
    results = [plan.tensors[label] for label in value.labels[:count]]
    again = [*inputs, *map(_outline, saved), *map(_outline, results)]
    return PullbackMemory(
        memory_of(value, inputs, {}),
        sum(t.nbytes for t in saved),
        sum(1 for t in saved if t.nbytes),
        memory_of(gradients, again, {}),
    )


def _outline(tensor: Tensor) -> Array:
    """An array of that shape and type, which takes no memory."""
    return np.broadcast_to(np.zeros((), tensor.dtype), tensor.shape)


def in_buffers(size: int, buffers: int) -> str:
    """`24.0 kB in 3 buffers`."""
    return f"{readable(size)} in {buffers} buffer{'' if buffers == 1 else 's'}"


def readable(size: int) -> str:
    """A number of bytes: `800 B`, `24.0 kB`, `1.5 MB`."""
    if size < 1000:
        return f"{size} B"
    scaled, units = float(size), iter(("kB", "MB", "GB", "TB", "PB"))
    unit = ""
    while scaled >= 999.95 and (further := next(units, None)):
        scaled, unit = scaled / 1000, further
    return f"{scaled:.1f} {unit}"
