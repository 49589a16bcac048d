"""Bounds on the iterations of loops: numbers, where their text and the largest sizes tell some.

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
    c N + R             is at most  c n + R  where n is the largest size of the calls

The numbers are those of Python, which do not overflow.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
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


class Bounds(NamedTuple):
    """Bounds of a value times `divisor`: each of the sums is one, or all of them are together."""

    sums: Sequence[Sum] = ()
    all: bool = False
    divisor: int = 1


@dataclass
class TripCounts:
    """Bounds on the iterations of the loops of a function, each computed once."""

    largest: Mapping[SSAValue, int] = field(default_factory=dict[SSAValue, int])
    """The largest values of sizes, where they are known."""
    _iterations: dict[Block, int | None] = field(default_factory=dict["Block", "int | None"])
    _depths: dict[SSAValue, int] = field(default_factory=dict[SSAValue, int])
    _steps: int = 0

    def trips(self, loop: scf.ForOp) -> int | None:
        """The most iterations of a loop; None where there is no bound."""
        low, high, step = operands_of(loop)[:3]
        width = self.most((high, 1), (low, -1))
        return None if width is None else max(0, -(-width // (constant_integer(step) or 1)))

    def most(self, *terms: tuple[SSAValue, int]) -> int | None:
        """A number that the sum of values with coefficients is never above; None where none is
        found."""
        self._steps = 0
        return self._most(terms, 0)

    def iterations(self, block: Block) -> int | None:
        """The most iterations of innermost loops in a block, at least 1; None without a bound."""
        if block not in self._iterations:
            inside = (self._iterations_of(op) for op in ops_in(block) if op.regions)
            self._iterations[block] = _sum(inside)
        return self._iterations[block]

    def _iterations_of(self, op: Operation) -> int | None:
        inside = _sum(self.iterations(block) for region in op.regions for block in region.blocks)
        if isinstance(op, scf.ForOp):
            return times(self.trips(op), inside)
        if isinstance(op, ParallelOp):
            for size in op.sizes:
                inside = times(self.most((size, 1)), inside)
        return inside

    def _most(self, terms: Iterable[tuple[SSAValue, int]], constant: int) -> int | None:
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
        self._steps += 1
        if self._steps > MOST_STEPS:
            return None
        deepest = max(rest, key=self._depth)
        c = rest.pop(deepest)
        bounds = self._bounds_of(deepest, c > 0)
        c, scale = c // (g := gcd(c, bounds.divisor)), bounds.divisor // g
        found: list[int] = []
        for inner, number in bounds.sums:
            scaled = [(v, scale * n) for v, n in rest.items()] + [(v, c * n) for v, n in inner]
            bound = self._most(scaled, scale * constant + c * number)
            if bound is not None:
                found.append(bound // scale)
            elif bounds.all:
                return None
        return (max if bounds.all else min)(found, default=None)

    def _depth(self, value: SSAValue) -> int:
        """A number above those of all values by which this one is bounded."""
        if value not in self._depths:
            bounds = (self._bounds_of(value, upper) for upper in (True, False))
            inner = (v for bound in bounds for terms, _ in bound.sums for v, _ in terms)
            self._depths[value] = 1 + max(map(self._depth, inner), default=0)
        return self._depths[value]

    def _bounds_of(self, value: SSAValue, upper: bool) -> Bounds:
        """The upper or the lower bounds of a value, in values that are less deep."""
        if upper and value in self.largest:
            return Bounds([([], self.largest[value])])
        if isinstance(value, BlockArgument):
            return Bounds(_bounds_of_argument(value, upper))
        return _bounds_of_result(value, upper)


def _bounds_of_result(value: SSAValue, upper: bool) -> Bounds:
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


def _sum(counts: Iterable[int | None]) -> int | None:
    """At least 1."""
    known = list(counts)
    return None if None in known else max(1, sum(n for n in known if n is not None))


def times(trips: int | None, iterations: int | None) -> int | None:
    """The iterations of so many trips, each of so many iterations; None where one is not known."""
    return None if trips is None or iterations is None else trips * iterations
