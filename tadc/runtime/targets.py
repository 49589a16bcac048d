"""The targets by name: each a kind of `Executable`."""

from __future__ import annotations

from tadc import choices
from tadc.errors import TargetError
from tadc.runtime.executable import Executable
from tadc.runtime.interpreted import InterpretedExecutable
from tadc.runtime.on_cpu import CpuExecutable
from tadc.runtime.on_gpu import CudaExecutable

TARGETS: dict[str, type[Executable]] = dict(
    zip(choices.TARGETS, (CpuExecutable, CudaExecutable, InterpretedExecutable), strict=True)
)


def executable_class(target: str) -> type[Executable]:
    """The kind of executable of a target; raises `TargetError` where there is none of that name."""
    if target not in TARGETS:
        raise TargetError(
            f"there is no target {target!r}", hint=f"targets are {', '.join(TARGETS)}"
        )
    return TARGETS[target]
