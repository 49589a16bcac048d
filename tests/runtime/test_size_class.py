"""Classes of sizes: few, from the sizes of a call alone; results are right at their borders."""

from __future__ import annotations

import random

import numpy as np
import pytest

import tadc
from tadc.runtime.size_class import LONG_CALLS, SizeClass, is_number, short_sizes, size_class
from tests.support.campaign import seeds
from tests.support.derivations import assert_close, random_case
from tests.support.long_calls import count_all_calls_as_long

MATMUL = tadc.compile("y[i, j] = sum[k](x[i, k] * w[k, j])").program.summary


def of(size: int) -> SizeClass:
    """The class of products with one size that varies."""
    return size_class(MATMUL, {"I": size, "K": 10_000, "J": 10_000})


def test_a_varying_size_has_few_classes():
    found = {of(n): n for n in range(1, 5000)}
    assert len(found) == 32  # and none for 0, where calls are short
    assert [n for n in range(5000) if is_number(n)] == [*range(17), 32, 48, 64]


@pytest.mark.parametrize(
    ("low", "high", "example"),
    [
        (17, 23, 16),
        (24, 31, 24),
        (33, 39, 32),
        (56, 63, 56),
        (65, 127, 64),
        (512, 1023, 512),
        (4096, 4_000_000, 4096),
    ],
)
def test_sizes_of_a_bucket_share_code_made_best_for_an_example(low: int, high: int, example: int):
    assert of(low) == of(high) != of(low - 1)
    assert dict(of(low).example)["I"] == example
    assert of(low).least["I"] == low
    assert not of(low).numbers


def test_sizes_that_end_the_same_range_are_one_where_they_are_equal():
    program = tadc.compile("y[n] = sum[c](pad(x[n, c]) * w[c])").program.summary
    sizes = {"N": 10_000, "X_1": 700, "C": 700}
    assert program.size_names() == list(sizes)
    assert size_class(program, sizes).others == (("X_1", "C"),)
    assert not size_class(program, sizes | {"C": 701}).others
    assert not size_class(program, sizes | {"N": 700, "C": 701}).others  # no range ends at both
    assert not size_class(program, {"N": 10_000, "X_1": 64, "C": 64}).others  # they are numbers


def test_a_size_is_the_number_that_ends_the_same_range_where_it_equals_that():
    program = tadc.compile("w: f32[96]\ny[n] = sum[c](pad(x[n, c]) * w[c])").program.summary
    sizes = {"N": 10_000, "X_1": 96}
    assert program.size_names() == list(sizes)
    assert size_class(program, sizes).numbers == (("X_1", 96),)
    assert not size_class(program, sizes | {"X_1": 97}).numbers
    assert not size_class(program, sizes | {"N": 96 * 96}).others


CORRELATION = tadc.compile("y[d, w] = sum[c](f[c, w] * g[c, w + d])").program.summary


@pytest.mark.parametrize(("displacements", "is_number"), [(9, True), (17, False), (32, True)])
def test_a_size_is_another_and_a_number_where_their_difference_is_a_length(
    displacements: int, is_number: bool
):
    sizes = {"C": 100, "W": 1000, "G_1": 1000 + displacements - 1}
    found = size_class(CORRELATION, sizes)
    more = displacements - 1
    assert found.others == ((("G_1", f"W+{more}"),) if is_number else ())
    assert dict(found.example)["G_1"] == 512 + (more if is_number else 0)
    assert ("G_1" in found.least) is not is_number
    assert found == size_class(CORRELATION, sizes | {"W": 700, "G_1": 700 + more})


def test_a_size_is_a_number_where_its_difference_to_one_is_a_length():
    numbers = dict(size_class(CORRELATION, {"C": 100, "W": 64, "G_1": 72}).numbers)
    assert numbers == {"W": 64, "G_1": 72}
    short = size_class(CORRELATION, {"C": 100_000, "W": 3, "G_1": 66})  # 64 windows of three
    assert dict(short.numbers) == {"W": 3}
    assert not short.others


@pytest.mark.parametrize(("text", "number"), [("2*i + u - 1", 56), ("i + u", 28)])
def test_a_size_is_the_length_that_windows_have_results_of_where_it_equals_that(
    text: str, number: int
):
    source = f"y[n, i in range(28)] = sum[u in range(3)](pad(x[n, {text}]))"
    program = tadc.compile(source).program.summary
    batch, length = program.size_names()
    found = [n for n in range(17, 90) if size_class(program, {batch: 10_001, length: n}).numbers]
    assert found == sorted([number, 32, 48, 64])


def test_each_class_knows_what_its_sizes_are_at_most():
    for size in [1, 8, 16, 17, 33, 64, 65, 127, 128, 1000, 4095, 4096, 10**9]:
        assert of(size).bounds(4096)["I"] >= size
    assert [of(n).bounds(4096)["I"] for n in (16, 17, 64, 65, 4095)] == [16, 23, 64, 127, 4095]
    assert size_class(MATMUL, {"I": 2, "K": 2, "J": 2}).bounds(4096) == {}


@pytest.mark.parametrize("size", [1, 8, 11, 16, 64])
def test_short_sizes_are_numbers(size: int):
    assert dict(of(size).numbers) == {"I": size}
    assert "I" not in of(size).least
    assert of(size) not in (of(size + 1), of(size - 1))


def test_short_calls_share_one_class():
    assert {size_class(MATMUL, {"I": n, "K": 3, "J": n % 7}) for n in range(50)} == {SizeClass()}


def test_programs_of_fixed_sizes_have_two():
    short = tadc.compile("x: f64[3]\ny[i] = x[i] + 1").program.summary
    long = tadc.compile("x: f64[300000]\ny[i] = x[i] + 1").program.summary
    assert size_class(short, {}) == SizeClass()
    assert size_class(long, {}) == LONG_CALLS


def test_what_is_stored_depends_on_the_shortest_sizes_of_long_calls():
    sizes = {"I": 3, "K": 32, "J": 10**6}
    assert short_sizes(MATMUL, sizes) == {"I": 3}
    assert short_sizes(MATMUL, {"I": 3, "K": 2, "J": 2}) == {}


# --- results --------------------------------------------------------------------------------------


@pytest.fixture
def long_calls(monkeypatch: pytest.MonkeyPatch):
    count_all_calls_as_long(monkeypatch)


@pytest.mark.usefixtures("long_calls")
@pytest.mark.parametrize("seed", seeds(6, of=100))
def test_random_programs_and_pullbacks_of_long_calls(seed: int):
    case = random_case(seed, declarations=("symbolic", "none"))
    results, pullback = tadc.vjp(case.function, *case.values)
    results = results if isinstance(results, tuple) else (results,)
    assert_close(results, case.results, 1e-10, case.source)
    expected = case.interpreted.derivative().call(case.inputs, {})
    assert_close(pullback(*case.adjoints), expected, 1e-9, case.source)


@pytest.mark.usefixtures("long_calls")
def test_neighbours_at_all_borders_of_classes():
    rng = np.random.default_rng(0)
    sizes = [1, 2, 3, 4, 5, 6, 7, 40]
    f = tadc.compile("y[n, i] = sum[c, k](w[c, k] * x[n, c, i + k])")
    shapes = [random.Random(n).choices(sizes, k=4) for n in seeds(6, of=60)]
    for batch, channels, window, length in shapes:
        w = rng.standard_normal((channels, window))
        x = rng.standard_normal((batch, channels, length + window - 1))
        windows = np.lib.stride_tricks.sliding_window_view(x, window, 2)
        y, pullback = tadc.vjp(f, w=w, x=x)
        np.testing.assert_allclose(y, np.einsum("ck,ncik->ni", w, windows), atol=1e-12)
        given = dict(zip([t.name for t in f.args], pullback(y), strict=True))
        np.testing.assert_allclose(given["w"], np.einsum("ni,ncik->ck", y, windows), atol=1e-10)


@pytest.mark.usefixtures("long_calls")
def test_differences_of_sizes_at_all_borders_of_classes():
    """One function for all calls: code for one difference must not run for another."""
    rng = np.random.default_rng(0)
    f = tadc.compile("y[p, q, i, j] = sum[c](f[c, i, j] * g[c, i + p, j + q])")
    lengths = [1, 2, 3, 4, 5, 8, 9, 21]
    shapes = [random.Random(n).choices(lengths, k=5) for n in seeds(6, of=60)]
    for channels, *image, rows, columns in shapes:
        some = rng.standard_normal((channels, *image))
        other = rng.standard_normal((channels, image[0] + rows - 1, image[1] + columns - 1))
        windows = np.lib.stride_tricks.sliding_window_view(other, image, (1, 2))
        y, pullback = tadc.vjp(f, f=some, g=other)
        np.testing.assert_allclose(y, np.einsum("cij,cpqij->pqij", some, windows), atol=1e-12)
        given = dict(zip([t.name for t in f.args], pullback(y), strict=True))
        np.testing.assert_allclose(given["f"], np.einsum("pqij,cpqij->cij", y, windows), atol=1e-10)
        expected = np.zeros(other.shape)
        for p, q in np.ndindex(rows, columns):
            expected[:, p : p + image[0], q : q + image[1]] += y[p, q] * some
        np.testing.assert_allclose(given["g"], expected, atol=1e-10)


@pytest.mark.usefixtures("long_calls")
def test_bits_do_not_depend_on_calls_before():
    rng = np.random.default_rng(0)
    source = "y[i] = sum[k](w[k] * x[i + k])**2"
    calls = [
        (rng.standard_normal(k), rng.standard_normal(n + k)) for n in (3, 5, 50) for k in (2, 7)
    ]
    alone = [tadc.compile(source)(w=w, x=x) for w, x in calls]
    f = tadc.compile(source)
    order = [*range(len(calls))] * 2
    random.Random(1).shuffle(order)
    for n in order:
        w, x = calls[n]
        np.testing.assert_array_equal(f(w=w, x=x), alone[n], strict=True)
