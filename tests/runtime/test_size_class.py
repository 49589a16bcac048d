"""Classes of sizes: few, from the sizes of a call alone; results are right at their borders."""

from __future__ import annotations

import pytest

import tadc
from tadc.runtime.size_class import LONG_CALLS, SizeClass, is_number, short_sizes, size_class

MATMUL = tadc.compile("y[i, j] = sum[k](x[i, k] * w[k, j])").program.op


def of(size: int) -> SizeClass:
    """The class of products with one size that varies."""
    return size_class(MATMUL, {"I": size, "K": 10_000, "J": 10_000})


def test_a_varying_size_has_few_classes():
    found = {of(n): n for n in range(1, 3000)}
    assert len(found) == 20  # and none for 0, where calls are short
    assert [n for n in range(3000) if is_number(n)] == [*range(9), 16, 32, 48, 64]


@pytest.mark.parametrize(
    ("low", "high", "example"),
    [(9, 15, 8), (17, 23, 16), (24, 31, 24), (33, 39, 32), (56, 63, 56), (65, 10**9, 512)],
)
def test_sizes_of_a_bucket_share_code_made_best_for_an_example(low: int, high: int, example: int):
    assert of(low) == of(high) != of(low - 1)
    assert dict(of(low).example)["I"] == example
    assert not of(low).numbers


@pytest.mark.parametrize("size", [1, 8, 16, 64])
def test_short_sizes_are_numbers(size: int):
    assert dict(of(size).numbers) == {"I": size}
    assert of(size) not in (of(size + 1), of(size - 1))


def test_short_calls_share_one_class():
    assert {size_class(MATMUL, {"I": n, "K": 3, "J": n % 7}) for n in range(500)} == {SizeClass()}


def test_programs_of_fixed_sizes_have_two():
    short = tadc.compile("x: f64[3]\ny[i] = x[i] + 1").program.op
    long = tadc.compile("x: f64[300000]\ny[i] = x[i] + 1").program.op
    assert size_class(short, {}) == SizeClass()
    assert size_class(long, {}) == LONG_CALLS


def test_what_is_stored_depends_on_the_shortest_sizes_of_long_calls():
    sizes = {"I": 3, "K": 16, "J": 10**6}
    assert short_sizes(MATMUL, sizes) == {"I": 3}
    assert short_sizes(MATMUL, {"I": 3, "K": 2, "J": 2}) == {}
