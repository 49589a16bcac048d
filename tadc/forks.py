"""Forks wait until no other thread imports a part of tadc, or is inside of LLVM.

Python has a lock for each module that is being imported, and LLVM has locks of its own. A child
that is forked meanwhile finds these closed for ever, and hangs where it needs them: so would
whoever forks while another thread compiles, or imports the compiler for the first call of all.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Iterator
from typing import Protocol

PACKAGES = ("tadc", "xdsl", "llvmlite", "numpy", "scipy")
"""tadc, and what it imports."""

LONGEST_WAIT = 30.0
"""Seconds that a fork waits at most: longer than LLVM takes for a module."""


class ReentrantLock(Protocol):
    """A lock as `threading.RLock` makes them."""

    def acquire(self, blocking: bool = ..., timeout: float = ...) -> bool: ...
    def release(self) -> None: ...


_locks: list[ReentrantLock] = []
"""The locks that forks wait for."""


class _Waiting(threading.local):
    """A fork by a thread, which may hold the locks itself."""

    def __init__(self) -> None:
        self._held: list[ReentrantLock] = []

    def before(self) -> None:
        """Wait until nobody else is at work, and hold the locks."""
        end = time.monotonic() + LONGEST_WAIT
        while (left := end - time.monotonic()) > 0:
            if any(_imported_by_others()):
                time.sleep(0.001)
                continue
            self._held = [lock for lock in _locks if lock.acquire(timeout=left)]
            if not any(_imported_by_others()):
                return
            self.after()

    def after(self) -> None:
        """Let the locks go."""
        while self._held:
            self._held.pop().release()


_waiting = _Waiting()


def let_forks_wait() -> None:
    """Let forks wait from now on."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(
            before=_waiting.before,
            after_in_parent=_waiting.after,
            after_in_child=_waiting.after,
        )


def hold_at_forks(lock: ReentrantLock) -> None:
    """Let forks wait for this lock too, which a child then finds as its thread had it."""
    _locks.append(lock)


def _imported_by_others() -> Iterator[str]:
    """The modules that other threads import now."""
    own = set(_imported_here())
    for name, module in [*sys.modules.items()]:
        known = name.partition(".")[0] in PACKAGES and name not in own
        if known and getattr(getattr(module, "__spec__", None), "_initializing", False):
            yield name


def _imported_here() -> Iterator[str]:
    """The modules whose own code is under way in this thread."""
    frame = sys._getframe()  # pyright: ignore[reportPrivateUsage]
    while frame := frame.f_back:
        if frame.f_code.co_name == "<module>":
            yield frame.f_globals.get("__name__", "")
