"""The arguments of a call in JAX: checked as those of a call in NumPy, and made arrays of JAX."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tadc.errors import DtypeError
from tadc.frameworks.operation import Operation
from tadc.jax.package import Array, jax
from tadc.jax.package import numpy as jnp
from tadc.runtime.arguments import DTYPES, as_array, conversion, is_number
from tadc.runtime.parameters import Parameter

NAMES = {dtype: name for name, dtype in DTYPES.items()}
X64_HINT = 'jax.config.update("jax_enable_x64", True) lets JAX have float64'


def prepare(
    operation: Operation, parameters: Sequence[Parameter], values: Sequence[Any]
) -> tuple[str, list[Array]]:
    """The precision of a call, and its arguments as arrays of the dtypes that it computes in.

    Raises `TadcError` for what is no array of float32 or float64.
    """
    arrays = _checked(parameters, values)
    precision = _precision(operation, arrays)
    wanted = [DTYPES.get(p.dtype, DTYPES[precision]) for p in parameters]
    return precision, [_converted(a, d) for a, d in zip(arrays, wanted, strict=True)]


def as_they_are(parameters: Sequence[Parameter], values: Sequence[Any]) -> list[Array]:
    """The arguments as arrays, each in its declared precision or in its own.

    Numbers that have none get the widest that JAX has. Raises `TadcError` as `prepare` does.
    """
    arrays = _checked(parameters, values)
    widest: np.dtype[Any] = jax.dtypes.canonicalize_dtype(np.float64)
    own: list[np.dtype[Any]] = [widest if a.weak_type else a.dtype for a in arrays]
    wanted = [DTYPES.get(p.dtype, dtype) for p, dtype in zip(parameters, own, strict=True)]
    return [_converted(a, d) for a, d in zip(arrays, wanted, strict=True)]


def _checked(parameters: Sequence[Parameter], values: Sequence[Any]) -> list[Array]:
    arrays = [_array(p, v) for p, v in zip(parameters, values, strict=True)]
    for parameter, array in zip(parameters, arrays, strict=True):
        _check(parameter, array, DTYPES.get(parameter.dtype))
    return arrays


def as_known_array(parameter: Parameter, value: Any) -> Any:
    """The value, as an array of NumPy where JAX does not know its type."""
    return value if isinstance(value, jax.Array) else as_array(parameter, value)


def _array(parameter: Parameter, value: Any) -> Array:
    if isinstance(value, jax.Array):
        return value
    if type(value) is np.ndarray or isinstance(value, np.generic) or is_number(value):
        return jnp.asarray(value)
    return jnp.asarray(as_array(parameter, value))


def _precision(operation: Operation, arrays: Sequence[Array]) -> str:
    """The precision of undeclared tensors; JAX may have no float64 (`jax_enable_x64`)."""
    found = operation.precision([None if a.weak_type else NAMES[a.dtype] for a in arrays])
    return NAMES[jax.dtypes.canonicalize_dtype(DTYPES[found])]


def _converted(array: Array, dtype: np.dtype[Any]) -> Array:
    if array.dtype == dtype and not array.weak_type:
        return array
    return jax.lax.convert_element_type(array, dtype)


def _check(parameter: Parameter, array: Array, wanted: np.dtype[Any] | None) -> None:
    if wanted is not None and jax.dtypes.canonicalize_dtype(wanted) != wanted:
        raise DtypeError(
            f"the argument {parameter.name} is declared as {parameter.dtype}, "
            f"and JAX has no {wanted} now",
            parameter.span,
            X64_HINT,
            argument=parameter.name,
        )
    # weak types are those of Python's numbers, which have no precision of their own
    is_weak_number = array.weak_type and array.dtype.kind in "if"
    if array.dtype == wanted or (wanted is None and array.dtype in NAMES) or is_weak_number:
        return
    raise DtypeError(
        f"the argument {parameter.name} has dtype {array.dtype}, "
        f"not {wanted or 'float32 or float64'}",
        parameter.span,
        conversion(parameter.name, array.dtype, wanted or DTYPES["f32"], "jax.numpy"),
        argument=parameter.name,
    )
