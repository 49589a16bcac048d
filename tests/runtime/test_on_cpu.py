"""Machine code that is made once: for all functions that are alike, and for later processes."""

from __future__ import annotations

import gc
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any

import numpy as np
import pytest

import tadc
from tadc.dialects.loops import ParallelOp
from tadc.passes.lowering.schedule import SchedulePass
from tadc.runtime import compilation
from tadc.runtime.machine import machine
from tadc.runtime.recent_objects import recent
from tadc.support.disk_store import DiskStore
from tests.support.cached_calls import cached_call, cached_calls
from tests.support.campaign import seeds

SOURCE = "x: f64[N]\ny[i] = 3 * x[i] + 0.125"
RANDOM = [str(seed) for seed in seeds(3, of=40, start=500)]
LEAST = {"modes": 6, "inverse": 4, f"random {' '.join(RANDOM)}": len(RANDOM) + 1, "workloads": 14}
"""Calls, and of how many modules they need code at least."""


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts that are compiled."""
    texts: list[str] = []
    object_of: Callable[..., bytes] = compilation.object_of

    def recording(text: str, *options: Any) -> bytes:
        texts.append(text)
        return object_of(text, *options)

    tadc.compile("z: f64[2]\nw[i] = z[i]")(np.ones(2))  # the code that runs all plans
    monkeypatch.setattr(compilation, "object_of", recording)
    recent.clear()
    return texts


# --- in one process -------------------------------------------------------------------------------


def test_equal_programs_are_compiled_once(compiled: list[str]):
    f, g = tadc.compile(SOURCE), tadc.compile(SOURCE)
    assert f(np.ones(3))[0] == g(np.ones(3))[0] == 3.125
    assert len(compiled) == 1
    h = tadc.compile(SOURCE.replace("3", "4"))
    assert h(np.ones(3))[0] == 4.125
    assert len(compiled) == 2


def test_code_without_a_program_is_freed(compiled: list[str]):
    for _ in range(2):
        f = tadc.compile(SOURCE)
        assert f(np.ones(3))[0] == 3.125
        del f
        recent.clear()
    assert len(compiled) == 2


@pytest.mark.parametrize(("factor", "kept"), [(2, False), (1 << 40, True)])
def test_loops_stay_where_plans_ask_for_numbers(store: DiskStore, factor: int, kept: bool):
    def loops() -> int:
        return sum(type(thing) is ParallelOp for thing in gc.get_objects())

    f = tadc.compile(f"x: f64[N]\ny[i in range(3)] = pad(x[{factor}*i])")
    gc.collect()
    before = loops()
    gc.disable()  # they are let go of at once
    try:
        assert f(np.ones(3))[0] == 1
    finally:
        gc.enable()
    assert (loops() > before) == kept


def test_loops_that_were_asked_for_stay_and_are_not_made_again(
    store: DiskStore, monkeypatch: pytest.MonkeyPatch
):
    f = tadc.compile(SOURCE)
    executable = f.runner.prepare([np.ones(3)], {})[0].executable
    module, text = executable.module, str(executable.module)
    monkeypatch.delattr(SchedulePass, "steps")
    assert f(np.ones(3))[0] == 3.125
    assert executable.module is module
    assert str(module) == text


def test_the_disk_has_what_no_program_holds(compiled: list[str], store: DiskStore):
    for _ in range(2):
        f = tadc.compile(SOURCE)
        assert f(np.ones(3))[0] == 3.125
        del f
        recent.clear()
    assert len(compiled) == 1
    store.clear()
    assert tadc.compile(SOURCE)(np.ones(3))[0] == 3.125
    assert len(compiled) == 2


def test_a_function_that_is_defined_again_is_other_code(store: DiskStore):
    program = "x: f64[N]\ny[i] = twice(x[i])"
    for factor in (2, 3, 2):
        tadc.define_function("twice", "x", value=f"{factor} * x", derivative=str(factor))
        y, pullback = tadc.vjp(tadc.compile(program), np.ones(3))
        assert (y[0], pullback(np.ones(3))[0][0]) == (factor, factor)


def test_threads_compile_one_program_at_once(store: DiskStore):
    at_once = Barrier(4)

    def run(n: int) -> Any:
        f = tadc.compile(SOURCE)
        at_once.wait()
        return f(np.full(3, float(n)))[0]

    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(run, range(4))) == [3 * n + 0.125 for n in range(4)]


def test_damaged_entries_are_made_again(store: DiskStore):
    x = np.linspace(0, 1, 7)
    first = tadc.compile(SOURCE)(x)
    assert store.folder
    for path in store.folder.iterdir():
        path.write_bytes(path.read_bytes()[:-1])
    assert np.array_equal(tadc.compile(SOURCE)(x), first)


# --- in later processes ---------------------------------------------------------------------------


def test_a_later_process_compiles_nothing_and_has_the_same_bits(tmp_path: Path):
    """Without the cache, with an empty one, and with what is in it then; on any threads."""
    off = cached_calls(*LEAST, cache="off", TADC_NUM_THREADS="1")
    cold = cached_calls(*LEAST, cache=tmp_path, TADC_NUM_THREADS="2")
    warm = cached_calls(*LEAST, cache=tmp_path, TADC_NUM_THREADS="7")
    assert off == cold
    assert [o.results for o in warm] == [o.results for o in cold]
    assert [o.compiled for o in warm] == [0] * len(LEAST)
    assert all(o.compiled >= least for o, least in zip(cold, LEAST.values(), strict=True))
    assert cold[0].derived >= 3
    assert [warm[n].derived for n in (0, 2)] == [0, 0]  # systems to solve are derived again


def test_a_later_process_has_other_functions_of_the_same_name(tmp_path: Path):
    two, three = "defined '2 * x' 2", "defined '3 * x' 3"
    twice = cached_call(two, tmp_path)
    thrice, again = cached_calls(three, two, cache=tmp_path)
    assert thrice.results != twice.results
    assert thrice.results == cached_call(three, "off").results
    assert again == (0, 0, twice.results)


@pytest.mark.skipif(not machine().has("avx2"), reason="a processor with two levels")
def test_levels_of_processors_share_no_code(tmp_path: Path):
    for level in ("baseline", "avx2"):
        assert cached_call("paper", cache=tmp_path, TADC_CPU=level).compiled > 0
    assert cached_call("paper", cache=tmp_path, TADC_CPU="baseline").compiled == 0


def test_nothing_is_written_where_it_is_off(tmp_path: Path):
    home = {"HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path), "TMPDIR": str(tmp_path)}
    cached_call("paper", cache="off", **home)
    assert list(tmp_path.iterdir()) == []


def test_a_full_or_read_only_disk_is_no_error(tmp_path: Path):
    (tmp_path / "file").write_text("")
    assert cached_call("paper", cache=tmp_path / "file" / "cache").compiled > 0
    assert (tmp_path / "file").read_text() == ""
