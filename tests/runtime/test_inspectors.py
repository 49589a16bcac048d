"""Checks of index arrays and inverse indices are those of NumPy, on any number of threads."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator

import numpy as np
import pytest

import tadc
from tadc.runtime import inspectors
from tadc.runtime.arguments import Array
from tadc.runtime.inspector_code import Work
from tadc.runtime.inspectors import (
    _equal_in_python,
    content,
    coordinates,
    equal,
    first_descent,
    first_outside,
    places,
    starts,
    take,
)
from tadc.runtime.team import team
from tests.support.campaign import seeds
from tests.support.own_process import output_of

SIZES = (0, 1, 2, 200, 5000)
DTYPES = np.int32, np.int64


@pytest.fixture(params=["at once", "in buckets", "in long words"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """A way in which arrays are sorted: small ones as large ones are, too."""
    if request.param != "at once":
        monkeypatch.setattr(inspectors, "FEWEST_IN_BUCKETS", 1)
        monkeypatch.setattr(inspectors, "LONGEST_RANGE_AT_ONCE", 0)
        monkeypatch.setattr(inspectors, "LEAST_PIECE", 100)
    if request.param == "in long words":
        monkeypatch.setattr(inspectors, "_type_of_places", lambda *_: inspectors.INT64)
    return request.param


def arrays(seed: int) -> Iterator[tuple[Array, int]]:
    """Arrays of all sizes with their ranges: any elements, few values, one value, sorted."""
    rng = np.random.default_rng(seed)
    for size in SIZES:
        for dtype in DTYPES:
            below = int(rng.choice([1, 2, 3, 100, 256, 257, 4000, 70_000]))
            any_elements = rng.integers(0, below, size)
            for array in (
                any_elements,
                rng.choice(any_elements[:5], size) if size else any_elements,
                np.full(size, rng.integers(below)),
                np.sort(any_elements),
            ):
                yield array.astype(dtype), below


def checked_inverse(array: Array, below: int) -> tuple[Array, Array]:
    """The starts and places, compared with NumPy's."""
    begins, found = places(array, below)
    flat = array.reshape(-1)
    wanted = np.argsort(flat, kind="stable")
    np.testing.assert_array_equal(found, wanted)
    np.testing.assert_array_equal(begins, np.searchsorted(flat[wanted], np.arange(below + 1)))
    assert begins.dtype == found.dtype
    return begins, found


@pytest.mark.parametrize("seed", seeds(4, of=200))
def test_places_are_those_of_a_stable_sort(seed: int, way: str):
    for array, below in arrays(seed):
        begins, found = checked_inverse(array, below)
        assert begins.dtype == (np.int64 if way == "in long words" else np.int32)
        in_order = take(array, found)
        np.testing.assert_array_equal(in_order, np.sort(array), strict=True)
        np.testing.assert_array_equal(starts(in_order, below), begins, strict=True)


def test_places_have_the_same_bits_on_any_number_of_threads():
    rng = np.random.default_rng(0)
    before = tadc.get_num_threads()
    for below in (3, 1000, 300_000):
        array = rng.integers(0, below, 400_000)
        try:
            found: list[tuple[Array, ...]] = []
            for threads in (1, 2, 7):
                tadc.set_num_threads(threads)
                begins, order = checked_inverse(array, below)
                in_order = take(array, order)
                found.append((begins, order, in_order, starts(in_order, below)))
        finally:
            tadc.set_num_threads(before)
        for others in found[1:]:
            for a, b in zip(found[0], others, strict=True):
                np.testing.assert_array_equal(a, b, strict=True)


def test_large_arrays_are_compared_on_any_number_of_threads():
    before = tadc.get_num_threads()
    for dtype in DTYPES:
        array = np.arange(100_003, dtype=dtype)
        other = array.copy()
        for threads in (1, 2, 7):
            tadc.set_num_threads(threads)
            try:
                team.address()  # they begin
                assert equal(array, other)
                for position in (0, 1, 50_000, 70_001, 100_002):
                    other[position] += 1
                    assert not equal(array, other)
                    other[position] -= 1
            finally:
                tadc.set_num_threads(before)


def test_an_empty_range_has_one_start():
    for dtype in DTYPES:
        nothing = np.zeros(0, dtype)
        for found in (places(nothing, 0)[0], starts(nothing, 0)):
            assert found.tolist() == [0]
        assert first_outside(nothing, 0) == first_descent(nothing) == -1
        assert first_outside(np.zeros(3, dtype), 0) == 0


@pytest.mark.parametrize("shape", [(), (7,), (4, 5), (2, 3, 4), (3, 0, 2)])
def test_coordinates_are_those_of_numpy(shape: tuple[int, ...]):
    array = np.random.default_rng(1).integers(0, 6, shape)
    _, found = checked_inverse(array, 6)
    for own, wanted in zip(
        coordinates(found, shape), np.unravel_index(found, shape) if shape else (), strict=True
    ):
        np.testing.assert_array_equal(own, wanted)
        assert own.dtype == found.dtype


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("size", [1, 2, 200, 4095, 4096, 4097, 10_000])
def test_the_first_element_outside_is_found(dtype: type, size: int):
    limits = np.iinfo(dtype)
    array = np.random.default_rng(size).integers(0, 50, size).astype(dtype)
    assert first_outside(array, 50) == -1
    for position in {0, size // 2, size - 1}:
        for element in (50, -1, limits.max, limits.min):
            wrong = array.copy()
            wrong[position:] = element
            assert first_outside(wrong, 50) == position
    array[-1] = limits.max
    assert first_outside(array, int(limits.max) + 1) == first_outside(array, 2**63) == -1
    assert first_outside(array, int(limits.max)) == size - 1


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_first_descent_is_found(dtype: type):
    limits = np.iinfo(dtype)
    for size in (2, 3, 200, 4096, 4097, 4098, 10_000):
        array = np.sort(np.random.default_rng(size).integers(0, size, size)).astype(dtype)
        assert first_descent(array) == -1
        for position in {1, size // 2 + 1, size - 1} - {size}:
            wrong = array.copy()
            wrong[position - 1], wrong[position:] = limits.max, limits.min
            assert first_descent(wrong) == position
    assert first_descent(np.array([limits.min, limits.max], dtype)) == -1


Comparison = Callable[..., int]
COMPARISONS = equal, _equal_in_python


@pytest.mark.parametrize("compare", COMPARISONS)
def test_equal_arrays_have_one_type_shape_and_content(compare: Comparison):
    for dtype in DTYPES:
        for shape in [(), (0,), (3,), (0, 2), (100, 3), (20_000, 3)]:
            array = np.random.default_rng(2).integers(0, 9, shape).astype(dtype)
            assert compare(array, array.copy())
            assert not compare(array, array[None])
            assert not compare(array, array.astype({4: np.int64, 8: np.int32}[array.itemsize]))
            if array.size:
                other = array.copy()
                other.flat[-1] += 1
                assert compare(array, array, other, other)
                assert not compare(array, array, array, other)
                assert not compare(array, other, array, array)
    assert compare()
    assert not compare([1, 2], np.array([1, 2]))
    assert not compare(np.arange(6).reshape(2, 3), np.arange(6).reshape(3, 2))


@pytest.mark.parametrize("compare", COMPARISONS)
def test_arrays_whose_elements_lie_apart_are_not_compared(compare: Comparison):
    array = np.arange(12).reshape(3, 4)
    assert not compare(array.T, np.ascontiguousarray(array.T))
    assert not compare(array[:, ::2], array[:, ::2].copy())


def test_contents_differ():
    rng = np.random.default_rng(3)
    for dtype in DTYPES:
        array = rng.integers(0, 1000, 500).astype(dtype)
        seen = {content(array)}
        for position in range(499):
            other = array.copy()
            other[[position, position + 1]] = other[[position + 1, position]]
            other[position] += other[position] == other[position + 1]
            seen.add(content(other))
        assert len(seen) == 500
        assert content(array) == content(array.copy())


def test_python_and_machine_code_agree_about_the_words_of_an_array():
    assert [name for name, _ in inspectors.Work._fields_] == [*Work.__annotations__]
    assert ctypes.sizeof(inspectors.Work) == 8 * len(Work.__annotations__)


GUARDED = """
import numpy as np
from tadc.runtime import inspectors
from tests.support.guarded_memory import Guarded

def empty(shape, dtype):
    shape = shape if isinstance(shape, tuple) else (shape,)
    made.append(Guarded(shape, np.dtype(dtype), at_end))
    return made[-1].array

inspectors.pool.take = lambda nbytes: empty(nbytes, np.uint8)
inspectors.pool.give = lambda block: None
for at_end in (False, True):
    for in_buckets in (False, True):
        if in_buckets:
            inspectors.FEWEST_IN_BUCKETS, inspectors.LEAST_PIECE = 1, 100
            inspectors.LONGEST_RANGE_AT_ONCE = 0
        for dtype in (np.int32, np.int64):
            for size in (0, 1, 2, 3, 17, 4095, 4096, 4097, 5000):
                for below in (1, 3, 256, 1000, 1025):
                    made = []
                    plain = np.random.default_rng(size).integers(0, below, size)
                    array, same, ordered = (empty(size, dtype) for _ in range(3))
                    array[:], same[:], ordered[:] = plain, plain, np.sort(plain)
                    usual, np.empty = np.empty, empty
                    try:
                        assert inspectors.first_outside(array, below) == -1
                        assert inspectors.first_descent(ordered) == -1
                        assert inspectors.equal(array, same)
                        inspectors.content(array)
                        starts, places = inspectors.places(array, below)
                        assert (inspectors.starts(ordered, below) == starts).all()
                        assert (inspectors.take(array, places) == ordered).all()
                    finally:
                        np.empty = usual
                    assert (places == np.argsort(plain, kind="stable")).all()
                    assert all(g.is_intact for g in made), (at_end, in_buckets, size, below)
print("inside")
"""


def test_inspectors_touch_their_arrays_alone():
    assert output_of("-c", GUARDED) == "inside\n"
