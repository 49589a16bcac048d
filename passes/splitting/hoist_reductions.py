"""`hoist-reductions`: a long reduction moves out of a condition that holds for nearly all elements.

    y[i, j] = exp(sum[k](x[i, k] * x[j, k])) if i != j else 0

becomes

    s = sum[k](x[i, k] * x[j, k])
    y[i, j] = exp(s) if i != j else 0

The elements of a block share the terms of a sum that all of them have; of one inside of a choice,
nothing tells them that. What is left out on the diagonal of pairs costs less than to test for it.
So do sums in both bodies of a choice, all of which each element adds up then: blocks are several
times as fast.

A reduction leaves all choices around it where what it reads is there for all elements. A body
counts as needed by few if equations of indices lead to it. What `split-ranges` can decide is
decided before. No term moves, so that every value stays as it was.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from xdsl.ir import Operation, Region, SSAValue

from tadc.dialects import tix
from tadc.passes.analysis.properties import sums_bounded
from tadc.passes.analysis.rounding import must_round_identically
from tadc.passes.index_sets.context import stays_inside
from tadc.passes.index_sets.disjuncts import complement, is_thin
from tadc.passes.index_sets.sets import index_set
from tadc.passes.rewriting.cloner import Cloner, free_values
from tadc.passes.rewriting.program_pass import ProgramPass
from tadc.passes.rewriting.programs import ProgramBuilder, copy_definition, copy_program
from tadc.passes.splitting.split_residues import FEWEST_TERMS, count_terms, rounds

MOST_OF_NEEDED = 2
"""Reductions that an element computes then at most, as a multiple of those that it needs."""


@dataclass(frozen=True)
class HoistReductionsPass(ProgramPass):
    """`hoist-reductions`: without options."""

    name = "hoist-reductions"
    requires = leaves = (sums_bounded,)

    def rewrite(self, program: tix.ProgramOp) -> tix.ProgramOp:
        return hoist_reductions(program)


def hoist_reductions(program: tix.ProgramOp) -> tix.ProgramOp:
    """The program with some reductions in front of choices; itself where there are none."""
    found = {d: ops for d in program.definitions if (ops := hoisted(d))}
    fixed = must_round_identically(program) if found else frozenset[Operation]()
    free = {d for d in found if not any(o in fixed and rounds(o) for o in d.walk())}
    if not free:
        return program

    def define(builder: ProgramBuilder, tensors: Cloner, op: tix.DefineOp) -> SSAValue:
        cloner = tensors
        if op in free:
            cloner = _Hoister(tensors.builder, tensors.values)
            cloner.hoisted = found[op]
        return copy_definition(builder, cloner, op)

    return copy_program(program, define=define)


def hoisted(op: tix.DefineOp) -> list[tix.ReductionOp]:
    """The reductions of a definition that are to leave the choices around them."""
    found: list[tix.ReductionOp] = []
    for choice in (o for o in op.body.block.ops if isinstance(o, tix.IfOp)):
        inside = _long_reductions(choice)
        if not inside or len(inside) > MOST_OF_NEEDED * _needed(choice):
            continue
        outer = {v for o in inside for v in free_values(o) if choice.is_ancestor(v.owner)}
        if not outer and all(stays_inside(o, index_set(op)) for o in inside):
            found += inside
    return found


def _long_reductions(op: Operation) -> list[tix.ReductionOp]:
    """The long reductions in an operation that stand in choices by indices, and in nothing else."""
    found: list[tix.ReductionOp] = []
    for inner in (inner for region in op.regions for inner in region.block.ops):
        if isinstance(inner, tix.IfOp):
            found += _long_reductions(inner)
        elif isinstance(inner, tix.ReductionOp) and count_terms(inner) >= FEWEST_TERMS:
            found.append(inner)
    return found


def _needed(op: tix.IfOp) -> int:
    """The long reductions that an element needs at least, of all but a few."""
    outside = complement(op.condition)
    bodies = (op.then, op.condition), (op.otherwise, outside)
    return min(_in_body(body) for body, disjuncts in bodies if not is_thin(disjuncts))


def _in_body(region: Region) -> int:
    """The long reductions that a body computes at least for all elements but a few."""
    choices = [o for o in region.block.ops if isinstance(o, tix.IfOp)]
    own = [o for o in region.block.ops if isinstance(o, tix.ReductionOp)]
    return sum(count_terms(o) >= FEWEST_TERMS for o in own) + sum(map(_needed, choices))


class _Hoister(Cloner):
    """Copies some reductions in front of the choices that they are in."""

    hoisted: Collection[tix.ReductionOp]

    def copy_if(self, op: tix.IfOp) -> SSAValue:
        for inner in _long_reductions(op):
            if inner in self.hoisted:
                self.copy(inner)
        return super().copy_if(op)

    def copy(self, op: Operation) -> None:
        if not (op in self.hoisted and op.results[0] in self.values):
            super().copy(op)
