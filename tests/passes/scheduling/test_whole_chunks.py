"""Chunks of sums that a class of sizes bounds: one holds all terms, and nothing waits in memory."""

from __future__ import annotations

import numpy as np
import pytest

import tadc

PRODUCT = "y[i, j] = sum[k](x[i, k] * w[j, k]) + b[j]"
WAITING = "%sums = memref.alloca"
SEVERAL = "%segment"


def scheduled(terms: int, target: str = "cpu") -> str:
    f = tadc.compile(PRODUCT, target=target)
    return f.emit("scheduled", {"I": 200, "J": 300, "K": terms}, "f32")


@pytest.mark.parametrize("terms", [33, 65, 127, 255])
def test_sums_of_few_terms_do_not_wait(terms: int) -> None:
    text = scheduled(terms)
    assert "%panel = memref.alloca" in text
    assert WAITING not in text and SEVERAL not in text


@pytest.mark.parametrize(("terms", "one"), [(33, True), (255, True), (256, False), (600, False)])
def test_plans_say_where_there_is_one_chunk(terms: int, one: bool) -> None:
    plan = tadc.compile(PRODUCT).emit("plan", {"I": 200, "J": 300, "K": terms}, "f32")
    assert "sum 1 over k in chunks of " in plan
    assert ("# sum 1 has one chunk" in plan) == one


@pytest.mark.parametrize("terms", [256, 600, 5000])
def test_sums_of_more_terms_than_a_chunk_wait(terms: int) -> None:
    text = scheduled(terms)
    assert WAITING in text
    assert (SEVERAL in text) == (terms >= 4096)  # of which nothing else is known


@pytest.mark.parametrize("terms", [33, 39, 40, 47, 65, 127, 128, 255, 256, 300, 511, 512, 5000])
def test_results_are_those_of_numpy_up_to_the_ends_of_classes(terms: int) -> None:
    rng = np.random.default_rng(terms)
    x, w, b = (rng.uniform(-1, 1, s).astype(np.float32) for s in ((70, terms), (90, terms), 90))
    expected = x.astype(float) @ w.T + b
    f = tadc.compile(PRODUCT)
    np.testing.assert_allclose(f(x, w, b), expected, rtol=0, atol=1e-5 * terms**0.5)
    assert np.array_equal(f(x, w[:64], b[:64])[:, :64], f(x, w, b)[:, :64])


def test_sums_over_two_sizes_of_a_class_stay_whole_where_a_segment_holds_both() -> None:
    """At most 39 * 47 terms are one segment; 127 * 127 may be several."""
    f = tadc.compile("y[i] = sum[k, l](x[i, k, l] * w[k, l])")
    few, many = (f.emit("scheduled", {"I": 300, "K": n, "L": n}, "f32") for n in (40, 100))
    assert SEVERAL not in few
    assert SEVERAL in many
