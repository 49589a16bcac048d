"""Definitions that share loops compute what they compute apart, in whatever order they are read."""

from __future__ import annotations

import random
from collections.abc import Mapping

import numpy as np
import pytest

import tadc
from tests.support.campaign import seeds
from tests.support.long_calls import count_all_calls_as_long
from tests.support.random_definitions import random_definitions


@pytest.fixture(autouse=True)
def every_call_is_long(monkeypatch: pytest.MonkeyPatch) -> None:
    count_all_calls_as_long(monkeypatch)


@pytest.mark.parametrize("seed", seeds(4, of=600))
def test_values_and_gradients_are_those_of_the_interpreter(seed: int):
    rng = random.Random(seed)
    case = random_definitions(rng)
    f = tadc.compile(case.source)
    results = f.with_target("interpret").call([case.arguments[t.name] for t in f.args], {})
    check(f, case.arguments)
    numbers = np.random.default_rng(seed)
    adjoints = {
        f"d{t.name}": numbers.uniform(-1, 1, np.shape(value))
        for t, value in zip(f.results, results, strict=True)
    }
    check(f.derivative(), {**case.arguments, **adjoints})


def check(f: tadc.Function, arrays: Mapping[str, np.ndarray]) -> None:
    """Compare a call with the interpreter."""
    arguments = [arrays[t.name] for t in f.args]
    expected = f.with_target("interpret").call(arguments, {})
    for a, b in zip(f.call(arguments, {}), expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9, err_msg=str(f))
