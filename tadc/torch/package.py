"""The package torch, which tadc does not need elsewhere; without it, an error says what to install.

Its types are not known to the type checker here, for which tensors are anything; users see those of
results.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from tadc.support.packages import installed

torch: Any = installed("torch", "tadc.torch")

Tensor: TypeAlias = Any
Dtype: TypeAlias = Any

if TYPE_CHECKING:
    from torch import Tensor as TypedTensor

    class NamedTensors(tuple[TypedTensor, ...]):
        """A named tuple of tensors, whose names the text of a program says."""

        _fields: tuple[str, ...]

        def __getattr__(self, name: str) -> TypedTensor: ...
        def _asdict(self) -> dict[str, TypedTensor]: ...

    class TensorResults(TypedTensor, NamedTensors):  # pyright: ignore[reportIncompatibleMethodOverride]
        """One tensor, or several as a named tuple: see `tadc/runtime/results.py`."""
