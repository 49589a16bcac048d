"""Streams that run together: which do, that nothing else changes, and that they stay inside."""

from __future__ import annotations

import numpy as np
import pytest

import tadc
from tadc.passes.scheduling import fuse_streams
from tests.support.long_calls import count_all_calls_as_long
from tests.support.own_process import output_of

GATE = "y[i, j] = a[i, j] / (1 + exp(-b[i, j]))"
CASES = {
    "product": "y[i, j] = a[i, j] * b[i, j]**2",
    "gate": GATE,
    "one index": "y[i] = max(1 - a[i] * b[i], 0) * c[i]",
    "three indices": "y[n, i, j] = a[n, i, j] * exp(b[n, i, j]) * c[n, i, j]**2",
    "numbers of a row": "y[i, j] = a[i, j] * b[i, j] + exp(c[i, j] * a[i, 0])",
    "borders": "y[i in range(N), j in range(M)] = a[i, j] * b[i, j] + (a[i, j - 1]**2 * b[i, j]"
    " if j > 0 else 0)",
    "two results": "y[i, j] = a[i, j] * b[i, j]\nz[i, j] = a[i, j] + b[i, j]\nreturn y, z",
}
DECLARED = {"borders": "a: real[N, M]\nb: real[N, M]\n"}
SHAPES = {1: [(1,), (37,), (40003,)], 2: [(1, 1), (5, 33), (33, 300), (3, 16400)], 3: [(2, 3, 70)]}


@pytest.fixture(autouse=True)
def all_calls_are_long(monkeypatch: pytest.MonkeyPatch) -> None:
    count_all_calls_as_long(monkeypatch)


def plan_of_gradients(source: str) -> str:
    f = tadc.compile(source)
    return f.derivative().emit("plan")


@pytest.mark.parametrize("name", ["product", "gate", "one index", "three indices", "borders"])
def test_gradients_of_maps_run_together(name: str) -> None:
    plan = plan_of_gradients(DECLARED.get(name, "") + CASES[name])
    assert "  # with db" in plan
    assert "  # with da" in plan


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("y[i, j] = exp(a[i, j])\nz[i, j] = exp(b[i, j])\nreturn y, z", "nothing in common"),
        ("y[i, j] = a[i, 0] * b[i, j]\nz[i, j] = a[i, 0] + c[i, j]\nreturn y, z", "a number"),
        ("y[i, j] = exp(a[i, j])\nz[j, i] = a[i, j] * b[j, i]\nreturn y, z", "other rows"),
        ("y[i, j] = exp(a[i, j])\nz[i, j] = a[i, j] * y[i, j]\nreturn y, z", "the other one"),
    ],
)
def test_others_run_alone(source: str, why: str) -> None:
    assert "# with" not in tadc.compile(source).emit("plan"), why


def test_only_so_many_run_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fuse_streams, "MOST_STREAMS", 2)
    plan = plan_of_gradients(GATE.replace("b[i, j]))", "b[i, j])) * exp(c[i, j])"))
    assert plan.count("  # with") == 2


def test_a_plan_by_hand_goes_before() -> None:
    source = "y[i, j] = exp(a[i, j])\nz[i, j] = a[i, j] * b[i, j]\nreturn y, z"
    assert "# with" in tadc.compile(source).emit("plan")
    alone = tadc.compile(source, plan="y[ij]: plain\nz[ij]: plain").emit("plan")
    assert "# with" not in alone


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("name", CASES)
def test_bits_are_those_of_streams_alone(
    name: str, dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = DECLARED.get(name, "") + CASES[name]
    f = tadc.compile(source)
    for shape in SHAPES[len(f.args[0].shape)]:
        rng = np.random.default_rng(len(shape))
        arrays = [rng.uniform(-1, 1, shape).astype(dtype) for _ in f.args]
        found = value_and_gradients(f, arrays)
        with monkeypatch.context() as patch:
            patch.setattr(fuse_streams, "MOST_STREAMS", 1)
            # of another name: programs that are equal share code
            alone = tadc.compile(source.replace("y[", "u[").replace("return y", "return u"))
            expected = value_and_gradients(alone, arrays)
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_array_equal(a, b)


def value_and_gradients(f: tadc.Function, arrays: list[np.ndarray]) -> list[np.ndarray]:
    value, pullback = tadc.vjp(f, *arrays)
    values = [*value] if isinstance(value, tuple) else [value]
    adjoints = [np.cos(np.arange(v.size, dtype=v.dtype)).reshape(v.shape) for v in values]
    return [*values, *pullback(*adjoints)]


GUARDED = """
import numpy as np, pytest, tadc
from tests.passes.scheduling import test_fuse_streams as together
from tests.support.guarded_calls import check
with pytest.MonkeyPatch.context() as patch:
    together.count_all_calls_as_long(patch)
    for name, source in together.CASES.items():
        f = tadc.compile(together.DECLARED.get(name, "") + source)
        for g in (f, f.derivative()):
            for shape in together.SHAPES[len(f.args[0].shape)]:
                check(f"{name} {shape}", g.runner, [np.ones(shape, "f") for _ in g.args])
"""


def test_no_other_memory_is_touched() -> None:
    output = output_of("-c", GUARDED)
    assert all(name in output for name in CASES)
