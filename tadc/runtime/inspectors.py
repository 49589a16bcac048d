"""Inspectors: what calls ask of index arrays, and make of them, in machine code.

An index array says where a program reads; an *inspector* looks at the array before the program
runs, and makes what the program then runs along (Saltz, Mirchandani and Crowley, "Run-time
parallelization and scheduling of loops", 1991). The inverse index is the one that gradients need:

    idx     2 0 2 5 0         the elements, in range(6)
    places  1 4 0 2 3         where they are, by value; those of one value in their order
    starts  0 2 2 4 4 4 5     value v is at places[starts[v] : starts[v + 1]]

Arrays are dense, of int32 or int64, and of any shape: positions are those of the flat array. What
is made is int32 where that is enough. Large arrays are shared by the threads of the team, in pieces
that their sizes alone decide; results have the same bits for any number of threads, as there is one
right result.

All but the checks rely on what these have found: with elements outside their range they would read
and write anywhere.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from tadc.once import once
from tadc.runtime.arguments import Array
from tadc.runtime.buffer_pool import pool
from tadc.runtime.cpu import add_python_function, add_symbol, stored_module
from tadc.runtime.inspector_layout import BUCKETS, MOST_PIECES, WORK
from tadc.runtime.plan_runner import Builtin, arrays_are_readable
from tadc.runtime.team import team

INT32, INT64 = np.dtype(np.int32), np.dtype(np.int64)

LEAST_PIECE = 1 << 15
"""The elements of a piece for a thread: some 50 microseconds, more than it takes to share them."""

FEWEST_IN_BUCKETS = 1 << 18
"""The fewest elements that are worth buckets."""

LONGEST_RANGE_AT_ONCE = 1 << 17
"""The longest range that one or two threads count without buckets: its starts lie in the second
cache. Elements are written once more for buckets, for which further threads make up."""


PYTHON_FUNCTIONS = (
    "PyEval_SaveThread",
    "PyEval_RestoreThread",
    "PyLong_AsVoidPtr",
    "PyLong_FromLong",
)


class Work(ctypes.Structure):
    """The words of `inspector_code.Work`, which says what they are."""

    _fields_ = tuple((name, ctypes.c_int64) for name in WORK)


class _Code:
    """The compiled code; it lives as long as the process, as threads may be in it."""

    def __init__(self) -> None:
        for name in PYTHON_FUNCTIONS:
            add_python_function(name)
        add_symbol("tadc_ndarray", id(np.ndarray))
        add_symbol("tadc_int32", id(INT32))
        add_symbol("tadc_int64", id(INT64))
        threads = team.load()
        self._region = REGION(threads.region)
        module = stored_module("inspectors", _text)
        find = module.address
        widths = {INT32: 32, INT64: 64}
        self.first_outside: dict[Any, Callable[..., int]] = {
            dtype: OUTSIDE[dtype](find(f"tadc_first_outside_{bits}"))
            for dtype, bits in widths.items()
        }
        self.first_descent: dict[Any, Callable[..., int]] = {
            dtype: COUNTED(find(f"tadc_first_descent_{bits}")) for dtype, bits in widths.items()
        }
        self.content: Callable[..., int] = COUNTED(find("tadc_content"))
        self._equal = Builtin(find("tadc_equal"))
        in_python = not arrays_are_readable()
        self.equal = _equal_in_python if in_python else self._equal.of(threads.team)
        self.begins: Callable[..., None] = BEGINS(find("tadc_begins"))
        self._entries = {
            (name, element, place): find(f"tadc_{name}_{widths[element]}_{widths[place]}")
            for name in ("sort", "count", "partition", "settle", "starts", "take")
            for element in widths
            for place in widths
        }
        module.keep()

    def run(
        self, name: str, element: Any, place: Any, work: Work, count: int, pieces: int = 1
    ) -> None:
        """Run an entry over range(count), in so many pieces."""
        entry = self._entries[name, element, place]
        address, stop = (team.address() if pieces > 1 else None), ctypes.c_int64(0)
        self._region(address, entry, ctypes.byref(work), 0, count, 1, pieces, ctypes.byref(stop))


def _text() -> str:
    """The machine code, which few processes make themselves: the others import nothing for it."""
    from tadc.runtime.inspector_code import inspector_code

    return inspector_code()


REGION = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 3, *[ctypes.c_int64] * 4, ctypes.c_void_p)
BEGINS = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64)
COUNTED = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64)
OUTSIDE = {
    INT32: ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int32),
    INT64: ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64),
}


@once
def code() -> _Code:
    """The code of this process."""
    return _Code()


# --- checks ---------------------------------------------------------------------------------------


def first_outside(array: Array, below: int) -> int:
    """The position of the first element that is not in range(below), or -1; O(size)."""
    last = min(below - 1, np.iinfo(array.dtype).max)
    return code().first_outside[array.dtype](address_of(array), array.size, last)


def first_descent(array: Array) -> int:
    """The position of the first element that is less than the one before it, or -1; O(size)."""
    if array.size < 2:
        return -1
    return code().first_descent[array.dtype](address_of(array), array.size - 1) + 1 or -1


def equal(*arrays: Array) -> bool:
    """True if each pair of arrays, one behind the other, has one dtype, one shape, and the same
    elements; False also for arrays that are no dense ones of int32 or int64. O(size).

    `code().equal` is the same as a builtin function, which takes a tenth of a microsecond.
    """
    return bool(code().equal(*arrays))


def _equal_in_python(*arrays: Array) -> int:
    """The answer of `equal`, 1 or 0, without machine code that looks into arrays."""
    return int(
        all(
            type(a) is np.ndarray
            and a.dtype == b.dtype
            and a.flags.c_contiguous
            and np.array_equal(a, b)
            for a, b in zip(arrays[::2], arrays[1::2], strict=True)
        )
    )


def content(array: Array) -> int:
    """A number of 32 bits that arrays of other elements have rarely, unless somebody wants it."""
    return code().content(address_of(array), array.nbytes // 4)


# --- inverse indices ------------------------------------------------------------------------------


def places(array: Array, below: int) -> tuple[Array, Array]:
    """The starts and places of an array whose elements are in range(below).

    Starts are below + 1 numbers, places as many as elements: O(size + below), by counting. Where
    that is much, elements go to at most 256 buckets of neighbouring values first, each in the order
    of the array, and each bucket is sorted in the caches of one thread. To sort by comparison takes
    longer also where the range is much longer than the array, as starts are written anyway.
    """
    count, place = array.size, _type_of_places(array, below)
    starts, found = np.empty(below + 1, place), np.empty(count, place)
    work = Work(address_of(array), count, below, address_of(starts), address_of(found))
    is_faster = below > LONGEST_RANGE_AT_ONCE or team.count > 2
    if count >= FEWEST_IN_BUCKETS and is_faster:
        _sort_by_buckets(array, work, place)
        starts[below] = count
    else:
        code().run("sort", array.dtype, place, work, count)
    return starts, found


def _sort_by_buckets(array: Array, work: Work, place: Any) -> None:
    count, below, run = array.size, work.below, code().run
    shift = max(0, (below - 1).bit_length() - (BUCKETS - 1).bit_length())
    buckets = ((below - 1) >> shift) + 1
    chunks = pieces_of(count)
    sizes = 8 * BUCKETS * chunks, 8 * (buckets + 1), 2 * place.itemsize * count
    blocks = [pool.take(size) for size in sizes]
    work.shift, work.chunks = shift, chunks
    work.table, work.begins, work.pairs = map(address_of, blocks)
    run("count", array.dtype, place, work, chunks, chunks)
    code().begins(ctypes.byref(work), buckets)
    run("partition", array.dtype, place, work, chunks, chunks)
    run("settle", array.dtype, place, work, buckets, pieces_of(count + below))
    for block in blocks:
        pool.give(block)


def starts(array: Array, below: int) -> Array:
    """The starts of a sorted array whose elements are in range(below): where each value begins, and
    at last the size; O(size + below)."""
    count, place = array.size, _type_of_places(array, below)
    found = np.empty(below + 1, place)
    work = Work(address_of(array), count, below, address_of(found))
    code().run("starts", array.dtype, place, work, count, pieces_of(count))
    found[int(array.reshape(-1)[-1]) + 1 if count else 0 :] = count
    return found


def take(array: Array, places: Array) -> Array:
    """The elements of an array at flat positions, in the shape of these; O(number of places)."""
    found = np.empty(places.shape, array.dtype)
    work = Work(address_of(array), starts=address_of(found), places=address_of(places))
    code().run("take", array.dtype, places.dtype, work, places.size, pieces_of(places.size))
    return found


def coordinates(places: Array, shape: tuple[int, ...]) -> tuple[Array, ...]:
    """The positions in an array of this shape by dimension, as one array for each; of a vector, the
    places themselves, of a number, none."""
    found: list[Array] = []
    for n in range(len(shape) - 1):
        length = prod(shape[n + 1 :])
        number = places // max(length, 1)
        found.append(number)
        places = places - number * length
    return (*found, places)[: len(shape)]


def _type_of_places(array: Array, below: int) -> Any:
    return INT32 if max(array.size, below) <= np.iinfo(np.int32).max else INT64


def pieces_of(count: int) -> int:
    """The number of pieces in which threads share so much work."""
    return max(1, min(MOST_PIECES, count // LEAST_PIECE))


def address_of(array: Array) -> int:
    """The address of the first element."""
    address: int = array.__array_interface__["data"][0]
    return address
