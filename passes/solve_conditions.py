"""`solve-conditions`: sums of programs as written run over the few terms that conditions leave.

    y[p] = sum over (i, u) in {0 <= i < I, 0 <= u < U} of (x[i] * w[u] if p == 2 * i + u else 0)

has I * U points for each element, of which U count at most. The equation determines an index:

    y[p] = sum over u in {0 <= u < U, p >= u, ...} of x[(p - u) // 2] * w[u]    of every other u

So do bounds that leave a window of a long range, as `pad(w[p - 2 * i])` does of i. Derivatives have
no such conditions any more (`absorb-conditions`). Those that leave many terms stay in programs as
they are written: whether they become bounds or masks, `shape-loops` decides.

On entry and on exit sums are bounded.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

from xdsl.ir import Operation

from tadc.dialects import tix
from tadc.passes.absorb_conditions import bounded_without_conditions
from tadc.passes.analysis.index_uses import IndexUses
from tadc.passes.rewriting.program_pass import LocalPass
from tadc.passes.rewriting.programs import choose_definitions, reductions_around
from tadc.passes.rewriting.written_sizes import parse_sizes
from tadc.passes.scheduling.costs.tile_cost import length_of, terms_of
from tadc.passes.scheduling.tiles.tile_analysis import indices_of

TIMES_AS_FEW = 4
"""The terms of a definition, as a multiple of those that conditions leave, from which on these are
looked for: half of a square may be faster under masks."""


@dataclass(frozen=True)
class SolveConditionsPass(LocalPass):
    """`solve-conditions{sizes="N=512"}`: made best for these, right for all."""

    name = "solve-conditions"
    sizes: tuple[str, ...] = ()

    def rewrite(self, program: tix.ProgramOp) -> tix.ProgramOp:
        return solve_conditions(program, parse_sizes(self.sizes))


def solve_conditions(program: tix.ProgramOp, sizes: Mapping[str, int]) -> tix.ProgramOp:
    """The program with conditions in index sets where they leave few terms; itself elsewhere."""
    if not any(_chooses_terms(op, sizes) for op in program.walk()):
        return program

    def better(ways: Sequence[tix.DefineOp]) -> tix.DefineOp:
        given, solved = ways
        is_better = TIMES_AS_FEW * _terms(solved, sizes) <= _terms(given, sizes)
        return solved if is_better else given

    return choose_definitions([program, bounded_without_conditions(program)], better)


def _chooses_terms(op: Operation, sizes: Mapping[str, int]) -> bool:
    """True for a choice by one of many values of an index of a sum."""
    if not isinstance(op, tix.IfOp):
        return False
    tested = indices_of((c.form for disjunct in op.condition for c in disjunct), IndexUses())
    sums = (around for around in reductions_around(op) if isinstance(around, tix.SumOp))
    return any(
        length_of(around, v, sizes) >= TIMES_AS_FEW
        for around in sums
        for v in around.indices
        if v in tested
    )


def _terms(op: tix.DefineOp, sizes: Mapping[str, int]) -> int:
    """About how many terms all sums of an element have."""
    reductions = [o for o in op.walk() if isinstance(o, tix.ReductionOp)]
    return sum(prod(terms_of(o, sizes) for o in (r, *reductions_around(r))) for r in reductions)
