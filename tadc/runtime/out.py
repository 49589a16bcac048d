"""Results into arrays of the caller: `f(x, out=y)`.

An array that overlaps an argument or another result gets its values when all are computed: so the
results are those of a call without `out`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from tadc.errors import ArgumentError, DtypeError, SizeError
from tadc.runtime.arguments import Array
from tadc.runtime.buffer_assignment import Tensor
from tadc.runtime.executable import Plan


def run_into(plan: Plan, arguments: Sequence[Array], out: Any) -> list[Array]:
    """Run the plan on dense arguments; `out` is an array, or one for each result.

    Raises `ArgumentError`, `DtypeError` or `SizeError` where an array does not fit its result.
    """
    given = cast("Sequence[Any]", out if isinstance(out, tuple | list) else (out,))
    names = [t.name for t in plan.executable.summary.results]
    if len(given) != len(names):
        raise ArgumentError(
            f"out has {len(given)} arrays for {len(names)} results",
            hint=f"the results are {', '.join(names)}",
        )
    tensors = [plan.tensors[label] for label in plan.executable.results]
    arrays = [_checked(*given) for given in zip(names, given, tensors, strict=True)]
    for n, array in enumerate(arrays):
        others = (*arguments, *arrays[:n])
        if not _is_direct(array) or any(np.may_share_memory(array, a) for a in others):
            for target, result in zip(arrays, plan.run_on(arguments), strict=True):
                target[...] = result
            return arrays
    return plan.run_on(arguments, arrays)


def _checked(name: str, array: Any, tensor: Tensor) -> Array:
    """The array, if it can hold that result."""
    if not isinstance(array, np.ndarray):
        raise ArgumentError(
            f"out for {name} is a {type(array).__name__}, not an array", argument=name
        )
    array = cast(Array, array)
    if array.dtype != tensor.dtype:
        raise DtypeError(
            f"out for {name} has dtype {array.dtype}, not {tensor.dtype}",
            hint=f"numpy.empty({tensor.shape}, numpy.{tensor.dtype}) fits",
            argument=name,
        )
    if array.shape != tensor.shape:
        raise SizeError(
            f"out for {name} has shape {array.shape}, not {tensor.shape}",
            hint=f"numpy.empty({tensor.shape}, numpy.{tensor.dtype}) fits",
            argument=name,
        )
    if not array.flags.writeable:
        raise ArgumentError(f"out for {name} is read-only", argument=name)
    return array


def _is_direct(array: Array) -> bool:
    """True if machine code can write there."""
    return array.flags.c_contiguous and array.flags.aligned and array.dtype.isnative
