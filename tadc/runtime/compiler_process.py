"""A process of its own that compiles modules for this one.

It is `compiler_server`, which says how it is asked and what it answers.
"""

from __future__ import annotations

import contextlib
import marshal
import os
import select
import subprocess
import sys
from collections.abc import Iterable

from tadc.runtime.compiler_server import BROKEN, BYTES_OF_LENGTH
from tadc.runtime.machine import machine

SERVER = "tadc.runtime.compiler_server"

FIRST_MODULE = """
define void @square(ptr %x) {
  %v = load <16 x float>, ptr %x
  %square = fmul contract <16 x float> %v, %v
  store <16 x float> %square, ptr %x
  ret void
}
"""
"""The module that a process compiles before it is asked: LLVM takes 3 ms longer for the first."""


class CompilerProcess:
    """The process, for one thread at a time; methods raise `BROKEN` errors."""

    def __init__(self) -> None:
        """Begin it, which takes milliseconds of this process, and a tenth of a second of its own.

        Raises `OSError` where there can be none.
        """
        if not sys.executable or getattr(sys, "frozen", False) or not hasattr(select, "poll"):
            raise OSError("there is no Python to run, or no way to wait for it")
        self._process = subprocess.Popen(
            # -P: no modules of the current folder in place of those that are meant
            [sys.executable, "-P", "-m", SERVER],
            bufsize=0,  # so that a fork copies no bytes that wait to be written
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            start_new_session=True,  # Ctrl-C is for the caller
        )
        assert self._process.stdin and self._process.stdout
        self._pipes = self._process.stdin, self._process.stdout
        self._unanswered = 0
        self.has_begun = False
        """True once it has said so."""
        self.requests = 0
        """The number of modules that it was asked for."""
        with contextlib.suppress(*BROKEN):  # or it has ended, as will be seen when it is asked
            self._send(FIRST_MODULE, quick=True)

    def is_ready(self) -> bool:
        """True once it has answered all; answers that nobody has taken are lost."""
        while self._unanswered and wait([self], 0):
            self.answer()
        return not self._unanswered

    def ask(self, text: str, quick: bool) -> None:
        """Ask for the object file of a module. Before it has begun, requests fill a pipe."""
        self.requests += 1
        self._send(text, quick)

    def _send(self, text: str, quick: bool) -> None:
        self._unanswered += 1
        with open(self._pipes[0].fileno(), "wb", closefd=False) as pipe:
            marshal.dump((text, quick, tuple(machine())), pipe)

    def answer(self) -> bytes | None:
        """Wait for the next object file; empty if compiling raised an error. The first answer is
        None: it has begun."""
        data = self._read(int.from_bytes(self._read(BYTES_OF_LENGTH), "little"))
        self._unanswered -= 1
        is_first, self.has_begun = not self.has_begun, True
        return None if is_first else data

    def _read(self, count: int) -> bytes:
        """So many bytes, and none of those behind them."""
        data = b""
        while len(data) < count:
            part = self._pipes[1].read(count - len(data))
            if not part:
                raise EOFError
            data += part
        return data

    def fileno(self) -> int:
        """The descriptor where answers come."""
        return self._pipes[1].fileno()

    def end(self) -> None:
        """End it, whatever it does."""
        self._process.kill()
        for pipe in self._pipes:
            pipe.close()
        self._process.wait()

    def leave(self) -> None:
        """Leave it to the process that has begun it, of which this one is a copy."""
        for pipe in self._pipes:
            pipe.close()
        self._process.returncode = 0  # it is no child of this process, which could wait for it


def wait(processes: Iterable[CompilerProcess], seconds: float | None = None) -> bool:
    """Wait until a process has an answer, or has ended; False if none has within the time."""
    poll = select.poll()
    for process in processes:
        poll.register(process, select.POLLIN)
    return bool(poll.poll(None if seconds is None else seconds * 1000))
