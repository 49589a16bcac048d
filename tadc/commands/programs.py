"""Programs from files or standard input, for all commands."""

from __future__ import annotations

from tadc.commands.streams import standard_input
from tadc.errors import FileError
from tadc.function import Function


def load(path: str, target: str = "cpu") -> Function:
    """The program in a file, or on standard input where the path is `-`."""
    from tadc.api import compile, compile_file

    if path != "-":
        return compile_file(path, target)
    data = standard_input().read()
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        message = f"not a text in UTF-8 (byte {error.start})"
        raise FileError(message, file="<stdin>") from None
    return compile(text, target, file="<stdin>")
