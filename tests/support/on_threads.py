"""Results on one thread, two and seven: the same bits, close to those of the interpreter."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np

import tadc


def listed(results: Any) -> list[Any]:
    """The results of a call, which are a tuple if there are several."""
    return [*cast("tuple[Any, ...]", results)] if isinstance(results, tuple) else [results]


def check_value_and_gradients(
    f: tadc.Function, values: Sequence[Any], dtype: str, close: float
) -> None:
    """Compare results and gradients, for arguments of a `dtype`, with those of the interpreter in
    f64, as `check_on_threads` does."""
    expected, slow = tadc.vjp(f.with_target("interpret"), *values)
    results = listed(expected)
    adjoints = [np.cos(np.arange(np.size(r), dtype=float)).reshape(np.shape(r)) for r in results]
    wanted = [*results, *results, *listed(slow(*adjoints))]

    def run() -> list[Any]:
        # twice: alone, and with what gradients need, where other stages may be stored
        own = [v.astype(dtype) for v in values]
        y, pullback = tadc.vjp(f, *own)
        gradients = pullback(*(d.astype(dtype) for d in adjoints))
        return [*listed(f(*own)), *listed(y), *listed(gradients)]

    check_on_threads(run, wanted, close)


def check_on_threads(run: Callable[[], Sequence[Any]], wanted: Sequence[Any], close: float) -> None:
    """Compare what a function returns on any number of threads; `close` is relative, and absolute
    as a multiple of the largest element. Raises `AssertionError` where it differs."""
    found: list[Sequence[Any]] = []
    before = tadc.get_num_threads()
    for threads in (1, 2, 7):
        tadc.set_num_threads(threads)
        try:
            found.append(run())
        finally:
            tadc.set_num_threads(before)
    for others in found[1:]:
        for a, b in zip(found[0], others, strict=True):
            np.testing.assert_array_equal(a, b)
    for a, b in zip(found[0], wanted, strict=True):
        atol = close * max(1.0, float(np.abs(b).max(initial=0)))
        np.testing.assert_allclose(a, b, rtol=close, atol=atol)
