"""The tensors of a call: numbers become tensors, autocast widens halves, and the rest is checked.

Errors name the argument and point to its place in the program, and say what to do about it in
terms of PyTorch.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import index
from typing import Any, NoReturn, cast

import numpy as np

from tadc.errors import ArgumentError, DtypeError, SizeError
from tadc.runtime.arguments import is_number, rank_hint
from tadc.runtime.parameters import Parameter
from tadc.torch.package import Dtype, Tensor, torch

DTYPES = {"f32": torch.float32, "f64": torch.float64}
NAMES = {dtype: name for name, dtype in DTYPES.items()}
INTEGERS = frozenset(
    getattr(torch, f"{sign}int{bits}") for sign in ("", "u") for bits in (8, 16, 32, 64)
)
"""The types of index tensors."""
HALVES = (torch.float16, torch.bfloat16)
DEVICES = ("cpu", "meta")


def check(parameters: Sequence[Parameter], values: Sequence[Any]) -> None:
    """Raise `ArgumentError` or `DtypeError` for what is no tensor that an operation can take."""
    for parameter, value in zip(parameters, values, strict=True):
        if parameter.dtype == "size":
            check_sizes([parameter], [value])
        else:
            check_tensor(parameter, value, values)


def check_sizes(parameters: Sequence[Parameter], shapes: Sequence[Any]) -> None:
    """Raise `SizeError` for a negative number as a size that callers give: that is a shape here."""
    for p, shape in zip(parameters, shapes, strict=True):
        if p.dtype == "size" and isinstance(shape[0], int) and shape[0] < 0:
            reason = f"the size {p.name} is {shape[0]}: no size is negative"
            raise SizeError(reason, p.span, size=p.name)


def check_tensor(p: Parameter, value: Any, values: Sequence[Any]) -> None:
    """Raise where one of the values is no dense tensor of the CPU that fits the parameter."""
    if not isinstance(value, torch.Tensor):
        _refuse(p, f"is a {type(value).__name__}, not a tensor", "torch.as_tensor(...) makes one")
    if value.is_nested:
        _refuse(p, "is a nested tensor", f"torch.nested.to_padded_tensor({p.name}, 0.0) is dense")
    if value.layout is not torch.strided:
        _refuse(p, f"has the layout {value.layout}", f"{p.name}.to_dense() is a dense tensor")
    if value.device.type not in DEVICES:
        _refuse(p, f"is on the device {value.device}", f"{p.name}.cpu() copies it to the CPU")
    if p.dtype == "int":
        _check_indices(p, value)
    elif value.dtype not in NAMES or DTYPES.get(p.dtype) not in (None, value.dtype):
        _refuse_precision(p, value, values)
    if value.dim() != p.rank:
        _refuse(p, f"has rank {value.dim()}, not {p.rank}", rank_hint(p, value.shape))


def _check_indices(p: Parameter, value: Tensor) -> None:
    if value.dtype not in INTEGERS:
        dtype = value.dtype
        hint = f"torch.where({p.name}) has the positions that are true"
        raise DtypeError(
            f"the argument {p.name} has dtype {dtype}, but indices are whole numbers",
            p.span,
            hint if dtype is torch.bool else f"{p.name}.long() converts it",
            argument=p.name,
        )


def _refuse_precision(p: Parameter, value: Tensor, values: Sequence[Any]) -> NoReturn:
    wanted = DTYPES.get(p.dtype)
    raise DtypeError(
        f"the argument {p.name} has dtype {value.dtype}, "
        f"not {wanted or 'torch.float32 or torch.float64'}",
        p.span,
        _conversion(p.name, value.dtype, wanted or _precision_beside(value.dtype, values)),
        argument=p.name,
    )


def _refuse(p: Parameter, reason: str, hint: str) -> NoReturn:
    raise ArgumentError(f"the argument {p.name} {reason}", p.span, hint, argument=p.name)


def _precision_beside(dtype: Dtype, values: Sequence[Any]) -> Dtype:
    """The precision to convert a tensor to: the widest beside it, else the usual one."""
    beside = {v.dtype for v in values if isinstance(v, torch.Tensor)} & NAMES.keys()
    if not beside:
        return torch.float32 if dtype in HALVES else torch.get_default_dtype()
    return torch.float64 if torch.float64 in beside else torch.float32


def _conversion(name: str, dtype: Dtype, wanted: Dtype) -> str:
    """The hint that says how to make a tensor one of this precision."""
    if dtype.is_complex:
        return f"{name}.real is its real part; programs compute in real numbers"
    if wanted is torch.float64:
        return f"{name}.double() converts it"
    hint = f"{name}.float() converts it"
    return f"{hint}, as torch.autocast does" if dtype in HALVES else hint


def as_tensors(parameters: Sequence[Parameter], values: Sequence[Any]) -> Sequence[Any]:
    """The values as tensors, of the precision that PyTorch's own rules give them: under autocast
    halves become float32, numbers have none, and tensors without dimensions widen no others.

    A size that callers give becomes a shape of one dimension.
    """
    values = [
        v.float() if p.dtype in ("f32", "real") and _is_autocast(v) else v
        for p, v in zip(parameters, values, strict=True)
    ]
    tensors = [v for v in values if isinstance(v, torch.Tensor)]
    free = [
        v
        for p, v in zip(parameters, values, strict=True)
        if p.dtype == "real" and isinstance(v, torch.Tensor)
    ]
    deciding = {v.dtype for v in free if v.dim()} or {v.dtype for v in free}
    dtype = torch.float32 if deciding == {torch.float32} else torch.float64
    device = tensors[0].device if tensors else torch.device("cpu")

    def converted(p: Parameter, value: Any) -> Any:
        if p.dtype == "size":
            return (_given_size(p, value),)
        if is_scalar(value):
            number = cast("np.generic", value).item() if isinstance(value, np.generic) else value
            return torch.scalar_tensor(number, dtype=_dtype_of(p, value, dtype), device=device)
        if p.dtype != "real" or not isinstance(value, torch.Tensor) or value.dim():
            return value
        return value.to(dtype) if value.dtype in NAMES else value

    return [converted(p, v) for p, v in zip(parameters, values, strict=True)]


def _given_size(p: Parameter, value: Any) -> Any:
    if isinstance(value, (int, torch.SymInt)):
        return value
    try:
        return index(value)
    except TypeError:
        reason = f"is a {type(value).__name__}, not a whole number"
    raise ArgumentError(
        f"the size {p.name} {reason}",
        p.span,
        f"give it at the call: f(..., {p.name}=3)",
        argument=p.name,
    )


def _dtype_of(p: Parameter, number: Any, real: Dtype) -> Dtype:
    """The type of the tensor that a number becomes; one that is no index is refused as it is."""
    if p.dtype != "int":
        return DTYPES.get(p.dtype, real)
    return torch.int64 if isinstance(number, (int, np.integer, torch.SymInt)) else torch.float64


def _is_autocast(value: Any) -> bool:
    """True for a tensor of half precision, in a region of `torch.autocast` for its device."""
    if not isinstance(value, torch.Tensor) or value.dtype not in HALVES:
        return False
    device = value.device.type
    return torch.amp.is_autocast_available(device) and torch.is_autocast_enabled(device)


def is_scalar(value: Any) -> bool:
    """True for a number of Python, also a symbolic one, or a real one of NumPy."""
    return is_number(value) or isinstance(
        value, (torch.SymInt, torch.SymFloat, np.floating, np.integer)
    )
