"""The machine that `TADC_CPU` chooses: right results at each level, no instructions beyond it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from functools import cache
from types import SimpleNamespace

import pytest

import tadc
from tadc.errors import TargetError
from tadc.runtime import machine as machines
from tadc.runtime import vector_speed
from tadc.runtime.machine import LEVELS, machine
from tests.support.paths import ROOT

LOOK_UP = machine.__wrapped__

RANDOM_PROGRAMS = """
from tests.support.campaign import seeds
from tests.support.derivations import assert_close, random_case
for seed in seeds(4, of=12):
    case = random_case(seed, kinks=True, reductions=True, value_conditions=True)
    assert_close(case.function.call(case.values, {}), case.results, 1e-9, case.source)
"""

LONG_SUMS = """
import numpy, tadc
rng = numpy.random.default_rng(0)
for precision, tolerance in (("f32", 1e-4), ("f64", 1e-12)):
    dtype = {"f32": "float32", "f64": "float64"}[precision]
    x, w = rng.standard_normal((2, 130, 130)).astype(dtype)
    f = tadc.compile("y[i, j] = sum[k](x[i, k] * exp(-w[k, j]**2)) + sin(x[i, j])")
    exact = x.astype("f8") @ numpy.exp(-w.astype("f8") ** 2) + numpy.sin(x.astype("f8"))
    assert numpy.abs(f(x, w) - exact).max() < tolerance * 100
"""

FEW_CHANNELS = """
# of elements two, or three, apart
volume = ("y[n, a, b, d, o] = sum[p in range(3), q in range(3), r in range(3), c]"
          "(x[n, a + p, b + q, d + r, c] * w[p, q, r, c, o])")
for columns, channels, out in ((11, 2, 2), (16, 3, 2), (19, 2, 3)):
    x = rng.uniform(-1, 1, (2, 5, 6, columns, channels)).astype("float32")
    w = rng.uniform(-1, 1, (3, 3, 3, channels, out)).astype("float32")
    (found,), (exact,) = (
        tadc.vjp(tadc.compile(volume, target=target), x, w, wrt=("w",))[1](
            numpy.ones((2, 3, 4, columns - 2, out), "float32")
        )
        for target in ("cpu", "interpret")
    )
    assert numpy.abs(found - exact).max() < 1e-3, columns
"""

ASSEMBLY = """
import tadc
f = tadc.compile("y[i, j] = sum[k](x[i, k] * exp(-w[k, j]**2)) + sin(v[i, j]) + v[i, j]**3")
for precision in ("f32", "f64"):
    print(f.emit("assembly", {"I": 1000, "K": 1000, "J": 1000}, precision))
"""

AVX = re.compile(r"^\s+v\w+\s|[yz]mm\d", re.MULTILINE)


def levels_here() -> list[str]:
    """The levels that this processor has; its own is the one of all other tests."""
    found: list[str] = []
    for level in LEVELS:
        try:
            machines._of_level(level)
            found.append(level)
        except TargetError:
            pass
    return found


@cache
def run(level: str) -> str:
    """Check programs at a level, and return the assembly of one."""
    environment = dict(os.environ, TADC_CPU=level)
    command = [sys.executable, "-c", RANDOM_PROGRAMS + LONG_SUMS + FEW_CHANNELS + ASSEMBLY]
    done = subprocess.run(
        command, env=environment, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True
    )
    return done.stdout


@pytest.mark.parametrize("level", levels_here())
def test_programs_are_right_at_every_level(level: str):
    assert run(level)


@pytest.mark.skipif("baseline" not in levels_here() or LOOK_UP().cpu == "generic", reason="x86-64")
def test_baseline_has_no_instruction_that_some_processor_lacks():
    assert not AVX.search(run("baseline"))


@pytest.mark.skipif("avx2" not in levels_here(), reason="a processor with AVX2")
def test_avx2_has_vectors_of_256_bits_and_no_larger_ones():
    assembly = run("avx2")
    assert "ymm" in assembly
    assert "zmm" not in assembly


@pytest.mark.skipif("avx512" not in levels_here(), reason="a processor with AVX-512")
def test_avx512_has_vectors_of_512_bits():
    assert "zmm" in run("avx512")


def test_the_text_says_how_wide_vectors_are():
    text = tadc.compile("y[i] = x[i] + 1").emit("llvm")
    assert f'"prefer-vector-width"="{machine().vector_bits}"' in text


# --- what can be asked for ------------------------------------------------------------------------


def test_an_unknown_level_is_an_error(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TADC_CPU", "sse9")
    with pytest.raises(TargetError, match="TADC_CPU is 'sse9'") as error:
        LOOK_UP()
    assert error.value.hint == "it can be native, baseline, avx2 or avx512, or not set"


@pytest.mark.parametrize("triple", ["x86_64-linux", "aarch64-linux"])
def test_a_level_that_the_processor_lacks_is_an_error(triple: str, monkeypatch: pytest.MonkeyPatch):
    features = dict.fromkeys(machines.V3, True)
    llvm = SimpleNamespace(
        get_default_triple=lambda: triple, get_host_cpu_features=lambda: features
    )
    monkeypatch.setattr(machines, "_initialised", lambda: llvm)
    monkeypatch.setenv("TADC_CPU", "avx512")
    with pytest.raises(TargetError, match="avx512, but this processor lacks avx512f, avx512bw"):
        LOOK_UP()
    monkeypatch.setenv("TADC_CPU", "baseline")
    assert LOOK_UP().vector_bits == 128


# --- the width of vectors -------------------------------------------------------------------------


@pytest.mark.parametrize(("speed", "bits"), [(0.9, 256), (1.1, 256), (1.8, 512), (2.0, 512)])
def test_wide_vectors_are_used_where_they_are_faster(
    speed: float, bits: int, monkeypatch: pytest.MonkeyPatch
):
    class Features(dict[str, bool]):
        def flatten(self) -> str:
            return "+avx,+avx512f"

    llvm = SimpleNamespace(
        get_host_cpu_name=lambda: "some",
        get_host_cpu_features=lambda: Features(avx=True, avx512f=True),
    )
    monkeypatch.setattr(machines, "_initialised", lambda: llvm)
    monkeypatch.setattr(vector_speed, "speed_of_512_bits", lambda cpu, flags: speed)
    monkeypatch.delenv("TADC_CPU", raising=False)
    assert LOOK_UP().vector_bits == bits
    assert f"{speed:.2f} times as fast" in LOOK_UP().description
