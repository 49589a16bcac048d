"""Bounds on the iterations of loops, where their text tells them: none where sizes decide.

    scf.for %k = %low to %high step %one       %low = max(0, i - 2), %high = min(N, i + 3)

runs at most 5 times: `high - low` is at most `i + 3 - (i - 2)`, a number.

**The bound of a sum of values with coefficients.** One value after the other is replaced by what
bounds it, until a number is left. The deepest goes first, so that whatever is computed from a value
has gone before it, and equal values cancel, as `i` does. With a coefficient c > 0, and R for the
rest of the sum,

    c max(a, b) + R     is the larger one of  c a + R  and  c b + R
    -c max(a, b) + R    is the smaller one of  -c a + R  and  -c b + R; minima are like that, too
    c (a // d) + R      is at most  (c a + d R) // d,  as  d (a // d) <= a
    -c (a // d) + R     is at most  (-c (a - (d - 1)) + d R) // d,  as  d (a // d) >= a - (d - 1)
    c k + R             is at most  c (high - 1) + R  for the index k of a loop, which is below high
    -c k + R            is at most  -c low + R
    -c N + R            is at most  R  for a size N, which is never negative

The numbers are those of Python, which do not overflow.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import gcd
from typing import NamedTuple, TypeAlias

from xdsl.dialects import arith, func, scf
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from tadc.dialects.loops import ParallelOp
from tadc.dialects.quick import constant_integer, operands_of, ops_in

MOST_STEPS = 256
"""Values that are replaced in search of a bound: a minimum or maximum may double what is left."""

Sum: TypeAlias = tuple[Sequence[tuple[SSAValue, int]], int]
"""Values with coefficients, and a number, to be added."""


def most_trips(loop: scf.ForOp) -> int | None:
    """The most iterations of a loop; None where there is no bound."""
    low, high, step = operands_of(loop)[:3]
    width = _Search().most([(high, 1), (low, -1)], 0)
    return None if width is None else max(0, -(-width // (constant_integer(step) or 1)))


class Bounds(NamedTuple):
    """Bounds of a value times `divisor`: each of the sums is one, or all of them are together."""

    sums: Sequence[Sum] = ()
    all: bool = False
    divisor: int = 1


def bounds_of(value: SSAValue, upper: bool) -> Bounds:
    """The upper or the lower bounds of a value, in values that are less deep."""
    if isinstance(value, BlockArgument):
        return Bounds(_bounds_of_argument(value, upper))
    op = value.owner
    assert isinstance(op, Operation)
    operands = operands_of(op)
    a, b = operands if len(operands) == 2 else (value, value)
    m, n = constant_integer(a), constant_integer(b)
    match op:
        case arith.AddiOp():
            return Bounds([([(a, 1), (b, 1)], 0)])
        case arith.SubiOp():
            return Bounds([([(a, 1), (b, -1)], 0)])
        case arith.MuliOp() if n is not None:
            return Bounds([([(a, n)], 0)])
        case arith.MuliOp() if m is not None:
            return Bounds([([(b, m)], 0)])
        case arith.FloorDivSIOp() if n and n > 0:
            return Bounds([([(a, 1)], 0 if upper else 1 - n)], divisor=n)
        case arith.MinSIOp() | arith.MaxSIOp():
            return Bounds([([(v, 1)], 0) for v in (a, b)], isinstance(op, arith.MaxSIOp) == upper)
        case _:
            return Bounds()


def _bounds_of_argument(value: BlockArgument, upper: bool) -> Sequence[Sum]:
    match op := value.block.parent_op():
        case scf.ForOp() if value.index == 0:
            return [([(op.ub, 1)], -1) if upper else ([(op.lb, 1)], 0)]
        case ParallelOp() if upper:
            return [([(op.sizes[value.index], 1)], -1)]
        case ParallelOp() | func.FuncOp() if not upper:
            return [([], 0)]
        case _:
            return ()


@dataclass
class _Search:
    """The search for the bound of one sum."""

    steps: int = 0
    depths: dict[SSAValue, int] = field(default_factory=dict[SSAValue, int])

    def most(self, terms: Iterable[tuple[SSAValue, int]], constant: int) -> int | None:
        """A number that the sum is never above; None where none is found."""
        rest: dict[SSAValue, int] = {}
        for value, c in terms:
            number = constant_integer(value)
            if number is None:
                rest[value] = rest.get(value, 0) + c
            else:
                constant += c * number
        rest = {value: c for value, c in rest.items() if c}
        if not rest:
            return constant
        self.steps += 1
        if self.steps > MOST_STEPS:
            return None
        deepest = max(rest, key=self.depth)
        c = rest.pop(deepest)
        bounds = bounds_of(deepest, c > 0)
        c, times = c // (g := gcd(c, bounds.divisor)), bounds.divisor // g
        found: list[int] = []
        for inner, number in bounds.sums:
            scaled = [(v, times * n) for v, n in rest.items()] + [(v, c * n) for v, n in inner]
            bound = self.most(scaled, times * constant + c * number)
            if bound is not None:
                found.append(bound // times)
            elif bounds.all:
                return None
        return (max if bounds.all else min)(found, default=None)

    def depth(self, value: SSAValue) -> int:
        """A number above those of all values by which this one is bounded."""
        if value not in self.depths:
            inner = (v for up in (True, False) for s, _ in bounds_of(value, up).sums for v, _ in s)
            self.depths[value] = 1 + max(map(self.depth, inner), default=0)
        return self.depths[value]


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
