"""`solve-conditions`: sums of a program as it is written have no equations among their conditions.

    y[p] = sum over (i, u) in {0 <= i < I, 0 <= u < U} of (x[i] * w[u] if p == 2 * i + u else 0)

has I * U points for each element, of which U count at most. The equation determines an index:

    y[p] = sum over u in {0 <= u < U, p >= u, ...} of x[(p - u) // 2] * w[u]    of every other u

Derivatives have no such conditions any more (`absorb-conditions`). Others stay in programs as they
are written: whether they become bounds or masks, `shape-loops` decides.

On entry and on exit sums are bounded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import Operation

from dialects import tix
from passes.absorb_conditions import bounded_without_conditions
from passes.analysis.index_uses import IndexUses
from passes.rewriting.guards import is_guard
from passes.rewriting.program_pass import LocalPass
from passes.rewriting.programs import choose_definitions, reductions_around
from passes.scheduling.tiles.tile_analysis import indices_of


@dataclass(frozen=True)
class SolveConditionsPass(LocalPass):
    """`solve-conditions`: no options."""

    name = "solve-conditions"

    def rewrite(self, program: tix.ProgramOp) -> tix.ProgramOp:
        return solve_conditions(program)


def solve_conditions(program: tix.ProgramOp) -> tix.ProgramOp:
    """The program without equations in conditions of sums; itself where there are none."""
    if not any(map(_has_equation, program.walk())):
        return program

    def better(ways: Sequence[tix.DefineOp]) -> tix.DefineOp:
        given, solved = ways
        return solved if any(map(_has_equation, given.walk())) else given

    return choose_definitions([program, bounded_without_conditions(program)], better)


def _has_equation(op: Operation) -> bool:
    """True for a term of a sum that is there for one value of an index of the sum alone."""
    if not is_guard(op):
        return False
    uses = IndexUses()
    equations = [c for disjunct in op.condition for c in disjunct if c.equality]
    sums = (around for around in reductions_around(op) if isinstance(around, tix.SumOp))
    return any(
        not indices_of([c.form], uses).isdisjoint(around.indices)
        for around in sums
        for c in equations
    )
