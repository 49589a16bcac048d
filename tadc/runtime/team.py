"""The team of threads that share the work of calls, in machine code.

`tadc_region` and `tadc_supervise` are for machine code that runs whole programs without Python:

    void tadc_region(team, entry, params, begin, end, grain, pieces, stop)

runs `void entry(params, begin, end, stop)` over [begin, end), in pieces whose cuts are multiples of
the grain from the begin on, and returns when all are done. Pieces depend on sizes alone, threads
decide only who computes what: so results have the same bits for any number of threads. When the
word at `stop` is not 0, pieces are no longer run. Callers may be threads of any kind, several at
once, and pieces may call regions. Where the team is null or busy, the caller runs all pieces, in
order.

    int64 tadc_supervise(team, function, argument, stop)

is called with the interpreter's lock and runs `void function(argument)` without it. Called from
Python's main thread, it looks for signals every 30 ms; where a handler raises, as that of Ctrl-C
does, it sets the word at `stop`, waits for the function, and returns -1 with the exception set.
Else it returns 0. In a child that a handler forks off, the function begins again.
"""

from __future__ import annotations

import ctypes
import os
import platform
import signal
import sys
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager

from tadc.once import Lock
from tadc.runtime.cpu import add_python_function, add_symbol, stored_module
from tadc.runtime.thread_count import (
    MOST_THREADS,
    checked_thread_count,
    default_thread_count,
)

FAULTS = ("SIGABRT", "SIGBUS", "SIGFPE", "SIGILL", "SIGSEGV", "SIGSYS", "SIGTRAP")
"""Signals by which a thread ends its process; all others are for the threads of Python."""

Supervise = Callable[[int, int, int, int], int]


class Team:
    """The threads of this process; there is one team, `team`.

    Threads begin when `address` is first asked for. They run machine code only, so that neither the
    interpreter's lock nor its end concerns them, and their code is never freed. A forked child has
    none until it asks for the address, which is the same; until then its calls work alone.
    """

    def __init__(self) -> None:
        self._code: _Code | None = None
        self._count: int | None = None
        self._lock = Lock()
        self._forget_threads()

    def _forget_threads(self) -> None:
        self._helpers = 0
        self._deputies = 0
        self._most = 0  # the limit of the caller that asked last; 0 if it is to be looked at again
        self._working: int = 0  # the threads that may work, callers among them; 0 before they begin

    @property
    def count(self) -> int:
        """The threads that work on a call; raises `ArgumentError` if the environment is wrong."""
        if self._count is None:
            self._count = default_thread_count()
        return self._count

    @count.setter
    def count(self, count: int) -> None:
        with self._lock:
            self._count = count
            self._most = 0
            if self._helpers or self._deputies:  # those that work now are to see it too
                self._begin(MOST_THREADS)

    @property
    def is_loaded(self) -> bool:
        """True once its machine code is there."""
        return self._code is not None

    def load(self) -> _Code:
        """The machine code, compiled once; other modules can call it from then on."""
        with self._lock:
            if self._code is None:
                self._code = _Code()
            return self._code

    def address(self, most: int = MOST_THREADS) -> int:
        """The address of the team for regions and supervision, with its threads begun.

        From now on at most so many of them work, until somebody asks again: a call that has a limit
        of its own says it here. Where callers differ, regions that run meanwhile keep their bits.
        """
        if self._code is None or self._most != most:
            with self._lock:
                return self._begin(checked_thread_count(most, "the limit of threads")).team
        return self._code.team

    def copy(self, target: int, source: int, nbytes: int) -> None:
        """Copy so many bytes from one address to another, by all threads that may work."""
        address = self.address()
        self.load().copy(address, target, source, nbytes)

    @property
    def supervise(self) -> Supervise:
        """`tadc_supervise`, which raises what a handler of signals raised."""
        return self.load().supervise

    def _begin(self, most: int) -> _Code:
        """Let as many threads work as may, for a caller with this limit."""
        code, working = self.load(), min(most, self.count)
        if working != self._working:
            self._resize(code, working - 1)
        self._most, self._working = most, working
        return code

    def _resize(self, code: _Code, wanted: int) -> None:
        """Begin the threads that are missing, and let so many helpers work."""
        with _signals_for_others():
            if not self._deputies:
                self._deputies += _begin_thread(code.deputize, code.team)
            while self._helpers < wanted and _begin_thread(code.help, code.team):
                self._helpers += 1
        code.resize(code.team, min(wanted, self._helpers), self._deputies)

    def after_fork(self) -> None:
        """Forget the threads, which are in the other process, and what they were doing."""
        self._forget_threads()
        if self._code:
            self._code.reset(threading.get_ident())


class _Code:
    """The machine code of the team, and its state, which lies beside the code."""

    def __init__(self) -> None:
        for name in LOCK_FUNCTIONS:
            add_python_function(name)
        module = stored_module(f"team {platform.machine()} {sys.platform}", _text)
        find = module.address
        self.team = find("tadc_team")
        self.region = find("tadc_region")
        self.help = find("tadc_help")
        self.deputize = find("tadc_deputize")
        self.supervise: Supervise = SUPERVISE(find("tadc_supervise"))
        self.copy: Callable[[int, int, int, int], None] = COPY(find("tadc_copy"))
        self.resize: Callable[[int, int, int], None] = RESIZE(find("tadc_resize"))
        self._reset: Callable[[int, int], None] = RESET(find("tadc_reset"))
        for name in ("tadc_region", "tadc_supervise"):
            add_symbol(name, find(name))
        module.keep()
        self.reset(threading.main_thread().ident or 0)

    def reset(self, main: int) -> None:
        """Let the team be of a process without other threads than `main`."""
        self._reset(self.team, main)


def _text() -> str:
    """The machine code, which few processes make themselves: the others import nothing for it."""
    from tadc.runtime.team_regions import team_code

    return team_code(platform.machine(), sys.platform == "linux")


SUPERVISE = ctypes.PYFUNCTYPE(ctypes.c_int64, *[ctypes.c_void_p] * 4)
COPY = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 3, ctypes.c_int64)
RESIZE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
RESET = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_uint64)

LOCK_FUNCTIONS = ("PyEval_SaveThread", "PyEval_RestoreThread", "PyErr_CheckSignals")


def _begin_thread(function: int, argument: int) -> bool:
    """Begin a thread in machine code; False where the system gives none."""
    thread = ctypes.c_void_p()
    create = ctypes.CDLL(None).pthread_create
    return not create(
        ctypes.byref(thread), None, ctypes.c_void_p(function), ctypes.c_void_p(argument)
    )


@contextmanager
def _signals_for_others() -> Generator[None]:
    """Signals go to other threads than those that begin in here."""
    own = {getattr(signal, name) for name in FAULTS if hasattr(signal, name)}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals() - own)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


team = Team()
"""The team of this process."""

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=team.after_fork)


def set_num_threads(count: int) -> None:
    """Let calls use so many threads, at any time; raises `ArgumentError` for no such number."""
    team.count = checked_thread_count(count, "the number of threads")


def get_num_threads() -> int:
    """The number of threads that a call may use."""
    return team.count
