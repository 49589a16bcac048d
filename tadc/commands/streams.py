"""Standard streams as commands meet them: closed, full, or a pipe whose reader has left.

- A reader that leaves, as in `tadc derive f.tad | head -1`, is no failure: the command goes on to
  its own exit code, and nobody sees the rest of what it prints. So the code does not depend on how
  much the reader took, as it would if the process ended by the signal SIGPIPE.
- Output that cannot be written, to a full disk or a closed stream (`tadc derive f.tad >&-`), is a
  failure: an `OSError` without a file name. A command that prints nothing succeeds all the same.
- Without standard error, messages are lost (`say`); without standard input, reading it is a
  `FileError`.
"""

from __future__ import annotations

import errno
import io
import os
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager, redirect_stdout
from typing import IO, TextIO

from tadc.errors import FileError


def standard_input() -> IO[bytes]:
    """The bytes of standard input; raises `FileError` where it is closed."""
    stream: TextIO | None = sys.stdin  # None in a process that starts without it
    if stream is None:
        raise FileError("standard input is closed", file="<stdin>")
    return stream.buffer


def say(text: str) -> None:
    """Print a line on standard error, where that is open."""
    if sys.stderr:
        print(text, file=sys.stderr)


@contextmanager
def patient_output() -> Generator[None]:
    """Let `sys.stdout` stand what the text of this module says; it is flushed in the end.

    Raises `OSError` where output cannot be written, also when the block ends.
    """
    with redirect_stdout(_Output(sys.stdout)) as output:
        try:
            yield
        finally:
            output.flush()


class _Output(io.TextIOBase):
    """Standard output that may be closed, or lose its reader."""

    def __init__(self, stream: TextIO | None):
        self._stream = stream

    def isatty(self) -> bool:
        return self._stream is not None and self._stream.isatty()

    def write(self, text: str, /) -> int:
        stream = self._stream
        if stream is None:
            raise OSError(errno.EBADF, "standard output is closed")
        self._unless_reader_left(lambda: stream.write(text))
        return len(text)

    def flush(self) -> None:
        if self._stream is not None:
            self._unless_reader_left(self._stream.flush)

    def _unless_reader_left(self, action: Callable[[], object]) -> None:
        try:
            action()
        except BrokenPipeError:
            self._discard_the_rest()
        except OSError:
            self._discard_the_rest()
            raise

    def _discard_the_rest(self) -> None:
        """Also what waits in buffers, which Python would write again when the process ends."""
        assert self._stream is not None
        with open(os.devnull, "wb") as nowhere:
            os.dup2(nowhere.fileno(), self._stream.fileno())
