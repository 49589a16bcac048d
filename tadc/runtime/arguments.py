"""The values of arguments: checked, made dense arrays.

Every error names the argument and points to its declaration, or else to its first use.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from tadc.errors import ArgumentError, DtypeError
from tadc.runtime.parameters import Parameter

Array = npt.NDArray[Any]

FLOATS: dict[str, np.dtype[Any]] = {"f32": np.dtype(np.float32), "f64": np.dtype(np.float64)}
DTYPES: dict[str, np.dtype[Any]] = {
    **FLOATS,
    "int": np.dtype(np.int32),
    "size": np.dtype(np.int8),
}
"""The types of elements that code runs on."""


def as_arrays(parameters: Sequence[Parameter], values: Sequence[Any]) -> list[Array]:
    """The values as NumPy arrays of float types, not copied where they are."""
    return [as_array(p, v, values) for p, v in zip(parameters, values, strict=True)]


def as_array(parameter: Parameter, value: Any, beside: Sequence[Any] = ()) -> Array:
    """The value as a NumPy array of a float type, not copied where it is one.

    An error about its type names the precision of the values `beside` it.
    """
    array = array_of(parameter, value, DTYPES.get(parameter.dtype, np.float64))
    _check_dtype(parameter, array, beside)
    check_rank(parameter, array)
    return array


def check_rank(parameter: Parameter, array: Array) -> None:
    """Raise `ArgumentError` where an array has another number of dimensions than its argument."""
    if array.ndim != parameter.rank:
        raise ArgumentError(
            f"the argument {parameter.name} has rank {array.ndim}, not {parameter.rank}",
            parameter.span,
            rank_hint(parameter, array.shape),
            argument=parameter.name,
        )


def array_of(parameter: Parameter, value: Any, dtype: Any = None) -> Array:
    """The value as an array of any type; of a number, the type is given.

    Raises `ArgumentError` for what is no array, and where elements are masked.
    """
    array: Array
    if isinstance(value, np.ndarray):
        array = cast(Array, value)
    elif is_number(value):
        array = _converted(parameter, value, dtype)
    elif hasattr(value, "__array_interface__") or hasattr(value, "__array__"):
        array = _converted(parameter, value)
    else:
        raise ArgumentError(
            f"the argument {parameter.name} is a {type(value).__name__}, not an array",
            parameter.span,
            _hint_of_kind(parameter.name, value),
            argument=parameter.name,
        )
    _check_mask(parameter, array)
    return array


def rank_hint(parameter: Parameter, shape: Sequence[int]) -> str:
    """The shape and, where the program takes a number, how it takes elements."""
    hint = f"its shape is {tuple(shape)}"
    if parameter.rank == 0:
        indices = ", ".join("ijklmn"[n % 6] for n in range(len(shape)))
        hint += f"; a program of its elements reads {parameter.name}[{indices}]"
    return hint


def _hint_of_kind(name: str, value: Any) -> str:
    """The way to make an array of what is none."""
    if value is None:
        return f"the program reads {name}, so that a call gives it"
    if isinstance(value, (str, bytes)):
        return "arguments are numbers and arrays of numbers"
    if hasattr(value, "toarray"):
        return f"{name}.toarray() is dense"
    return "numpy.asarray(...) makes an array of numbers in lists"


def is_number(value: Any) -> bool:
    """True for a number of Python, which has no precision of its own."""
    return isinstance(value, (int, float)) and not isinstance(value, (bool, np.generic))


def _converted(parameter: Parameter, value: Any, dtype: Any = None) -> Array:
    """The value as an array; what its own code raises becomes an error about the argument."""
    try:
        return np.asarray(value, dtype)
    except Exception as error:
        raise ArgumentError(
            f"the argument {parameter.name} gives no array: {error}",
            parameter.span,
            _hint_of_framework(value),
            argument=parameter.name,
        ) from error


def _hint_of_framework(value: Any) -> str | None:
    """The way to let a framework derive or trace a program, whose tensors then are no arrays."""
    framework = type(value).__module__.partition(".")[0]
    if framework not in ("torch", "jax"):
        return None
    return f"tadc.{framework}.op(...) makes an operation that {framework} derives and traces"


def _check_mask(parameter: Parameter, array: Array) -> None:
    """Raise where elements are masked, whose values below the mask would be computed with."""
    if type(array) is not np.ndarray and np.ma.is_masked(array):
        raise ArgumentError(
            f"the argument {parameter.name} has masked elements",
            parameter.span,
            f"{parameter.name}.filled(...) gives them a value; here every element has one",
            argument=parameter.name,
        )


def _check_dtype(parameter: Parameter, array: Array, beside: Sequence[Any]) -> None:
    wanted = DTYPES.get(parameter.dtype)
    if array.dtype == wanted or (wanted is None and array.dtype in FLOATS.values()):
        return
    hint = conversion(parameter.name, array.dtype, wanted or _precision_beside(array.dtype, beside))
    if wanted is None and array.dtype.kind in "iu" and array.ndim:
        shape = ", ".join("NMLKJI"[n % 6] for n in range(array.ndim))
        hint += f"; an index tensor is declared: {parameter.name}: range(V)[{shape}]"
    raise DtypeError(
        f"the argument {parameter.name} has dtype {array.dtype}, "
        f"not {wanted or 'float32 or float64'}",
        parameter.span,
        hint,
        argument=parameter.name,
    )


def _precision_beside(dtype: np.dtype[Any], values: Sequence[Any]) -> np.dtype[Any]:
    """The precision to convert an array to: the widest beside it, else the next that holds it."""
    beside = {cast(Array, v).dtype for v in values if isinstance(v, np.ndarray)}
    known = [name for name, wide in FLOATS.items() if wide in beside]
    is_half = dtype.kind not in "iub" and dtype.itemsize == 2
    return FLOATS[known[-1] if known else "f32" if is_half else "f64"]


def conversion(name: str, dtype: np.dtype[Any], wanted: np.dtype[Any], numpy: str = "numpy") -> str:
    """The hint that says how to make an array one of this precision, by functions of `numpy`."""
    if dtype.kind == "c":
        return f"{name}.real is its real part; programs compute in real numbers"
    return f"{name}.astype({numpy}.{wanted}) converts it"


def common_precision(
    parameters: Sequence[Parameter], values: Sequence[Any], arrays: Sequence[Array]
) -> str:
    """`f32` or `f64`: what undeclared elements are computed in, the widest of their arrays.

    Numbers of Python have no precision of their own.
    """
    free = [
        array.dtype
        for parameter, value, array in zip(parameters, values, arrays, strict=True)
        if parameter.dtype == "real" and not is_number(value)
    ]
    return "f32" if free and all(d == np.float32 for d in free) else "f64"


FEWEST_BYTES_NOT_COPIED = 1 << 16
"""Bytes of an array from which on it is read where it lies: code for that is made apart."""


def strides_of(array: Array, dtype: np.dtype[Any]) -> tuple[int, ...] | None:
    """The strides of an array that machine code can read where it lies; None if it must be copied.

    Elements of a row are neighbours, in their own type and aligned; rows lie anywhere.
    """
    if array.dtype != dtype or not array.flags.aligned or array.ndim < 1 or not array.size:
        return None
    width, strides = dtype.itemsize, array.strides
    rows = array.shape[-1] == 1 or strides[-1] == width
    return strides if rows and all(n % width == 0 for n in strides) else None


FEWEST_BYTES_TURNED = 1 << 18
"""Bytes of an array from which on code of its own copies it: NumPy's takes longer than a call."""


def order_of_axes(array: Array, dtype: np.dtype[Any]) -> tuple[int, ...] | None:
    """The order of axes in which machine code could read an array that it cannot read as it is.

    None for small arrays, and where no order has neighbours last. Of `x.T` it is (1, 0).
    """
    if array.nbytes < FEWEST_BYTES_TURNED or strides_of(array, dtype) is not None:
        return None
    order = tuple(sorted(range(array.ndim), key=lambda axis: -abs(array.strides[axis])))
    return order if strides_of(array.transpose(order), dtype) is not None else None


def strides_to_read(
    arrays: Sequence[Array], dtypes: Sequence[np.dtype[Any]]
) -> list[tuple[int, ...]] | None:
    """The strides of all arrays where a large one has rows apart; None where copies are as good.

    Those of an array that must be copied are those of the copy.
    """
    if all(a.flags.c_contiguous or a.nbytes < FEWEST_BYTES_NOT_COPIED for a in arrays):
        return None
    found = [strides_of(a, d) for a, d in zip(arrays, dtypes, strict=True)]
    if all(s is None or a.flags.c_contiguous for a, s in zip(arrays, found, strict=True)):
        return None
    return [
        s if s is not None else dense_strides(a.shape, d.itemsize)
        for a, s, d in zip(arrays, found, dtypes, strict=True)
    ]


def dense_strides(shape: Sequence[int], width: int) -> tuple[int, ...]:
    """The strides of a tensor in row-major order, of elements of this width."""
    return tuple(width * prod(shape[n + 1 :]) for n in range(len(shape)))


def dense(array: Array, dtype: np.dtype[Any]) -> Array:
    """The array itself if it is row-major, aligned and of native `dtype`, else such a copy."""
    flags = array.flags
    if flags.c_contiguous and flags.aligned and array.dtype == dtype:
        return array
    return np.require(array, dtype, ["C", "A"])
