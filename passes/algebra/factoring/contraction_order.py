"""The cheapest order in which to sum a product of factors over several indices.

    sum[k, l](a[i, k] * b[k, l] * c[l, j])      takes  I K L J  terms,
    t[i, l] = sum[k](a[i, k] * b[k, l])         takes  I K L  terms, and
              sum[l](t[i, l] * c[l, j])         I L J  more.

By the distributive law a sum over k of a product in which only some factors depend on k is the
product of the others and a *partial sum*, a tensor of its own. A way to sum is thus a tree: a
set S of factors is cut into blocks, each of them a factor or the partial sum of a smaller set
over the indices that no factor outside of it depends on,

    cost(S) = min over cuts of  points · work + Σ over partial sums P of (cost(P) + storing P)

The points are those of the tensor of S and of the indices that no block sums; the work is that of
the factors, and one operation for each block. For matrices this is the search for the best order
of a chain of products, and of an `einsum`. All cuts of all sets are tried, 21,147 for eight
factors: sums of longer products, which hardly occur, stay as they are.

A partial sum that is a *scan* takes one term for an element, where loops carry totals
(`passes/scheduling/scans.py`):

    sum[k, j in range(i + 1)](a[j, k] * b[i, k])      takes  I J K / 2  terms,
    t[i, k] = sum[j in range(i + 1)](a[j, k])         I K.

A partial sum that elements read windows of stays near where it is read, as bands keep it
(`passes/scheduling/bands/bands.py`): to store it is cheap, and some of it is computed twice.

All factors together may be summed over some of their indices first, where elements share that:

    sum[s, t](x[i + s, j + t])          takes  I J S T  terms,
    r[h, j] = sum[t](x[h, j + t])       takes  (I + S) J T  terms, and
              sum[s](r[i + s, j])       I J S  more.

A factor of which an element is dear, and asked for by many results, is stored without a sum:

    sum[j](exp(s[i, j]) * v[j, d])      takes  I J D  exponentials,
    t[i, j] = exp(s[i, j])              takes  I J.

A term that only some elements have, as in gradients of such windows, costs a test more for each
index of the sum whose bounds move from element to element. One test is for all terms that differ in
other indices alone:

    sum[s in range(max(0, p - 9), min(3, p + 1)), o](w[o, s] * dy[o, p - s])  one for each p and s
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from math import prod
from typing import NamedTuple, TypeVar

from xdsl.ir import SSAValue

from tadc.passes.analysis.costs import COST_OF_FUNCTION
from tadc.passes.analysis.machine_facts import MACHINE

MOST_FACTORS = 8
"""The number of factors up to which an order is looked for."""

FEW_RESULTS = 64
"""The number of results up to which each has a register of its own, and reads every term."""

COST_OF_TEST = 2
"""Comparisons with both bounds of a range, for each term."""

AGAIN_IN_BANDS = 1.4
"""The times that an element is computed for bands that share it, in the mean."""

COLUMNS_FIRST = 1.05
"""The cost of a sum over windows of columns where others are left, which its reader cannot roll
along with (`passes/scheduling/bands/rolls.py`), as a multiple of what it is else: so ties go to
rows."""

MOST_INDICES = 6
"""The number of own indices up to which some of them may be summed over first."""

T = TypeVar("T")


def storing(elements: int) -> int:
    """The cost of writing and reading a tensor of so many elements."""
    return MACHINE.moving(elements, 2) + MACHINE.definition


Members = frozenset[int]
"""A set of factors, by their numbers."""
Indices = frozenset[SSAValue]


class PartialSum(NamedTuple):
    """The product of some factors, to be summed over some indices, or none, and stored."""

    members: Members
    indices: Indices


class Way(NamedTuple):
    """A way to sum: its cost in additions, and the first partial sum to store, if there is one."""

    cost: int
    first: PartialSum | None


@dataclass
class Contraction:
    """A sum of a product, asked for at each point of what is around it."""

    own: Indices
    """The indices of the sum."""
    factors: Sequence[Indices]
    """The indices that each factor depends on, own and others."""
    works: Sequence[int]
    """The operations that make each factor."""
    lengths: Mapping[SSAValue, int]
    """The number of values of each own index."""
    outer: int
    """The number of points around the sum."""
    elements: Callable[[PartialSum], int | None]
    """The number of elements of the tensor of a partial sum; None where it cannot be stored."""
    is_carried: Callable[[PartialSum], bool] = lambda _: False
    """True for a partial sum to each element of which one more term is added than to the last."""
    tested: Indices = frozenset()
    """The own indices of few values, some of which only some elements have."""
    storing: Callable[[int], int] = storing
    """The cost of a tensor of so many elements, beside that of its sums."""
    reads: Sequence[int] = ()
    """The reads among the operations of each factor, which many results would share."""
    alone: Sequence[int] = ()
    """The reads of each factor that are not among its operations, though no two results share them:
    those of partial sums are shared."""
    is_window: Callable[[PartialSum], bool] = lambda _: False
    """True for a partial sum that elements read windows of, so that bands keep it near."""
    columns: Indices = frozenset()
    """The own indices of windows along the columns of what is read."""
    _found: dict[Members, Way | None] = field(
        default_factory=dict[Members, "Way | None"], init=False
    )

    def best(self) -> Way:
        """The cheapest way; the sum as it stands where it has too many factors."""
        if len(self.factors) > MOST_FACTORS:
            return self.plain()
        everything = frozenset(range(len(self.factors)))
        ways = [self.plain(), self._summed(everything, self.own, self.outer)]
        if (whole := self._stored(everything)) is not None:
            ways.append(Way(whole.cost + self.outer, whole.first))
        ways += self._shared(everything)
        return min(ways, key=lambda way: way.cost)

    def plain(self) -> Way:
        """The sum as it stands."""
        leaves = [self._leaf(n, self.outer) for n in range(len(self.works))]
        return self._way(leaves, self.own, self.outer)

    def _shared(self, everything: Members) -> Iterator[Way]:
        """The ways to sum all factors over some of their indices first."""
        if len(self.own) > MOST_INDICES:
            return
        ordered = [v for v in self.lengths if v in self.own]
        for inner in map(frozenset[SSAValue], subsets(ordered)):
            partial = PartialSum(everything, inner)
            if not inner or inner == self.own or (elements := self.elements(partial)) is None:
                continue
            terms = elements * (1 if self.is_carried(partial) else self.points(inner))
            left = self.own - inner
            plain = sum(self._work(n, elements) + 1 for n in everything)
            cost = terms * plain + self._tests(inner, elements)
            cost = self._with_storing(partial, cost, elements)
            cost += self.outer * self.points(left) + self._tests(left, self.outer)
            yield Way(cost, partial)

    def _with_storing(self, partial: PartialSum, cost: int, elements: int) -> int:
        """The cost of a partial sum that is stored."""
        if partial.indices & self.columns:
            cost = int(cost * COLUMNS_FIRST)
        far = cost + self.storing(elements)
        if not self.is_window(partial):
            return far
        near = elements * 2 * MACHINE.near_element
        return min(far, int(AGAIN_IN_BANDS * (cost + near)) + MACHINE.definition)

    def _tests(self, indices: Indices, points: int) -> int:
        """The cost of the tests of a sum over these indices, at so many points."""
        tested = self.tested & indices
        return COST_OF_TEST * len(tested) * self.points(tested) * points

    def points(self, indices: Indices) -> int:
        """The number of points over which a sum over these indices runs."""
        return prod(self.lengths[v] for v in indices)

    def _stored(self, members: Members) -> Way | None:
        """The cheapest way to compute and store the partial sum of these factors, if it has one."""
        if members not in self._found:
            partial = PartialSum(members, self.inner(members))
            is_dear = len(members) == 1 and all(self.works[n] >= COST_OF_FUNCTION for n in members)
            elements = self.elements(partial) if partial.indices or is_dear else None
            self._found[members] = None if elements is None else self._to_store(partial, elements)
        return self._found[members]

    def _to_store(self, partial: PartialSum, elements: int) -> Way:
        if self.is_carried(partial):
            terms = sum(self._work(n, elements) + 1 for n in partial.members)
            cost, first = elements * terms, None
            if len(partial.members) > 1:  # terms that are products are a tensor, too
                cost += self.storing(elements)
        else:
            cost, first = self._summed(*partial, elements)
        return Way(self._with_storing(partial, cost, elements), first or partial)

    def inner(self, members: Members) -> Indices:
        """The own indices that these factors depend on, and no others."""
        outside = [f for n, f in enumerate(self.factors) if n not in members]
        inside = (self.factors[n] & self.own for n in members)
        return frozenset(v for f in inside for v in f).difference(*outside)

    def _summed(self, members: Members, indices: Indices, points: int) -> Way:
        """The cheapest way to sum a product over these indices, at so many points."""
        cuts = self._cuts(sorted(members), members, points)
        return min((self._way(cut, indices, points) for cut in cuts), key=lambda way: way.cost)

    def _cuts(self, rest: Sequence[int], whole: Members, points: int) -> Iterator[list[_Block]]:
        """All ways to cut these factors, a part of `whole`, into blocks."""
        if not rest:
            yield []
            return
        first, *others = rest
        for more in subsets(others):
            remaining = [n for n in others if n not in more]
            for block in self._blocks(frozenset((first, *more)), whole, points):
                for cut in self._cuts(remaining, whole, points):
                    yield [block, *cut]

    def _blocks(self, members: Members, whole: Members, points: int) -> Iterator[_Block]:
        """The forms of a set of factors in a product: a factor, or a partial sum."""
        if len(members) == 1:
            (n,) = members
            yield self._leaf(n, points)
        if members != whole and (way := self._stored(members)) is not None:
            yield _Block(0, self.inner(members), *way)

    def _leaf(self, n: int, points: int) -> _Block:
        alone = self.alone[n] if self.alone and points == self.outer else 0
        return _Block(self._work(n, points) + alone, frozenset(), 0, None)

    def _work(self, n: int, points: int) -> int:
        """The operations that make a factor of a sum that is asked for at so many points."""
        shared = self.reads[n] if self.reads and points > FEW_RESULTS else 0
        return self.works[n] - shared

    def _way(self, blocks: Sequence[_Block], indices: Indices, points: int) -> Way:
        """The sum of the product of these blocks over indices that some of them have summed."""
        left = indices.difference(*(block.summed for block in blocks))
        work = points * self.points(left) * (sum(block.work for block in blocks) + len(blocks))
        first = next((block.first for block in blocks if block.first), None)
        cost = work + self._tests(left, points) + sum(block.cost for block in blocks)
        return Way(cost, first)


class _Block(NamedTuple):
    """A factor, or the partial sum of several, in a product."""

    work: int
    """The operations for each point of the product, beside the multiplication."""
    summed: Indices
    """The indices that it is summed over already."""
    cost: int
    """The cost before the product begins."""
    first: PartialSum | None


def subsets(items: Sequence[T]) -> Iterator[tuple[T, ...]]:
    """All subsets, the smaller ones first."""
    for count in range(len(items) + 1):
        yield from combinations(items, count)
