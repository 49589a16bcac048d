"""The machine code that looks into index arrays: see `inspectors`.

What runs in pieces is an entry of the team, `void entry(work, begin, end, stop)`. There is one for
each type of elements and of places: `tadc_partition_64_32` reads int64 and writes int32.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from tadc.runtime.inspector_layout import BLOCK, BUCKETS, MOST_PIECES, PIECE_COMPARED
from tadc.runtime.llvm_builder import (
    Function,
    Global,
    each,
    exported,
    external,
    function,
    local,
    loop,
    module_of,
    ret,
    variable,
    when,
)
from tadc.runtime.llvm_values import (
    I32,
    I64,
    U8,
    U32,
    U64,
    Flag,
    Number,
    Order,
    Place,
    Pointer,
    Record,
    Row,
)
from tadc.runtime.plan_code import (
    address_in,
    are_equal,
    field,
    ndarray,
    run_region,
    whole_number,
)
from tadc.runtime.plan_layout import C_CONTIGUOUS
from tadc.runtime.team_deputy import give_lock, take_lock
from tadc.runtime.team_regions import fill_memory, smaller

N = TypeVar("N", bound=Number)
Words = Row[Place[U64]]

# --- checks ---------------------------------------------------------------------------------------


def _first_negative(count: U64, number: Callable[[U64], N]) -> I64:
    """The first position whose number is negative, or -1.

    The bits of a block are joined, which LLVM does in vectors: the sign tells if there is one.
    """
    with each((count + (BLOCK - 1)) // BLOCK) as (block, _):
        begin = block * BLOCK
        length = smaller(count - begin, U64(BLOCK))
        joined = variable(number(begin))
        with each(length) as (n, _):
            joined.value = joined.value | number(begin + n)
        with when(joined.value < 0), each(length) as (n, _), when(number(begin + n) < 0):
            ret((begin + n).to(I64))
    return I64(-1)


def _first_outside(array: Row[Place[N]], count: U64, last: N) -> I64:
    """Of e and last - e one is negative just where 0 <= e <= last does not hold."""

    def number(n: U64) -> N:
        element = array[n].value
        return element | (last - element)

    return _first_negative(count, number)


@exported
def tadc_first_outside_32(array: Row[Place[I32]], count: U64, last: I32) -> I64:
    return _first_outside(array, count, last)


@exported
def tadc_first_outside_64(array: Row[Place[I64]], count: U64, last: I64) -> I64:
    return _first_outside(array, count, last)


def _first_descent(array: Row[Place[N]], steps: U64) -> I64:
    """The first step down, from element n to n + 1; numbers may be too far apart for a
    difference."""

    def number(n: U64) -> I32:
        return (array[n + 1].value < array[n].value).choose(I32(-1), I32(0))

    return _first_negative(steps, number)


@exported
def tadc_first_descent_32(array: Row[Place[I32]], steps: U64) -> I64:
    return _first_descent(array, steps)


@exported
def tadc_first_descent_64(array: Row[Place[I64]], steps: U64) -> I64:
    return _first_descent(array, steps)


# --- comparison -----------------------------------------------------------------------------------


@exported
def tadc_equal(self: Pointer, arrays: Row[Place[Pointer]], given: I64) -> Pointer:
    """1 if each pair of arrays has the same type, shape and elements; as a builtin of Python."""
    team = address_in(self)
    with each(given >> 1) as (n, _):
        pair = arrays[n << 1].as_a(Row[Place[Pointer]])
        with when(are_same(team, pair[0].value, pair[1].value).equals(0)):
            ret(whole_number(I64(0)))
    return whole_number(I64(1))


@function
def are_same(team: Pointer, a: Pointer, b: Pointer) -> Flag:
    """True if both are dense arrays of int32 or of int64, and equal."""
    no = Flag(0)
    for array in (a, b):
        with when(field(array, "TYPE", Place[Pointer]).value.differs(ndarray.address())):
            ret(no)
        with when((field(array, "FLAGS", Place[U32]).value & C_CONTIGUOUS).equals(0)):
            ret(no)
    dtype = field(a, "DTYPE", Place[Pointer]).value
    is_wide = dtype.equals(int64.address())
    is_known = is_wide | dtype.equals(int32.address())
    with when((is_known & field(b, "DTYPE", Place[Pointer]).value.equals(dtype)).equals(0)):
        ret(no)
    rank = field(a, "RANK", Place[I32]).value
    with when(field(b, "RANK", Place[I32]).value.differs(rank)):
        ret(no)
    shape = field(a, "SHAPE", Place[Words]).value
    with when(are_equal(shape, field(b, "SHAPE", Place[Words]).value, rank.to(I64)).equals(0)):
        ret(no)
    size = variable(is_wide.choose(U64(8), U64(4)))
    with each(rank.to(I64)) as (n, _):
        size.value = size.value * shape[n].value
    both = local(Comparison)
    both.a.value = field(a, "DATA", Place[Pointer]).value
    both.b.value = field(b, "DATA", Place[Pointer]).value
    stop = variable(U64(0))
    end, words = size.value.to(I64), both.as_a(Words)
    with when(size.value < 2 * PIECE_COMPARED):
        compare(words, I64(0), end, stop)
        ret(stop.value.equals(0))
    thread = give_lock()
    pieces = smaller(size.value // PIECE_COMPARED, U64(MOST_PIECES)).to(I64)
    run_region(team, compare.address(), words, I64(0), end, I64(64), pieces, stop)
    take_lock(thread)
    return stop.value.equals(0)


class Comparison(Record):
    """The addresses of two arrays."""

    a: Place[Pointer]
    b: Place[Pointer]


@function
def compare(words: Words, begin: I64, end: I64, stop: Place[U64]) -> None:
    """Compare bytes of two arrays; where they differ, nothing more is to be compared."""
    both = words.as_a(Comparison)
    a, b = both.a.value.plus(begin), both.b.value.plus(begin)
    with when(compare_memory(a, b, (end - begin).to(U64)).differs(0)):
        stop.store(1, Order.MONOTONIC)


int32 = Global("tadc_int32", Place[U8], linkage="external")
int64 = Global("tadc_int64", Place[U8], linkage="external")
"""The types of elements, as NumPy has one object for each."""


@external("memcmp")
def compare_memory(a: Pointer, b: Pointer, size: U64) -> I32: ...


@exported
def tadc_content(words: Row[Place[U32]], count: U64) -> I64:
    """A number that arrays of other contents have rarely, quickly computed: not against intent.

    Each word is mixed with its position, as MurmurHash3 mixes at the end (Appleby, 2011), and the
    results are added, which LLVM does in vectors.
    """
    found = variable(U32(0))
    with each(count) as (n, _):
        mixed = words[n].value + n.to(U32) * 0x9E3779B1
        mixed = (mixed ^ (mixed >> 16)) * 0x85EBCA6B
        mixed = (mixed ^ (mixed >> 13)) * 0xC2B2AE35
        found.value = found.value + (mixed ^ (mixed >> 16))
    return found.value.to(U64).to(I64)


# --- inverse indices ------------------------------------------------------------------------------


class Work(Record):
    """An index array, and what is made of it. For Python it is `inspectors.Work`."""

    array: Place[Pointer]
    count: Place[U64]
    """The number of elements."""
    below: Place[U64]
    starts: Place[Pointer]
    places: Place[Pointer]
    chunks: Place[U64]
    shift: Place[U64]
    """The bits of a value that the number of its bucket leaves out."""
    table: Place[Words]
    """A row of numbers for each chunk: how many elements are in each bucket, then where the next
    of them goes."""
    begins: Place[Words]
    """The place of the first element of each bucket, and the number of elements."""
    pairs: Place[Pointer]
    """The elements by bucket, each as its value and its place."""


def _row(pointer: Place[Pointer], element: Any) -> Row[Place[Any]]:
    """The row of elements that a pointer in memory points at."""
    row: Any = Row[Place[element]]
    return pointer.value.as_a(row)


def _sort(
    place: type[Number],
    read: Callable[[U64], tuple[U64, Any]],
    part: tuple[U64, U64],
    values: tuple[U64, U64],
    starts: Row[Place[Any]],
    places: Row[Place[Any]],
) -> None:
    """Sort a part of the elements, which holds just those that are in a range of values.

    Starts hold the number of each value, then where it ends, and at last where it begins, as its
    elements are written from the last to the first: equal ones stay in their order.
    """
    (begin, end), (low, high) = part, values
    fill_memory(starts[low], U8(0), (high - low) * (place.bits // 8), Flag(0))
    with each(end - begin) as (n, _):
        value, _ = read(begin + n)
        starts[value].value = starts[value].value + 1
    total = variable(begin.to(place))
    with each(high - low) as (n, _):
        total.value = total.value + starts[low + n].value
        starts[low + n].value = total.value
    with each(end - begin) as (n, _):
        value, position = read(end - 1 - n)
        target = starts[value].value - 1
        starts[value].value = target
        places[target].value = position


def _entries(element: type[Number], place: type[Number]) -> list[Function[..., None]]:
    """The entries for one type of elements, and one of places."""

    def elements(work: Work) -> Row[Place[Any]]:
        return _row(work.array, element)

    def results(work: Work) -> tuple[Row[Place[Any]], Row[Place[Any]]]:
        return _row(work.starts, place), _row(work.places, place)

    def tadc_sort(params: Pointer, begin: U64, end: U64, stop: Place[U64]) -> None:
        """Sort a range of elements, which is all there are."""
        work = params.as_a(Work)
        array, below = elements(work), work.below.value
        starts, places = results(work)

        def read(n: U64) -> tuple[U64, Any]:
            return array[n].value.to(U64), n.to(place)

        _sort(place, read, (begin, end), (U64(0), below), starts, places)
        starts[below].value = end.to(place)

    def chunk(work: Work, n: U64) -> tuple[U64, U64, Words]:
        """The begin and the length of a chunk of the elements, and its row of the table."""
        count, chunks = work.count.value, work.chunks.value
        begin = count * n // chunks
        return begin, count * (n + 1) // chunks - begin, work.table.value[n * BUCKETS].as_a(Words)

    def tadc_count(params: Pointer, begin: U64, end: U64, stop: Place[U64]) -> None:
        """Count the elements of chunks by bucket."""
        work = params.as_a(Work)
        array, shift = elements(work), work.shift.value
        with each(end - begin) as (c, _):
            first, length, counts = chunk(work, begin + c)
            fill_memory(counts, U8(0), U64(BUCKETS * 8), Flag(0))
            with each(length) as (n, _):
                counted = counts[array[first + n].value.to(U64) >> shift]
                counted.value = counted.value + 1

    def tadc_partition(params: Pointer, begin: U64, end: U64, stop: Place[U64]) -> None:
        """Write the elements of chunks to their buckets, in order."""
        work = params.as_a(Work)
        array, shift, pairs = elements(work), work.shift.value, _row(work.pairs, place)
        with each(end - begin) as (c, _):
            first, length, targets = chunk(work, begin + c)
            with each(length) as (n, _):
                value = array[first + n].value
                free = targets[value.to(U64) >> shift]
                target = free.value
                free.value = target + 1
                pairs[target << 1].value = value.to(place)
                pairs[(target << 1) + 1].value = (first + n).to(place)

    def tadc_settle(params: Pointer, begin: U64, end: U64, stop: Place[U64]) -> None:
        """Sort the elements of buckets."""
        work = params.as_a(Work)
        shift, below, begins = work.shift.value, work.below.value, work.begins.value
        pairs = _row(work.pairs, place)
        starts, places = results(work)

        def read(n: U64) -> tuple[U64, Any]:
            return pairs[n << 1].value.to(U64), pairs[(n << 1) + 1].value

        with each(end - begin) as (n, _):
            bucket = begin + n
            part = begins[bucket].value, begins[bucket + 1].value
            values = bucket << shift, smaller(bucket + 1 << shift, below)
            _sort(place, read, part, values, starts, places)

    def tadc_starts(params: Pointer, begin: U64, end: U64, stop: Place[U64]) -> None:
        """Write where the values of a sorted array begin: those above one element, up to the
        next one, begin at the next one."""
        work = params.as_a(Work)
        array, (starts, _) = elements(work), results(work)
        with each(end - begin) as (n, _):
            p = begin + n
            low = variable(U64(0))
            with when(p > 0):
                low.value = array[p - 1].value.to(U64) + 1
            _fill(starts, low.value, array[p].value.to(U64) + 1, p.to(place))

    def tadc_take(params: Pointer, begin: U64, end: U64, stop: Place[U64]) -> None:
        """Write the elements at some places where the starts are."""
        work = params.as_a(Work)
        array, places, found = elements(work), _row(work.places, place), _row(work.starts, element)
        with each(end - begin) as (n, _):
            found[begin + n].value = array[places[begin + n].value].value

    bodies = tadc_sort, tadc_count, tadc_partition, tadc_settle, tadc_starts, tadc_take
    return [Function(body, f"{body.__name__}_{element.bits}_{place.bits}", "") for body in bodies]


def _fill(row: Row[Place[Any]], low: U64, high: U64, number: Any) -> None:
    """Write a number to a range of a row, which is mostly short."""
    n = variable(low)
    with loop() as rounds:
        rounds.end.go_unless(n.value < high)
        row[n.value].value = number
        n.value = n.value + 1


@exported
def tadc_begins(work: Work, buckets: U64) -> None:
    """Turn the numbers of elements into where they go: by bucket, and in each of them by chunk."""
    begins, table = work.begins.value, work.table.value
    total = variable(U64(0))
    with each(buckets) as (bucket, _):
        begins[bucket].value = total.value
        with each(work.chunks.value) as (chunk, _):
            counted = table[chunk * BUCKETS + bucket]
            count = counted.value
            counted.value = total.value
            total.value = total.value + count
    begins[buckets].value = total.value


def inspector_code() -> str:
    """The module."""
    checks = (
        *(tadc_first_outside_32, tadc_first_outside_64),
        *(tadc_first_descent_32, tadc_first_descent_64),
        *(tadc_equal, tadc_content, tadc_begins),
    )
    widths = I32, I64
    entries = [f for element in widths for place in widths for f in _entries(element, place)]
    return str(module_of(*checks, *entries))
