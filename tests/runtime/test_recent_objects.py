"""Modules that several programs have: compiled once."""

from __future__ import annotations

import numpy as np
import pytest

import tadc
from tadc.runtime import recent_objects
from tadc.runtime.recent_objects import objects_of
from tadc.support.recent import Recent
from tests.support.compiled_texts import compiled_texts

TEXTS = [f"define i64 @g{n}() {{\n  ret i64 {n}\n}}\n" for n in range(3)]


@pytest.fixture
def texts(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts that this process compiles, and no other does."""
    monkeypatch.setenv("TADC_COMPILER_PROCESSES", "0")
    monkeypatch.setenv("TADC_CACHE", "off")
    return compiled_texts(monkeypatch)


def test_objects_come_in_the_order_of_texts(texts: list[str]):
    first, second, third = objects_of(TEXTS, quick=True)
    assert len({first, second, third}) == 3
    again = objects_of([TEXTS[2], TEXTS[0], TEXTS[2]], quick=True)
    assert again == [third, first, third]
    assert sorted(texts) == TEXTS


def test_quick_code_is_another_object(texts: list[str]):
    objects_of(TEXTS[:1], quick=True)
    objects_of(TEXTS[:1], quick=False)
    assert len(texts) == 2


def test_objects_that_are_forgotten_are_compiled_again(
    texts: list[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(recent_objects, "recent", Recent(2))
    every = objects_of(TEXTS, quick=True)
    assert objects_of(TEXTS, quick=True) == every
    assert len(texts) > len(TEXTS)


def test_a_value_and_that_of_its_pullback_share_functions(texts: list[str]):
    f = tadc.compile("h[i, j] = exp(sum[k](x[i, k] * w[k, j]))\ny[i] = sum[j](h[i, j] * v[j])")
    arrays = {"x": np.ones((64, 70)), "w": np.ones((70, 50)) / 70, "v": np.ones(50)}
    value = f(**arrays)
    alone = len(texts)
    y, _ = tadc.vjp(f, **arrays)
    np.testing.assert_array_equal(y, value)
    assert alone > 0
    assert len({*texts}) == len(texts)
