"""A pool of memory that calls and results give back: what one has let go of serves the next one.

Memory that the system hands out anew is cleared page by page when it is first touched, which takes
longer than most steps take to fill it. So up to a limit, memory stays with the process.

A large result is leased: it is a NumPy array whose base is a `Lease`. Views, and whatever else
refers to the memory (tensors of other libraries, DLPack), hold the array or its base. So the lease
ends when the last of them is gone, and gives its block back.
"""

from __future__ import annotations

import os
from collections import deque
from math import prod
from threading import Lock
from typing import Any

import numpy as np
import numpy.typing as npt

ALIGNMENT = 64
"""Blocks begin at multiples of this many bytes: a line of the cache, and the longest vector."""

PAGE = 4096
"""Large blocks begin at multiples of this many bytes, as arrays of the system's memory do but for
the few bytes that the allocator keeps in front (16 of NumPy's, 64 of torch's).

A processor tells by the place in a page whether a load must wait for a store that is under way. A
loop that reads and writes side by side has loads of the lines behind those that it stores: where
the result lay a line behind the argument, each of them would wait (`y[i] = exp(x[i])` takes twice
as long then). From the beginning of a page, stores fall on lines that have been read.
"""

FEWEST_BYTES_KEPT = 1 << 10
"""The size of the smallest block that is kept: below, NumPy keeps memory itself."""

FEWEST_BYTES_LEASED = 1 << 18
"""The size of the smallest result that is leased: a lease costs some microseconds."""

SHARE_KEPT, MOST_BYTES_KEPT = 8, 1 << 29
"""At most this part of the memory of the machine is kept, and at most so many bytes."""

Memory = npt.NDArray[np.uint8]


class BufferPool:
    """Blocks of memory by size; safe to use from several threads and after a fork."""

    def __init__(self, limit: int | None = None):
        default = share_of_memory(SHARE_KEPT, MOST_BYTES_KEPT)
        self.limit = default if limit is None else limit
        self.forget()

    def forget(self) -> None:
        """Keep nothing; for a process that has no other thread."""
        self.kept = 0
        self._blocks: dict[int, list[Memory]] = {}
        self._given: deque[Memory] = deque()
        self._lock = Lock()

    def take(self, nbytes: int) -> Memory:
        """A block of this size, aligned, a large one at a page, with anything in it."""
        with self._lock:
            blocks = self._blocks.get(nbytes)
            if blocks:
                self.kept -= nbytes
                return blocks.pop()
        alignment = PAGE if nbytes >= FEWEST_BYTES_LEASED else ALIGNMENT
        raw = np.empty(nbytes + alignment, np.uint8)
        begin = -raw.__array_interface__["data"][0] % alignment
        return raw[begin : begin + nbytes]

    def give(self, block: Memory) -> None:
        """Keep a block that nobody uses any more, in place of older ones if there are too many.

        The collector may call this at any moment, even while this thread is in here: so it does
        not wait for the lock. Who holds the lock takes what has been given in the meantime.
        """
        if FEWEST_BYTES_KEPT <= block.nbytes <= self.limit:
            self._given.append(block)
            while self._given and self._lock.acquire(blocking=False):
                try:
                    self._keep(self._given.popleft())
                except IndexError:  # another thread was faster
                    pass
                finally:
                    self._lock.release()

    def _keep(self, block: Memory) -> None:
        nbytes = block.nbytes
        while self.kept + nbytes > self.limit:
            size, oldest = next(iter(self._blocks.items()))
            self.kept -= size * len(oldest)
            del self._blocks[size]
        blocks: Any = self._blocks.pop(nbytes, [])
        blocks.append(block)
        self._blocks[nbytes] = blocks  # sizes in the order of their last use
        self.kept += nbytes

    def empty(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> npt.NDArray[Any]:
        """An array with anything in it: large ones are leased, and not for `resize`."""
        nbytes = prod(shape) * dtype.itemsize
        if nbytes < FEWEST_BYTES_LEASED or nbytes > self.limit:
            return np.empty(shape, dtype)
        return np.asarray(Lease(self, self.take(nbytes), shape, dtype))


class Lease:
    """The owner of a block while anything refers to the array in it."""

    __slots__ = ("__array_interface__", "_block", "_pool")

    def __init__(
        self, pool: BufferPool, block: Memory, shape: tuple[int, ...], dtype: np.dtype[Any]
    ):
        self._pool, self._block = pool, block
        self.__array_interface__ = {
            "version": 3,
            "shape": shape,
            "typestr": dtype.str,
            "data": block.__array_interface__["data"],
        }

    def __del__(self) -> None:
        self._pool.give(self._block)


def share_of_memory(share: int, most: int) -> int:
    """Bytes: one part in `share` of the memory of the machine, and at most so many."""
    try:
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # not POSIX
        return most
    return min(most, memory // share)


pool = BufferPool()
"""The pool of the process."""

if hasattr(os, "register_at_fork"):  # another thread may hold the lock
    os.register_at_fork(after_in_child=pool.forget)
