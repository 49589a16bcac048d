"""Calls of programs with index tensors: an inspector makes views, and an executor runs along them.

    arguments  ->  checked index arrays  ->  views of these  ->  `Runner` of the located program

The views of an array are made once (`view_store`): a later call compares its bytes. That the
elements are in their ranges is known of an array that was checked, and runs on its copy: so nothing
outside of any array is ever read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from operator import index
from typing import Any, NamedTuple

import numpy as np

from tadc.dialects.tix import IndexRange
from tadc.errors import ArgumentError, SizeError
from tadc.program import Program, recursing
from tadc.runtime.arguments import DTYPES, Array, as_array, check_rank, dense_strides
from tadc.runtime.executable import Executable, Plan, Strides
from tadc.runtime.index_arrays import check_range, check_sorted, in_32_bits, index_array
from tadc.runtime.inspectors import code
from tadc.runtime.located import views_of
from tadc.runtime.parameters import Parameter
from tadc.runtime.runner import Prepared, Runner
from tadc.runtime.size_class import LONG_CALLS, SizeClass
from tadc.runtime.view_store import STORE, Entry
from tadc.support.recent import Recent

MOST_BYTES_COMPARED = 1 << 16
"""Bytes of an index array without views up to which it is compared with that of the call before:
to check a longer one again takes as long as that."""
LONGEST_RANGE = 1 << 31
"""The end of the longest range whose elements have 32 bits."""

MOST_SHAPES = 1024
"""The number of shapes of arguments whose sizes a program remembers."""


@dataclass
class _IndexArgument:
    """An index argument of a program, and what was made of the array of the call before."""

    number: int
    parameter: Parameter
    range: IndexRange
    has_views: bool
    last: Entry | None = None

    def entry(self, array: Array, end: int) -> Entry:
        """The entry of an array, whose elements are as their declaration says."""
        name, locate = self.parameter.name, self.parameter.locate
        entry = self.last = STORE.entry(array, end, self.last, name, locate)
        if self.range.is_sorted and not entry.is_sorted:
            check_sorted(name, array, locate)
        return entry

    def checked(self, array: Array, end: int | None) -> Array:
        """The array in 32 bits, whose elements are as their declaration says."""
        name, locate = self.parameter.name, self.parameter.locate
        if end is not None:
            check_range(name, array, end, locate)
        if self.range.is_sorted:
            check_sorted(name, array, locate)
        if end is not None and end <= LONGEST_RANGE and array.size:  # what was checked fits
            return array.astype(DTYPES["int"], copy=False)
        return in_32_bits(name, array, locate)

    def kept(self, array: Array) -> Array:
        """The array itself or, if it is short and has no views, a copy that its caller cannot
        change."""
        return array if self.has_views or array.nbytes > MOST_BYTES_COMPARED else array.copy()

    def copy_of(self, kept: Array) -> Array | None:
        """An array of the same elements that nobody changes, to compare later ones with."""
        if not self.has_views:
            return kept if kept.nbytes <= MOST_BYTES_COMPARED else None
        last = self.last
        return last.array if last is not None and last.equal(kept, last.array) else None


class _Last(NamedTuple):
    """The arguments of a call, as far as what the executor got for them depends on them."""

    indices: Sequence[tuple[int, Array, Array]]
    """The number of each index argument, its array as it was, and that in 32 bits."""
    sizes: Sequence[tuple[int, Any, Array]]
    """The number of each size argument, the size, and the array that stands for it."""
    shapes: Sequence[tuple[int, tuple[int, ...]]]
    """The number and the shape of each real argument."""
    views: Sequence[Array]

    def extended(self, values: Sequence[Any]) -> list[Any] | None:
        """The arguments of the executor, for a call with these index arrays, sizes and shapes."""
        found, pairs = [*values, *self.views], list[Any]()
        for n, shape in self.shapes:
            value = found[n]
            if type(value) is not np.ndarray or value.shape != shape:
                return None
        for n, size, array in self.sizes:
            if type(found[n]) is not type(size) or found[n] != size:
                return None
            found[n] = array
        for n, copy, checked in self.indices:
            pairs += (found[n], copy)
            found[n] = checked
        return found if not pairs or code().equal(*pairs) else None


class InspectedRunner(Runner):
    """A program with index tensors, or with sizes that callers give, that is called."""

    def __init__(self, program: Program, target: str):
        super().__init__(program, target)
        self._executor = Runner(self.executor.program, target)
        views = views_of(self._executor.program.summary)
        self._views = [(view.of, view.dimension) for view in views]
        inputs = list(zip(self.parameters, program.summary.inputs, strict=True))
        viewed = {view.of for view in views}
        self._indices = [
            _IndexArgument(n, p, t.type.element, p.name in viewed)
            for n, (p, t) in enumerate(inputs)
            if isinstance(t.type.element, IndexRange)
        ]
        self._sizes = [n for n, (_, t) in enumerate(inputs) if t.type.is_size]
        self._real = [n for n, (_, t) in enumerate(inputs) if t.type.is_real]
        self._last_arguments: _Last | None = None
        self._ends: Recent[object, Sequence[int | None]] = Recent(MOST_SHAPES)

    def call(
        self, positional: Sequence[Any], named: Mapping[str, Any], out: Any = None
    ) -> list[Any]:
        last = self._last_arguments
        if last is not None and out is None:  # most calls are like an earlier one
            values = self.in_order(positional, named) if named else positional
            if len(values) == len(self.names) and (found := last.extended(values)):
                return self._executor.call(found, {})
        if out is not None and "out" in self.names:
            named, out = {**named, "out": out}, None
        return self._executor.call(self._inspected(positional, named), {}, out)

    def prepare(self, positional: Sequence[Any], named: Mapping[str, Any]) -> Prepared:
        return self._executor.prepare(self._inspected(positional, named), {})

    def executable(self, precision: str, sizes: SizeClass = LONG_CALLS) -> Executable:
        return self._executor.executable(precision, sizes)

    @recursing
    def plan(
        self, shapes: Sequence[Sequence[int]], precision: str, strides: Strides | None = None
    ) -> Plan:
        """The plan for arguments of these shapes, which takes their views behind them."""
        ends = self.ends_for(tuple([tuple(s) for s in shapes]))
        counts = {
            argument.parameter.name: (1 + (end or 0), prod(shapes[argument.number]))
            for argument, end in zip(self._indices, ends, strict=True)
        }
        views = [(counts[of][dimension is not None],) for of, dimension in self._views]
        if strides is not None:
            strides = [*strides, *(dense_strides(s, DTYPES["int"].itemsize) for s in views)]
        return self._executor.plan([*shapes, *views], precision, strides)

    @recursing
    def sizes(self, positional: Sequence[Any], named: Mapping[str, Any]) -> Mapping[str, int]:
        """Every size of the program for the arguments of a call."""
        return self.sizes_of([a.shape for a in self._arrays(positional, named)])

    @recursing
    def _inspected(self, positional: Sequence[Any], named: Mapping[str, Any]) -> list[Any]:
        """The arguments of the located program; raises `ArgumentError` for bad elements."""
        values = self.bind(positional, named)
        arrays = self._arrays(values, {})
        index_arrays = {a.number: a.kept(arrays[a.number]) for a in self._indices}
        checked, views = self.inspect(index_arrays, self.ends_for(tuple(a.shape for a in arrays)))
        sizes = [(n, values[n], arrays[n]) for n in self._sizes]
        for n, _, array in sizes:
            values[n] = array
        for n, array in checked.items():
            values[n] = array
        copies = {a.number: a.copy_of(index_arrays[a.number]) for a in self._indices}
        if all(copy is not None for copy in copies.values()):
            indices = [(n, copy, values[n]) for n, copy in copies.items() if copy is not None]
            shapes = [(n, arrays[n].shape) for n in self._real]
            self._last_arguments = _Last(indices, sizes, shapes, views)
        return [*values, *views]

    def inspect(
        self, indices: Mapping[int, Array], ends: Sequence[int | None]
    ) -> tuple[dict[int, Array], list[Array]]:
        """The arrays of index arguments as code runs on them, and the views of these.

        Arrays come by the number of their argument, as `index_array` makes them; those that the
        program does not read may be left out. The `ends` are those `ends_for` the call. The answer
        has dense arrays of 32 bits: the same arguments by number, and what stands behind all
        arguments of the `executor`. Raises `ArgumentError` for bad elements; O(size) where the
        arrays are those of an earlier call.
        """
        entries: dict[str, Entry] = {}
        checked: dict[int, Array] = {}
        for argument, end in zip(self._indices, ends, strict=True):
            n = argument.number
            if n not in indices:
                continue
            if argument.has_views and end is not None:
                entry = argument.entry(indices[n], end)
                entries[argument.parameter.name], checked[n] = entry, entry.in_32_bits
            else:
                checked[n] = argument.checked(indices[n], end)
        return checked, [_view(entries[of], dimension) for of, dimension in self._views]

    def _arrays(self, positional: Sequence[Any], named: Mapping[str, Any]) -> list[Array]:
        """The arguments as arrays, whose elements are not looked at."""
        values = self.bind(positional, named)
        return [_array(p, v, values) for p, v in zip(self.parameters, values, strict=True)]

    def ends_for(self, shapes: tuple[tuple[int, ...], ...]) -> Sequence[int | None]:
        """The ends of the ranges of all index arguments, for arguments of these shapes."""
        found = self._ends.get(shapes)
        if found is None:
            sizes = self.sizes_of(shapes)
            ends = (argument.range.end for argument in self._indices)
            found = [None if end is None else max(0, end.evaluate(sizes)) for end in ends]
            self._ends.put(shapes, found)
        return found


def runner_of(program: Program, target: str) -> Runner:
    """The program ready for calls on a target."""
    is_plain = all(t.type.is_real for t in program.summary.inputs)
    return Runner(program, target) if is_plain else InspectedRunner(program, target)


def _view(entry: Entry, dimension: int | None) -> Array:
    """A view of an index array: its starts, or its places along a dimension."""
    return entry.starts if dimension is None else entry.coordinates[dimension]


def _array(parameter: Parameter, value: Any, beside: Sequence[Any]) -> Array:
    """The value of an argument as an array."""
    match parameter.dtype:
        case "int":
            array = index_array(parameter.name, value, parameter.locate)
            check_rank(parameter, array)
            return array
        case "size":
            return _given_size(parameter, value)
        case _:
            return as_array(parameter, value, beside)


def _given_size(parameter: Parameter, value: Any) -> Array:
    """An array that has a size as its shape; nobody reads it."""
    name = parameter.name
    try:
        size = index(value)
    except TypeError:
        raise ArgumentError(
            f"the size {name} is a {type(value).__name__}, not a whole number",
            parameter.span,
            f"give it at the call: f(..., {name}=3)",
            argument=name,
        ) from None
    if size < 0:
        raise SizeError(
            f"the size {name} is {size}: no size is negative", parameter.span, size=name
        )
    return np.empty(size, DTYPES["size"])
