"""Calls in a process of its own, to see what it takes from the cache on disk.

    python -m tests.support.cached_calls modes "random 0 1 2"

calls the functions below, one after the other, and prints a line of JSON for each: how much was
compiled and derived, and a hash of the bits of all results. `cached_calls` runs that, with a cache
of its own.
"""

from __future__ import annotations

import hashlib
import json
import os
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import tadc
from tadc.program import Program
from tadc.runtime import compilation
from tests.support.derivations import random_case
from tests.support.paths import ROOT
from tests.support.workloads import WORKLOADS, workload
from tests.support.workloads import results as values_and_gradients

UPDATE = """
w: f64[3]
p: f64[3]
q: f64[2]
p[i] = 2 * p[i] + 0.1 * w[i] * sum[j](tanh(p[j]))
q[i] *= 2 + sin(p[0])
"""
PAPER = "f[i, j] = exp(-sum[k]((a[i, k] + b[j, k])**2 * c[i, i] + d[i + k]**3))"
SOFT = "y[i] = soft(x[i]) * x[i]"

Results = Iterator[Any]


def modes() -> Results:
    """Values and derivatives of a small program, at sizes that are numbers and at others."""
    rng = np.random.default_rng(0)
    f = tadc.compile(PAPER)
    for dtype, n in ((np.float32, 4), (np.float64, 30)):
        shapes = (n, 3), (n, 3), (n, n), (n + 2,)
        arrays = [rng.uniform(0, 0.3, shape).astype(dtype) for shape in shapes]
        value, pullback = tadc.vjp(f, *arrays)
        yield value
        yield from pullback(value)
        yield f(*arrays)
        yield from f.derivative()(*arrays, value)
        yield from tadc.jvp(f, arrays, arrays)


def inverse() -> Results:
    """The inverse modes of a program with a system to solve."""
    rng = np.random.default_rng(0)
    update = tadc.compile(UPDATE)
    state = [rng.uniform(0, 1, n) for n in (3, 3, 2)]
    yield from tadc.inverse_jvp(update, state, state[1:])
    yield from tadc.inverse_vjp(update, state, state[1:])
    yield from tadc.log_abs_det(update, state)


def random(*seeds: str) -> Results:
    """Values and gradients of random programs, in both precisions."""
    for seed in map(int, seeds):
        case = random_case(seed, dtype=("f32", "f64")[seed % 2])
        results, pullback = tadc.vjp(case.function, *case.values)
        yield from results if isinstance(results, tuple) else [results]
        yield from pullback(*case.adjoints)


def workloads() -> Results:
    """Values and gradients of larger programs, on several threads."""
    for name in WORKLOADS:
        yield from values_and_gradients(*workload(name))


def paper() -> Results:
    """The value of one program."""
    yield tadc.compile(PAPER)(*(np.full(s, 0.25) for s in ((4, 3), (4, 3), (4, 4), (6,))))


def defined(value: str, derivative: str) -> Results:
    """A program with a function of the user."""
    tadc.define_function("soft", "x", value=value, derivative=derivative)
    y, pullback = tadc.vjp(tadc.compile(SOFT), np.array([1.0, 2.0]))
    yield y
    yield from pullback(np.ones(2))


class Outcome(NamedTuple):
    """The work of a call, and a hash of its results."""

    compiled: int
    derived: int
    results: str


def cached_calls(*calls: str, cache: Path | str, **environment: str) -> list[Outcome]:
    """Run functions above, each with its words behind it, in one process with this cache."""
    command = [sys.executable, "-m", "tests.support.cached_calls", *calls]
    variables = {**os.environ, "TADC_CACHE": str(cache), **environment}
    done = subprocess.run(command, env=variables, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return [Outcome(**json.loads(line)) for line in done.stdout.splitlines()]


def cached_call(call: str, cache: Path | str, **environment: str) -> Outcome:
    """Run one of them in a process of its own."""
    (outcome,) = cached_calls(call, cache=cache, **environment)
    return outcome


def _counted(owner: Any, name: str, counts: dict[str, int]) -> None:
    function: Callable[..., Any] = getattr(owner, name)
    counts[name] = 0

    def counting(*args: Any, **named: Any) -> Any:
        counts[name] += 1
        return function(*args, **named)

    setattr(owner, name, counting)


def _main(calls: list[str]) -> None:
    functions: Mapping[str, Callable[..., Results]] = {
        f.__name__: f for f in (modes, inverse, random, workloads, paper, defined)
    }
    counts: dict[str, int] = {}
    _counted(compilation, "object_of", counts)
    _counted(Program, "transformed", counts)
    for call in calls:
        name, *words = shlex.split(call)
        counts |= dict.fromkeys(counts, 0)
        hashed = hashlib.sha256()
        for result in functions[name](*words):
            array = np.asarray(result)
            hashed.update(f"{array.dtype} {array.shape}".encode() + array.tobytes())
        outcome = Outcome(counts["object_of"], counts["transformed"], hashed.hexdigest())
        print(json.dumps(outcome._asdict()))


if __name__ == "__main__":
    _main(sys.argv[1:])
