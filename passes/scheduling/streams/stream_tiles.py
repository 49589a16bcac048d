"""Blocks of a stream: which definitions have rows that share what they read, or compute.

    y[i, j] = sum[s in range(3), t in range(3)](x[i + s, j + t])

    one row       9 vectors of x for each of y
    four rows     18 for four: x[i + 1, j] serves three of them

Vectors of neighbours begin anywhere in the lines of memory, and most lie in two of them: streams of
such windows wait for loads. Others compute what their neighbours have, too (`neighbours`). In
blocks of several rows (`passes/scheduling/recipes/stream_blocks.py`) both are there once.

All conditions on indices hold in most blocks; those at borders are left to the stream.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import product
from math import prod

from xdsl.ir import BlockArgument, Operation, SSAValue

from tadc.dialects import tix
from tadc.dialects.tix import Affine, Constraint
from tadc.passes.analysis.costs import FREE, weight
from tadc.passes.rewriting.programs import reductions_around
from tadc.passes.scheduling.scans import is_scanned
from tadc.passes.scheduling.streams.interior import Inside, inside_of, ranges_of
from tadc.passes.scheduling.streams.reused_values import neighbours_of
from tadc.passes.scheduling.streams.stream_choice import has_long_rows, is_large, possible_stream
from tadc.passes.scheduling.streams.stream_guards import for_all_terms
from tadc.passes.scheduling.tiles.sum_lengths import is_short, term_count
from tadc.passes.scheduling.tiles.tile import Tile
from tadc.passes.scheduling.tiles.tile_analysis import lanes_of, points_of

ROWS = 4
"""Rows of a block: a value that rows share is computed five times for four of them."""

VECTORS = 4
"""Vectors of a row whose elements share values along it, too."""

FEWEST_LANES = 4
"""The lanes of the shortest vectors that are worth their shuffles."""

MOST_OPERATIONS = 160
"""The operations of an element up to which all elements of a block are written out."""

MOST_OF_PLAIN_COST = 0.9
"""The highest cost of an element in a block, as a share of its cost outside of blocks."""

FEWEST_LOADS = 6
"""The fewest vectors that an element of a window reads in blocks: memory bounds others."""

FEWEST_LOADS_OF_LARGE = 9
"""The fewest vectors, where streams could bypass the caches, which blocks cannot."""

MOST_OF_LOADS = 0.7
"""The highest number of loads of a block, as a share of that of its rows alone."""

FEWEST_BLOCKS_OF_ROW = 8
"""The fewest blocks in a row of windows: those at its ends run as a stream."""

Sizes = Mapping[str, int]


def stream_tile(op: tix.DefineOp, sizes: Sizes) -> Tile | None:
    """The tile of a stream whose rows share dear values, or else elements that they read.

    None where sharing does not pay for these sizes, or for any if they are not known. Takes time
    linear in the operations of an element, and in the terms of its windows.
    """
    lanes = lanes_of(op)
    if len(op.indices) < 2 or lanes < FEWEST_LANES or is_scanned(op) or not may_be_written_out(op):
        return None
    stream = possible_stream(op)
    if stream is None or stream.modulus > 1 or stream.in_segments:
        return None
    best = _best(op, VECTORS * lanes, _share_of_cost, MOST_OF_PLAIN_COST)
    if best is None and _is_wide_window(op, lanes, sizes):
        best = _best(op, lanes, _share_of_loads, MOST_OF_LOADS)
    return best


def _is_wide_window(op: tix.DefineOp, lanes: int, sizes: Sizes) -> bool:
    """True if an element reads many vectors, and a row has many blocks."""
    fewest = FEWEST_LOADS_OF_LARGE if is_large(op, sizes) else FEWEST_LOADS
    return has_long_rows(op, sizes, FEWEST_BLOCKS_OF_ROW * lanes) and loads_of(op) >= fewest


def _best(
    op: tix.DefineOp, columns: int, share: Callable[[tix.DefineOp, Tile], float], most: float
) -> Tile | None:
    """The tile with the lowest share of costs, if that is low enough."""
    found: list[tuple[float, Tile]] = []
    for row in reversed(op.indices[:-1]):
        tile = Tile(row, op.indices[-1], ROWS, columns, lanes_of(op), in_stream=True, always=True)
        tile = replace(tile, neighbours=neighbours_of(op, tile))
        found.append((share(op, tile), tile))
    least, tile = min(found, key=lambda pair: pair[0])
    return tile if least <= most else None


def _share_of_cost(op: tix.DefineOp, tile: Tile) -> float:
    """The cost of an element in a block, as a share of that of an element alone."""
    costs = {o: weight(o) for o in op.body.walk() if o.results and not isinstance(o, FREE)}
    total = sum(costs.values())
    own = sum(n * tile.computed(o.results[0]) for o, n in costs.items())
    return own / total if tile.neighbours else 1.0


def _share_of_loads(op: tix.DefineOp, tile: Tile) -> float:
    """The loads of a row of a block, as a share of those of a row outside of blocks."""
    return loads_of(op, tile) / tile.rows / loads_of(op)


def shared_rows(op: tix.DefineOp) -> SSAValue | None:
    """The index along which neighbouring rows read mostly the same rows of tensors, if any.

    Rows are counted, however many elements of one an element reads.
    """
    alone = len(_rows(_places(op))) if len(op.indices) > 1 else 0
    tiles = [Tile(row, op.indices[-1], ROWS, 1, 1) for row in reversed(op.indices[:-1])]
    counts = [(len(_rows(_places(op, tile))), tile) for tile in tiles]
    counts = [(n, tile) for n, tile in counts if 0 < n <= MOST_OF_LOADS * ROWS * alone]
    return min(counts, key=lambda pair: pair[0])[1].row_index if counts else None


def loads_of(op: tix.DefineOp, tile: Tile | None = None) -> int:
    """The vectors that an element reads of rows, or the rows of a block.

    What all rows read in the same place lies in the nearest cache.
    """
    return len(_places(op, tile))


Place = tuple[SSAValue, tuple[Affine, ...]]
"""A tensor, and the coordinates of the first lane of a vector of it."""


def _rows(places: Iterable[Place]) -> set[Place]:
    """The rows of tensors that vectors at these places lie in.

    Places of one row differ in their last coordinate, and in that by a number.
    """
    return {(tensor, (*forms[:-1], forms[-1] - forms[-1].constant)) for tensor, forms in places}


def _places(op: tix.DefineOp, tile: Tile | None = None) -> set[Place]:
    """The places of the vectors that an element reads, or the rows of a block."""
    found: set[Place] = set()
    *rest, column = op.indices
    for read in (o for o in op.body.walk() if isinstance(o, tix.ReadOp)):
        moves = any(form[column] for form in read.forms)
        if not moves or not any(form[v] for form in read.forms for v in rest):
            continue
        terms = product(*map(points_of, reductions_around(read)))
        rows = range(tile.rows if tile else 1)
        for places, row in product(terms, rows):
            moved = {v: form for own in places for v, form in own.items()}
            if tile and tile.row_index is not None:
                moved[tile.row_index] = Affine.of(tile.row_index) + row
            found.add((read.tensor, tuple(form.substitute(moved) for form in read.forms)))
    return found


# --- bodies that blocks may have ------------------------------------------------------------------


def may_be_written_out(op: tix.DefineOp) -> bool:
    """True if an element has few operations, all with vector forms, and conditions that a block can
    test once."""
    tests = inside_of_all(op).tests
    if any(
        c.equality or not all(isinstance(v, BlockArgument) for v in c.form.indices) for c in tests
    ):
        return False
    inside = [o for o in op.body.walk() if not isinstance(o, tix.YieldOp)]
    kinds = tix.ReadOp | tix.ConstantOp | tix.UnaryOp | tix.BinaryOp | tix.IndexToRealOp | tix.IfOp
    if not all(isinstance(o, kinds | tix.ReductionOp) for o in inside):
        return False
    if not all(is_short(o) for o in inside if isinstance(o, tix.ReductionOp)):
        return False
    return sum(_times(o) for o in inside) <= MOST_OPERATIONS


def operations_of(op: tix.DefineOp) -> int:
    """The reads and the operations on numbers of an element, where all conditions hold."""
    kinds = tix.ReadOp | tix.UnaryOp | tix.BinaryOp
    return sum(_times(o) for o in op.body.walk() if isinstance(o, kinds))


def _times(op: Operation) -> int:
    """The number of times that an operation runs for an element."""
    return prod(term_count(o) or 1 for o in reductions_around(op))


def inside_of_all(op: tix.DefineOp) -> Inside:
    """The elements of a definition for which no choice by indices changes sides."""
    choices = {o for o in op.body.walk() if isinstance(o, tix.IfOp)}
    return inside_of(op, choices, ranges_of(op))


def tests_of_block(
    op: tix.DefineOp, tests: Iterable[Constraint], tile: Tile
) -> Iterator[Constraint]:
    """The tests at the first row and column of a block by which `tests` hold in the whole block,
    for all terms, and the block is in bounds."""
    last = {tile.row_index: tile.rows - 1, tile.column_index: tile.columns - 1}
    forms = [for_all_terms(c).form for c in tests]
    forms += [n - 1 - Affine.of(v) for v, n in zip(op.indices, op.shape, strict=True) if v in last]
    for form in dict.fromkeys(forms):
        least = sum(min(0, form[v] * n) for v, n in last.items() if v is not None)
        yield Constraint(form + least)
