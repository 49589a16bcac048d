"""Sums along each of two indices, whose terms compute the same values for their pairs.

    dx[i] = sum[j](exp(-(x[i] - z[j])**2) * b[j] * (x[i] - z[j]))       i in range(N)
    dz[j] = sum[i](exp(-(x[i] - z[j])**2) * b[j] * (x[i] - z[j]))       j in range(M)

One walk over all pairs (i, j) may compute the exponential once for both.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from itertools import product

from xdsl.ir import Operation, Region, SSAValue

from tadc.dialects import tix
from tadc.dialects.quick import INDEX, block_with
from tadc.dialects.tix import Affine
from tadc.passes.analysis.costs import COST_OF_FUNCTION, FREE, weight
from tadc.passes.analysis.index_uses import IndexUses
from tadc.passes.analysis.value_numbers import ValueNumbers
from tadc.passes.rewriting.builder import BodyBuilder
from tadc.passes.rewriting.cloner import Cloner
from tadc.passes.rewriting.programs import view_of

LEAST_SHARED = COST_OF_FUNCTION
"""The least cost of what a pair computes for both sums: one elementary function."""


@dataclass(frozen=True)
class LongSum:
    """A sum over one index, outside of other sums, with terms that are dear."""

    definition: tix.DefineOp
    op: tix.SumOp
    """The sum in the definition's body."""

    @property
    def index(self) -> SSAValue:
        """The index that it runs over."""
        return self.op.indices[0]


def long_sums(op: tix.DefineOp) -> Iterator[LongSum]:
    """The sums over one index of a definition, of terms that are dear."""
    for inner in op.body.block.ops:
        match inner:
            case tix.SumOp(indices=[_], results=[_]) if any(map(_is_dear, inner.body.block.ops)):
                yield LongSum(op, inner)
            case _:
                pass


def share_terms(
    first: LongSum,
    second: LongSum,
    same: Mapping[SSAValue, SSAValue],
    pair: Collection[SSAValue],
) -> bool:
    """True if the terms of two sums share dear values, where indices count as those that `same` has
    for them.

    Indices are those of the sums and of their definitions. Values that count depend on a pair of
    the second one's.
    """
    read = [{o.tensor for o in s.op.walk() if isinstance(o, tix.ReadOp)} for s in (first, second)]
    if read[0].isdisjoint(read[1]):
        return False
    whole = _side_by_side(first.definition, second.definition)
    sums = [o for o in whole.body.block.ops if isinstance(o, tix.SumOp)]
    a, b = sums[_place(first)], sums[_count(first.definition) + _place(second)]
    old = [*first.definition.indices, *second.definition.indices, first.index, second.index]
    new = dict(zip(old, [*whole.indices, a.indices[0], b.indices[0]], strict=True))
    numbers = ValueNumbers(whole, {new[v]: new[other] for v, other in same.items()})
    found = _shared(numbers, a, b, {new[v] for v in pair})
    whole.erase()
    return found >= LEAST_SHARED


def _shared(numbers: ValueNumbers, a: tix.SumOp, b: tix.SumOp, pair: set[SSAValue]) -> int:
    """The cost of the values that depend on both indices of a pair and are in both bodies."""
    uses, there = IndexUses(), {numbers[o.results[0]] for o in a.body.block.ops if _counts(o)}
    found = {
        numbers[o.results[0]]: weight(o)
        for o in b.body.block.ops
        if _counts(o) and pair <= uses.of(o.results[0])
    }
    return sum(cost for number, cost in found.items() if number in there)


def _is_dear(op: Operation) -> bool:
    return _counts(op) and weight(op) >= LEAST_SHARED


def _counts(op: Operation) -> bool:
    return not isinstance(op, (*FREE, tix.ReadOp, tix.ReductionOp)) and bool(op.results)


def _count(op: tix.DefineOp) -> int:
    return sum(isinstance(o, tix.SumOp) for o in op.body.block.ops)


def _place(found: LongSum) -> int:
    sums = [o for o in found.definition.body.block.ops if isinstance(o, tix.SumOp)]
    return sums.index(found.op)


def _side_by_side(first: tix.DefineOp, second: tix.DefineOp) -> tix.DefineOp:
    """A definition with the indices and the values of both, one behind the other."""
    block = block_with([INDEX] * (len(first.indices) + len(second.indices)))
    builder = BodyBuilder(block, first.location)
    parts = block.args[: len(first.indices)], block.args[len(first.indices) :]
    values = [
        Cloner(builder).copy_definition(op, builder, own)
        for op, own in zip((first, second), parts, strict=True)
    ]
    block.add_op(tix.YieldOp(*values))
    whole = tix.DefineOp(first.label.data, first.type, Region(block), view_of(first.result))
    whole.location = first.location
    return whole


def pairs_along(
    first: LongSum, second: LongSum, length: Affine, height: Affine
) -> tuple[SSAValue, SSAValue] | None:
    """The index of the first definition over which the second sum runs, from 0 to `height`, and
    that of the second one over which the first sum runs, from 0 to `length`, if they are pairs."""
    one, two = first.definition, second.definition
    rows = [v for v, n in zip(one.indices, one.shape, strict=True) if n == height]
    columns = [v for v, n in zip(two.indices, two.shape, strict=True) if n == length]
    for row, column in product(rows, columns):
        same = {first.index: column, second.index: row}
        if share_terms(first, second, same, {second.index, column}):
            return row, column
    return None
