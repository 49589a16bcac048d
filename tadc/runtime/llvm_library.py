"""LLVM, through llvmlite: imported by the first call that compiles or loads machine code.

A thread that is inside of LLVM holds the lock of llvmlite, and locks of LLVM's own: forks wait for
the first one. A signal that raises between two lines of llvmlite leaves a string to be freed twice,
or the lock closed: so all calls are `uninterrupted`, but those that end objects.
"""

from __future__ import annotations

from typing import Any

from tadc.forks import hold_at_forks
from tadc.once import once
from tadc.support.packages import installed


@once
def llvm() -> Any:
    """The bindings of LLVM; raises `TargetError` where they are not installed."""
    found = installed("llvmlite.binding", "the target cpu")
    lock = getattr(getattr(found.ffi.lib, "_lock", None), "_lock", None)
    if lock is not None:
        hold_at_forks(lock)
    return found
