"""A pool of buffers that calls reuse: memory that one call has let go of serves the next one.

Memory that the system hands out anew is cleared page by page when it is first touched, which takes
longer than most steps take to fill it. So up to `MOST_BYTES_KEPT` bytes stay with the process.
"""

from __future__ import annotations

import os
from threading import Lock
from typing import Any

import numpy as np
import numpy.typing as npt

MOST_BYTES_KEPT = 1 << 26
"""The most bytes that are kept for later."""

FEWEST_BYTES_KEPT = 1 << 10
"""The size of the smallest block that is kept: below, NumPy keeps memory itself."""

Memory = npt.NDArray[np.uint8]


class BufferPool:
    """Blocks of memory by size; safe to use from several threads and after a fork."""

    def __init__(self, limit: int = MOST_BYTES_KEPT):
        self.limit = limit
        self.forget()

    def forget(self) -> None:
        """Keep nothing; for a process that has no other thread."""
        self.kept = 0
        self._blocks: dict[int, list[Memory]] = {}
        self._lock = Lock()

    def take(self, nbytes: int) -> Memory:
        """A block of this size, with anything in it."""
        with self._lock:
            blocks = self._blocks.get(nbytes)
            if blocks:
                self.kept -= nbytes
                return blocks.pop()
        return np.empty(nbytes, np.uint8)

    def give(self, block: Memory) -> None:
        """Keep a block that nobody uses any more, in place of older ones if there are too many."""
        nbytes = block.nbytes
        if not FEWEST_BYTES_KEPT <= nbytes <= self.limit:
            return
        with self._lock:
            while self.kept + nbytes > self.limit:
                size, oldest = next(iter(self._blocks.items()))
                self.kept -= size * len(oldest)
                del self._blocks[size]
            blocks: Any = self._blocks.pop(nbytes, [])
            blocks.append(block)
            self._blocks[nbytes] = blocks  # sizes in the order of their last use
            self.kept += nbytes


pool = BufferPool()
"""The pool of the process."""

if hasattr(os, "register_at_fork"):  # another thread may hold the lock
    os.register_at_fork(after_in_child=pool.forget)
