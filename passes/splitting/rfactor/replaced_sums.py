"""Sums that are replaced by others whose values add up to theirs.

    sum[i in range(N)](f[i])    becomes    sum[i in range(3)](f[i]) + sum[i in range(3, N)](f[i])

That rounds in another order: where definitions must round identically, or an extremum compares a
sum with its value, the sum stays.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

from xdsl.ir import SSAValue

from tadc.dialects import tix
from tadc.passes.analysis.rounding import in_extremum, must_round_identically
from tadc.passes.rewriting.cloner import Cloner
from tadc.passes.rewriting.programs import ProgramBuilder, copy_definition, copy_program

T = TypeVar("T")


def replace_sums(
    program: tix.ProgramOp,
    find: Callable[[tix.SumOp], T | None],
    copier: Callable[[Cloner, Mapping[tix.SumOp, T]], Cloner],
) -> tix.ProgramOp:
    """The program with other sums for those that `find` gives something for, which `copier` makes;
    itself where there are none."""
    sums = [op for d in program.definitions for op in d.walk() if isinstance(op, tix.SumOp)]
    found = {op: what for op in sums if (what := find(op))}
    fixed = must_round_identically(program) if found else frozenset[tix.SumOp]()
    free = {op: what for op, what in found.items() if op not in fixed and not in_extremum(op)}
    if not free:
        return program

    def define(builder: ProgramBuilder, tensors: Cloner, op: tix.DefineOp) -> SSAValue:
        return copy_definition(builder, copier(tensors, free), op)

    return copy_program(program, define=define)
