"""Values that elements share with their neighbours, in blocks that compute each of them once.

    y[i, j] = f(x[i + 1, j] - x[i, j]) + f(x[i - 1, j] - x[i, j])              f(-d) = f(d)

The second value at row i is the first one at row i - 1. Of a block of four rows it is computed for
the first one; the others have it already. Along the columns it lies in the lanes of two vectors:

    g(j - 1) in lanes 4 .. 7       the last lane of g in 0 .. 3, and the first three in 4 .. 7

So a block of four rows and four vectors computes five quarters of an exponential for two. A stencil
of the differences to all four neighbours, and its gradient, take 2.5 exponentials in place of four.

Values under conditions on indices are there together where all of these hold: in all blocks but
those at borders (`neighbour_blocks`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from xdsl.ir import BlockArgument, Operation, SSAValue

from dialects import tix
from dialects.tix import Affine, Constraint
from passes.analysis.costs import COST_OF_FUNCTION, FREE, weight
from passes.analysis.value_numbers import ValueNumbers
from passes.scheduling.scans import is_scanned
from passes.scheduling.streams import possible_stream
from passes.scheduling.tile import Neighbour, Tile
from passes.scheduling.tile_analysis import lanes_of

ROWS = 4
"""Rows of a block: a value that rows share is computed five times for four of them."""

VECTORS = 4
"""Vectors of a row, as wide as blocks of sums are."""

FEWEST_LANES = 4
"""The lanes of the shortest vectors that are worth their shuffles."""

MOST_OPERATIONS = 160
"""The operations of an element up to which all elements of a block are written out."""

MOST_SHIFTS = 8
"""The distances that are tried: each takes the time to number all values."""

MOST_OF_PLAIN_COST = 0.9
"""The highest cost of an element of such a block, as a share of that of an element alone."""


def neighbour_tile(op: tix.DefineOp) -> Tile | None:
    """The tile of a definition whose elements share dear values with their neighbours.

    None where sharing does not pay, and for sums and other reductions, which have tiles of their
    own. Takes time linear in the operations of an element.
    """
    lanes = lanes_of(op)
    if len(op.indices) < 2 or lanes < FEWEST_LANES or len(dear_values(op)) < 2 or is_scanned(op):
        return None
    if not _may_be_written_out(op):
        return None
    column, best = op.indices[-1], None
    for row in reversed(op.indices[:-1]):
        tile = Tile(row, column, ROWS, VECTORS * lanes, lanes, always=True)
        tile = replace(tile, neighbours=_neighbours(op, tile))
        found = _cost(op, tile)
        if found < MOST_OF_PLAIN_COST and (best is None or found < best[0]):
            best = found, tile
    return best[1] if best else None


def _cost(op: tix.DefineOp, tile: Tile) -> float:
    """The cost of an element in a block, as a share of that of an element alone."""
    costs = {o: weight(o) for o in op.body.walk() if o.results and not isinstance(o, FREE)}
    return sum(n * tile.computed(o.results[0]) for o, n in costs.items()) / sum(costs.values())


def _neighbours(op: tix.DefineOp, tile: Tile) -> dict[SSAValue, tuple[Neighbour, ...]]:
    """The dear values of a definition that are those of elements before, in blocks of a tile."""
    values, found = dear_values(op), dict[SSAValue, tuple[Neighbour, ...]]()
    shifts = list(_shifts(op, tile))
    here = ValueNumbers(op) if shifts else None
    for rows, columns in shifts:
        assert here is not None and tile.row_index is not None
        there = here.shifted({tile.row_index: rows, tile.column_index: columns})
        places = {there[v]: v for v in values}
        for v in values:
            if here[v] in places:
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
    """The rows and columns by which the elements of `b` come behind those of `a`, if any."""
    found = {tile.row_index: 0, tile.column_index: 0}
    for first, second in zip(a.forms, b.forms, strict=True):
        difference, indices = second - first, list(first.indices)
        if difference.terms or (difference.constant and len(indices) != 1):
            return None
        if difference.constant and indices[0] in found and first[indices[0]] == 1:
            found[indices[0]] = difference.constant
    return found[tile.row_index], found[tile.column_index]


# --- bodies that blocks may have ------------------------------------------------------------------


def _may_be_written_out(op: tix.DefineOp) -> bool:
    """True if an element is a few operations that have a form for vectors, under conditions that
    blocks can test as a whole."""
    inside = [o for o in op.body.walk() if not isinstance(o, tix.YieldOp)]
    kinds = tix.ReadOp | tix.ConstantOp | tix.UnaryOp | tix.BinaryOp | tix.IndexToRealOp | tix.IfOp
    if len(inside) > MOST_OPERATIONS or not all(isinstance(o, kinds) for o in inside):
        return False
    stream = possible_stream(op)
    return stream is not None and stream.modulus == 1 and all(map(_may_hold_inside, inside))


def _may_hold_inside(op: Operation) -> bool:
    """True for a choice that all elements of most blocks take alike; and for all but choices."""
    if not isinstance(op, tix.IfOp):
        return True
    tests = [c for disjunct in op.condition for c in disjunct]
    return len(op.condition) == 1 and all(
        not c.equality and all(isinstance(v, BlockArgument) for v in c.form.indices) for c in tests
    )


def tests_of_block(op: tix.DefineOp, tile: Tile) -> Iterator[Constraint]:
    """The tests of the first row and column of a block that hold if all conditions of a body hold
    in the whole block, which then ends inside the tensor, too."""
    last = {tile.row_index: tile.rows - 1, tile.column_index: tile.columns - 1}
    conditions = (o.condition[0] for o in op.body.walk() if isinstance(o, tix.IfOp))
    forms = [c.form for condition in conditions for c in condition]
    forms += [n - 1 - Affine.of(v) for v, n in zip(op.indices, op.shape, strict=True) if v in last]
    for form in dict.fromkeys(forms):
        least = sum(min(0, form[v] * n) for v, n in last.items() if v is not None)
        yield Constraint(form + least)
