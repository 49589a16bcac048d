"""`tadc`: derive, run and check programs from the command line.

    tadc derive f.tad > g.tad     the derivative, a program again
    tadc run f.tad --arg x=x.npy  results, and with --vjp gradients
    tadc check f.tad              every derivative against central differences
    tadc explore f.tad            the derivative as a page, with pictures, stages and code
    tadc cache                    what is kept on disk of earlier runs

Bad input ends in one message on standard error and exit code 1. This module imports nothing of the
compiler, so that `--help` comes at once; commands are imported when they run.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING

from tadc.choices import EMITS, TARGETS
from tadc.commands.endings import exit_code
from tadc.modes import MODES, OTHER_WORDS

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[argparse.ArgumentParser]  # pyright: ignore[reportPrivateUsage]

EPILOG = """\
  tadc derive f.tad > g.tad
  tadc run f.tad --arg x=x.npy s=0.5 --vjp
  tadc check f.tad
  tadc explore f.tad

tadc COMMAND --help says more, with examples; tadc-opt runs single passes. The exit code is 1 where
the input is bad or a check fails, 2 where the command line makes no sense.
"""
DERIVE = """
Print the derivative program: a program of the arguments of FILE and of the adjoint df of each
result f, with a result dx for each argument x. It is a program like any other: it compiles, runs
and can be derived again. --mode gives other derivatives of FILE.

  tadc derive f.tad > g.tad
  tadc derive f.tad --wrt a,b --emit bounded --source-lines
  tadc derive f.tad --diff solved bounded
  tadc derive f.tad --wrt a --explain --read 'a[i + 1]'
  tadc derive f.tad --wrt a --picture a.svg --element p=12
  tadc derive f.tad --mode forward --wrt a
  tadc derive f.tad --mode inverse-jvp --explain
  tadc derive f.tad --explain-plan --size N=512 --precision f32
"""
DERIVE_EMIT = """
--mode, with J the Jacobian of the results by the arguments:
  reverse, vjp    transpose(J) times the adjoints df, as dx (the default)
  forward, jvp    J times the tangents x_dot, as f_dot
and for programs whose results are exactly the arguments that they update (the state):
  inverse-jvp     inverse(J) times the tangents x_dot of the results, as x_dot of the arguments
  inverse-vjp     inverse(transpose(J)) times the adjoints dx of the arguments, as dx of the results
  log-abs-det     sign and logarithm of |det J|, as signdet and logdet
These may be several programs, with linear systems to be solved between them, which stand there as
comments: what is solved, the statement that it comes from, and the structure of the matrix.

--emit:
  source          the derivative program in the language (the default)
  tensor-index    the program of FILE as IR, before it is derived
  derivative      its derivative, in reverse modes as sums over equations in the indices
  solved          the equations solved
  bounded         every index with its bounds
  simplified      factors moved, sums over one point gone
  scheduled       the derivative program as loops
  code, llvm      ... as LLVM IR;  llvm-optimized, assembly: what LLVM makes of it here
  cuda, ptx       ... as CUDA C, and as what NVRTC makes of that

From scheduled on, what is printed is exactly what the next call with sizes --size and arrays of
--precision compiles and runs; without --size, what large calls of any sizes do.
"""
RUN = """
Run the program. An argument is a number, numbers in brackets, a file .npy, or an array in a file
.npz:

  tadc run f.tad --arg a=a.npy b=data.npz:b s=0.5 'x=[[1, 2], [3, 4]]'
  tadc run f.tad --arg a=a.npy --vjp --arg df=df.npy --out gradients.npz
"""
CHECK = """
Compare every derivative with central differences on random arguments, in float64: the derivative
program as machine code, the differences by the reference interpreter; and forward mode in a
random direction. Of programs that have inverse modes, multiply what these give by J again, and
compare the determinant with that of J. Exits with 1 where the largest error, relative to
max(1, |derivative|), exceeds the tolerance.

  tadc check f.tad
  tadc check f.tad --seed 7 --size N=6 --tolerance 1e-8
"""
EXPLORE = """
Serve a page to this machine's browser: write a formula, and see its derivative, why its ranges are
what they are, pictures, the stages of the compiler with their differences, code, assembly, times
and memory. It listens on this machine alone, under an address that nobody else knows, until Ctrl-C.

  tadc explore
  tadc explore f.tad
  tadc explore f.tad --port 8000 --no-browser
"""
CACHE = """
What is compiled is kept on disk, so that later processes start at once: derivatives, and machine
code for the sizes and the processor that it was made for. `tadc cache` shows the folder, what it
holds and how much it may hold; `tadc cache clear` removes all entries, also while programs run:
whatever is needed again is compiled again. Results are the same with and without.

  tadc cache
  tadc cache clear
  TADC_CACHE=/scratch/tadc python train.py

The variable TADC_CACHE of the environment chooses the folder; with off, nothing is read or written.
Without it, the folder is $XDG_CACHE_HOME/tadc or ~/.cache/tadc. Files that others own or may write
to are not used.
"""


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
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    result.add_argument("--version", action=_Version)
    commands = result.add_subparsers(dest="command", required=True, metavar="COMMAND")
    _derive(_add(commands, "derive", "print the derivative program", DERIVE))
    _run(_add(commands, "run", "run a program, or it and its derivatives", RUN))
    _check(_add(commands, "check", "verify every derivative numerically", CHECK))
    _explore(_add(commands, "explore", "see derivatives on a page", EXPLORE))
    _cache(_add(commands, "cache", "show or clear what is kept on disk", CACHE))
    return result


def _add(commands: Commands, name: str, help: str, description: str) -> argparse.ArgumentParser:
    return commands.add_parser(
        name,
        help=help,
        description=description.strip(),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )


class _Version(argparse.Action):
    """`--version`, which looks it up only when asked."""

    def __init__(self, option_strings: Sequence[str], dest: str):
        super().__init__(option_strings, dest, nargs=0, help="show the version and exit")

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from importlib.metadata import PackageNotFoundError, version

        try:
            print(f"tadc {version('tadc')}")
        except PackageNotFoundError:
            print("tadc (not installed)")
        parser.exit()


def _derive(command: argparse.ArgumentParser) -> None:
    _file(command)
    command.epilog = DERIVE_EMIT
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
