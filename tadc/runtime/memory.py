"""The memory that calls take: the bytes of the tensors that they allocate, at the worst moment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tadc.runtime.arguments import Array
from tadc.runtime.buffer_assignment import Tensor
from tadc.runtime.runner import Runner
from tadc.runtime.value_and_gradients import ValueAndGradients


@dataclass(frozen=True)
class Memory:
    """Bytes that a call allocates, without its arguments."""

    peak: int
    """The bytes of all tensors at the worst moment, results among them."""
    buffers: int
    """The number of buffers in which they lie then."""
    arguments: int
    """The bytes of the arguments."""

    def __str__(self) -> str:
        return (
            f"peak memory: {in_buffers(self.peak, self.buffers)} "
            f"(arguments: {readable(self.arguments)})"
        )


@dataclass(frozen=True)
class PullbackMemory:
    """Bytes that a value allocates, that its pullback does, and that are kept between the two."""

    value: Memory
    """Of the value, with what it keeps for the pullback."""
    kept: int
    """The bytes of what is kept beside arguments."""
    buffers: int
    """The number of buffers in which that lies."""
    pullback: Memory
    """Of one call of the pullback, for which what is kept is among the arguments."""

    def __str__(self) -> str:
        kept = in_buffers(self.kept, self.buffers)
        return f"{self.value}\nkept for the pullback: {kept}\npullback: {self.pullback}"


def memory_of(runner: Runner, positional: Sequence[Any], named: Mapping[str, Any]) -> Memory:
    """The bytes that a call with these arguments allocates; it is not run."""
    plan, arrays = runner.prepare(positional, named)
    dtypes = plan.executable.argument_dtypes
    elements = zip((a.size for a in arrays), dtypes, strict=True)
    arguments = sum(size * dtype.itemsize for size, dtype in elements)
    return Memory(plan.peak, plan.assignment.count, arguments)


def pullback_memory_of(
    both: ValueAndGradients, positional: Sequence[Any], named: Mapping[str, Any]
) -> PullbackMemory:
    """The bytes that a value with these arguments and its pullback allocate; they are not run."""
    inputs = both.value.bind(positional, named)
    made = both.value.prepare(inputs, {}).plan.tensors
    saved = [made[label] for label in both.saved]
    results = [made[label] for label in both.result_labels]
    again = [*inputs, *map(_outline, saved), *map(_outline, results)]
    return PullbackMemory(
        memory_of(both.value, inputs, {}),
        sum(t.nbytes for t in saved),
        sum(1 for t in saved if t.nbytes),
        memory_of(both.gradients, again, {}),
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
