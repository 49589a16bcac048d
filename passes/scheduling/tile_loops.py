"""Emits a definition in register blocks: the loops that `passes/scheduling/tile_choice.py` chose.

    y[i, j] = sum[k](x[i, k] * w[j, k])                          the result, in one iteration each:

    loops.parallel (%u) to (%units) {           +---------+---------+---------+
      one strip of columns, one group           | strip 0 | strip 1 | strip 2 |
      of blocks of rows:                        | group 0 | group 0 | group 0 |
                                                +---------+---------+---------+
      %panel = memref.alloca()                  | strip 0 | strip 1 | strip 2 |
      filled: panel[k * Q + q] = w[j0 + q, k]   | group 1 | group 1 | group 1 |
      scf.for %block ... {                      +---------+---------+---------+
        %sums:n = scf.for %k ... {
          for each row p and vector v:          a group: blocks of P rows and Q columns
            sums[p, v] += x[i0 + p, k]            +-------+
              * panel[k, v]                       | block | 0
        }                                         +-------+
        y[i0 + p, j0 + v] = sums[p, v]            | block | 1
      }                                           +-------+
    }                                           a panel: what all blocks of a strip read
                                                a chunk: the part of a sum that caches hold

Rows and vectors are written out, and the sums of a block are vectors in registers (`tile_block`).
Sums of which a panel, or a cache, cannot hold all that blocks share are cut into chunks: each chunk
serves all blocks of the iteration, whose sums wait in memory between chunks (`tile_strip`).

Blocks that would reach beyond the last row or column start earlier (`tile_grid`). The elements that
one shares with the block before are computed twice, by the same iteration, from the same
operations: they get the same bits. Sizes that do not hold one block are computed element by
element.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects.builtin import IndexType
from xdsl.ir import Block, Region, SSAValue

from dialects import tix
from dialects.loops import ParallelOp
from passes.scheduling.body_lowering import BodyLowering
from passes.scheduling.emit import either, loop, select
from passes.scheduling.tile import Tile
from passes.scheduling.tile_grid import Grid
from passes.scheduling.tile_strip import ChunkedStrip, Strip
from passes.scheduling.tile_terms import emit_rows

Store = Callable[[BodyLowering, SSAValue], None]
"""Stores the value of the element whose indices the lowering knows."""


def tiled(outer: BodyLowering, op: tix.DefineOp, tiles: list[Tile], store: Store) -> ParallelOp:
    """The nest of a definition; `outer` is the lowering of the function's block.

    The first of the tiles for which the sizes have room is taken; if there is none, the elements
    are computed one by one, in the iterations of the first tile.
    """
    nests = [TiledLoops(outer, op, tile, store) for tile in tiles]
    tests = [nest.grid.has_room(outer) for nest in nests]
    total = nests[0].iterations
    for test, nest in reversed(list(zip(tests, nests, strict=True))):
        number = nest.iterations
        total = number if test is None else select(outer, test, number, total)
    block = Block(arg_types=[IndexType()])
    block.args[0].name_hint = "unit"
    unit = block.args[0]

    def fill(at: BodyLowering, n: int) -> None:
        """The first tile from the n-th on that has room."""
        if n == len(nests):
            return nests[0].emit_elements(at, unit)
        test = tests[n]
        if test is None:
            return nests[n].emit_tiles(at, unit)
        either(
            at,
            test,
            lambda inner: nests[n].emit_tiles(inner, unit),
            lambda inner: fill(inner, n + 1),
        )

    fill(outer.inside(block), 0)
    return ParallelOp([total], Region(block))


class TiledLoops:
    """Emits the iterations of one definition for one tile; `store` emits the store of an element.

    `outer` is the lowering of the block around the parallel loop.
    """

    def __init__(self, outer: BodyLowering, op: tix.DefineOp, tile: Tile, store: Store):
        self.op = op
        self.tile = tile
        self.store = store
        self.grid = Grid.of(outer, op, tile)
        self.iterations = self.grid.iterations(outer)

    def emit_tiles(self, at: BodyLowering, iteration: SSAValue) -> None:
        """One iteration: its strip, or the two blocks of columns of a wide last one."""
        columns, rows = self.grid.locate(at, iteration)
        if columns is None:
            return emit_rows(self.op, self.tile, at, rows)
        kind = ChunkedStrip if self.tile.chunks else Strip

        def strip(inner: BodyLowering, block: SSAValue) -> None:
            first = columns.start(inner, block)
            kind(self.op, self.tile, first, rows).emit(inner)

        if columns.blocks is None:
            strip(at, at.index.constant(0))
        else:
            loop(at, at.index.constant(0), columns.blocks, "strip", strip)

    def emit_elements(self, at: BodyLowering, iteration: SSAValue) -> None:
        """The elements of one iteration one by one, where an axis has no room for a block."""
        columns, rows = self.grid.locate(at, iteration)
        row_index, column_index = self.tile.row_index, self.tile.column_index

        def element(inner: BodyLowering, column: SSAValue) -> None:
            inner.index.values[column_index] = column
            self._emit_whole(inner, self.tile.whole)

        def row(inner: BodyLowering, row: SSAValue) -> None:
            if row_index is not None:
                inner.index.values[row_index] = row
            if columns is None:
                self._emit_whole(inner, self.tile.whole)
            else:
                loop(inner, columns.first, columns.end, column_index.name_hint, element)

        if row_index is None or rows is None:
            row(at, at.index.constant(0))
        else:
            loop(at, rows.first, rows.end, row_index.name_hint, row)

    def _emit_whole(self, at: BodyLowering, whole: Sequence[tuple[SSAValue, int]]) -> None:
        """The elements of one row and column, for all values of further indices."""
        if not whole:
            return self.store(at, at.region(self.op.body))
        (index, count), *rest = whole

        def one(inner: BodyLowering, value: SSAValue) -> None:
            inner.index.values[index] = value
            self._emit_whole(inner, rest)

        loop(at, at.index.constant(0), at.index.constant(count), index.name_hint, one)
