"""`tadc-opt`: the xDSL driver with this project's dialects, passes, targets and `.tad` files.

    tadc-opt f.tad -p 'differentiate{wrt=a},solve-index-kernels' -t cuda

Bad input ends in one message on standard error and exit code 1.
"""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from io import BytesIO
from textwrap import fill
from typing import IO

from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import ArgSpecParseError, DiagnosticException, ParseError
from xdsl.xdsl_opt_main import xDSLOptMain

from tadc.errors import TadcError
from tadc.universe import REPLACED_TARGETS, TADC

DESCRIPTION = fill(
    "Reads a program (.tad) or IR (.mlir, or standard input), runs passes over it and prints it. "
    f"This project's dialects: {', '.join(TADC.all_dialects)}. "
    f"Its passes, in the order of the pipeline: {', '.join(TADC.all_passes)}. "
    f"Its targets: {', '.join([*TADC.all_targets, *REPLACED_TARGETS])}. "
    "Everything else comes from xDSL.",
    break_on_hyphens=False,
)


def _version() -> str:
    try:
        return version("tadc")
    except PackageNotFoundError:
        return "(not installed)"


class TadcOpt(xDSLOptMain):
    """The driver; xDSL's own may know this project already, as an installed plugin."""

    version_format = f"tadc-opt {_version()} (xDSL {{xdsl_version}})"

    def __init__(self, args: Sequence[str] | None = None):
        super().__init__(description=DESCRIPTION, args=args)

    def register_all_dialects(self) -> None:
        super().register_all_dialects()
        for name, dialect in TADC.all_dialects.items():
            if name not in self.ctx.registered_dialect_names:
                self.ctx.register_dialect(name, dialect)

    def register_all_passes(self) -> None:
        super().register_all_passes()
        self.available_passes |= TADC.all_passes

    def register_all_targets(self) -> None:
        super().register_all_targets()
        self.available_targets |= TADC.all_targets
        self.available_targets |= REPLACED_TARGETS

    def register_all_frontends(self) -> None:
        super().register_all_frontends()
        self.available_frontends["tad"] = self._parse_tad

    def register_all_arguments(self, arg_parser: ArgumentParser) -> None:
        super().register_all_arguments(arg_parser)
        arg_parser.formatter_class = RawDescriptionHelpFormatter  # names of passes have hyphens
        for action in arg_parser._actions:  # pyright: ignore[reportPrivateUsage]
            if "--disable-verify" in action.option_strings:
                action.help = "Do not verify the IR"

    def parse_chunk(
        self, chunk: IO[bytes], file_extension: str, start_offset: int = 0
    ) -> ModuleOp | None:
        if file_extension == "tad":  # errors count lines from the top of the file
            chunk = BytesIO(b"\n" * start_offset + chunk.read())
        return super().parse_chunk(chunk, file_extension, start_offset)

    def _parse_tad(self, stream: IO[bytes]) -> ModuleOp:
        from tadc.language.parse import parse

        return parse(stream.read().decode(), self.get_input_name())


def message(error: BaseException) -> str:
    """What to tell the user about an error in the input."""
    match error:
        case UnicodeDecodeError():
            text = f"the input is not UTF-8 text (byte {error.start})"
        case OSError(filename=str(name)):
            text = f"{name}: {error.strerror}"
        case _:
            text = str(error).strip("\n")
    return "\n".join([text, *getattr(error, "__notes__", ())])


def main(args: Sequence[str] | None = None) -> int:
    """Run the driver on `args`, by default those of the process; the exit code."""
    try:
        TadcOpt(args).run()
        sys.stdout.flush()
    except BrokenPipeError:  # the reader has seen enough, as in `tadc-opt f.tad | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except (
        ArgSpecParseError,
        DiagnosticException,
        OSError,
        ParseError,
        TadcError,
        ValueError,
    ) as error:
        sys.stdout.flush()
        print(f"tadc-opt: {message(error)}", file=sys.stderr)
        return 1
    return 0
