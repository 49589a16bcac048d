"""Tensors whose elements are better computed again than stored: many elements, made of few numbers.

    r[i, j] = sum[d in range(3)]((x[i, d] - z[j, d])**2)

All pairs of n points take n**2 elements, which are made of 6 n numbers. To write and to read them
takes longer than a few operations on numbers that stay in a cache.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import inf, prod

from xdsl.ir import Operation, SSAValue

from tadc.dialects import tix
from tadc.dialects.tix import Affine
from tadc.dialects.tix.affine import SizeValues
from tadc.passes.analysis.costs import FREE, weight
from tadc.passes.analysis.index_uses import IndexUses
from tadc.passes.analysis.value_numbers import ValueNumbers
from tadc.passes.index_sets.sets import boxed_indices
from tadc.passes.rewriting.programs import reads_of, type_of

MOST_COST = 128
"""The cost of an element, in additions, up to which it is computed again rather than stored."""

MOST_TERMS = 8
"""The length of a range up to which a sum inside an element is computed again with it."""

LEAST_SHARE = 16
"""The least number of elements that are made of each number."""

MOST_COST_OF_CHEAP = 8
"""The cost of an element, in additions, that is about that of reading it from memory."""

LEAST_SHARE_OF_CHEAP = 4
"""The least number of such elements that are made of each number."""

ASSUMED_SIZE = 512
"""The value of sizes that are not known."""


class Recomputation:
    """The tensors of a program that are better computed again, asked for in its order.

    Such a definition has `LEAST_SHARE` times as many elements as all that they are made of, and an
    element costs at most `MOST_COST` additions, short sums included; elements that cost hardly more
    than to read them may be fewer. What it reads may be computed again itself. `sizes` are those
    for which that is counted.
    """

    def __init__(self, sizes: Mapping[str, int]):
        self.sizes = SizeValues(sizes)
        self._costs: dict[SSAValue, float] = {}
        self._sources: dict[SSAValue, frozenset[SSAValue]] = {}
        """The tensors that those computed again are made of."""

    def add(self, op: tix.DefineOp) -> bool:
        """True if a definition is better computed again, then also by those that read it."""
        cost = self._cost(op)
        read = {r.tensor for r in reads_of(op)}
        sources = frozenset(s for t in read for s in self._sources.get(t, (t,)))
        share = LEAST_SHARE if cost > MOST_COST_OF_CHEAP else LEAST_SHARE_OF_CHEAP
        if op.view is not None or cost > MOST_COST or not self._are_few(sources, op, share):
            return False
        self._costs[op.result] = cost
        self._sources[op.result] = sources
        return True

    def _are_few(self, sources: Iterable[SSAValue], op: tix.DefineOp, share: int) -> bool:
        numbers = sum(self.elements(type_of(tensor).shape) for tensor in sources)
        return self.elements(op.shape) >= share * numbers

    def elements(self, shape: Iterable[Affine]) -> float:
        """The number of elements of a tensor; sizes that are not known count as long."""
        extents = map(self._extent, shape)
        return prod(ASSUMED_SIZE if n == inf else n for n in extents)

    def _cost(self, op: tix.DefineOp) -> float:
        """The cost of an element in additions; infinite with long reductions.

        What does not depend on the index of a short sum counts once, and so do equal values.
        """
        uses, numbers, extents = IndexUses(), ValueNumbers(op), dict[SSAValue, float]()
        seen: set[int] = set()
        cost = 0.0
        for inner in op.body.walk():
            if isinstance(inner, tix.ReductionOp):
                extents |= self._extents(inner)
            if isinstance(inner, FREE) or (number := numbers[inner.results[0]]) in seen:
                continue
            seen.add(number)
            times = prod(extents.get(v, 1) for v in uses.of_operation(inner))
            cost += times * self._weight(inner)
        return cost if all(n <= MOST_TERMS for n in extents.values()) else inf

    def _weight(self, op: Operation) -> float:
        match op:
            case tix.ReadOp():
                return self._costs.get(op.tensor, 1)
            case tix.ReductionOp() | tix.WhereOp():
                return 1
            case _:
                return weight(op)

    def _extents(self, op: tix.ReductionOp) -> dict[SSAValue, float]:
        """The lengths of the ranges of its indices; infinite where they are not known."""
        boxes = boxed_indices(op)
        return {v: self.points([boxes.get(v)]) for v in op.indices}

    def points(self, extents: Iterable[Affine | None]) -> float:
        """The number of points of a box; infinite where an extent is not known."""
        return prod(inf if size is None else self._extent(size) for size in extents)

    def _extent(self, size: Affine) -> float:
        try:
            return max(0, size.evaluate(self.sizes))
        except KeyError:
            return inf
