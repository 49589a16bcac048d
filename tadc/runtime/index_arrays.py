"""The values of index arguments: whole numbers, made dense arrays, and checks of their elements.

dst[7] is 77, but its elements are declared to be in range(50)
hint: int[E] and pad(...) allow others
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tadc.errors import ArgumentError, DtypeError, Span
from tadc.runtime.arguments import Array, array_of, is_number
from tadc.runtime.inspectors import INT32, INT64, first_descent, first_outside
from tadc.runtime.parameters import Parameter

Locate = Callable[[], Span | None]
"""The way to a declaration, which only errors look for."""


def nowhere() -> None:
    """The place of an argument that no text declares."""


def index_array(name: str, value: Any, locate: Locate = nowhere) -> Array:
    """The value as a dense array of int32 or int64, not copied where it is one.

    A number becomes an array of rank 0. Other types of whole numbers, and arrays whose elements lie
    apart, are copied. Raises `ArgumentError` for what is no array or has elements that are masked
    or too large, and `DtypeError` for arrays of anything but whole numbers; `locate` tells errors
    where the argument is declared.
    """
    if type(value) is np.ndarray and (value.dtype is INT64 or value.dtype is INT32):
        flags = value.flags
        if flags.c_contiguous and flags.aligned:
            return value
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        raise _too_large(name, name, value, locate)
    array = array_of(Parameter(name, "", 0, locate), value)
    dtype = array.dtype
    if dtype.kind not in "iu":
        raise DtypeError(
            f"the argument {name} has dtype {dtype}, but indices are whole numbers",
            locate(),
            _hint_of_dtype(name, dtype, value),
            argument=name,
        )
    if dtype.kind == "u" and array.size and array.max() >= 2**63:
        position = int(np.argmax(array >= np.uint64(2**63)))
        raise _too_large(name, _element(name, array, position), array.flat[position], locate)
    bits_needed = 8 * dtype.itemsize + (dtype.kind == "u")
    wanted = INT32 if bits_needed <= 32 else INT64
    # the view has NumPy's own object for the type, by which machine code knows it
    return np.require(np.asarray(array), wanted, ["C", "A"]).view(wanted)


def _hint_of_dtype(name: str, dtype: np.dtype[Any], value: Any) -> str:
    if is_number(value):
        return f"int({name}) is a whole number"
    if dtype.kind == "b":
        return f"numpy.flatnonzero({name}) has the positions that are true"
    return f"{name}.astype(numpy.int64) converts it"


def _too_large(name: str, element: str, value: Any, locate: Locate) -> ArgumentError:
    return ArgumentError(f"{element} is {value}, but indices have 64 bits", locate(), argument=name)


# --- checks ---------------------------------------------------------------------------------------


def check_range(name: str, array: Array, below: int, locate: Locate = nowhere) -> None:
    """Raise `ArgumentError` where an element of an index array is not in range(below); O(size)."""
    position = first_outside(array, below)
    if position >= 0:
        what = "its elements are" if array.ndim else "it is"
        raise ArgumentError(
            f"{_element(name, array, position)} is {array.flat[position]}, "
            f"but {what} declared to be in range({below})",
            locate(),
            "int[E] and pad(...) allow others",
            argument=name,
        )


def check_sorted(name: str, array: Array, locate: Locate = nowhere) -> None:
    """Raise `ArgumentError` where an element is less than the one before it; O(size)."""
    position = first_descent(array)
    if position >= 0:
        raise ArgumentError(
            f"{_element(name, array, position)} is {array.flat[position]} "
            f"after {array.flat[position - 1]}, but {name} is declared to be sorted",
            locate(),
            "without sorted(...) elements come in any order",
            argument=name,
        )


def in_32_bits(name: str, array: Array, locate: Locate = nowhere) -> Array:
    """The array with elements of 32 bits, as code reads them; not copied where it is one.

    One without elements has memory for one: code may read the nearest element of a place before it
    is known that there is none.

    Raises `ArgumentError` where an element has more.
    """
    if not array.size:
        return np.zeros(1, INT32)[:0].reshape(array.shape)
    if array.dtype is INT32:
        return array
    narrow = array.astype(INT32)
    if not np.array_equal(narrow, array):
        position = int(np.argmax(narrow != array))
        raise ArgumentError(
            f"{_element(name, array, position)} is {array.flat[position]}, "
            "but elements of index tensors have 32 bits",
            locate(),
            "elements are from -2**31 to 2**31 - 1",
            argument=name,
        )
    return narrow


def _element(name: str, array: Array, position: int) -> str:
    """`idx[2, 3]`, the element at a flat position; a number is its name alone."""
    if not array.ndim:
        return name
    return f"{name}[{', '.join(map(str, np.unravel_index(position, array.shape)))}]"
