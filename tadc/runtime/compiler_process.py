"""A process of its own that compiles modules for this one.

Run as a script, this module is that process. It reads requests from its standard input and writes
answers to its standard output, in the same order, until the input ends, as it does when the process
that asks is no more, however it ended. The first answer, which is empty, says that it has begun:

    pickle of (text, quick, machine)    ->    length and bytes of the object file; empty: an error
"""

from __future__ import annotations

import contextlib
import os
import pickle
import select
import subprocess
import sys
import threading
from collections.abc import Iterable
from queue import SimpleQueue
from typing import IO, Any

from tadc.runtime.llvm_compiler import object_of
from tadc.runtime.machine import machine

BROKEN = (OSError, EOFError)
"""The errors of requests to a process that has ended, and of its answers."""

BYTES_OF_LENGTH = 8


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
            [sys.executable, "-P", "-m", __name__],
            bufsize=0,  # so that a fork copies no bytes that wait to be written
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            start_new_session=True,  # Ctrl-C is for the caller
        )
        assert self._process.stdin and self._process.stdout
        self._pipes = self._process.stdin, self._process.stdout
        self._unanswered = 1  # that it has begun
        self.requests = 0
        """The number of modules that it was asked for."""

    def is_ready(self) -> bool:
        """True once it has answered all; answers that nobody has taken are lost."""
        while self._unanswered and wait([self], 0):
            self.answer()
        return not self._unanswered

    def ask(self, text: str, quick: bool) -> None:
        """Ask for the object file of a module, once it has begun."""
        self.requests += 1
        self._unanswered += 1
        with open(self._pipes[0].fileno(), "wb", closefd=False) as pipe:
            pickle.dump((text, quick, machine()), pipe)

    def answer(self) -> bytes:
        """Wait for the next object file; empty if compiling raised an error."""
        data = self._read(int.from_bytes(self._read(BYTES_OF_LENGTH), "little"))
        self._unanswered -= 1
        return data

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


def serve(requests: IO[bytes], answers: IO[bytes]) -> None:
    """Answer requests until there are no more."""
    arrived: SimpleQueue[Any] = SimpleQueue()
    threading.Thread(target=_receive, args=(requests, arrived), daemon=True).start()
    answer = b""
    while True:
        answers.write(len(answer).to_bytes(BYTES_OF_LENGTH, "little"))
        answers.write(answer)
        answers.flush()
        try:
            answer = object_of(*arrived.get())
        except Exception:  # the process that asks compiles the module again, and raises the error
            answer = b""


def _receive(requests: IO[bytes], arrived: SimpleQueue[Any]) -> None:
    """Take requests also while one is at work, so that nobody waits to send them."""
    with contextlib.suppress(*BROKEN, pickle.UnpicklingError):
        while True:
            arrived.put(pickle.load(requests))
    os._exit(0)  # nobody is there any more to be answered


if __name__ == "__main__":
    with contextlib.suppress(OSError):  # likewise
        serve(sys.stdin.buffer, sys.stdout.buffer)
