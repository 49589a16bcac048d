"""Steps that read the same take turns: which ones, for how many, and with the same bits."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
import pytest

import tadc
from tadc.runtime import native_plan
from tadc.runtime.executable import KernelCall
from tadc.runtime.machine import machine
from tadc.runtime.turns import MOST_TURNS, Extents, Round, rounds
from tests.support.campaign import seeds
from tests.support.random_formulas import random_formula
from tests.support.random_layers import random_layer
from tests.support.torch_layers import Array

CACHE = 1 << 20
LARGE, SMALL = CACHE, 100

SEVERAL = """
y[i, j] = sum[s in range(3)](a[s] * x[i + s, j])
z[j, i] = x[i, j]
w[i] = sum[j](x[i, j] * b[j])
return y, z, w
"""
SHAPES = {"a": (3,), "x": (300, 310), "b": (310,)}


@pytest.fixture(autouse=True)
def threads() -> Iterator[None]:
    before = tadc.get_num_threads()
    yield
    tadc.set_num_threads(before)


def call(written: str, *read: str) -> KernelCall:
    return KernelCall(written, (written, *read), ())


def rounds_of(
    *calls: KernelCall, small: Sequence[str] = (), slow: Sequence[str] = (), grains: int = 100
) -> list[tuple[list[str], int]]:
    """The rounds of steps whose tensors are large, but for some, with the numbers of their turns;
    `slow` ones compute much."""
    names = {name for c in calls for name in c.buffers}
    nbytes = {name: SMALL if name in small else LARGE for name in names}
    work = {c.kernel: 10**10 if c.kernel in slow else 10**6 for c in calls}
    extents = Extents(nbytes, work, dict.fromkeys(work, grains), CACHE)
    return [([c.kernel for c in r.calls], r.turns) for r in rounds(calls, extents)]


def test_steps_that_read_the_same_take_turns():
    found = rounds_of(call("y", "x"), call("z", "x"), call("w", "v"))
    assert found == [(["y", "z"], 24), (["w"], 1)]


def test_a_step_waits_for_what_it_reads():
    assert rounds_of(call("y", "x"), call("z", "x", "y")) == [(["y"], 1), (["z"], 1)]


def test_a_step_comes_before_one_that_waits():
    found = rounds_of(call("y", "x"), call("s", "y"), call("z", "x"), small=["s"])
    assert found == [(["y", "z"], 24), (["s"], 1)]


def test_what_waits_for_a_step_that_waits_does_not_come_before_it():
    found = rounds_of(call("y", "x"), call("s", "y"), call("z", "x", "s"), small=["s"])
    assert found == [(["y"], 1), (["s"], 1), (["z"], 1)]


def test_small_tensors_are_no_reason():
    calls = call("y", "a", "x"), call("z", "a", "v")
    assert rounds_of(*calls, small=["a"]) == [(["y"], 1), (["z"], 1)]
    assert rounds_of(call("y", "x"), call("z", "x"), small="xyz") == [(["y"], 1), (["z"], 1)]


def test_what_computes_much_or_has_few_parts_stays_whole():
    calls = call("y", "x"), call("z", "x")
    assert rounds_of(*calls, slow=["z"]) == [(["y"], 1), (["z"], 1)]
    assert rounds_of(*calls, grains=7) == [(["y"], 1), (["z"], 1)]


def test_turns_are_at_most_as_many_as_parts():
    calls = [call(f"y{n}", "x") for n in range(9)]
    assert rounds_of(*calls) == [([f"y{n}" for n in range(9)], MOST_TURNS)]
    assert rounds_of(*calls, grains=8) == [([f"y{n}" for n in range(9)], 8)]


def test_caches_of_unknown_size():
    calls = call("y", "x"), call("z", "x")
    extents = Extents(
        dict.fromkeys("xyz", LARGE), dict.fromkeys("yz", 1), dict.fromkeys("yz", 9), 0
    )
    assert [*rounds(calls, extents)] == [Round([c]) for c in calls]


# --- calls ----------------------------------------------------------------------------------------


def arguments() -> dict[str, Array]:
    """Arguments of `SEVERAL`."""
    rng = np.random.default_rng(0)
    return {name: rng.standard_normal(shape).astype("f") for name, shape in SHAPES.items()}


def with_cache(monkeypatch: pytest.MonkeyPatch, nbytes: int) -> list[int]:
    """Let the largest cache be so small; the turns of all plans that are made from now on."""
    found: list[int] = []
    make: Callable[..., list[Round]] = native_plan.NativePlan._rounds

    def kept(self: native_plan.NativePlan, *arguments: object) -> list[Round]:
        made = make(self, *arguments)
        found.extend(round.turns for round in made)
        return made

    monkeypatch.setattr(native_plan.NativePlan, "_rounds", kept)
    monkeypatch.setattr(native_plan, "machine", lambda: machine()._replace(shared_cache=nbytes))
    return found


def results(text: str, arguments: Mapping[str, Array]) -> list[bytes]:
    """The bits of all values and gradients."""
    values, pullback = tadc.vjp(tadc.compile(text), **arguments)
    values = values if isinstance(values, tuple) else (values,)
    gradients = pullback(*map(np.ones_like, values))
    return [np.asarray(array).tobytes() for array in (*values, *gradients)]


@pytest.mark.parametrize("threads", [1, 2, 7])
def test_turns_change_no_bits(threads: int, monkeypatch: pytest.MonkeyPatch):
    tadc.set_num_threads(threads)
    expected = results(SEVERAL, arguments())
    turns = with_cache(monkeypatch, 100_000)
    assert results(SEVERAL, arguments()) == expected
    assert max(turns) > 1


def test_turns_take_no_more_memory(monkeypatch: pytest.MonkeyPatch):
    turns = with_cache(monkeypatch, 100_000)
    monkeypatch.setattr(native_plan, "MOST_TIMES_AS_MUCH", 0.99)
    results(SEVERAL, arguments())
    assert max(turns) == 1


@pytest.mark.parametrize("seed", seeds(12, of=400))
def test_random_programs(seed: int, monkeypatch: pytest.MonkeyPatch):
    for layer in (random_layer(seed), random_formula(seed)):
        print(f"seed {seed}\n{layer}")  # shown where anything below fails
        arguments = layer.arguments(np.random.default_rng(seed))
        expected = results(layer.source, arguments)
        with monkeypatch.context() as patched:
            with_cache(patched, 3000)
            assert results(layer.source, arguments) == expected
