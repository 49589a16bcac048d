"""Plans of programs with index tensors on addresses: those of views follow those of arguments."""

from __future__ import annotations

from typing import cast

import numpy as np
import pytest

import tadc
from tadc.errors import ArgumentError
from tadc.runtime.inspected import InspectedRunner
from tadc.runtime.inspectors import address_of
from tadc.runtime.runner import native_plan

TABLE = "idx: range(V)[B, S]\nw: f64[V, K]\ny[b, s, k] = w[idx[b, s], k]"


def gradient() -> InspectedRunner:
    """The gradient of `TABLE` by `w`: its arguments are `idx`, `w` and `dy`."""
    return cast(InspectedRunner, tadc.compile(TABLE).derivative("w").runner)


def expected(idx: np.ndarray, dy: np.ndarray) -> np.ndarray:
    dw = np.zeros((5, dy.shape[-1]))
    np.add.at(dw, idx, dy)
    return dw


@pytest.mark.parametrize("columns", [3, 100])
def test_views_are_further_addresses(columns: int) -> None:
    """Of tables, too, whose places are as many as rows times columns; and where rows lie apart."""
    rng = np.random.default_rng(0)
    idx = rng.integers(5, size=(40, 7))
    apart = rng.random((40, 7, 2 * columns))[..., :columns]
    w, dw = np.empty((5, columns)), np.empty((5, columns))
    runner = gradient()
    shapes = (idx.shape, w.shape, apart.shape)
    checked, views = runner.inspect({0: idx}, runner.ends_for(shapes))
    dense = np.ascontiguousarray(apart)
    for dy, strides in (dense, None), (apart, [(28, 4), w.strides, apart.strides]):
        plan = native_plan(runner, shapes, "f64", strides)
        plan.run(*map(address_of, (checked[0], w, dy, *views, dw)))
        np.testing.assert_allclose(dw, expected(idx, dense), rtol=1e-12)


def test_arrays_are_checked_before_they_run() -> None:
    runner, shapes = gradient(), ((2, 2), (5, 3), (2, 2, 3))
    with pytest.raises(ArgumentError, match=r"idx\[1, 0\] is 5"):
        runner.inspect({0: np.array([[0, 4], [5, 1]])}, runner.ends_for(shapes))


def test_what_is_not_read_may_be_left_out() -> None:
    f = tadc.compile(
        "idx: range(V)[N]\nx: f64[V]\nv: f64[N]\ny[i] = v[i] * idx[i]\nz = sum[p](x[p])"
    )
    runner = cast(InspectedRunner, f.derivative("x", of=["z"]).runner)
    assert runner.inspect({}, runner.ends_for(((3,), (5,), (3,), ()))) == ({}, [])
