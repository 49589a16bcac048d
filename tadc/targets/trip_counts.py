"""Bounds on the iterations of loops, where their text tells them: none where sizes decide.

    scf.for %k = %low to %high step %one       %low = max(0, i - 2), %high = min(N, i + 3)

runs at most 5 times: a bound of `high` minus a bound of `low` is a number.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import product

from xdsl.dialects import arith, scf
from xdsl.ir import Block, Operation, SSAValue

from tadc.dialects.loops import ParallelOp
from tadc.dialects.quick import constant_integer, operands_of, ops_in

Form = tuple[frozenset[tuple[SSAValue, int]], int]
"""A sum of values with coefficients, and a number."""


def most_trips(loop: scf.ForOp) -> int | None:
    """The most iterations of a loop; None where there is no bound."""
    low, high, step = operands_of(loop)[:3]
    pairs = product(_bounds(high, arith.MinSIOp), _bounds(low, arith.MaxSIOp))
    widths = [last - first for (above, last), (below, first) in pairs if above == below]
    return max(0, -(-min(widths) // (constant_integer(step) or 1))) if widths else None


def _bounds(value: SSAValue, kind: type[Operation]) -> list[Form]:
    """The operands of a minimum or maximum, as sums."""
    owner = value.owner
    if isinstance(owner, Operation) and type(owner) is kind:
        return [form for operand in operands_of(owner) for form in _bounds(operand, kind)]
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
    kind = type(owner)
    if isinstance(owner, Operation) and kind in (arith.AddiOp, arith.SubiOp):
        a, b = operands_of(owner)
        yield from _terms(a, sign)
        yield from _terms(b, sign if kind is arith.AddiOp else -sign)
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
