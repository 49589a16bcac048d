"""Passes in a row, those that look at one definition at a time once for all that are alike.

A program of a thousand time steps has thousands of statements, but a handful of different ones.
What a *local* pass makes of a definition depends on nothing but that definition and the sizes of
its program. So a row of local passes gets the first of each kind, and the others become copies of
what that has become, with their own tensors, labels and places (`passes/analysis/equivalence.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from itertools import groupby

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from dialects import tix
from passes.absorb_conditions import AbsorbConditionsPass
from passes.analysis.equivalence import Deduplicated
from passes.infer_ranges import InferRangesPass
from passes.join_guards import JoinGuardsPass
from passes.shape_loops import ShapeLoopsPass
from passes.simplify_sums import SimplifySumsPass
from passes.solve_index_kernels import SolveIndexKernelsPass
from passes.split_sums import SplitSumsPass

LOCAL = (
    SolveIndexKernelsPass,
    AbsorbConditionsPass,
    InferRangesPass,
    SimplifySumsPass,
    JoinGuardsPass,
    SplitSumsPass,
    ShapeLoopsPass,
)

LONG = 16
"""Programs of fewer definitions hold too few that are alike to look for them."""

Around = Callable[[str], AbstractContextManager[None]]
"""Something to do around a pass of this name."""


def run_passes(
    passes: Sequence[ModulePass], context: Context, module: ModuleOp, around: Around
) -> None:
    """Apply the passes to `module`, in order, each within `around` of its name."""
    for local, steps in groupby(passes, lambda step: isinstance(step, LOCAL)):
        folded = _fold(module) if local else []
        for step in steps:
            with around(step.name):
                step.apply(context, module)
        for program, fold in zip(_programs(module), folded, strict=local):
            if fold is not None:
                _replace(program, fold.unfolded(program))


def _fold(module: ModuleOp) -> list[Deduplicated | None]:
    """Fold the programs of `module` that are long; None for the others."""
    folded: list[Deduplicated | None] = []
    for program in _programs(module):
        fold = Deduplicated(program) if len(program.definitions) >= LONG else None
        folded.append(fold)
        if fold is not None:
            _replace(program, fold.program)
    return folded


def _programs(module: ModuleOp) -> list[tix.ProgramOp]:
    return [op for op in module.ops if isinstance(op, tix.ProgramOp)]


def _replace(old: tix.ProgramOp, new: tix.ProgramOp) -> None:
    """Put `new` where `old` is, which stays as it is."""
    assert old.parent is not None
    old.parent.insert_op_before(new, old)
    old.detach()
