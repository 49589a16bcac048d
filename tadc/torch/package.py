"""The package torch, which tadc does not need elsewhere; without it, an error says what to install.

Its types are not known to the type checker, for which tensors are anything.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from tadc.support.packages import installed

torch: Any = installed("torch", "tadc.torch")

Tensor: TypeAlias = Any
Dtype: TypeAlias = Any
