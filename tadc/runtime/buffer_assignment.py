"""Buffers of the tensors of a program: one whose value is dead serves a later tensor.

    x_1[i] = x[i] + y[i]        x_1 in buffer 0
    x_2[i] = x_1[i] * y[i]      x_2 in buffer 1; nobody reads x_1 any more
    x_3[i] = x_2[i] + 1         x_3 in buffer 0

A tensor takes the dead buffer of its size that was used last. Where there is none, all dead buffers
are let go before a new one is made: so whenever memory grows, it holds values that are still to be
read and nothing else, and no order of allocations for these steps needs less.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True)
class Tensor:
    """The shape and type of elements of a tensor in memory."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    @property
    def nbytes(self) -> int:
        """The bytes of its elements."""
        return prod(self.shape) * self.dtype.itemsize


@dataclass(frozen=True)
class Change:
    """Changes of memory before a step runs: it lets go of buffers, and then makes new ones."""

    released: tuple[int, ...] = ()
    created: tuple[int, ...] = ()


@dataclass(frozen=True)
class BufferAssignment:
    """The buffers of a program for given sizes."""

    buffers: Sequence[Tensor]
    """The tensor in each buffer at the end: a result, or any tensor of its size."""
    buffer_of: Mapping[str, int]
    """The number of the buffer of each tensor that has elements."""
    changes: Sequence[Change]
    """The change before each step."""
    peak: int
    """The bytes of all buffers at the worst moment."""
    count: int
    """The number of buffers at that moment."""


Steps: TypeAlias = Sequence[tuple[Sequence[str], Sequence[str]]]
"""For each step the tensors that it writes, and those that it reads."""


def assign_buffers(
    steps: Steps,
    tensors: Mapping[str, Tensor],
    results: Sequence[str],
    reuse: bool = True,
) -> BufferAssignment:
    """The assignment for the steps of a program.

    Arguments are not among `tensors`. Results stay, and without `reuse` everything does.
    """
    work = _Work(tensors)
    ends = _ends(steps, results) if reuse else [()] * len(steps)
    for (written, _), dead in zip(steps, ends, strict=True):
        work.write(written)
        for name in dead:
            work.let_die(name)
    return BufferAssignment(
        [tensors[name] for name in work.tenants],
        work.buffer_of,
        work.changes,
        work.peak,
        work.count,
    )


def _ends(steps: Steps, results: Sequence[str]) -> Sequence[Sequence[str]]:
    """The tensors whose last use is in each step; what is never read dies where it is written."""
    last = {name: n for n, step in enumerate(steps) for names in step for name in names}
    for name in results:
        last.pop(name, None)
    ends: list[list[str]] = [[] for _ in steps]
    for name, n in last.items():
        ends[n].append(name)
    return ends


class _Work:
    """The buffers after some steps."""

    def __init__(self, tensors: Mapping[str, Tensor]):
        self.tensors = tensors
        self.tenants: list[str] = []
        self.buffer_of: dict[str, int] = {}
        self.changes: list[Change] = []
        self.peak = self.count = 0
        self._bytes = self._alive = 0
        self._dead: dict[int, list[int]] = {}

    def write(self, names: Sequence[str]) -> None:
        """Give the tensors of a step buffers, those of them that have elements."""
        made = [name for name in names if self.tensors[name].nbytes and not self._reuse(name)]
        released = [number for numbers in self._dead.values() for number in numbers] if made else []
        if made:
            self._bytes -= sum(size * len(numbers) for size, numbers in self._dead.items())
            self._alive -= len(released)
            self._dead.clear()
        created = tuple(map(self._create, made))
        self.changes.append(Change(tuple(released), created))
        if self._bytes > self.peak:
            self.peak, self.count = self._bytes, self._alive

    def _reuse(self, name: str) -> bool:
        """True if the tensor has taken a dead buffer of its size."""
        numbers = self._dead.get(self.tensors[name].nbytes)
        if not numbers:
            return False
        self.buffer_of[name] = number = numbers.pop()
        self.tenants[number] = name
        return True

    def _create(self, name: str) -> int:
        """A new buffer for the tensor."""
        self._bytes += self.tensors[name].nbytes
        self._alive += 1
        self.buffer_of[name] = number = len(self.tenants)
        self.tenants.append(name)
        return number

    def let_die(self, name: str) -> None:
        """Nobody reads it any more; arguments stay."""
        if name in self.buffer_of:
            self._dead.setdefault(self.tensors[name].nbytes, []).append(self.buffer_of[name])
