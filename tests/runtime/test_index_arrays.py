"""Index arguments become dense arrays of whole numbers, or errors in terms of the user."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tadc.errors import ArgumentError, DtypeError, Span, TadcError
from tadc.runtime.index_arrays import check_range, check_sorted, index_array


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.longlong, np.intp])
@pytest.mark.parametrize("shape", [(), (0,), (5,), (2, 3)])
def test_dense_arrays_are_not_copied(dtype: type, shape: tuple[int, ...]):
    array = np.ones(shape, dtype)
    found = index_array("idx", array)
    assert type(found) is np.ndarray
    assert np.shares_memory(found, array) or not array.size
    assert found.dtype is np.dtype(f"i{array.itemsize}")


@pytest.mark.parametrize(
    ("dtype", "wanted"),
    [
        *[(t, np.int32) for t in ("i1", "i2", "u1", "u2", ">i4", ">u2")],
        *[(t, np.int64) for t in ("u4", "u8", ">i8", ">u8")],
    ],
)
def test_other_whole_numbers_are_copied(dtype: str, wanted: type):
    limits = np.iinfo(dtype)
    array = np.array([[limits.min, 0, min(limits.max, 2**63 - 1)]], dtype)
    found = index_array("idx", array)
    np.testing.assert_array_equal(found, array.astype(wanted), strict=True)
    assert found.flags.c_contiguous


def test_arrays_whose_elements_lie_apart_are_copied():
    array = np.arange(24).reshape(4, 6)
    unaligned = np.frombuffer(b"x" + array.tobytes(), np.int64, offset=1).reshape(4, 6)
    for value in (
        array.T,
        array[:, ::2],
        array[::-1],
        np.broadcast_to(array[0], (3, 6)),
        unaligned,
    ):
        found = index_array("idx", value)
        np.testing.assert_array_equal(found, value, strict=True)
        assert found.flags.c_contiguous and found.flags.aligned
        assert not np.shares_memory(found, value)


def test_numbers_have_rank_0():
    for value in (3, -(2**63), 2**63 - 1, np.int64(3), np.uint8(3)):
        found = index_array("q", value)
        assert found.shape == () and int(found) == value


class FromAnotherLibrary:
    def __init__(self, array: Any) -> None:
        self._array = array

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        if self._array is None:
            raise TypeError("not on this device")
        return self._array


def test_arrays_of_others_are_read():
    assert index_array("idx", FromAnotherLibrary(np.arange(3))).tolist() == [0, 1, 2]
    assert index_array("idx", np.ma.masked_array([1, 2])).tolist() == [1, 2]
    assert type(index_array("idx", np.ma.masked_array([1, 2]))) is np.ndarray


@pytest.mark.parametrize(
    ("value", "message", "hint"),
    [
        (
            np.zeros(3),
            "has dtype float64, but indices are whole numbers",
            "idx.astype(numpy.int64)",
        ),
        (2.0, "has dtype float64, but", "int(idx)"),
        (np.ones(2, complex), "has dtype complex128, but", "idx.astype"),
        (np.zeros(3, bool), "has dtype bool, but", "numpy.flatnonzero(idx)"),
        (True, "is a bool, not an array", "numpy.asarray(...)"),
        (np.array([1, None]), "has dtype object, but", "idx.astype"),
        (np.array(["1"]), "has dtype <U1, but", "idx.astype"),
        (np.array(["2000-01-01"], "M8[D]"), "has dtype datetime64[D], but", "idx.astype"),
        (np.ma.masked_array([1, 2], [0, 1]), "has masked elements", "idx.filled(...)"),
        ([1, 2], "is a list, not an array", "numpy.asarray(...)"),
        (None, "is a NoneType, not an array", "a call gives it"),
        (FromAnotherLibrary(None), "gives no array: not on this device", None),
    ],
)
def test_anything_else_is_an_error(value: Any, message: str, hint: str | None):
    span = Span("f.tad", 1, 1, 4, "idx: range(V)[N]")
    with pytest.raises(TadcError) as caught:
        index_array("idx", value, lambda: span)
    error = caught.value
    assert isinstance(error, DtypeError if "dtype" in message else ArgumentError)
    assert error.message.startswith(f"the argument idx {message}")
    assert error.argument == "idx" and error.span is span
    assert (hint or "") in (error.hint or "") and bool(hint) == bool(error.hint)


def test_numbers_of_more_bits_are_errors():
    for value, what in (
        (2**63, "idx is 9223372036854775808"),
        (-(2**63) - 1, "idx is -9223372036854775809"),
        (np.array([[0, 5], [2**64 - 1, 2**63]], np.uint64), f"idx[1, 0] is {2**64 - 1}"),
        (np.uint64(2**63), "idx is 9223372036854775808"),
    ):
        with pytest.raises(ArgumentError) as caught:
            index_array("idx", value)
        assert caught.value.message == f"{what}, but indices have 64 bits"
        assert caught.value.argument == "idx"


# --- checks ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("array", "message"),
    [
        ([1, 2, 3, 4, 5, 6, 7, 77, 99], "dst[7] is 77, but its elements are declared to be in"),
        ([0, -1], "dst[1] is -1, but its elements are declared to be in"),
        ([[0, 1, 2], [3, 4, 50]], "dst[1, 2] is 50, but its elements are declared to be in"),
        (50, "dst is 50, but it is declared to be in"),
    ],
)
def test_elements_outside_are_named(array: Any, message: str):
    for dtype in (np.int32, np.int64):
        with pytest.raises(ArgumentError) as caught:
            check_range("dst", np.array(array, dtype), 50)
        assert caught.value.message == f"{message} range(50)"
        assert caught.value.hint == "int[E] and pad(...) allow others"
        assert caught.value.argument == "dst"


def test_elements_that_are_not_sorted_are_named():
    array = np.array([0, 1, 1, 5, 3, 2])
    with pytest.raises(ArgumentError) as caught:
        check_sorted("row", array)
    assert caught.value.message == "row[4] is 3 after 5, but row is declared to be sorted"
    assert caught.value.argument == "row"
    with pytest.raises(ArgumentError, match=r"row\[2, 0\] is 3 after 5, but"):
        check_sorted("row", array.reshape(3, 2))


def test_elements_as_declared_raise_nothing():
    array = np.array([[0, 0, 1], [4, 4, 49]])
    check_range("dst", array, 50)
    check_sorted("dst", array)
    check_range("dst", np.zeros(0, int), 0)
    check_range("q", np.array(0), 1)
    check_sorted("q", np.array(0))
