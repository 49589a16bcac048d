"""Random programs with index tensors, against Python itself and against differences."""

from __future__ import annotations

import random

import numpy as np
import pytest

import tadc
from tests.support.campaign import seeds
from tests.support.derivations import assert_close, assert_derivative, check_seeds
from tests.support.random_index_programs import IndexProgram, random_index_program

LARGEST = 1e6
"""Programs with larger results, or infinite ones, are not derived."""


def program_of(seed: int) -> IndexProgram:
    return random_index_program(random.Random(seed), kinks=bool(seed % 2))


def inputs(f: tadc.Function, program: IndexProgram) -> list[np.ndarray | int]:
    """The arguments in the order of a function."""
    return [
        program.sizes[a.name] if a.dtype == "size" else program.arguments[a.name] for a in f.args
    ]


def check_values(seed: int) -> None:
    program = program_of(seed)
    f, expected = tadc.compile(program.source), program.reference()
    values = inputs(f, program)
    interpreted = [np.asarray(v) for v in f.with_target("interpret").call(values, {})]
    assert_close(interpreted, [expected[t.name] for t in f.results], 1e-9, "interpreter")
    assert_close([np.asarray(v) for v in f.call(values, {})], interpreted, 1e-9, "cpu")


def check_derivatives(seed: int) -> None:
    program = program_of(seed)
    f = tadc.compile(program.source)
    values, interpreter = inputs(f, program), f.with_target("interpret")
    results = [np.asarray(v) for v in interpreter.call(values, {})]
    if not all(np.max(np.abs(r), initial=0) < LARGEST for r in results):
        return
    places = [n for n, a in enumerate(f.args) if a.dtype == "f64"]
    if not places:
        return
    rng = np.random.default_rng(seed)
    adjoints = [np.asarray(rng.uniform(-1, 1, r.shape)) for r in results]
    named = {a.name: v for a, v in zip(f.args, values, strict=True)}
    named |= {f"d{t.name}": v for t, v in zip(f.results, adjoints, strict=True)}
    d = f.derivative()
    named = {a.name: named[a.name] for a in d.args}
    found = d.with_target("interpret").call([], named)
    assert_close([np.asarray(v) for v in d.call([], named)], found, 1e-9, "cpu")

    def moved(reals: list[np.ndarray]) -> list[np.ndarray]:
        changed = [*values]
        for n, v in zip(places, reals, strict=True):
            changed[n] = v
        return interpreter.call(changed, {})

    gradients = {t.name: v for t, v in zip(d.results, found, strict=True)}
    reals = [np.asarray(values[n]) for n in places]
    assert_derivative(
        moved,
        reals,
        adjoints,
        [gradients[f"d{f.args[n].name}"] for n in places],
        "derivative",
        kinks=True,
    )


def test_values_are_those_of_python() -> None:
    check_seeds(check_values, seeds(20, of=1000), lambda seed: program_of(seed).source)


@pytest.mark.parametrize("seed", seeds(10, of=60))
def test_derivatives_are_those_of_differences(seed: int) -> None:
    check_derivatives(seed)
