"""The garbage collector runs less often while a program is compiled: nearly all is in use then."""

from __future__ import annotations

import gc
import os
import threading
from types import TracebackType

from tadc.once import Lock

RARE_THRESHOLDS = 200_000, 20, 100
"""The thresholds of the three generations while programs are compiled.

Python's own 700, 10, 10 would spend a third of the time on programs of some thousand terms. Passes
let go of the programs that they replace (`dialects/quick.py`), so that little else is garbage.
"""


class _OfThread(threading.local):
    depth = 0
    """The contexts that this thread is in."""


class _RarelyCollecting:
    """A context, also inside itself and in several threads, in which garbage is collected rarely.

    The thresholds are those of the process. They come back at the end, unless somebody else has
    changed them in the meantime.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._depth = 0
        self._own = _OfThread()
        self._before = gc.get_threshold()

    def __enter__(self) -> None:
        with self._lock:
            self._own.depth += 1
            self._depth += 1
            if self._depth == 1:
                self._before = gc.get_threshold()
                if 0 < self._before[0] < RARE_THRESHOLDS[0]:
                    gc.set_threshold(*RARE_THRESHOLDS)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        with self._lock:
            self._own.depth -= 1
            self._depth -= 1
            self._restore()

    def _restore(self) -> None:
        if self._depth == 0 and gc.get_threshold() == RARE_THRESHOLDS:
            gc.set_threshold(*self._before)

    def after_fork(self) -> None:
        """Leave the contexts of other threads, in a process that has none."""
        self._depth = self._own.depth
        self._restore()


def collect_young() -> None:
    """Collect garbage among young objects, which would follow when the context ends: now they are
    in the caches, and others may be at work."""
    if gc.isenabled():
        gc.collect(0)


rarely_collecting = _RarelyCollecting()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=rarely_collecting.after_fork)
