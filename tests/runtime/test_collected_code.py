"""A function takes what it made with it, machine code too, however the collector comes to it."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tadc
from tadc.program import Program
from tadc.runtime import compilation
from tadc.runtime.cpu import CpuModule
from tadc.runtime.executable import Executable, Plan
from tadc.runtime.on_cpu import MachineCode
from tadc.runtime.runner import Runner
from tests.support.campaign import seeds

CYCLES = """
import gc, numpy, tadc
for k in range(10):
    f = tadc.compile(f"x: f64[N]\\ny[i] = x[i] * {k}")
    assert f(numpy.ones(2))[1] == k
    f.itself = f
    del f
    gc.collect()
"""


def test_code_of_functions_in_cycles():
    """The collector ends what refers to each other in any order; code must end before its context.

    In a process of its own, since the wrong order ends the process.
    """
    subprocess.run([sys.executable, "-c", CYCLES], check=True)


# --- objects --------------------------------------------------------------------------------------

KINDS = (tadc.Function, Program, Runner, Executable, Plan, MachineCode, CpuModule)
X = np.linspace(0, 1, 300)


def fail(f: tadc.Function) -> None:
    with pytest.raises(tadc.TadcError):
        f(np.ones((2, 3)))


USES: dict[str, Callable[[tadc.Function], Any]] = {
    "calls": lambda f: (f(X), f(X[:5]), f(X.astype(np.float32)), f(X[::2])),
    "a plan": lambda f: f.plan([(7,)]).address,
    "a derivative": lambda f: f.derivative()(X, f(X)),
    "a second derivative": lambda f: f.derivative().derivative("x")(X, f(X), f(X)),
    "a pullback": lambda f: tadc.vjp(f, X)[1](f(X)),
    "an observed pullback": lambda f: tadc.vjp(f, X)[1](f(X), observe={"u": np.sum}),
    "a tangent": lambda f: tadc.jvp(f, (X,), (X,)),
    "the interpreter": lambda f: f.with_target("interpret")(X[:5]),
    "texts": lambda f: (f.emit("llvm"), f.ir("scheduled"), str(f)),
    "an error": fail,
}
PROGRAM = "u[i] = exp(x[i])\ny[i] = sum[j](u[j] * x[i]) * u[i]"


def living() -> list[Any]:
    return [o for o in gc.get_objects() if issubclass(type(o), KINDS)]  # o.__class__ may warn


@pytest.mark.parametrize("use", USES)
def test_nothing_is_kept_of_a_function_that_is_gone(use: str):
    gc.collect()
    before = {id(o) for o in living()}
    f = tadc.compile(PROGRAM)
    f(X)
    found = USES[use](f)
    made = [weakref.ref(o) for o in living() if id(o) not in before]
    kinds = {kind for kind in KINDS for ref in made if isinstance(ref(), kind)}
    assert kinds == set(KINDS)
    del f, found
    gc.collect()
    assert not [ref() for ref in made if ref() is not None]


def test_a_pullback_keeps_its_function():
    y, pullback = tadc.vjp(tadc.compile("y[i] = exp(x[i])"), X)
    gc.collect()
    np.testing.assert_array_equal(pullback(y)[0], y * y)


# --- memory ---------------------------------------------------------------------------------------

GROWTH = """
import gc, pathlib, sys
import numpy, tadc
from tadc.runtime import compilation
compilation.MOST_MODULES_HERE = 10  # LLVM keeps a little of each for good
x = numpy.ones(8)
def resident():
    gc.collect()
    status = pathlib.Path("/proc/self/status").read_text()
    return next(int(l.split()[1]) for l in status.splitlines() if l.startswith("VmRSS"))
def use(n):
    f = tadc.compile(f"x: f64[8]\\ny[i] = {n} * sin({n % 7} * x[i]) + sum[j](x[j]**{n % 5})")
    y, pullback = tadc.vjp(f, x)
    pullback(y)
for n in range(30):
    use(n)
before = resident()
for n in range(30, 30 + int(sys.argv[1])):
    use(n)
print(resident() - before)
"""
MOST_KILOBYTES = 4096
"""Little more than the noise of allocators: 30 programs that are kept take 8 megabytes."""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="there is no /proc here")
def test_memory_does_not_grow_with_programs():
    more = str(len(seeds(22, of=300)))
    command = [sys.executable, "-c", GROWTH, more]
    others = {**os.environ, compilation.VARIABLE: "1"}  # leave modules to another process
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=others)
    assert int(done.stdout) < MOST_KILOBYTES
