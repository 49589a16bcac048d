"""Arrays at the edge of memory that must not be touched."""

from __future__ import annotations

import ctypes
import mmap
import os

import numpy as np

MARGIN = 64


def between_nan(array: np.ndarray) -> np.ndarray:
    """The same array, dense, with NaN in front of it and behind it."""
    around = np.full(array.size + 2 * MARGIN, np.nan, array.dtype)
    inside = around[MARGIN : MARGIN + array.size].reshape(array.shape)
    inside[...] = array
    return inside


def before_a_locked_page(array: np.ndarray) -> np.ndarray:
    """The same array, dense, its last byte in front of a page that cannot be read."""
    page = mmap.PAGESIZE
    used = -(-max(array.nbytes, 1) // page) * page
    memory = mmap.mmap(-1, used + page)
    start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mprotect(ctypes.c_void_p(start + used), ctypes.c_size_t(page), 0):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    flat = np.frombuffer(memory, array.dtype, array.size, used - array.nbytes)
    inside = flat.reshape(array.shape)
    inside[...] = array
    return inside
