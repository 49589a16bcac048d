"""The processes that compile for this one: how many there are, and who uses them."""

from __future__ import annotations

import atexit
import os
import threading
from collections.abc import Generator, Sequence
from contextlib import contextmanager

from tadc.runtime.compiler_process import CompilerProcess
from tadc.runtime.compiler_server import BROKEN

MOST_MODULES = 1000
"""The number of modules after which a process ends: it has grown by some 50 MB."""


class CompilerPool:
    """Processes, each idle or in use by somebody. Safe to use from several threads and forks."""

    def __init__(self) -> None:
        self._forget()

    def _forget(self) -> None:
        self._lock = threading.Lock()
        self._users: dict[CompilerProcess, object] = {}
        """The user of each process; None of those that are idle, or have yet to begin."""
        self._works = True
        """False once a process has ended before it has begun: others would do the same."""

    def begin(self, most: int) -> bool:
        """Begin one more process, up to `most`, unless one is idle or about to begin; True if there
        is any then."""
        with self._lock:
            one_begins = not all(process.has_begun for process in self._users)
            if self._works and len(self._users) < most and not (self.idle() or one_begins):
                try:
                    self._users[CompilerProcess()] = None
                except OSError:
                    self._works = False
            return bool(self._users)

    def idle(self) -> Sequence[CompilerProcess]:
        """The processes of nobody."""
        return self._of(None)

    def _of(self, user: object) -> Sequence[CompilerProcess]:
        return [process for process, own in [*self._users.items()] if own is user]

    def take(self, user: object) -> CompilerProcess | None:
        """A process that waits for requests, or will when it has begun, for this user from now on;
        None if there is none."""
        with self._lock:
            for process in self.idle():
                if self._takes_requests(process):
                    self._users[process] = user
                    return process
        return None

    def _takes_requests(self, process: CompilerProcess) -> bool:
        """True unless a process has yet to answer others."""
        try:
            return process.is_ready() or not (process.has_begun or process.requests)
        except BROKEN:
            self.drop_broken(process)
            return False
        except BaseException:  # maybe in the middle of an answer
            self.drop(process)
            raise

    def drop_broken(self, process: CompilerProcess) -> None:
        """Forget a process that has ended by itself."""
        self._works &= process.has_begun
        self.drop(process)

    @contextmanager
    def user(self, user: object) -> Generator[None]:
        """All processes that a user takes are idle afterwards; after an error, they end."""
        try:
            yield
        except BaseException:  # maybe in the middle of a request, or of an answer
            for process in self._of(user):
                self.drop(process)
            raise
        for process in self._of(user):
            if process.requests < MOST_MODULES:
                self._users[process] = None
            else:
                self.drop(process)

    def drop(self, process: CompilerProcess) -> None:
        """End a process."""
        self._users.pop(process, None)
        process.end()

    def at_exit(self) -> None:
        """End all processes."""
        for process in [*self._users]:
            self.drop(process)

    def after_fork(self) -> None:
        """Leave all processes to the parent."""
        for process in self._users:
            process.leave()
        self._forget()


pool = CompilerPool()
"""The processes of this process."""

atexit.register(pool.at_exit)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=pool.after_fork)
