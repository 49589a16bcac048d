"""`tadc derive`: print the derivative program of a mode, a stage of it, or how it comes about."""

from __future__ import annotations

import sys
from argparse import Namespace
from importlib import import_module

from tadc.commands.programs import load
from tadc.errors import ArgumentError
from tadc.function import Function
from tadc.modes import INVERSE_MODES, OTHER_WORDS
from tadc.support.stopwatch import Stopwatch, timed

MODULES = ("tensor-index", "derivative", "solved", "bounded", "simplified")
"""Stages on the way to the derivative program, the program itself first."""
TEXTS = ("source", "llvm", "llvm-optimized", "assembly", "cuda", "ptx")
"""What a derivative program can be printed as."""
EMITS = ("source", *MODULES, "scheduled", "code", *TEXTS[1:])
"""What `--emit` takes."""


def run(options: Namespace) -> int:
    """The command; its exit code."""
    mode: str = OTHER_WORDS.get(options.mode) or options.mode
    _require_sense(mode, options)
    if options.time:
        function, watch = timed_compilation(options.file, options.wrt, mode)
    else:
        function, watch = load(options.file), None
    if options.explain:
        print(_explained(function, options.wrt, mode))
    else:
        print(emitted(function, options.wrt, options.emit, mode).rstrip("\n"))
    if watch:
        sys.stdout.flush()
        print("\n".join(watch.table()), file=sys.stderr)
    return 0


def _require_sense(mode: str, options: Namespace) -> None:
    """Refuse options that do not go together."""
    if options.wrt and mode in INVERSE_MODES:
        raise ArgumentError(
            f"--wrt says nothing to the mode {mode}",
            hint="it is always about the arguments that the program updates",
        )
    if options.explain and mode == "forward":
        raise ArgumentError(
            "--explain has nothing to say about the mode forward",
            hint="there, every read x[...] becomes a read x_dot[...] at the same place",
        )
    if options.explain and options.emit != "source":
        raise ArgumentError("--explain and --emit print different things: give one of them")


def _explained(function: Function, wrt: tuple[str, ...], mode: str) -> str:
    if mode in INVERSE_MODES:
        from tadc.explain.lumps import explain_lumps

        return explain_lumps(function, mode)
    from tadc.explain.gradients import explain

    return explain(function, *wrt)


def timed_compilation(file: str, wrt: tuple[str, ...], mode: str) -> tuple[Function, Stopwatch]:
    """The program in `file`, after its derivative was made, printed and compiled for this machine.

    What Python loads on the way counts as a step of its own.
    """
    with Stopwatch() as watch:
        with timed("loading tadc"):
            import_module("tadc.language.parse")
            from tadc.explain.systems import steps
            from tadc.language.printing.program import print_program
            from tadc.runtime.cpu import CpuModule
            from tadc.targets.llvm import print_llvm
        with timed("parse, ranges"):
            function = load(file)
        if mode in INVERSE_MODES:
            programs = [s for s in steps(function, mode) if isinstance(s, Function)]
        else:
            programs = [_derived(function, wrt, mode)]
        for program in programs:
            with timed("printing"):
                print_program(program.program)
            loops = program.scheduled(tile=True)
            with timed("LLVM IR"):
                text = print_llvm(loops)
            with timed("machine code"):
                CpuModule(text)
    return function, watch


def _derived(function: Function, wrt: tuple[str, ...], mode: str) -> Function:
    return function.forward(*wrt) if mode == "forward" else function.derivative(*wrt)


def emitted(function: Function, wrt: tuple[str, ...], emit: str, mode: str = "reverse") -> str:
    """The derivative of `function` in a mode, with respect to `wrt`, as what `emit` says."""
    if emit in MODULES:
        if mode not in INVERSE_MODES:
            _derived(function, wrt, mode)  # looks at the names
        return str(function.at(emit, wrt, mode))
    kind = "llvm" if emit == "code" else emit
    if mode in INVERSE_MODES:
        from tadc.explain.systems import texts

        return texts(function, mode, kind)
    derivative = _derived(function, wrt, mode)
    return derivative.emit(kind) if kind in TEXTS else derivative.ir(kind)
