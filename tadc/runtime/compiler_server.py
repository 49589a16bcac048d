"""The process that compiles modules for another one: run as a script, this module is it.

It reads requests from its standard input and writes answers to its standard output, in the same
order, until the input ends, as it does when the process that asks is no more, however it ended. The
first request comes with the process, and its answer, which is empty, says that it has begun:

    marshalled (text, quick, machine)    ->    length and bytes of the object file; empty: an error

Others wait until it has begun: it imports LLVM, and of Python's library little beside what that
needs.
"""

from __future__ import annotations

import contextlib
import marshal
import os
import sys
import threading
from queue import SimpleQueue
from typing import IO

from tadc.runtime.llvm_compiler import object_of
from tadc.runtime.llvm_library import llvm
from tadc.runtime.machine import Machine

BROKEN = (OSError, EOFError)
"""The errors of requests to a process that has ended, and of its answers."""

BYTES_OF_LENGTH = 8


def serve(requests: IO[bytes], answers: IO[bytes]) -> None:
    """Answer requests until there are no more."""
    llvm()
    arrived: SimpleQueue[tuple[str, bool, Machine]] = SimpleQueue()
    threading.Thread(target=_receive, args=(requests, arrived), daemon=True).start()
    first = arrived.get()
    _answer(answers, b"")
    object_of(*first)  # nobody waits for it, and others are compiled sooner then
    while True:
        try:
            answer = object_of(*arrived.get())
        except Exception:  # the process that asks compiles the module again, and raises the error
            answer = b""
        _answer(answers, answer)


def _answer(answers: IO[bytes], data: bytes) -> None:
    answers.write(len(data).to_bytes(BYTES_OF_LENGTH, "little"))
    answers.write(data)
    answers.flush()


def _receive(requests: IO[bytes], arrived: SimpleQueue[tuple[str, bool, Machine]]) -> None:
    """Take requests also while one is at work, so that nobody waits to send them."""
    with contextlib.suppress(*BROKEN, ValueError, TypeError):  # or halves of requests
        while True:
            text, quick, machine = marshal.load(requests)
            arrived.put((text, quick, Machine(*machine)))
    os._exit(0)  # nobody is there any more to be answered


if __name__ == "__main__":
    with contextlib.suppress(OSError):  # likewise
        serve(sys.stdin.buffer, sys.stdout.buffer)
