"""`tadc`: derive, run and check programs from the command line.

    tadc derive f.tad > g.tad     the derivative, a program again
    tadc run f.tad --arg x=x.npy  results, and with --vjp gradients
    tadc check f.tad              every derivative against central differences
    tadc explore f.tad            the derivative as a page, with pictures, stages and code
    tadc cache                    what is kept on disk of earlier runs
    tadc doctor                   what is installed here, and whether it works

Bad input ends in one message on standard error and exit code 1. This module imports nothing of the
compiler, so that `--help` comes at once; commands are imported when they run.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING

from tadc import __version__
from tadc.choices import EMITS, TARGETS
from tadc.commands import help_texts
from tadc.commands.endings import exit_code
from tadc.modes import MODES, OTHER_WORDS

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[argparse.ArgumentParser]  # pyright: ignore[reportPrivateUsage]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line `argv`, by default that of the process; the exit code."""

    def run() -> int:
        options = parser().parse_args(argv)
        return import_module(f"tadc.commands.{options.command}").run(options)

    return exit_code("tadc", run)


# --- the command line -----------------------------------------------------------------------------


def parser() -> argparse.ArgumentParser:
    """The command line."""
    result = argparse.ArgumentParser(
        prog="tadc",
        description="Exact derivatives of tensor functions that are written element by element.",
        epilog=help_texts.EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    result.add_argument("--version", action="version", version=f"tadc {__version__}")
    commands = result.add_subparsers(dest="command", required=True, metavar="COMMAND")
    _derive(_add(commands, "derive", "print the derivative program", help_texts.DERIVE))
    _run(_add(commands, "run", "run a program, or it and its derivatives", help_texts.RUN))
    _check(_add(commands, "check", "verify every derivative numerically", help_texts.CHECK))
    _explore(_add(commands, "explore", "see derivatives on a page", help_texts.EXPLORE))
    _cache(_add(commands, "cache", "show or clear what is kept on disk", help_texts.CACHE))
    _add(commands, "doctor", "see what is installed here, and whether it works", help_texts.DOCTOR)
    return result


def _add(commands: Commands, name: str, help: str, description: str) -> argparse.ArgumentParser:
    return commands.add_parser(
        name,
        help=help,
        description=description.strip(),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )


def _derive(command: argparse.ArgumentParser) -> None:
    _file(command)
    command.epilog = help_texts.DERIVE_EMIT
    command.add_argument(
        "--mode",
        choices=(*MODES, *OTHER_WORDS),
        default="reverse",
        metavar="MODE",
        help="the derivative to print, by default reverse; see below",
    )
    _wrt(command, "the arguments to derive by, by default all (reverse and forward)")
    command.add_argument(
        "--emit",
        type=_stages,
        action="extend",
        default=[],
        metavar="WHAT",
        help="the stage or text to print, by default source; see below. Several, with commas "
        "between them or in options of their own, are printed one after the other",
    )
    command.add_argument(
        "--source-lines",
        action="store_true",
        help="put the lines of FILE beside the IR of --emit, as comments",
    )
    command.add_argument(
        "--diff",
        nargs=2,
        choices=EMITS,
        metavar="STAGE",
        help="print what the second stage changes in the first one instead, as diff -u does; the "
        "numbers of values do not count",
    )
    command.add_argument(
        "--picture",
        type=_path,
        metavar="FILE.svg",
        help="draw instead which points of the index set of each read contribute to an element of "
        "the gradient, and the range of the sum",
    )
    command.add_argument(
        "--element",
        nargs="+",
        action="extend",
        type=_size,
        default=[],
        metavar="NAME=INDEX",
        help="the element of the gradient, for --picture; by default one in the middle",
    )
    _size_option(
        command,
        "a named size, for --emit scheduled and code, --diff and --explain-plan: give all or none; "
        "for --picture, where small ones are chosen for those that are not given",
    )
    command.add_argument(
        "--precision",
        choices=("f32", "f64"),
        default="f64",
        help="of tensors that FILE does not declare, for --emit scheduled and code, --diff and "
        "--explain-plan; by default f64",
    )
    command.add_argument(
        "--explain",
        action="store_true",
        help="print how each gradient comes about instead: for every read its equations, their "
        "solution in integers, guards and bounds, with the reason for each; in inverse modes, the "
        "steps that are inverted, with the structure of their matrices",
    )
    command.add_argument(
        "--explain-plan",
        action="store_true",
        help="print instead how the loops of FILE and of its derivative run in such a call, in the "
        "form that tadc.compile(..., plan=TEXT) takes",
    )
    command.add_argument(
        "--read",
        type=_read,
        metavar="NAME",
        help="explain only what reads of this tensor contribute, or those written so: 'x[i + 1]'",
    )
    command.add_argument(
        "--time",
        action="store_true",
        help="also say, on standard error, how long each step takes, down to machine code",
    )


def _run(command: argparse.ArgumentParser) -> None:
    _file(command)
    command.add_argument(
        "--arg",
        nargs="+",
        action="extend",
        type=_assignment,
        default=[],
        metavar="NAME=VALUE",
        help="an argument of the program, or with --vjp an adjoint df; several may follow",
    )
    command.add_argument(
        "--vjp",
        action="store_true",
        help="also compute gradients; the adjoint of f is --arg df=..., or ones",
    )
    _wrt(command, "the arguments to derive by, by default all (with --vjp)")
    command.add_argument(
        "--target", choices=TARGETS, default="cpu", help="where the program runs, by default cpu"
    )
    command.add_argument(
        "--out", metavar="FILE.npz", help="write the results there instead of printing them"
    )
    command.add_argument(
        "--stats", action="store_true", help="say how long it took, and how much memory"
    )


def _wrt(command: argparse.ArgumentParser, help: str) -> None:
    command.add_argument("--wrt", type=_names, default=(), metavar="a,b", help=help)


def _check(command: argparse.ArgumentParser) -> None:
    _file(command)
    _wrt(command, "the arguments to derive by, by default all")
    command.add_argument(
        "--seed", type=_natural, default=0, help="the seed of the random numbers, by default 0"
    )
    command.add_argument(
        "--tolerance",
        type=_positive,
        default=1e-6,
        metavar="1e-6",
        help="the largest error, by default 1e-6",
    )
    _size_option(command, "a named size; by default a small one is chosen")


def _explore(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "file", nargs="?", type=_path, metavar="FILE", help="a program (.tad) to start with"
    )
    command.add_argument(
        "--port", type=_natural, default=0, help="the port to listen on, by default a free one"
    )
    command.add_argument(
        "--no-browser", action="store_true", help="only print the address, open no browser"
    )


def _cache(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "action",
        nargs="?",
        choices=("clear",),
        help="remove all entries, and say how many these were",
    )


def _file(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "file", type=_path, metavar="FILE", help="a program (.tad); - is standard input"
    )


def _size_option(command: argparse.ArgumentParser, help: str) -> None:
    command.add_argument(
        "--size",
        nargs="+",
        action="extend",
        type=_size,
        default=[],
        metavar="NAME=SIZE",
        help=help,
    )


def _path(text: str) -> str:
    if not text:
        raise argparse.ArgumentTypeError("it is empty: write the path of a program, or -")
    return text


def _read(text: str) -> str:
    if not text.strip():
        raise argparse.ArgumentTypeError("write the name of a tensor, or a read of it: 'x[i + 1]'")
    return text


def _stages(text: str) -> tuple[str, ...]:
    words = _names(text)
    for word in words:
        if word not in EMITS:
            known = ", ".join(EMITS)
            raise argparse.ArgumentTypeError(f"{word!r} is none of {known}")
    return words


def _names(text: str) -> tuple[str, ...]:
    names = tuple(name.strip() for name in text.split(","))
    if not all(names):
        raise argparse.ArgumentTypeError("write names with commas between them: a,b")
    return tuple(dict.fromkeys(names))


def _assignment(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not (name and equals and value):
        raise argparse.ArgumentTypeError(f"write NAME=VALUE, not {text!r}")
    return name.strip(), value.strip()


def _size(text: str) -> tuple[str, int]:
    name, value = _assignment(text)
    return name, _natural(value)


def _natural(text: str) -> int:
    if not text.isascii() or not text.isdigit():
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 0")
    return int(text)


def _positive(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not value > 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a positive number")
    return value
