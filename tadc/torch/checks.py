"""The tensors of a call: numbers become tensors, autocast widens halves, and the rest is checked.

Errors name the argument and point to its place in the program, and say what to do about it in
terms of PyTorch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from tadc.errors import ArgumentError, DtypeError
from tadc.runtime.arguments import is_number, rank_hint
from tadc.runtime.parameters import Parameter
from tadc.torch.package import Dtype, torch

DTYPES = {"f32": torch.float32, "f64": torch.float64}
NAMES = {dtype: name for name, dtype in DTYPES.items()}
HALVES = (torch.float16, torch.bfloat16)
DEVICES = ("cpu", "meta")


def check(parameters: Sequence[Parameter], values: Sequence[Any]) -> None:
    """Raise `ArgumentError` or `DtypeError` for what is no tensor that an operation can take."""
    for parameter, value in zip(parameters, values, strict=True):
        check_tensor(parameter, value, values)


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
    wanted = DTYPES.get(p.dtype)
    if value.dtype not in NAMES or (wanted or value.dtype) is not value.dtype:
        raise DtypeError(
            f"the argument {p.name} has dtype {value.dtype}, "
            f"not {wanted or 'torch.float32 or torch.float64'}",
            p.span,
            _conversion(p.name, value.dtype, wanted or _precision_beside(value.dtype, values)),
            argument=p.name,
        )
    if value.dim() != p.rank:
        _refuse(p, f"has rank {value.dim()}, not {p.rank}", rank_hint(p, value.shape))


def _refuse(p: Parameter, reason: str, hint: str) -> None:
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
    halves become float32, numbers have none, and tensors without dimensions widen no others."""
    values = [
        v.float() if p.dtype != "f64" and _is_autocast(v) else v
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
        if is_scalar(value):
            number = cast("np.generic", value).item() if isinstance(value, np.generic) else value
            return torch.scalar_tensor(number, dtype=DTYPES.get(p.dtype, dtype), device=device)
        if p.dtype != "real" or not isinstance(value, torch.Tensor) or value.dim():
            return value
        return value.to(dtype) if value.dtype in NAMES else value

    return [converted(p, v) for p, v in zip(parameters, values, strict=True)]


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
