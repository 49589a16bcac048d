"""`solve-conditions`: sums of programs as written run over the few terms that conditions leave.

    y[p] = sum over (i, u) in {0 <= i < I, 0 <= u < U} of (x[i] * w[u] if p == 2 * i + u else 0)

has I * U points for each element, of which U count at most. The equation determines an index:

    y[p] = sum over u in {0 <= u < U, p >= u, ...} of x[(p - u) // 2] * w[u]    of every other u

So do bounds that leave a window of a long range, as `pad(w[p - 2 * i])` does of i. Derivatives have
no such conditions any more (`absorb-conditions`). Those that leave many terms stay in programs as
they are written: whether they become bounds or masks, `shape-loops` decides.

A sum of few elements has no blocks in which a choice is a mask. One over all of a tensor with
boundaries, as gradients by coefficients of stencils are, is cut near the ends, so that most of its
terms have no choices:

    s = sum over i in {0 <= i < N} of (x[N - 1] if i == 0 else x[i - 1]) * x[i]
    s = sum over i in {1 <= i < N} of x[i - 1] * x[i]  +  x[N - 1] * x[0]
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod

from xdsl.ir import Operation

from tadc.dialects import tix
from tadc.passes.analysis.index_uses import IndexUses
from tadc.passes.analysis.properties import sums_bounded
from tadc.passes.derive.absorb_conditions import bounded_without_conditions
from tadc.passes.rewriting.program_pass import LocalPass
from tadc.passes.rewriting.programs import choose_definitions, reductions_around
from tadc.passes.rewriting.written_sizes import parse_sizes
from tadc.passes.scheduling.costs.tile_cost import length_of, terms_of
from tadc.passes.scheduling.tiles.tile_analysis import indices_of
from tadc.passes.splitting.cut_reductions import has_few_elements

TIMES_AS_FEW = 4
"""The terms of a definition, as a multiple of those that conditions leave, from which on these are
looked for: half of a square may be faster under masks."""


FEWEST_TERMS_TO_CUT = 512
"""The terms with choices from which on sums near the ends are worth their code."""


@dataclass(frozen=True)
class SolveConditionsPass(LocalPass):
    """`solve-conditions{sizes="N=512"}`: made best for these, right for all."""

    name = "solve-conditions"
    requires = leaves = (sums_bounded,)
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
        if not is_better and has_few_elements(given):
            before, after = (_terms(op, sizes, _has_choices) for op in ways)
            is_better = before >= FEWEST_TERMS_TO_CUT and TIMES_AS_FEW * after < before
        return solved if is_better else given

    solved = bounded_without_conditions(program, by_borders=True)
    return choose_definitions([program, solved], better)


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


def _has_choices(op: tix.ReductionOp) -> bool:
    return any(isinstance(o, tix.IfOp) for o in op.walk())


def _terms(
    op: tix.DefineOp,
    sizes: Mapping[str, int],
    counts: Callable[[tix.ReductionOp], bool] = lambda _: True,
) -> int:
    """About how many terms those sums of an element have that count."""
    reductions = [o for o in op.walk() if isinstance(o, tix.ReductionOp) and counts(o)]
    return sum(prod(terms_of(o, sizes) for o in (r, *reductions_around(r))) for r in reductions)
