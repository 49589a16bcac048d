"""The stages of a program on the way to the code of its derivative, as modules and as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from xdsl.dialects.builtin import ModuleOp

from tadc.errors import ArgumentError, unknown_name
from tadc.inverse.text import texts
from tadc.modes import INVERSE_MODES, MODES, OTHER_WORDS
from tadc.passes.derive.differentiate import DifferentiatePass
from tadc.passes.derive.outline_reductions import OutlineReductionsPass
from tadc.passes.pipeline import STAGES, Pipeline, derivative_passes, inverse_passes
from tadc.program import Program
from tadc.runtime.compiled import Compiled


class Derivable(Protocol):
    """A function of its derivatives."""

    @property
    def program(self) -> Program: ...
    @property
    def compiled(self) -> Compiled: ...
    @property
    def target(self) -> str: ...
    def derivative(self, *wrt: str) -> Derivable: ...
    def forward(self, *wrt: str) -> Derivable: ...
    def emit(self, kind: str, sizes: Mapping[str, int] | None, precision: str) -> str: ...


def text_at(
    function: Derivable,
    stage: str,
    wrt: Sequence[str],
    mode: str,
    sizes: Mapping[str, int] | None,
    precision: str,
) -> str:
    """A function at a stage: its source, and from `derivative` on its derivative in a mode."""
    match stage:
        case "source":
            return str(function)
        case "scheduled":
            kind = "scheduled"
        case "code":
            kind = "cuda" if function.target == "cuda" else "llvm"
        case _:
            return str(module_at(function.program, stage, wrt, mode))
    mode = _mode(mode)
    if mode in INVERSE_MODES:
        return texts(function.compiled, mode, kind, sizes, precision)
    derivative = function.forward(*wrt) if mode == "forward" else function.derivative(*wrt)
    return derivative.emit(kind, sizes, precision)


def module_at(program: Program, stage: str, wrt: Sequence[str], mode: str) -> ModuleOp:
    """The module at a stage from `tensor-index` to `simplified`."""
    if stage == "tensor-index":
        return program.module
    if stage not in STAGES:
        raise unknown_name("stage", stage, STAGES)
    program.check_arguments(wrt)
    return program.transformed(_pipeline(wrt, _mode(mode)).until(stage).passes)


@dataclass(frozen=True)
class Derivation:
    """One run of the passes to the derivative of a program, with the modules on the way."""

    program: Program
    outlined: ModuleOp
    """Before it is derived, with names for the sums that adjoints need."""
    modules: Mapping[str, ModuleOp]
    """The module at each stage from `tensor-index` to `simplified`."""
    derived: Program

    @staticmethod
    def of(program: Program, wrt: Sequence[str] = ()) -> Derivation:
        """The run for these arguments, all by default; takes as long as the derivative alone.

        Raises `UnknownNameError` where there is no such argument, `ArgumentError` where the program
        has none.
        """
        program.check_arguments(wrt)
        if not program.args:
            raise ArgumentError("the program has no argument to derive with respect to")
        steps = _pipeline(wrt, "reverse")
        stops = {len(steps.until(step.stage)): step.stage for step in steps}
        outlining = [step.run.name for step in steps].index(OutlineReductionsPass.name) + 1
        module, done = program.module.clone(), 0
        found = {"tensor-index": program.module}
        outlined = module
        for end in sorted({*stops, outlining}):
            program.transform(module, steps.passes[done:end])
            done, copy = end, module.clone()
            if end == outlining:
                outlined = copy
            if end in stops:
                found[stops[end]] = copy
        return Derivation(program, outlined, found, program.derived(module))


def _pipeline(wrt: Sequence[str], mode: str) -> Pipeline:
    if mode in INVERSE_MODES:
        return inverse_passes(mode)
    return derivative_passes(DifferentiatePass(tuple(wrt), mode=mode))


def _mode(word: str) -> str:
    """The mode that a word of `tadc derive --mode` stands for."""
    mode = OTHER_WORDS.get(word, word)
    if mode not in MODES:
        raise unknown_name("mode", mode, MODES)
    return mode
