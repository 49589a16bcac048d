"""Bounds on the iterations of loops, as far as their text tells: none where sizes decide.

    scf.for %k = %low to %high step %one       %low = max(0, i - 2), %high = min(N, i + 3)

runs at most 5 times: a bound of `high` minus a bound of `low` is a number.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import product

from xdsl.dialects import arith, scf
from xdsl.ir import Block, Operation, SSAValue

from dialects.loops import ParallelOp
from dialects.quick import ops_in
from tadc.targets.llvm_ops import constant_integer

Form = tuple[frozenset[tuple[SSAValue, int]], int]
"""A sum of values with coefficients, and a number."""


def most_trips(loop: scf.ForOp) -> int | None:
    """The most iterations of a loop; None where there is no bound."""
    step = constant_integer(loop.step) or 1
    pairs = product(_bounds(loop.ub, arith.MinSIOp), _bounds(loop.lb, arith.MaxSIOp))
    widths = [high[1] - low[1] for high, low in pairs if high[0] == low[0]]
    return max(0, -(-min(widths) // step)) if widths else None


def _bounds(value: SSAValue, kind: type[Operation]) -> list[Form]:
    """The operands of a minimum or maximum, as sums."""
    if isinstance(value.owner, kind):
        return [form for operand in value.owner.operands for form in _bounds(operand, kind)]
    terms, constant = Counter[SSAValue](), 0
    for term, sign in _terms(value, 1):
        number = constant_integer(term)
        if number is None:
            terms[term] += sign
        else:
            constant += sign * number
    return [(frozenset((v, n) for v, n in terms.items() if n), constant)]


def _terms(value: SSAValue, sign: int) -> Iterator[tuple[SSAValue, int]]:
    owner = value.owner
    if isinstance(owner, arith.AddiOp | arith.SubiOp):
        yield from _terms(owner.lhs, sign)
        yield from _terms(owner.rhs, sign if isinstance(owner, arith.AddiOp) else -sign)
    else:
        yield value, sign


Iterations = dict[Block, int | None]
"""The most iterations in blocks, by which loops around them are counted, too."""


def most_iterations(block: Block, known: Iterations | None = None) -> int | None:
    """The most iterations of innermost loops in a block, at least 1; None without a bound.

    Blocks that are `known` are not counted again.
    """
    known = {} if known is None else known
    if block not in known:
        known[block] = _sum(_iterations(op, known) for op in ops_in(block) if op.regions)
    return known[block]


def _iterations(op: Operation, known: Iterations) -> int | None:
    inside = _sum(most_iterations(block, known) for region in op.regions for block in region.blocks)
    if isinstance(op, scf.ForOp):
        return times(most_trips(op), inside)
    if isinstance(op, ParallelOp):
        for size in op.sizes:
            inside = times(constant_integer(size), inside)
    return inside


def _sum(counts: Iterable[int | None]) -> int | None:
    """At least 1."""
    known = list(counts)
    return None if None in known else max(1, sum(n for n in known if n is not None))


def times(trips: int | None, iterations: int | None) -> int | None:
    """The iterations of so many trips, each of so many iterations; None where one is not known."""
    return None if trips is None or iterations is None else trips * iterations
