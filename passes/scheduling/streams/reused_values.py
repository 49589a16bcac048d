"""Values that elements share with their neighbours in a block.

    y[i, j] = f(x[i + 1, j] - x[i, j]) + f(x[i - 1, j] - x[i, j])              f(-d) = f(d)

The second value at row i is the first one at row i - 1. Of a block of four rows it is computed for
the first one; the others have it already. Along the columns it lies in the lanes of two vectors:

    g(j - 1) in lanes 4 .. 7       the last lane of g in 0 .. 3, and the first three in 4 .. 7

So a block of four rows and four vectors computes five quarters of an exponential for two. A stencil
of the differences to all four neighbours, and its gradient, take 2.5 exponentials in place of four.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from tadc.dialects import tix
from tadc.passes.analysis.costs import COST_OF_FUNCTION, FREE, weight
from tadc.passes.analysis.index_uses import IndexUses
from tadc.passes.analysis.value_numbers import ValueNumbers
from tadc.passes.scheduling.tiles.tile import Neighbour, Tile

MOST_SHIFTS = 8
"""The distances that are tried: each takes the time to number all values."""


def neighbours_of(op: tix.DefineOp, tile: Tile) -> dict[SSAValue, tuple[Neighbour, ...]]:
    """For expensive values, the equal values of earlier elements in a block of a tile."""
    values, found = dear_values(op), dict[SSAValue, tuple[Neighbour, ...]]()
    shifts = _shifts(op, tile) if len(values) > 1 else ()
    here, uses = ValueNumbers(op) if shifts else None, IndexUses()
    for rows, columns in shifts:
        assert here is not None and tile.row_index is not None
        there = here.shifted({tile.row_index: rows, tile.column_index: columns})
        places = {there[v]: v for v in values}
        # all rows have a value that does not depend on them: there is nothing to take from another
        along = tile.row_index if rows else tile.column_index
        for v in values:
            if here[v] in places and along in uses.of(v):
                found[v] = (*found.get(v, ()), Neighbour(places[here[v]], rows, columns))
    return found


def dear_values(op: tix.DefineOp) -> list[SSAValue]:
    """The values of elementary functions in a body."""
    dear = (o for o in op.body.walk() if isinstance(o, tix.UnaryOp | tix.BinaryOp))
    return [o.results[0] for o in dear if not isinstance(o, FREE) and weight(o) >= COST_OF_FUNCTION]


def _shifts(op: tix.DefineOp, tile: Tile) -> Sequence[tuple[int, int]]:
    """The distances between reads of a tensor, to elements that come before, the nearest first.

    Those along rows alone come before all others, whose values take a shuffle.
    """
    reads = [o for o in op.body.walk() if isinstance(o, tix.ReadOp)]
    found: dict[tuple[int, int], None] = {}
    for a in reads:
        for b in reads:
            shift = _shift(a, b, tile) if a.tensor is b.tensor else None
            if shift and shift < (0, 0) and -shift[0] < tile.rows and abs(shift[1]) < tile.lanes:
                found[shift] = None
    nearest = sorted(found, key=lambda s: (abs(s[0]) + abs(s[1]), s[1] != 0, s))
    return sorted(nearest[:MOST_SHIFTS], key=lambda s: s[1] != 0)


def _shift(a: tix.ReadOp, b: tix.ReadOp, tile: Tile) -> tuple[int, int] | None:
    """The distance in rows and columns from the elements of `a` to those of `b`, if it is fixed."""
    found = {tile.row_index: 0, tile.column_index: 0}
    for first, second in zip(a.forms, b.forms, strict=True):
        difference, indices = second - first, list(first.indices)
        if difference.terms or (difference.constant and len(indices) != 1):
            return None
        if difference.constant and indices[0] in found and first[indices[0]] == 1:
            found[indices[0]] = difference.constant
    return found[tile.row_index], found[tile.column_index]
