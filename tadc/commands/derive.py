"""`tadc derive`: print the derivative program, a stage of it, or how it comes about."""

from __future__ import annotations

import sys
from argparse import Namespace
from importlib import import_module

from tadc.commands.programs import load
from tadc.function import Function
from tadc.stopwatch import Stopwatch, timed

MODULES = ("tensor-index", "derivative", "solved", "bounded", "simplified")
"""Stages on the way to the derivative program, the program itself first."""
TEXTS = ("source", "llvm", "llvm-optimized", "assembly", "cuda", "ptx")
"""What a derivative program can be printed as."""
EMITS = ("source", *MODULES, "scheduled", "code", *TEXTS[1:])
"""What `--emit` takes."""


def run(options: Namespace) -> int:
    """The command; its exit code."""
    if options.time:
        function, watch = timed_compilation(options.file, options.wrt)
    else:
        function, watch = load(options.file), None
    if options.explain:
        from tadc.explain import explain

        print(explain(function, *options.wrt))
    else:
        print(emitted(function, options.wrt, options.emit).rstrip("\n"))
    if watch:
        sys.stdout.flush()
        print("\n".join(watch.table()), file=sys.stderr)
    return 0


def timed_compilation(file: str, wrt: tuple[str, ...]) -> tuple[Function, Stopwatch]:
    """The program in `file`, after its derivative was made, printed and compiled for this machine.

    What Python loads on the way counts as a step of its own.
    """
    with Stopwatch() as watch:
        with timed("loading tadc"):
            import_module("tadc.language.parse")
            from tadc.language.print import print_program
            from tadc.runtime.cpu import CpuModule
            from tadc.targets.llvm import print_llvm
        with timed("parse, ranges"):
            function = load(file)
        derivative = function.derivative(*wrt)
        with timed("printing"):
            print_program(derivative.program)
        loops = derivative.scheduled(tile=True)
        with timed("LLVM IR"):
            text = print_llvm(loops)
        with timed("machine code"):
            CpuModule(text)
    return function, watch


def emitted(function: Function, wrt: tuple[str, ...], emit: str) -> str:
    """The derivative of `function` with respect to `wrt` as what `emit` says."""
    derivative = function.derivative(*wrt)
    if emit in TEXTS:
        return derivative.emit(emit)
    return str(function.at(emit, wrt)) if emit in MODULES else derivative.ir(emit)
