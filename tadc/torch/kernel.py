"""`Kernel`: runs an operation on tensors of the CPU, where they lie.

Dense tensors are handed over by address, and so are large ones whose rows lie apart; others are
copied first. Results are new. What does not depend on numbers is found out once for tensors alike:
that is `Ready`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from tadc.frameworks.operation import Operation
from tadc.runtime.arguments import DTYPES as NUMPY_DTYPES
from tadc.runtime.arguments import (
    Array,
    dense_strides,
    order_of_axes,
    strides_of,
    strides_to_read,
)
from tadc.runtime.buffer_pool import FEWEST_BYTES_LEASED, pool
from tadc.runtime.index_arrays import index_array
from tadc.runtime.inspected import InspectedRunner
from tadc.runtime.inspectors import address_of
from tadc.runtime.runner import copier, native_plan
from tadc.support.recent import Recent
from tadc.torch import private
from tadc.torch.checks import DTYPES, NAMES, check, check_sizes
from tadc.torch.layout import Layout, Shape, shape_of
from tadc.torch.package import Dtype, Tensor, torch

if TYPE_CHECKING:
    from tadc.runtime.buffer_assignment import Tensor as Result
    from tadc.runtime.native_plan import NativePlan

Copier = Callable[["Tensor"], "Tensor"]
"""A function that makes a dense copy of a tensor."""

MOST_READY = 1024
"""The number of kinds of tensors for which an operation remembers what runs."""


class Kernel:
    """An operation as a function of the tensors that it reads, and of the shapes of the others.

    Raises `TadcError` for tensors that do not fit. Safe to call from several threads.
    """

    def __init__(self, operation: Operation, layout: Layout):
        self._operation = operation
        self._layout = layout
        self.parameters = [operation.function.runner.parameters[n] for n in layout.read]
        self._ready: Recent[object, Ready] = Recent(MOST_READY)

    def __call__(self, tensors: Sequence[Tensor], shapes: Sequence[Shape]) -> list[Tensor]:
        """The results, new tensors."""
        return self.ready(tensors, shapes)(tensors)

    def ready(self, tensors: Sequence[Tensor], shapes: Sequence[Shape]) -> Ready:
        """The plan for tensors like these, ready to run."""
        key = (*map(tuple, shapes), *[(t.shape, t.dtype, t.stride()) for t in tensors])
        found = self._ready.get(key)
        if found is None:
            found = self._make(tensors, shapes)
            self._ready.put(key, found)
        return found

    def precision(self, tensors: Sequence[Tensor]) -> str:
        """The precision in which undeclared elements are computed."""
        check(self.parameters, tensors)
        dtypes: list[str | None] = [None] * len(self._operation.names)
        for n, t in zip(self._layout.read, tensors, strict=True):
            dtypes[n] = NAMES.get(t.dtype)
        return self._operation.precision(dtypes)

    def _make(self, tensors: Sequence[Tensor], shapes: Sequence[Shape]) -> Ready:
        precision = self.precision(tensors)
        runner = self._operation.function.runner
        check_sizes([runner.parameters[n] for n in self._layout.unread], shapes)
        wanted = [precision if p.dtype == "real" else p.dtype for p in self.parameters]
        dtypes = [NUMPY_DTYPES[name] for name in wanted]
        arrays = [
            np.empty(t.shape, dtype) if name == "int" else t.detach().numpy()
            for t, name, dtype in zip(tensors, wanted, dtypes, strict=True)
        ]
        strides = strides_to_read(arrays, dtypes)
        copied = {
            n: _copier(array, dtype, DTYPES[wanted[n]])
            for n, (array, dtype) in enumerate(zip(arrays, dtypes, strict=True))
            if not _is_dense(array, dtype) and not (strides and strides_of(array, dtype))
        }
        every = tuple(tuple(shape_of(v)) for v in self._layout.values(tensors, shapes))
        if strides is not None:  # what is not read may lie anywhere
            strides = self._layout.values(strides, [dense_strides(s, 8) for s in shapes])
        plan = native_plan(runner, every, precision, strides)
        if not isinstance(runner, InspectedRunner):
            return Ready(plan, self._layout.unread, copied)
        indices = [(n, k) for k, n in enumerate(self._layout.read) if wanted[k] == "int"]
        return Inspected(plan, self._layout.unread, copied, runner, indices, runner.ends_for(every))


def _is_dense(array: Array, dtype: np.dtype[Any]) -> bool:
    return array.dtype == dtype and array.flags.c_contiguous and array.flags.aligned


class Ready:
    """A plan for tensors of certain shapes, strides and types, at which it does not look."""

    def __init__(self, plan: NativePlan, unread: Sequence[int], copied: Mapping[int, Copier]):
        self._plan = plan
        self._run = plan.caller(torch.get_num_threads)
        self._unread = unread
        self._copied = copied
        self._is_special = bool(unread or copied)
        self._new = [_allocator(t) for t in plan.results]
        self._only = self._new[0] if len(self._new) == 1 else None

    def __call__(self, tensors: Sequence[Tensor]) -> list[Tensor]:
        """The results, new tensors."""
        addresses: Iterable[int] = map(ADDRESS, tensors)
        if self._is_special:
            tensors, addresses = self._addresses(tensors)
        if self._only:
            result = self._only()
            self._run(*addresses, result.data_ptr())
            return [result]
        results = [new() for new in self._new]
        self._run(*addresses, *map(ADDRESS, results))
        return results

    def _addresses(self, tensors: Sequence[Tensor]) -> tuple[Sequence[Any], list[int]]:
        """All addresses, and what holds the memory there: the tensors, some of which are copied."""
        copies = {n: copy(tensors[n]) for n, copy in self._copied.items()}
        tensors = [copies.get(n, t) for n, t in enumerate(tensors)]
        addresses = list(map(ADDRESS, tensors))
        for n in self._unread:  # in ascending order
            addresses.insert(n, 0)
        return tensors, addresses


class Inspected(Ready):
    """A plan of a program with index tensors: it runs along their views.

    These are made in the call, and kept by the content of index tensors: see `view_store`.
    """

    def __init__(
        self,
        plan: NativePlan,
        unread: Sequence[int],
        copied: Mapping[int, Copier],
        runner: InspectedRunner,
        indices: Sequence[tuple[int, int]],
        ends: Sequence[int | None],
    ):
        super().__init__(plan, unread, copied)
        self._is_special = True
        self._inspect = runner.inspect
        self._ends = ends
        self._indices = [(n, k, runner.parameters[n]) for n, k in indices]
        """The numbers of index arguments, and their places among the tensors."""

    def _addresses(self, tensors: Sequence[Tensor]) -> tuple[Sequence[Any], list[int]]:
        given = {n: index_array(p.name, tensors[k].numpy(), p.locate) for n, k, p in self._indices}
        checked, views = self._inspect(given, self._ends)
        tensors, addresses = super()._addresses(tensors)
        for n, array in checked.items():
            addresses[n] = address_of(array)
        return [*tensors, *checked.values(), *views], [*addresses, *map(address_of, views)]


ADDRESS: Callable[[Tensor], int] = torch.Tensor.data_ptr


def _copier(array: Array, dtype: np.dtype[Any], torch_dtype: Dtype) -> Copier:
    """A function that makes dense copies of tensors in the layout of this array."""
    order = order_of_axes(array, dtype)
    if order is None:
        return partial(_copied, dtype=torch_dtype)
    turned = array.transpose(order)
    strides = strides_to_read([turned], [dtype])
    plan = native_plan(copier(order), [turned.shape], NAMES[torch_dtype], strides)
    new, run = _allocator(plan.results[0]), plan.caller(torch.get_num_threads)

    def copied(tensor: Tensor) -> Tensor:
        copy = new()
        run(ADDRESS(tensor), copy.data_ptr())
        return copy

    return copied


def _copied(tensor: Tensor, dtype: Dtype) -> Tensor:
    """A dense copy of a tensor, in this type."""
    return torch.empty(tensor.shape, dtype=dtype, device="cpu").copy_(tensor)


def _allocator(result: Result) -> Callable[[], Tensor]:
    """A function that makes a new tensor for a result: a large one from the pool of results."""
    if result.nbytes >= FEWEST_BYTES_LEASED:
        return lambda: torch.from_numpy(pool.empty(result.shape, result.dtype))
    strides = dense_strides(result.shape, 1)
    (name,) = (name for name, dtype in NUMPY_DTYPES.items() if dtype == result.dtype)
    return partial(private.empty, result.shape, strides, DTYPES[name])
