"""The modules of JAX that are used here, which are public but for those in `private`.

Raises `TargetError` where JAX is not installed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tadc.support.packages import installed


def module(name: str) -> Any:
    """A module of JAX."""
    return installed(name, "tadc.jax")


jax = module("jax")
numpy = module("jax.numpy")
ffi = module("jax.ffi")
ad = module("jax.interpreters.ad")
batching = module("jax.interpreters.batching")
mlir = module("jax.interpreters.mlir")
Primitive = module("jax.extend.core").Primitive

Array = Any
"""An array of JAX, or what stands for one while a function is traced."""

if TYPE_CHECKING:
    from jax import Array as TypedArray

    class ArrayResults(TypedArray, tuple[TypedArray, ...]):
        """One array, or a tuple of several: see `tadc/runtime/results.py`."""
