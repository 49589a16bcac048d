"""Index arrays by content, with the views that programs run along: made once for equal arrays.

A *view* is what an inspector makes of an index array: starts, places (`inspectors`), or whatever is
made of these. Whether an array is the one of the call before is a question of its bytes: arrays are
changed in place, and the same graph comes in new arrays. To compare takes a twentieth of the time
of the views.

    STORE.entry(array, below, last)
        is the last entry            where the bytes are those of last time
        another one of the store     where they are those of any other call in this process
        a new one                    with a copy of the array, whose elements are checked

So values, gradients and layers that have index arrays in common share their views. A program that
runs on the copy is safe from threads that change the array meanwhile: its elements stay in range.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable
from itertools import count
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np

from tadc.errors import ArgumentError
from tadc.once import Lock
from tadc.runtime import inspectors
from tadc.runtime.arguments import Array
from tadc.runtime.buffer_pool import share_of_memory
from tadc.runtime.index_arrays import Locate, check_range, in_32_bits, nowhere

T = TypeVar("T")

VARIABLE = "TADC_VIEW_MEMORY"
"""The variable of the environment that says how many bytes the store may hold."""

SHARE_KEPT, MOST_BYTES_KEPT = 16, 1 << 31
"""At most this part of the memory of the machine is kept, and at most so many bytes."""


class Pieces(NamedTuple):
    """Segments cut into pieces of as many places as sums add plainly (`SEGMENT_TERMS`)."""

    first: Array
    """The first piece of each value, and at last the number of pieces: as `starts` of places."""
    starts: Array
    """The place at which each piece begins, and the number of places."""


class Entry:
    """An index array with its views, which are made when they are first asked for.

    Several threads may make a view at once: all get the one that is done first. No lock is held
    meanwhile, so that views may be made of those of other entries.
    """

    def __init__(self, store: ViewStore, key: Hashable, array: Array, below: int) -> None:
        self.array, self.below = array, below
        self.key = key
        self.number = next(_numbers)
        """The number of the entry in this process: for keys of views that are made of several."""
        self.nbytes = array.nbytes
        """The bytes of the copy and of all views so far."""
        self.is_recent = True
        """True if it was used since the store last looked for what to forget."""
        self.equal = inspectors.code().equal
        self._store = store
        self._views: dict[Hashable, Any] = {}

    def view(self, key: Hashable, make: Callable[[], T]) -> T:
        """The view of this key, made if nobody has; arrays in it are read-only.

        The key says all that `make` depends on beside this entry. One that names another entry does
        so by its `number`, so that neither keeps the other alive.
        """
        found = self._views.get(key)
        if found is None:
            made = make()
            nbytes = _freeze(made)
            found = self._views.setdefault(key, made)
            if found is made:
                self._store.grown(self, nbytes)
        return cast(T, found)

    @property
    def in_32_bits(self) -> Array:
        """The array with elements of 32 bits; raises `ArgumentError` where they have more."""
        if self.array.dtype is inspectors.INT32 and self.array.size:
            return self.array
        return self.view("int32", lambda: in_32_bits("idx", self.array))

    @property
    def is_sorted(self) -> bool:
        """True if no element is less than the one before it."""
        return self.view("sorted", lambda: inspectors.first_descent(self.array) < 0)

    @property
    def starts(self) -> Array:
        """The first of the places of each value, and at last the number of elements."""
        if self.is_sorted:
            return self.view("starts", lambda: inspectors.starts(self.array, self.below))
        return self._inverse[0]

    @property
    def places(self) -> Array:
        """The flat positions of elements by value, those of one value in their order."""
        if self.is_sorted:
            return self.view("places", lambda: np.arange(self.array.size, dtype=self.starts.dtype))
        return self._inverse[1]

    @property
    def _inverse(self) -> tuple[Array, Array]:
        return self.view("inverse", lambda: inspectors.places(self.array, self.below))

    @property
    def coordinates(self) -> tuple[Array, ...]:
        """The places by dimension, an array for each; of a vector they are the places."""
        if self.array.ndim < 2:
            return (self.places,)[: self.array.ndim]
        return self.view(
            "coordinates", lambda: inspectors.coordinates(self.places, self.array.shape)
        )

    @property
    def longest(self) -> int:
        """The most elements that have one value."""
        return self.view("longest", lambda: int(np.diff(self.starts).max(initial=0)))

    @property
    def pieces(self) -> Pieces:
        """The places of each value in pieces, for values that very many elements have."""
        return self.view("pieces", lambda: _pieces(self.starts))


_numbers = count()


def _pieces(starts: Array) -> Pieces:
    """Cut segments every `SEGMENT_TERMS` places: O(segments and pieces)."""
    from tadc.passes.scheduling.tiles.sum_lengths import SEGMENT_TERMS  # few arrays need it

    counts = -(-np.diff(starts) // SEGMENT_TERMS)
    first = np.zeros_like(starts)
    np.cumsum(counts, out=first[1:])
    begins = np.empty(int(first[-1]) + 1, starts.dtype)
    own = np.arange(first[-1], dtype=starts.dtype) - np.repeat(first[:-1], counts)
    begins[:-1] = np.repeat(starts[:-1], counts) + own * SEGMENT_TERMS
    begins[-1] = starts[-1]
    return Pieces(first, begins)


def _freeze(made: Any) -> int:
    """Make arrays read-only; returns their bytes."""
    if isinstance(made, np.ndarray):
        made.flags.writeable = False
        return made.nbytes
    return sum(map(_freeze, cast("tuple[Any, ...]", made))) if isinstance(made, tuple) else 0


class ViewStore:
    """Entries by content, up to a limit of bytes. Safe to use from several threads, and in a child.

    Those that were not used for longest are forgotten first. An entry that is forgotten stays as it
    is for those that hold it.
    """

    def __init__(self, limit: int | None = None) -> None:
        self._limit = limit
        self._lock = Lock()
        self._entries: dict[Hashable, Entry] = {}
        self._bytes = 0

    def forget(self) -> None:
        """Hold nothing."""
        with self._lock:
            self._entries, self._bytes = {}, 0

    @property
    def limit(self) -> int:
        """The most bytes; raises `ArgumentError` where the environment does not say a number."""
        if self._limit is None:
            text = os.environ.get(VARIABLE, "").strip()
            if text and not text.isdecimal():
                raise ArgumentError(f"{VARIABLE} is {text!r}, expected a whole number")
            self._limit = int(text) if text else share_of_memory(SHARE_KEPT, MOST_BYTES_KEPT)
        return self._limit

    def memory(self) -> int:
        """The bytes that the store holds: of copies and of views."""
        return self._bytes

    def entry(
        self,
        array: Array,
        below: int,
        last: Entry | None = None,
        name: str = "idx",
        locate: Locate = nowhere,
    ) -> Entry:
        """The entry of an array, as `index_array` makes it, with elements in range(below).

        The `last` one is looked at first: where it is right, nothing is made and no lock is taken.
        Raises `ArgumentError` about the argument `name`, where an element is outside of the
        range; `locate` tells it where that is declared. O(size).
        """
        if last is not None and last.below == below and last.equal(array, last.array):
            last.is_recent = True
            return last
        key = below, array.dtype, array.shape, inspectors.content(array)
        found = self._entries.get(key)
        if found and found.equal(array, found.array):
            found.is_recent = True
            return found
        copy = array.copy()
        copy.flags.writeable = False
        check_range(name, copy, below, locate)
        return self._added(Entry(self, key, copy, below))

    def _added(self, new: Entry) -> Entry:
        """The entry, or the same one that another thread has added meanwhile.

        Of arrays that differ and have one key, the store holds the newer one.
        """
        with self._lock:
            before = self._entries.pop(new.key, None)
            kept = before if before and before.equal(new.array, before.array) else new
            self._entries[new.key] = kept
            self._bytes += kept.nbytes - (before.nbytes if before else 0)
            self._forget_old()
        return kept

    def grown(self, entry: Entry, nbytes: int) -> None:
        """Count the bytes of a view that an entry has got."""
        with self._lock:
            entry.nbytes += nbytes
            if self._entries.get(entry.key) is entry:
                self._bytes += nbytes
                self._forget_old()

    def _forget_old(self) -> None:
        """Forget entries in the order in which they came, but those used meanwhile: these go to the
        end, as if they had come now (the second chance of Corbato's clock, 1968)."""
        while self._bytes > self.limit:
            key, oldest = next(iter(self._entries.items()))
            del self._entries[key]
            if oldest.is_recent:
                oldest.is_recent = False
                self._entries[key] = oldest
            else:
                self._bytes -= oldest.nbytes


STORE = ViewStore()
"""The store of this process."""

if hasattr(os, "register_at_fork"):  # another thread may have been in between two changes
    os.register_at_fork(after_in_child=STORE.forget)
