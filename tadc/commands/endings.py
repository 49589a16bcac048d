"""The exit codes of commands, and one message for each error.

| code | says |
|---|---|
| 0 | done, also where the reader of the output has left |
| 1 | bad input, output that cannot be written, or a check that found something wrong |
| 2 | a command line that makes no sense |
| 130 | stopped by Ctrl-C |
"""

from __future__ import annotations

from collections.abc import Callable

from tadc.commands.streams import patient_output, say
from tadc.errors import TadcError

BAD_INPUT = (TadcError, OSError, MemoryError, UnicodeEncodeError)
"""Errors of every command that are no bugs of tadc."""


def exit_code(
    tool: str, work: Callable[[], int], more_bad_input: tuple[type[BaseException], ...] = ()
) -> int:
    """Run `work` for the command `tool`: its exit code, or that of the error that it ends in."""
    try:
        with patient_output():
            return work()
    except KeyboardInterrupt:
        say(f"\n{tool}: stopped")
        return 130
    except (*BAD_INPUT, *more_bad_input) as error:
        say(f"{tool}: {_message(error)}")
        return 1


def _message(error: BaseException) -> str:
    match error:
        case OSError(filename=str(name)):
            text = f"{name}: {error.strerror}"
        case OSError(strerror=str(reason)):
            text = f"cannot write the output: {reason}"
        case MemoryError():
            text = f"not enough memory: {error}".removesuffix(": ")
        case UnicodeEncodeError():
            text = "the terminal cannot show the program's names (PYTHONIOENCODING=utf-8 helps)"
        case UnicodeDecodeError():
            text = f"the input is not UTF-8 text (byte {error.start})"
        case _:
            text = str(error).strip("\n")
    return "\n".join([text, *getattr(error, "__notes__", ())])
