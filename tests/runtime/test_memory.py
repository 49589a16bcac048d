"""Memory of whole programs: which buffers there are, how large they get, and what is kept."""

from __future__ import annotations

import random
import tracemalloc
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

import numpy as np
import pytest

import tadc
from tadc.runtime.buffer_assignment import BufferAssignment, Steps, Tensor, assign_buffers
from tadc.runtime.buffer_pool import BufferPool
from tadc.runtime.memory import readable
from tests.support.campaign import seeds
from tests.support.derivations import check_seeds
from tests.support.long_programs import long_case

N = 100_000
BYTES = 8 * N
LINEAR = f"p: f64[{N}]\nq: f64[{N}]\n" + "p[i] += 0.1 * q[i]\n" * 100
CURVED = f"p: f64[{N}]\n" + "p[i] += 0.01 * sin(p[i])\n" * 100


@cache
def chain(source: str) -> tadc.Function:
    """The function of a long chain, which is compiled and derived once for all tests."""
    return tadc.compile(source)


@pytest.fixture
def p() -> np.ndarray:
    return np.random.default_rng(0).uniform(-1, 1, N)


@pytest.fixture(autouse=True)
def no_scratch(monkeypatch: pytest.MonkeyPatch) -> None:
    """No memory from call to call, so that every allocation is seen."""
    monkeypatch.setattr("tadc.runtime.native_plan.pool", BufferPool(limit=0))


def traced(call: Callable[[], Any]) -> float:
    """The bytes that arrays take at the worst moment of a call, in units of a vector of N."""
    call()  # compile
    tracemalloc.start()
    try:
        call()
        return round(tracemalloc.get_traced_memory()[1] / BYTES, 1)
    finally:
        tracemalloc.stop()


# --- chains of updates ----------------------------------------------------------------------------


def test_a_chain_of_updates_takes_two_buffers(p: np.ndarray) -> None:
    f = chain(LINEAR)
    memory = f.memory(p, p)
    assert (memory.peak, memory.buffers, memory.arguments) == (2 * BYTES, 2, 2 * BYTES)
    assert traced(lambda: f(p, p)) == 2
    np.testing.assert_allclose(f(p, p), p + 10 * p, rtol=1e-12)


def test_a_linear_chain_keeps_nothing(p: np.ndarray) -> None:
    f = chain(LINEAR)
    memory = f.pullback_memory(p, p)
    assert (memory.kept, memory.buffers, memory.value.peak) == (0, 0, 2 * BYTES)
    _, pullback = tadc.vjp(f, p, p)
    assert traced(lambda: tadc.vjp(f, p, p)) == 2
    assert traced(lambda: pullback(p)) == memory.pullback.peak / BYTES <= 3
    np.testing.assert_allclose(pullback(p)[1], 10 * p, rtol=1e-12)


def test_a_curved_chain_keeps_its_versions(p: np.ndarray) -> None:
    f = chain(CURVED)
    memory = f.pullback_memory(p)
    assert memory.kept == 99 * BYTES  # all but the argument and the result
    assert memory.value.peak == 100 * BYTES
    _, pullback = tadc.vjp(f, p)
    assert traced(lambda: tadc.vjp(f, p)) == 100
    assert traced(lambda: pullback(p)) == memory.pullback.peak / BYTES <= 2
    x, expected = p, np.ones(N)
    for _ in range(100):
        expected = expected * (1 + 0.01 * np.cos(x))
        x = x + 0.01 * np.sin(x)
    np.testing.assert_allclose(pullback(np.ones(N))[0], expected, rtol=1e-9)


def test_what_is_cheap_is_computed_again() -> None:
    f = tadc.compile("a: f64[N]\nb: f64[M]\nu[i, j] = a[i] * b[j] + 1\ns = sum[i, j](sin(u[i, j]))")
    a, b = np.random.default_rng(0).uniform(-1, 1, (2, 50))
    memory = f.pullback_memory(a, b)
    assert (memory.kept, memory.buffers) == (0, 0)
    expected = np.cos(np.outer(a, b) + 1)
    gradients = tadc.vjp(f, a, b)[1](1.0)
    np.testing.assert_allclose(gradients, [expected @ b, expected.T @ a], rtol=1e-12)


def test_every_other_version_of_a_cheap_chain_is_kept(p: np.ndarray) -> None:
    f = tadc.compile(f"p: f64[{N}]\nq: f64[{N}]\n" + "p[i] += 0.1 * q[i] * p[i]\n" * 100)
    assert f.pullback_memory(p, p).kept == 49 * BYTES
    _, pullback = tadc.vjp(f, p, p)
    factor = 1 + 0.1 * p
    dp, dq = pullback(np.ones(N))
    np.testing.assert_allclose(dp, factor**100, rtol=1e-9)
    np.testing.assert_allclose(dq, p * 10 * factor**99, rtol=1e-9)


def test_adjoints_do_not_wait_for_the_last_one(p: np.ndarray) -> None:
    """Every statement reads q: its gradient has fifty terms, which come one after the other."""
    f = tadc.compile(f"p: f64[{N}]\nq: f64[{N}]\n" + "p[i] += 0.01 * q[i] * sin(p[i])\n" * 50)
    memory = f.pullback_memory(p, p)
    assert memory.kept == 49 * BYTES
    assert memory.pullback.peak <= 30 * BYTES
    _, pullback = tadc.vjp(f, p, p)
    x, dx, dq = p, np.ones(N), np.zeros(N)
    states = [x := x + 0.01 * p * np.sin(x) for _ in range(50)]
    for state in reversed([p, *states[:-1]]):
        dq += 0.01 * np.sin(state) * dx
        dx = dx * (1 + 0.01 * p * np.cos(state))
    found = pullback(np.ones(N))
    np.testing.assert_allclose(found, [dx, dq], rtol=1e-9)
    whole = f.derivative()(p, p, np.ones(N))
    np.testing.assert_allclose(found, whole, rtol=1e-12)


def test_long_sums_of_all_kinds_become_running_totals() -> None:
    """Terms that are subtracted, sums over indices, and conditions; three shapes of one tensor."""
    text = (
        "w: f64[5]\ns: f64[]\np: f64[5]\n"
        + (
            "p[i] -= 0.1 * s * w[i] * sin(p[i])\n"
            "p[i] *= cos(0.1 * sum[j](w[j] * p[j]))\n"
            "p[i] = p[i] + s if i < 2 else p[4 - i] * w[i]\n"
        )
        * 9
    )
    f = tadc.compile(text)
    arguments = (np.linspace(-1, 1, 5), np.array(0.3), np.linspace(0.2, 0.9, 5))
    adjoint = np.linspace(1, 2, 5)
    found = tadc.vjp(f, *arguments)[1](adjoint)
    expected = f.with_target("interpret").derivative()(*arguments, adjoint)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-10)
    assert "dw_total" in str(f.with_pullback().gradients.program)


@pytest.mark.parametrize(
    "text",
    [
        "u[i] = exp(x[i])\ny[i] = sin(u[i])",
        "u[i] = x[i] / (1 + x[i])\ny[i] = sin(u[i])",
        "u[i] = sum[j](sin(x[j] * x[i]))\ny[i] = sin(u[i])",
        "u[i] = 3 * x[i] * x[i]\ny[i] = abs(u[i])",
        "u[i] = 3 * x[i] * x[i]\ny = max[i](u[i])",
        "u[i] = 3 * x[i] * x[i]\ny[i] = u[i] if u[i] > 1 else 0",
    ],
)
def test_what_is_dear_or_decides_is_kept(text: str) -> None:
    f = tadc.compile("x: f64[50]\n" + text)
    assert f.pullback_memory(np.ones(50)).kept >= 400


def test_the_interpreter_keeps_all(p: np.ndarray) -> None:
    memory = tadc.compile(LINEAR, "interpret").memory(p, p)
    assert (memory.peak, memory.buffers) == (100 * BYTES, 100)


def test_tensors_without_elements_take_nothing() -> None:
    f = tadc.compile("x: f64[N]\ny[i] = 2 * x[i]\nz[i] = y[i] + 1\ns = sum[i](z[i])\nreturn z, s")
    memory = f.memory(np.zeros(0))
    assert (memory.peak, memory.buffers) == (8, 1)
    z, s = f(np.zeros(0))
    assert z.shape == (0,) and s == 0


# --- layouts --------------------------------------------------------------------------------------


def random_steps(seed: int) -> tuple[Steps, dict[str, Tensor], list[str]]:
    """Steps that write `t0, t1, ...` and read arguments and earlier tensors; some results."""
    rng = random.Random(seed)
    names: list[str] = []
    steps: list[tuple[list[str], list[str]]] = []
    for _ in range(rng.randint(1, 30)):
        known = ["x", "y", *names[-rng.randint(1, 8) :]]
        written = [f"t{len(names) + n}" for n in range(rng.choice([1, 1, 1, 2, 3]))]
        steps.append((written, rng.sample(known, rng.randint(0, min(3, len(known))))))
        names += written
    sizes = {name: rng.choice([0, 1, 2, 2, 2, 5, 10]) for name in names}
    tensors = {name: Tensor((size,), np.dtype(np.float64)) for name, size in sizes.items()}
    return steps, tensors, rng.sample(names, rng.randint(1, min(3, len(names))))


def alive(steps: Steps, results: Sequence[str], n: int) -> set[str]:
    """The tensors that hold something during step `n`: written, and read then or later."""
    written = {name for own, _ in steps[: n + 1] for name in own}
    used = {name for step in steps[n:] for names in step for name in names}
    return written & (used | set(results))


def buffers_over_time(assignment: BufferAssignment) -> list[set[int]]:
    """The buffers that exist during each step."""
    existing: set[int] = set()
    found: list[set[int]] = []
    for change in assignment.changes:
        assert set(change.released) <= existing
        existing -= set(change.released)
        assert not set(change.created) & existing
        existing |= set(change.created)
        found.append(set(existing))
    return found


@pytest.mark.parametrize("seed", range(300))
def test_layouts_hold_what_lives_and_no_more(seed: int) -> None:
    steps, tensors, results = random_steps(seed)
    assignment = assign_buffers(steps, tensors, results)
    existing = buffers_over_time(assignment)
    needed = 0
    for n in range(len(steps)):
        living = [name for name in alive(steps, results, n) if tensors[name].nbytes]
        buffer_of = [assignment.buffer_of[name] for name in living]
        assert len(set(buffer_of)) == len(buffer_of)
        assert set(buffer_of) <= existing[n]
        assert all(
            assignment.buffers[assignment.buffer_of[v]].nbytes == tensors[v].nbytes for v in living
        )
        needed = max(needed, sum(tensors[name].nbytes for name in living))
    sizes = [sum(assignment.buffers[b].nbytes for b in buffers) for buffers in existing]
    assert assignment.peak == max(sizes) == needed
    assert assignment.count in [len(b) for b, s in zip(existing, sizes, strict=True) if s == needed]
    for name in results:
        if tensors[name].nbytes:
            assert assignment.buffers[assignment.buffer_of[name]] == tensors[name]


# --- values ---------------------------------------------------------------------------------------


def check_apart(seed: int) -> None:
    """Arguments stay as they are; results are new, and apart from each other and other calls."""
    case = long_case(seed)
    values = [v.copy() for v in case.values]
    for v in values:
        v.setflags(write=False)
    first, second = (case.function.call(values, {}) for _ in range(2))
    arrays = [*values, *first, *second]
    for n, a in enumerate(arrays):
        assert not any(np.shares_memory(a, b) for b in arrays[:n])
    assert all(a.base is None for a in [*first, *second])
    for a, b in zip(first, second, strict=True):
        assert np.array_equal(a, b)


def test_arguments_and_results_lie_apart() -> None:
    check_seeds(check_apart, seeds(4, of=40))


def test_threads_have_buffers_of_their_own() -> None:
    f = tadc.compile(
        "p: f64[N]\nq: f64[N]\n" + "p[i] += 0.1 * q[i]\nq[i] -= 0.1 * sin(p[i])\n" * 50
    )
    inputs = [np.random.default_rng(n).uniform(-1, 1, (2, 20_000)) for n in range(16)]

    def call(pair: np.ndarray) -> list[np.ndarray]:
        return f(*pair)

    expected = list(map(call, inputs))
    with ThreadPoolExecutor(8) as pool:
        for _ in range(5):
            results = list(pool.map(call, inputs))
            assert all(np.array_equal(a, b) for a, b in zip(expected, results, strict=True))


# --- text -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("size", "text"),
    [(0, "0 B"), (999, "999 B"), (1000, "1.0 kB"), (24_000, "24.0 kB"), (999_960, "1.0 MB")],
)
def test_bytes_are_written_with_units(size: int, text: str) -> None:
    assert readable(size) == text


def test_memory_as_text(p: np.ndarray) -> None:
    f = chain(LINEAR)
    assert str(f.memory(p, p)) == "peak memory: 1.6 MB in 2 buffers (arguments: 1.6 MB)"
    first, kept, last = str(chain(CURVED).pullback_memory(p)).splitlines()
    assert first == "peak memory: 80.0 MB in 100 buffers (arguments: 800.0 kB)"
    assert kept == "kept for the pullback: 79.2 MB in 99 buffers"
    assert last.startswith("pullback: peak memory: ")
