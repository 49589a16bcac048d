"""Rows go side by side where they are short, and loops along them take along what is ready."""

from __future__ import annotations

import numpy as np
import pytest

import tadc
from tadc.dialects import tix
from tadc.passes.analysis.equivalence import equivalent_definitions
from tadc.passes.lowering.set_precision import set_precision
from tadc.passes.rewriting.programs import definition_around
from tadc.passes.scheduling.blocking import blocking_chooser
from tadc.passes.scheduling.choose_nests import nests_of
from tadc.passes.scheduling.nest import Rows
from tests.support.long_calls import count_all_calls_as_long
from tests.support.row_programs import LAYER_NORM, SOFTMAX


def rows_of(source: str, **sizes: int) -> Rows:
    """The rows that all definitions share, for these sizes."""
    op = set_precision(tadc.compile(source).program.op, "f32")
    choose = blocking_chooser(True, [f"{name}={size}" for name, size in sizes.items()])
    (nest,) = nests_of(equivalent_definitions(op, set()), choose, set())
    assert isinstance(nest.loops, Rows)
    return nest.loops


def test_short_rows_go_side_by_side():
    assert rows_of(SOFTMAX, I=1000, J=100).height == 4
    assert rows_of(SOFTMAX, I=1000, J=5000).height == 1  # they leave the nearest cache
    assert rows_of(SOFTMAX, I=20, J=100).height == 1  # threads share them


def test_rows_of_different_lengths_go_one_by_one():
    text = "m[i] = max[j in range(i + 1)](x[i, j])\n"
    text += "y[i] = sum[j in range(i + 1)](exp(x[i, j] - m[i]))"
    assert rows_of(f"x: f32[J, J]\n{text}", J=1000).height == 1


@pytest.mark.parametrize("source", [SOFTMAX, LAYER_NORM], ids=["softmax", "layer norm"])
@pytest.mark.parametrize("columns", [40, 333, 2000])
def test_bits_of_a_row_do_not_depend_on_those_beside_it(
    source: str, columns: int, monkeypatch: pytest.MonkeyPatch
):
    """The rows that are left at the end go one by one, and add in the same order."""
    count_all_calls_as_long(monkeypatch)
    rng, f = np.random.default_rng(0), tadc.compile(source)
    row = rng.uniform(-1, 1, columns).astype(np.float32)
    values = {"x": np.tile(row, (131, 1)), "g": row[::-1].copy(), "b": row}
    found = f(*(values[t.name] for t in f.args))
    np.testing.assert_array_equal(found, np.tile(found[:1], (131, 1)))


def along(source: str, **sizes: int) -> list[list[str]]:
    """The definitions whose parts run in one loop of a row, where these are several."""
    found: list[list[str]] = []
    for first, parts in rows_of(source, **sizes).along.items():
        ops = [first if isinstance(first, tix.DefineOp) else definition_around(first)]
        ops += [part.op for part in parts]
        found.append([op.label.data for op in ops])
    return found


def test_a_loop_takes_along_what_is_ready():
    assert along(LAYER_NORM, I=1000, J=100) == []  # each needs the one before
    text = "a[i] = sum[j](x[i, j])\nb[i] = sum[j](x[i, j]**2) / (1 + a[i]**2)\n"
    assert along(f"{text}y[i, j] = x[i, j] * b[i]", I=1000, J=100) == [["a", "b"]]
    text = "a[i] = sum[j](x[i, j])\nr[i, j] = x[i, j] - a[i]\n"
    text += "b[i] = sum[j](r[i, j] * x[i, 1])\nc[i] = sum[j](x[i, j] * x[i, j])\n"
    assert along(f"{text}return b, c, r", I=1000, J=100) == [["a", "c"]]


def test_a_loop_takes_nothing_along_of_another_length_or_kind():
    text = "x: f32[I, J]\na[i] = sum[j](x[i, j])\nb[i] = sum[j in range(40)](x[i, j])\n"
    assert along(f"{text}y[i, j] = x[i, j] * a[i] * b[i]", I=1000, J=100) == []
    text = "a[i] = sum[j](x[i, j])\nb[i] = max[j](x[i, j])\n"
    assert along(f"{text}y[i, j] = x[i, j] * a[i] * b[i]", I=1000, J=100) == []
