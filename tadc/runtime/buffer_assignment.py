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
from typing import Any

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
    """Changes of memory before a step runs: it lets go of buffers, and then makes one or none."""

    released: tuple[int, ...] = ()
    created: int | None = None


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


def assign_buffers(
    steps: Sequence[Sequence[str]],
    tensors: Mapping[str, Tensor],
    results: Sequence[str],
    reuse: bool = True,
) -> BufferAssignment:
    """The assignment for steps that each write their first tensor and read the others.

    Arguments are not among `tensors`. Results stay, and without `reuse` everything does.
    """
    work = _Work(tensors)
    ends = _ends(steps, results) if reuse else [()] * len(steps)
    for step, dead in zip(steps, ends, strict=True):
        work.write(step[0])
        for name in dead:
            work.let_die(name)
    return BufferAssignment(
        [tensors[name] for name in work.tenants],
        work.buffer_of,
        work.changes,
        work.peak,
        work.count,
    )


def _ends(steps: Sequence[Sequence[str]], results: Sequence[str]) -> Sequence[Sequence[str]]:
    """The tensors whose last use is in each step; what is never read dies where it is written."""
    last = {name: n for n, step in enumerate(steps) for name in step}
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

    def write(self, name: str) -> None:
        """Give the tensor a buffer, if it has elements."""
        size = self.tensors[name].nbytes
        if not size:
            self.changes.append(Change())
        elif self._dead.get(size):
            self.buffer_of[name] = number = self._dead[size].pop()
            self.tenants[number] = name
            self.changes.append(Change())
        else:
            self._create(name, size)

    def _create(self, name: str, size: int) -> None:
        released = [number for numbers in self._dead.values() for number in numbers]
        self._bytes += size - sum(s * len(numbers) for s, numbers in self._dead.items())
        self._alive += 1 - len(released)
        self._dead.clear()
        self.buffer_of[name] = number = len(self.tenants)
        self.tenants.append(name)
        self.changes.append(Change(tuple(released), number))
        if self._bytes > self.peak:
            self.peak, self.count = self._bytes, self._alive

    def let_die(self, name: str) -> None:
        """Nobody reads it any more; arguments stay."""
        if name in self.buffer_of:
            self._dead.setdefault(self.tensors[name].nbytes, []).append(self.buffer_of[name])
