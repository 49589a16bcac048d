"""Arrays at the edge of memory that must not be touched."""

from __future__ import annotations

import ctypes
import mmap
import os
from collections.abc import Iterable

import numpy as np

import tadc

MARGIN = 64
PAGE = mmap.PAGESIZE
NAN_BYTE = 0xFF
"""Memory filled with this byte holds NaN in every precision."""


def between_nan(array: np.ndarray) -> np.ndarray:
    """A dense copy of an array, with NaN in front of it and behind it."""
    around = np.full(array.size + 2 * MARGIN, np.nan, array.dtype)
    inside = around[MARGIN : MARGIN + array.size].reshape(array.shape)
    inside[...] = array
    return inside


def before_a_locked_page(array: np.ndarray) -> np.ndarray:
    """A dense copy of an array, its last byte in front of a page that cannot be read."""
    inside = Guarded(array.shape, array.dtype, at_end=True).array
    inside[...] = array
    return inside


class Guarded:
    """An array of NaN between two locked pages, at the begin or `at_end` of the memory there.

    Its rows lie `gap` elements apart; the last one ends at the page behind, or the first one begins
    at the page in front.
    """

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype, at_end: bool, gap: int = 0):
        gap = gap if len(shape) > 1 else 0
        wide = (*shape[:-1], shape[-1] + gap) if shape else ()
        nbytes = int(np.prod(wide)) * dtype.itemsize
        used = whole_pages(max(nbytes, 1))
        memory = with_locked_pages(PAGE + used + PAGE, [0, PAGE + used])
        first = PAGE + (used - nbytes if at_end else 0)
        rows = memory[first : first + nbytes].view(dtype).reshape(wide)
        around = [memory[PAGE:first], memory[first + nbytes : PAGE + used]]
        self.array = rows
        if gap:
            begin = gap if at_end else 0
            self.array = rows[..., begin : begin + shape[-1]]
            around.append(rows[..., :gap] if at_end else rows[..., shape[-1] :])
        self._around = around

    @property
    def is_intact(self) -> bool:
        """True if nothing was written beside the array, in the pages that it shares."""
        return all(set(part.tobytes()) <= {NAN_BYTE} for part in self._around)


def assert_stays_inside(f: tadc.Function, shape: tuple[int, ...]) -> None:
    """Call a function of one array beside locked pages: who touches them ends the process."""
    for at_end in (False, True):
        x = Guarded(shape, np.dtype("f4"), at_end)
        x.array[...] = 0.5
        expected = f(x.array)
        y = Guarded(expected.shape, expected.dtype, at_end)
        assert np.array_equal(f(x.array, out=y.array), expected)
        assert x.is_intact and y.is_intact


def whole_pages(nbytes: int) -> int:
    """The bytes of the pages that hold so many."""
    return -(-nbytes // PAGE) * PAGE


def with_locked_pages(nbytes: int, locked: Iterable[int]) -> np.ndarray:
    """Pages of bytes `NAN_BYTE`; those at the offsets `locked` can be neither read nor written."""
    memory = mmap.mmap(-1, nbytes)
    memory.write(bytes([NAN_BYTE]) * nbytes)
    begin = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    libc = ctypes.CDLL(None, use_errno=True)
    for offset in locked:
        if libc.mprotect(ctypes.c_void_p(begin + offset), ctypes.c_size_t(PAGE), 0):
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return np.frombuffer(memory, np.uint8)
