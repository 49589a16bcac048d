"""Plans: calls on addresses, the arrays that a call takes as they are, and the same bits always."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import tadc
from tadc.errors import ArgumentError, SizeError, TargetError
from tadc.function import Function
from tadc.runtime import native_plan as native_plans
from tadc.runtime import plan_record, plan_runner
from tadc.runtime.plan_record import Step, Words
from tadc.runtime.runner import native_plan
from tadc.sizes import argument_shapes
from tests.support.campaign import seeds
from tests.support.derivations import random_case
from tests.support.random_programs import EVERYTHING

CONV = "y[i] = sum[k](w[k] * x[2*i + k])\nz = sum[i](y[i])\nreturn y, z"


def addresses(*arrays: np.ndarray) -> list[int]:
    return [a.ctypes.data for a in arrays]


# --- calls on addresses ---------------------------------------------------------------------------


@pytest.mark.parametrize("precision", ["f32", "f64"])
def test_a_plan_runs_on_addresses(precision: str) -> None:
    f = tadc.compile(CONV)
    shapes = {"w": (3,), "x": (9,)}
    plan = f.plan([shapes[t.name] for t in f.args], precision)
    dtype = {"f32": np.float32, "f64": np.float64}[precision]
    assert [(t.shape, t.dtype) for t in plan.results] == [((4,), dtype), ((), dtype)]
    rng = np.random.default_rng(0)
    arguments = [rng.standard_normal(t.shape).astype(dtype) for t in plan.arguments]
    results = [np.full(t.shape, np.nan, t.dtype) for t in plan.results]
    plan.run(*addresses(*arguments, *results))
    for found, expected in zip(results, f(*arguments), strict=True):
        np.testing.assert_array_equal(found, expected)


def test_a_plan_is_a_function_of_c() -> None:
    f = tadc.compile("u[i] = exp(x[i])\ny[i] = u[i] * u[0]")
    plan = f.plan([(5000,)])
    x, y = np.linspace(0, 1, 5000), np.empty(5000)
    table = (ctypes.c_void_p * 2)(*addresses(x, y))
    run = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(plan.function)
    run(plan.address, table)
    np.testing.assert_array_equal(y, f(x))


def test_a_plan_reads_rows_apart() -> None:
    f = tadc.compile("y[i, j] = 2 * x[i, j] + b[j]")
    x, b, y = np.arange(24.0).reshape(3, 8), np.ones(5), np.empty((3, 5))
    plan = native_plan(f.runner, [(3, 5), (5,)], "f64", [x.strides, b.strides])
    plan.run(*addresses(x, b, y))
    np.testing.assert_array_equal(y, 2 * x[:, :5] + b)


def test_addresses_are_integers() -> None:
    plan = tadc.compile("y[i] = 2 * x[i]").plan([(3,)])
    with pytest.raises(TypeError):
        plan.run("0", 0)  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("threads", [1, 2, 7])
def test_the_limit_of_threads_changes_no_bit(threads: int) -> None:
    f = tadc.compile("u[i] = sum[k](exp(x[i] * w[k]))\ny = sum[i](u[i])\nreturn u, y")
    x, w = np.linspace(0, 1, 20_000), np.linspace(-1, 1, 7)
    shapes = {"x": x, "w": w}
    inputs = [shapes[t.name] for t in f.args]
    plan = f.plan([a.shape for a in inputs])
    results = [np.full(t.shape, np.nan, t.dtype) for t in plan.results]
    plan.run(*addresses(*inputs, *results), threads=threads)
    for found, expected in zip(results, f(*inputs), strict=True):
        np.testing.assert_array_equal(found, expected)


def test_large_workspaces_are_the_plans_own() -> None:
    f = tadc.compile("u[i] = sum[j](x[j] * a[i])\ny[i] = u[i] * u[0] + u[999 - i]")
    shapes = {"x": (4,), "a": (1000,)}
    plan = f.plan([shapes[t.name] for t in f.args])
    assert plan.workspace >= 8000
    arguments = [np.random.default_rng(0).standard_normal(t.shape) for t in plan.arguments]
    y = np.empty(1000)
    plan.run(*addresses(*arguments, y))
    np.testing.assert_array_equal(y, f(*arguments))


def test_wrong_plans_are_refused() -> None:
    f = tadc.compile("x: f64[N]\nw: f64[N]\ny[i] = x[i] * w[i]")
    with pytest.raises(SizeError, match="dimension 0 of w is 4"):
        f.plan([(3,), (4,)])
    with pytest.raises(ArgumentError, match="1 shapes for 2 arguments"):
        f.plan([(3,)])
    with pytest.raises(ArgumentError, match="takes 3 addresses, here are 2"):
        f.plan([(3,), (3,)]).run(1, 2)
    with pytest.raises(TargetError, match="no native plan"):
        f.with_target("interpret").plan([(3,), (3,)])


def programs_of(f: tadc.Function) -> list[tadc.Function]:
    """A program with its derivatives, and its gradients given values that were kept."""
    pullback = Function(f.with_pullback().gradients.program, "cpu")
    return [f, f.derivative(), f.forward(), f.derivative(f.args[0].name), pullback]


@pytest.mark.parametrize("seed", seeds(5, of=100))
def test_what_is_not_read_may_lie_nowhere(seed: int) -> None:
    case = random_case(seed, **(EVERYTHING if seed % 2 else {}))
    rng = np.random.default_rng(seed)
    sizes = case.function.runner.sizes(case.values, {})
    for f in programs_of(case.function):
        shapes = argument_shapes(f.program.summary, sizes)
        plan = f.plan(list(shapes.values()))
        arguments = [rng.uniform(0.5, 1, t.shape).astype(t.dtype) for t in plan.arguments]
        expected, read = f.call(arguments, {}), f.program.summary.read
        places = [a.ctypes.data if n in read else 0 for n, a in zip(shapes, arguments, strict=True)]
        results = [np.full(t.shape, np.nan, t.dtype) for t in plan.results]
        plan.run(*places, *addresses(*results))
        for found, wanted in zip(results, expected, strict=True):
            np.testing.assert_array_equal(found, wanted)


# --- arrays of all kinds --------------------------------------------------------------------------


def kinds(x: np.ndarray) -> dict[str, Any]:
    """Arrays of equal numbers, some of which machine code can take as they are."""
    wide = np.empty((2 * x.shape[0], 3 * x.shape[1]), x.dtype)
    wide[::2, ::3] = x
    raw = np.empty(x.nbytes + 1, np.uint8)
    odd = raw[1:].view(x.dtype).reshape(x.shape)
    odd[...] = x
    frozen = x.copy()
    frozen.setflags(write=False)

    class Sub(np.ndarray):
        pass

    return {
        "dense": x,
        "transposed": np.asfortranarray(x),
        "strided": wide[::2, ::3],
        "reversed": x[::-1, ::-1][::-1, ::-1],
        "misaligned": odd,
        "read-only": frozen,
        "subclass": x.view(Sub),
        "pickled dtype": x.astype(np.dtype(x.dtype.str)),
    }


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_arrays_of_all_kinds_give_the_same(dtype: type) -> None:
    f = tadc.compile("y[i, j] = x[i, j] * 2 + x[j, i]")
    x = np.random.default_rng(0).standard_normal((5, 5)).astype(dtype)
    expected = 2 * x + x.T
    for _ in range(2):  # the second time, an array of the same shape has been seen
        for name, array in kinds(x).items():
            np.testing.assert_allclose(f(array), expected, rtol=1e-6, err_msg=name)
            np.testing.assert_allclose(f(x=array), expected, rtol=1e-6, err_msg=name)


def test_other_arguments_than_before_are_noticed() -> None:
    f = tadc.compile("x: f64[N]\ns: f64[]\ny[i] = x[i] * s")
    x = np.arange(4.0)
    np.testing.assert_array_equal(f(x, 2.0), 2 * x)
    np.testing.assert_array_equal(f(x, np.array(2.0)), 2 * x)
    for arguments, message in (
        ((x.astype(np.float32), np.array(2.0)), "has dtype float32"),
        ((x[None], np.array(2.0)), "has rank 2"),
        ((x,), "s is missing"),
        ((x, np.array(2.0), x), "3 arguments for 2"),
        ((None, np.array(2.0)), "NoneType"),
    ):
        with pytest.raises(tadc.TadcError, match=message):
            f(*arguments)
    np.testing.assert_array_equal(f(x[:2], np.array(2.0)), 2 * x[:2])


def test_without_readable_arrays_calls_go_by_address(monkeypatch: pytest.MonkeyPatch) -> None:
    """As where NumPy's arrays lie in memory in another way."""
    f = tadc.compile("y[i] = x[i] * 3")
    x = np.arange(5.0)
    monkeypatch.setattr("tadc.runtime.native_plan.arrays_are_readable", lambda: False)
    monkeypatch.setattr(plan_runner.PlanRunner, "on_arrays", None)
    for _ in range(2):  # the second call is like one before
        np.testing.assert_array_equal(f(x), 3 * x)


def test_arrays_of_this_numpy_are_readable() -> None:
    assert plan_runner.arrays_are_readable()


def test_many_shapes_in_turn() -> None:
    f = tadc.compile("y[i] = x[i] + 1")
    for _ in range(2):
        for n in range(1500):  # more than are remembered
            np.testing.assert_array_equal(f(np.zeros(n)), np.ones(n))


def calls_of_python(f: Any, *arrays: np.ndarray) -> int:
    """The number of calls, of Python and of C functions, in one call of `f`."""
    seen = []
    f(*arrays)
    sys.setprofile(lambda frame, event, argument: seen.append(event))
    try:
        f(*arrays)
    finally:
        sys.setprofile(None)
    return sum(event in ("call", "c_call") for event in seen)


def test_a_call_costs_python_the_same_for_any_number_of_definitions() -> None:
    x = np.ones(3)
    few, many = (
        tadc.compile("x: f64[3]\n" + "x[i] = x[i] * 0.5 + x[2 - i]\n" * n) for n in (1, 300)
    )
    assert calls_of_python(many, x) == calls_of_python(few, x) < 20


def test_shapes_in_turn_cost_python_the_same() -> None:
    f = tadc.compile("y[i] = x[i] + 1")
    arrays = [np.ones(n) for n in range(1, 201)]
    for x in arrays:
        f(x)
    x, *others = arrays
    f(x)
    assert max(calls_of_turn(f, x, other) for other in others) < 40


def calls_of_turn(f: Any, x: np.ndarray, other: np.ndarray) -> int:
    """The number of calls of a call on `other` that comes behind one on `x`."""

    def turn(_: np.ndarray) -> None:
        f(x)
        f(other)

    return calls_of_python(turn, x) - calls_of_python(f, x) - 1


# --- rows that lie apart --------------------------------------------------------------------------


def apart(x: np.ndarray) -> dict[str, np.ndarray]:
    """Equal matrices whose rows lie apart in memory."""
    wide = np.zeros((2 * x.shape[0], x.shape[1] + 5), x.dtype)
    wide[::2, 3:-2] = x
    back = x[::-1].copy()
    return {"wider rows": wide[::2, 3:-2], "rows in reverse": back[::-1], "dense": x}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("target", ["cpu", "interpret"])
def test_rows_apart_give_the_same(dtype: type, target: str) -> None:
    """Several definitions that share code, of arguments and of tensors between them."""
    source = "u[i, j] = x[i, j] * 2\nv[i, j] = w[i, j] * 2\ny[i, j] = u[j, i] + v[i, j] * x[i, j]"
    f = tadc.compile(source, target=target)
    shape = (150, 150) if target == "cpu" else (30, 30)
    rng = np.random.default_rng(0)
    x, w = (rng.standard_normal(shape).astype(dtype) for _ in range(2))
    expected = 2 * x.T + 2 * w * x
    for first in apart(x).values():
        for second in apart(w).values():
            np.testing.assert_allclose(f(x=first, w=second), expected, rtol=2e-6, atol=1e-6)


@pytest.mark.parametrize("seed", seeds(5, of=15))
def test_random_programs_read_rows_apart(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tadc.runtime.arguments.FEWEST_BYTES_NOT_COPIED", 0)
    case = random_case(seed)
    gradients = case.function.derivative()
    for f, values in ((case.function, case.values), (gradients, case.inputs)):
        given = [apart(v)["wider rows"] if np.ndim(v) == 2 else v for v in values]
        for found, expected in zip(f.call(given, {}), f.call(values, {}), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


def test_large_views_are_not_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    f = tadc.compile("y[i] = sum[j](x[i, j])")
    x = np.ones((300, 500))
    for view in (x[:, 100:400], x[::-1], x[::3], np.broadcast_to(x[0], (300, 500))):
        np.testing.assert_allclose(f(view), view.sum(1))
    monkeypatch.setattr(np, "require", None)  # what makes copies
    for view in (x[:, 100:400], x[::-1], x[::3], np.broadcast_to(x[0], (300, 500))):
        np.testing.assert_allclose(f(view), view.sum(1))
    with pytest.raises(TypeError, match="NoneType"):
        f(x[:, ::2])


def test_supersteps_are_steps_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each begins when the one before has ended, whatever the number of threads."""
    steps: list[Step] = []

    def record(found: Sequence[Step], *others: Any) -> Words:
        steps.extend(found)
        return plan_record.record(found, *others)

    monkeypatch.setattr(native_plans, "record", record)
    f = tadc.compile(
        "u[i] = sum[j](exp(x[i] * z[j]) * b[j])\nv[j] = sum[i](exp(x[i] * z[j]))\nreturn u, v"
    )
    f.plan([(1024,), (2048,), (2048,)])
    ranges = [(step.begin, step.end) for step in steps]
    assert ranges[:-1] == [(n, n + 16) for n in range(0, 128, 16)]
    assert ranges[-1][0] == 0


# --- parts ----------------------------------------------------------------------------------------


def parts_of(work: int, grains: int) -> int:
    return Step(0, 0, grains, 1, (), work).parts


def test_parts_are_a_function_of_work_alone() -> None:
    assert parts_of(1000, 100) == 1
    assert parts_of(10**6, 100) == 64
    assert parts_of(10**6, 5) == 5
    assert parts_of(10**12, 10**6) >= 10**12 // 10**7


@pytest.mark.parametrize(
    ("end", "grain", "turns"), [(100, 1, 7), (100, 64, 2), (130, 64, 3), (5, 1, 5)]
)
def test_turns_are_a_step(end: int, grain: int, turns: int) -> None:
    step = Step(0, 0, end, grain, (), 1000)
    parts = [step.turn(n, turns) for n in range(turns)]
    assert [p.begin for p in parts] == [0, *(p.end for p in parts[:-1])]
    assert parts[-1].end == end
    assert all(p.begin < p.end and p.begin % grain == 0 for p in parts)
