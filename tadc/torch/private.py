"""Names of PyTorch that are not public, all in one place.

`tests/torch/test_private.py` says what each must do: where a later PyTorch lacks one, its test
fails first, and its comment says what to put in its place.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from importlib import import_module
from typing import Any, Protocol, TypeVar, cast

import numpy as np

from tadc.torch.package import Dtype, Tensor, torch

_C = torch._C
_forward_ad = torch.autograd.forward_ad
_utils: Any = import_module("torch._functorch.utils")
_compile: Any = import_module("torch._compile")

F = TypeVar("F", bound=Callable[..., Any])


class Guard(Protocol):
    """Tells whether tensors are like those that it was made for."""

    def check(self, *tensors: Tensor) -> bool: ...


def guard(tensors: Sequence[Tensor]) -> Guard:
    """A guard for tensors of the types, shapes, strides, dtypes, devices and `requires_grad` of
    these, under the same modes and transforms: what `torch.compile` asks before it runs its code.

    Whether gradients are enabled is left out, and so are functions of Python that see all calls.
    It must not meet what `is_beyond_guards`: of a nested tensor it asks the strides, which ends the
    process.
    """
    sizes = [list(t.shape) for t in tensors]
    strides = [list(t.stride()) for t in tensors]
    make: Any = _C._dynamo.guards.TensorGuards
    return cast(Guard, make(*tensors, dynamic_dims_sizes=sizes, dynamic_dims_strides=strides))


# A new tensor of the CPU, in a third of the time of `torch.empty`: (shape, strides, dtype).
# `torch.compile` has its results made by it.
empty: Callable[[Sequence[int], Sequence[int], Dtype], Tensor]
empty = _C._dynamo.guards._empty_strided_cpu

# True under a `TorchFunctionMode`, as `torch.set_default_device` is one.
sees_calls: Callable[[], bool] = _C._is_torch_function_mode_enabled

# The transforms of `torch.func` that are at work, or None.
transforms: Callable[[], Any] = _C._functorch.peek_interpreter_stack

any_requires_grad: Callable[..., bool] = _C._any_requires_grad

below_autograd: Callable[[], AbstractContextManager[None]] = _C._AutoDispatchBelowAutograd
"""Brings operators that are called within to their kernels below autograd."""


def follows_tangents() -> bool:
    """True within `torch.autograd.forward_ad.dual_level`, and `torch.func.jvp`."""
    return _forward_ad._current_level >= 0


def with_tangents() -> AbstractContextManager[Any]:
    """Operations within follow tangents, as they do outside of an `autograd.Function`."""
    return _forward_ad._set_fwd_grad_enabled(True)


def is_beyond_guards(values: Sequence[Any]) -> bool:
    """True where something sees calls or follows tangents, of which a guard does not tell, or where
    one value is a nested tensor or no tensor at all, which no guard takes."""
    if sees_calls() or _forward_ad._current_level >= 0:
        return True
    try:
        for value in values:  # no `any`, which takes twice the time
            if value.is_nested:
                return True
    except AttributeError:
        return True
    return False


_PLAIN_TYPES = (torch.Tensor, torch.nn.Parameter)


def _modes() -> int:
    return _C._dispatch_tls_local_include_set().raw_repr()


def _keys(tensor: Tensor) -> int:
    return _C._dispatch_keys(tensor).raw_repr()


def _ordinary() -> tuple[frozenset[int], frozenset[int]]:
    """The keys by which PyTorch dispatches where nothing special is at work, and those of tensors
    of the CPU: ordinary ones, and such as inference mode makes."""
    modes: list[int] = []
    tensors: list[int] = []
    for inference in (False, True):
        with torch.inference_mode(inference):
            modes.append(_modes())
            tensors.append(_keys(torch.empty(0)))
    return frozenset(modes), frozenset(tensors)


_ORDINARY_MODES, _ORDINARY_KEYS = _ordinary()


def is_plain(tensors: Sequence[Tensor]) -> bool:
    """True if PyTorch would do nothing for an operation on these tensors but run it on the CPU and
    make a node for gradients: no mode or transform is at work, and no tensor is of a special kind.
    """
    return (
        not sees_calls()
        and not follows_tangents()
        and _modes() in _ORDINARY_MODES
        and all(type(t) in _PLAIN_TYPES and _keys(t) in _ORDINARY_KEYS for t in tensors)
    )


def elements(tensor: Tensor) -> np.ndarray[Any, Any] | None:
    """The elements of a tensor, also within layers of `torch.func`; None where it has none yet, or
    stands for the tensors of a batch."""
    functorch = _C._functorch
    while functorch.is_functorch_wrapped_tensor(tensor):
        if functorch.is_batchedtensor(tensor):
            return None
        tensor = functorch.get_unwrapped(tensor)
    if type(tensor) not in _PLAIN_TYPES or _keys(tensor) not in _ORDINARY_KEYS:
        return None
    with _C._DisableFuncTorch():
        return tensor.detach().numpy()


def apply_of(node: type[Any]) -> Callable[..., Any]:
    """`node.apply` for one layer of `torch.func`, in a third of the time.

    The public `apply` would go through all layers; here the dispatcher has chosen one, or there is
    none. Within layers it needs `single_layer`.
    """
    public: Any = torch.autograd.Function
    return cast("Any", super(public, node)).apply


def single_layer() -> AbstractContextManager[None]:
    """Allows a node of one layer of `torch.func`; else PyTorch fails with an INTERNAL ASSERT."""
    return _utils.enable_single_level_autograd_function()


# --- of `torch.compile`, whose import takes as long as that of all else: only who compiles needs it


def uncompiled(function: F) -> F:
    """A function that `torch.compile` leaves out, as `torch.compiler.disable` does."""
    return _compile._disable_dynamo(function)


def run_by_the_compiler(function: F) -> F:
    """A function that `torch.compile` runs instead of following it: what
    `torch.compiler.assume_constant_result` does.
    """
    function._dynamo_marked_constant = True  # pyright: ignore[reportFunctionMemberAccess]
    return function
