"""The workspace of a call: one block of memory in which all tensors lie that are not results.

    buffers          lives from step   to step   bytes      offset
    u                0                 3         800        0
    v                1                 2         64         832
    w                4                 5         800        0

Buffers that live at the same time lie apart; others may share. Placing them best is NP-hard (it is
"dynamic storage allocation"), and placing the largest first, each at the lowest place that is free
while it lives, needs little more in practice: Pisarchyk and Lee, "Efficient Memory Management for
Deep Neural Net Inference", 2020, algorithm "greedy by size".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

ALIGNMENT = 64
"""Buffers begin at multiples of this many bytes: a line of the cache, and the longest vector."""


@dataclass(frozen=True)
class Lifetime:
    """A buffer of `nbytes` bytes that is used in the steps `first` to `last`."""

    nbytes: int
    first: int
    last: int

    def meets(self, other: Lifetime) -> bool:
        """True if both live in some step."""
        return self.first <= other.last and other.first <= self.last


def pack(buffers: Sequence[Lifetime]) -> tuple[list[int], int]:
    """The offset of each buffer, and the bytes of all together. Quadratic in their number."""
    offsets = [0] * len(buffers)
    placed: list[int] = []
    for n in sorted(range(len(buffers)), key=lambda n: -buffers[n].nbytes):
        neighbours = [m for m in placed if buffers[m].meets(buffers[n])]
        at = 0
        for m in sorted(neighbours, key=lambda m: offsets[m]):
            if at + buffers[n].nbytes <= offsets[m]:
                break
            at = max(at, _aligned(offsets[m] + buffers[m].nbytes))
        offsets[n] = at
        placed.append(n)
    ends = (o + b.nbytes for o, b in zip(offsets, buffers, strict=True))
    return offsets, _aligned(max(ends, default=0))


def _aligned(n: int) -> int:
    return -(-n // ALIGNMENT) * ALIGNMENT
