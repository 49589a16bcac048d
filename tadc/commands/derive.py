"""`tadc derive`: print the derivative program, or a stage of it."""

from __future__ import annotations

from argparse import Namespace

from tadc.commands.programs import load
from tadc.function import Function

MODULES = ("tensor-index", "derivative", "solved", "bounded", "simplified")
"""Stages on the way to the derivative program, the program itself first."""
TEXTS = ("source", "llvm", "llvm-optimized", "assembly", "cuda", "ptx")
"""What a derivative program can be printed as."""
EMITS = ("source", *MODULES, "scheduled", "code", *TEXTS[1:])
"""What `--emit` takes."""


def run(options: Namespace) -> int:
    """The command; its exit code."""
    text = emitted(load(options.file), options.wrt, options.emit)
    print(text.rstrip("\n"))
    return 0


def emitted(function: Function, wrt: tuple[str, ...], emit: str) -> str:
    """The derivative of `function` with respect to `wrt` as what `emit` says."""
    derivative = function.derivative(*wrt)
    if emit in TEXTS:
        return derivative.emit(emit)
    return str(function.at(emit, wrt)) if emit in MODULES else derivative.ir(emit)
