"""A process of its own that compiles, for processes that compile very much.

LLVM's pipelines of passes, as `llvmlite` makes them, keep some 50 kB for good with every module. So
a process compiles its first modules by itself, and leaves later ones to a process that ends after
so many modules and is begun again: memory stays bounded, however many programs there are.

Run as a script, this module is that process. It reads requests from its standard input and writes
answers to its standard output, each as a pickle behind its length, until the input ends:

    (text, quick, machine)    ->    the object file, or the exception that there was
"""

from __future__ import annotations

import contextlib
import os
import pickle
import subprocess
import sys
import threading
from typing import IO, Any

from tadc.runtime.llvm_compiler import object_of
from tadc.runtime.machine import machine

MOST_MODULES = 1000
"""The number of modules after which such a process ends: it has grown by some 50 MB."""

BYTES_OF_LENGTH = 8


class CompilerProcess:
    """The process, begun with the first request. Safe to use from several threads and forks."""

    def __init__(self) -> None:
        self._forget()

    def _forget(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._modules = 0

    def compile(self, text: str, quick: bool) -> bytes | None:
        """The object file of LLVM IR text; None where there is no such process to be had.

        Raises what compiling it raises.
        """
        with self._lock:
            try:
                answer = self._ask((text, quick, machine()))
            except (OSError, EOFError, pickle.UnpicklingError):
                self._end()
                return None
            except BaseException:  # of a signal: the answer must not become that of the next one
                if self._process is not None:
                    self._process.kill()
                self._end()
                raise
        if isinstance(answer, Exception):
            raise answer
        return answer

    def _ask(self, request: object) -> Any:
        if self._process is None or self._modules >= MOST_MODULES:
            self._end()
            self._process = _begin()
        self._modules += 1
        assert self._process.stdin and self._process.stdout
        _write(self._process.stdin, request)
        return _read(self._process.stdout)

    def _end(self) -> None:
        process, self._process, self._modules = self._process, None, 0
        if process is not None:
            for pipe in (process.stdin, process.stdout):
                with contextlib.suppress(OSError):
                    assert pipe
                    pipe.close()
            process.wait()

    def after_fork(self) -> None:
        """Leave the process to the parent."""
        self._forget()


def _begin() -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", __name__],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        start_new_session=True,  # Ctrl-C is for the caller
    )


def _write(pipe: IO[bytes], value: object) -> None:
    data = pickle.dumps(value)
    pipe.write(len(data).to_bytes(BYTES_OF_LENGTH, "little"))
    pipe.write(data)
    pipe.flush()


def _read(pipe: IO[bytes]) -> Any:
    length = pipe.read(BYTES_OF_LENGTH)
    if len(length) < BYTES_OF_LENGTH:
        raise EOFError
    return pickle.loads(pipe.read(int.from_bytes(length, "little")))


compiler_process = CompilerProcess()
"""The one of this process."""

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=compiler_process.after_fork)


def serve(requests: IO[bytes], answers: IO[bytes]) -> None:
    """Answer requests until there are no more."""
    while True:
        try:
            request = _read(requests)
        except EOFError:
            return
        try:
            answer: object = object_of(*request)
        except Exception as error:
            answer = error
        _write(answers, answer)


if __name__ == "__main__":
    serve(sys.stdin.buffer, sys.stdout.buffer)
