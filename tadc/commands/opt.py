"""`tadc-opt`: the xDSL driver with this project's dialects, passes, targets and `.tad` files.

    tadc-opt f.tad -p 'differentiate{wrt=a},solve-index-kernels'
    tadc-opt f.tad -p 'expand-calls,set-precision,schedule' -t cuda

Bad input ends in one message on standard error and exit code 1.
"""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, RawDescriptionHelpFormatter
from collections.abc import Sequence
from dataclasses import replace
from io import BytesIO
from textwrap import fill
from typing import IO

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import ArgSpecParseError, DiagnosticException, ParseError
from xdsl.xdsl_opt_main import xDSLOptMain

from tadc import __version__
from tadc.commands.endings import exit_code
from tadc.commands.streams import standard_input
from tadc.errors import TargetError
from tadc.universe import REPLACED_TARGETS, TADC

CODE = (*TADC.all_targets, *REPLACED_TARGETS)
"""Targets of this project: texts of loops."""

DESCRIPTION = fill(
    "Reads a program (.tad) or IR (.mlir), runs passes over it and prints it. "
    f"This project's dialects: {', '.join(TADC.all_dialects)}. "
    f"Its passes, in the order of the pipeline: {', '.join(TADC.all_passes)}. "
    f"Its targets: {', '.join(CODE)}. "
    "Everything else comes from xDSL.",
    break_on_hyphens=False,
)


def _path(text: str) -> str:
    if not text:
        raise ArgumentTypeError("it is empty: write the path of a program or of IR, or -")
    return text


class TadcOpt(xDSLOptMain):
    """The driver; xDSL's own may know this project already, as an installed plugin."""

    version_format = f"tadc-opt {__version__} (xDSL {{xdsl_version}})"

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
            if "--print-between-passes" in action.option_strings:
                action.help = "Print the IR between the passes, where one changed it"
            if action.dest == "input_file":
                action.type = _path
                action.help = "a program or IR; - or nothing is standard input, with IR or -f tad"

    def setup_pipeline(self) -> None:
        """Print the IR between two passes only where the first one changed it."""
        super().setup_pipeline()
        between = self.pipeline.callback
        assert between is not None
        if not self.args.print_between_passes:
            return
        last = ""

        def callback(done: ModulePass | None, module: ModuleOp, next: ModulePass | None) -> None:
            nonlocal last
            before, last = last, str(module)
            self.args.print_between_passes = last != before
            if done and next and last == before:
                print(f"IR after {done.name}: the same\n")
            between(done, module, next)

        self.pipeline = replace(self.pipeline, callback=callback)

    def get_input_stream(self) -> tuple[IO[bytes], str]:
        if self.args.input_file in (None, "-"):
            self.args.input_file = None
            return standard_input(), "mlir"
        return super().get_input_stream()

    def parse_chunk(
        self, chunk: IO[bytes], file_extension: str, start_offset: int = 0
    ) -> ModuleOp | None:
        if file_extension == "tad":  # errors count lines from the top of the file
            chunk = BytesIO(b"\n" * start_offset + chunk.read())
        return super().parse_chunk(chunk, file_extension, start_offset)

    def output_resulting_program(self, prog: ModuleOp) -> str:
        target = self.args.target.partition("{")[0]
        if target in CODE and any(op.name == "tix.program" for op in prog.ops):
            raise TargetError(
                f"the target {target} takes loops, and here is a program",
                hint=f"run schedule first: -p '{self._scheduling_pipeline()}'",
            )
        return super().output_resulting_program(prog)

    def _scheduling_pipeline(self) -> str:
        """The passes that are given, and behind them those that make loops of a program."""
        from tadc.passes.code_pipeline import code_passes

        given = [str(step.pipeline_pass_spec()) for step in self.pipeline.passes]
        return ",".join([*given, *(step.name for _, step in code_passes())])

    def _parse_tad(self, stream: IO[bytes]) -> ModuleOp:
        from tadc.language.parse import parse

        return parse(stream.read().decode(), self.get_input_name())


BAD_INPUT = (ArgSpecParseError, DiagnosticException, ParseError, ValueError)
"""Errors of xDSL that are about what it is given."""


def main(args: Sequence[str] | None = None) -> int:
    """Run the driver on `args`, by default those of the process; the exit code."""

    def run() -> int:
        TadcOpt(args).run()
        return 0

    return exit_code("tadc-opt", run, BAD_INPUT)
