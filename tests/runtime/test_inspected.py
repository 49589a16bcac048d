"""Calls of programs with index tensors: nothing is taken over from a call that was another one."""

from __future__ import annotations

import numpy as np
import pytest

import tadc
from tadc.errors import ArgumentError

GATHER = "idx: range(V)[N]\nx: f64[V]\ny[i] = x[idx[i]]**2"
SEGMENTS = "dst: range(N)[E]\nx: f64[E]\ny[i in range(N)] = sum[e, dst[e] == i](x[e])"


def test_elements_are_checked_again_for_other_shapes() -> None:
    f, idx = tadc.compile(GATHER), np.array([0, 4])
    np.testing.assert_array_equal(f(idx, np.arange(5.0)), [0, 16])
    with pytest.raises(ArgumentError, match=r"idx\[1\] is 4"):
        f(idx, np.arange(3.0))


def test_an_array_that_is_changed_in_place_is_noticed() -> None:
    f, idx = tadc.compile(GATHER), np.array([0, 4])
    f(idx, np.arange(5.0))
    idx[1] = 2
    np.testing.assert_array_equal(f(idx, np.arange(5.0)), [0, 4])
    idx[1] = 5
    with pytest.raises(ArgumentError, match=r"idx\[1\] is 5"):
        f(idx, np.arange(5.0))


def test_long_arrays_without_views_are_checked_in_each_call() -> None:
    f, x = tadc.compile(GATHER), np.arange(7.0)
    idx = np.arange(100_000) % 7
    np.testing.assert_array_equal(f(idx, x), (idx * 1.0) ** 2)
    idx[99_999] = 7
    with pytest.raises(ArgumentError, match=r"idx\[99999\] is 7"):
        f(idx, x)


def test_sizes_of_callers_are_looked_at_in_each_call() -> None:
    f, dst, x = tadc.compile(SEGMENTS), np.array([0, 1, 1]), np.ones(3)
    np.testing.assert_array_equal(f(dst, x, N=2), [1, 2])
    np.testing.assert_array_equal(f(dst, x, N=3), [1, 2, 0])
    np.testing.assert_array_equal(f(dst, x, 2), [1, 2])
    with pytest.raises(ArgumentError, match="declared to be in range"):
        f(dst, x, N=1)


def test_types_of_index_arrays_may_change_from_call_to_call() -> None:
    f, x = tadc.compile(SEGMENTS), np.ones(4)
    for dtype in (np.int64, np.int32, np.uint8, np.int16, np.int64):
        dst = np.array([3, 0, 3, 1], dtype)
        np.testing.assert_array_equal(f(dst, x, N=4), [1, 1, 0, 2])
        np.testing.assert_array_equal(f(np.repeat(dst, 2)[::2], x, N=4), [1, 1, 0, 2])


def test_interpreted_calls_take_the_same_arguments() -> None:
    f = tadc.compile(SEGMENTS, target="interpret")
    np.testing.assert_array_equal(f(np.array([0, 1, 1]), np.ones(3), N=3), [1, 2, 0])
