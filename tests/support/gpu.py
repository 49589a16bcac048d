"""Tests that run on a GPU, on machines that have one."""

from __future__ import annotations

import functools

import pytest

from tadc.runtime import cuda


@functools.cache
def has_gpu() -> bool:
    """True if kernels can run here."""
    try:
        return cuda.driver() is not None
    except cuda.CudaUnavailable:
        return False
    finally:
        cuda.driver.cache_clear()  # other tests put a driver of their own in its place


needs_gpu = pytest.mark.skipif(not has_gpu(), reason="there is no GPU, or no PyCUDA")
