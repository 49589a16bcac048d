"""Forks wait until no other thread imports a part of tadc, or is inside of LLVM.

Python has a lock for each module that is being imported, and LLVM has locks of its own. A child
that is forked meanwhile finds these closed for ever, and hangs where it needs them: so would
whoever forks while another thread compiles, or imports the compiler for the first call of all.
"""

from __future__ import annotations

import _imp
import os
import threading
import time
from collections.abc import Callable, Iterator
from importlib import _bootstrap
from typing import Protocol

PACKAGES = ("tadc", "xdsl", "llvmlite", "numpy", "scipy")
"""tadc, and what it imports."""

LONGEST_WAIT = 30.0
"""Seconds that a fork waits at most: longer than LLVM takes for a module."""


class ReentrantLock(Protocol):
    """A lock as `threading.RLock` makes them."""

    def acquire(self, blocking: bool = ..., timeout: float = ...) -> bool: ...
    def release(self) -> None: ...


class _ModuleLock(Protocol):
    """A module's lock while it is imported, and the thread that imports it."""

    owner: int | None


_locks: list[ReentrantLock] = []
"""The locks that forks wait for."""


class _Waiting(threading.local):
    """A fork by a thread, which may hold the locks itself."""

    def __init__(self) -> None:
        self._held: list[ReentrantLock] = []
        self._imports_held = False

    def before(self) -> None:
        """Wait until nobody else is at work, and hold the locks.

        Whoever holds the interpreter's import lock sees which modules others import, and nobody
        begins to import one before the fork, which holds that lock itself.
        """
        end = time.monotonic() + LONGEST_WAIT
        while (left := end - time.monotonic()) > 0:
            self._held = [lock for lock in _locks if lock.acquire(timeout=left)]
            _imp.acquire_lock()
            if not any(_imported_by_others()):
                self._imports_held = True
                return
            _imp.release_lock()
            self.after()
            time.sleep(0.001)

    def after(self) -> None:
        """Let the locks go."""
        if self._imports_held:
            self._imports_held = False
            _imp.release_lock()
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
    """The modules that other threads look for on disk, or whose code they run, now.

    The lock of a module is kept in a table of the interpreter's while someone imports it.
    """
    here = threading.get_ident()
    references: dict[str, Callable[[], _ModuleLock | None]] = vars(_bootstrap)["_module_locks"]
    for name, reference in [*references.items()]:
        lock = reference()
        if lock and lock.owner not in (None, here) and name.partition(".")[0] in PACKAGES:
            yield name
