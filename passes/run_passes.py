"""The runner of passes: in order, local ones once for definitions that are equivalent.

A program of a thousand time steps has thousands of statements, but a handful of different ones.
What a *local* pass (`passes/rewriting/program_pass.py`) makes of a definition depends on nothing
but that definition and the sizes of its program. So a row of local passes gets the first of each
kind, and the others become copies of what that has become, with their own tensors, labels and
places (`passes/analysis/equivalence.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from itertools import groupby

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from tadc.dialects import tix
from tadc.passes.analysis.equivalence import Deduplicated
from tadc.passes.rewriting.program_pass import LocalPass

FEWEST_DEFINITIONS_TO_DEDUPLICATE = 16
"""Programs of fewer definitions hold too few that are equivalent to look for them."""

Around = Callable[[str], AbstractContextManager[None]]
"""Gives a context for the pass of a name to run in: a stopwatch, for example."""


def run_passes(
    passes: Sequence[ModulePass], context: Context, module: ModuleOp, around: Around
) -> None:
    """Apply the passes to `module`, in order, each within `around` of its name."""
    for local, steps in groupby(passes, lambda step: isinstance(step, LocalPass)):
        short = _deduplicated(module) if local else []
        for step in steps:
            with around(step.name):
                step.apply(context, module)
        for program, whole in zip(_programs(module), short, strict=local):
            if whole is not None:
                _replace(program, whole.expanded(program))


def _deduplicated(module: ModuleOp) -> list[Deduplicated | None]:
    """The programs of `module` that are long, now with one definition of each kind; else None."""
    found: list[Deduplicated | None] = []
    for program in _programs(module):
        long = len(program.definitions) >= FEWEST_DEFINITIONS_TO_DEDUPLICATE
        found.append(short := Deduplicated(program) if long else None)
        if short is not None:
            _replace(program, short.program)
    return found


def _programs(module: ModuleOp) -> list[tix.ProgramOp]:
    return [op for op in module.ops if isinstance(op, tix.ProgramOp)]


def _replace(old: tix.ProgramOp, new: tix.ProgramOp) -> None:
    """Put `new` where `old` is, which stays as it is."""
    assert old.parent is not None
    old.parent.insert_op_before(new, old)
    old.detach()
