"""Emits definitions in register blocks, as `passes/scheduling/tiles/tile_choice.py` chose them.

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

from xdsl.ir import SSAValue

from tadc.dialects import tix
from tadc.dialects.loops import ParallelOp
from tadc.passes.lowering.blocks.dot_blocks import emit_rows
from tadc.passes.lowering.blocks.tile_grid import Grid, Place, Span
from tadc.passes.lowering.blocks.tile_strip import ChunkedStrip, Strip
from tadc.passes.lowering.loop_builders import either, loop, select
from tadc.passes.lowering.parallel import parallel
from tadc.passes.lowering.scalars.body_lowering import BodyLowering
from tadc.passes.scheduling.nest import Nest
from tadc.passes.scheduling.tiles.tile import Tile

Store = Callable[[BodyLowering, tix.DefineOp], None]
"""Computes and stores an element of a definition, whose indices the lowering knows."""


def tiled(outer: BodyLowering, nest: Nest, store: Store) -> ParallelOp:
    """The loops of a nest; `outer` is the lowering of the function's block.

    The first of the tiles for which the sizes have room is taken; if there is none, the elements
    are computed one by one, in the iterations of the first tile.
    """
    versions = [TiledLoops(outer, nest, tile, store) for tile in nest.tiles]
    tests = [loops.grid.has_room(outer) for loops in versions]
    total = versions[0].iterations
    for test, loops in reversed(list(zip(tests, versions, strict=True))):
        number = loops.iterations
        total = number if test is None else select(outer, test, number, total)

    def fill(at: BodyLowering, unit: SSAValue, n: int) -> None:
        """Emit an iteration of the first tile from the n-th on that has room."""
        if n == len(versions):
            return versions[0].emit_elements(at, unit)
        test = tests[n]
        if test is None:
            return versions[n].emit_tiles(at, unit)
        either(
            at,
            test,
            lambda inner: versions[n].emit_tiles(inner, unit),
            lambda inner: fill(inner, unit, n + 1),
        )

    return parallel(outer, [total], ["unit"], lambda at, places: fill(at, places[0], 0))


class TiledLoops:
    """Emits the iterations of one nest for one tile; `store` emits the store of an element.

    `outer` is the lowering of the block around the parallel loop.
    """

    def __init__(self, outer: BodyLowering, nest: Nest, tile: Tile, store: Store):
        self.nest = nest
        self.tile = tile
        self.store = store
        self.grid = Grid.of(outer, nest.body, tile)
        self.iterations = self.grid.iterations(outer)

    def emit_tiles(self, at: BodyLowering, iteration: SSAValue) -> None:
        """Emit one iteration of the parallel loop for this tile."""
        place = self.grid.locate(at, iteration)
        if place.columns is None:
            return emit_rows(self.nest, self.tile, at, place.rows)
        for tile, part in self.grid.parts(at, place.columns):
            self._emit_strips(at, tile, part, place)

    def _emit_strips(self, at: BodyLowering, tile: Tile, columns: Span, place: Place) -> None:
        """Emit a strip for each block of columns of this tile."""
        kind = ChunkedStrip if tile.chunks else Strip

        def strip(inner: BodyLowering, block: SSAValue) -> None:
            first = columns.start(inner, block)
            kind(self.nest, tile, first, place.rows, place.along).emit(inner)

        if columns.blocks is None:
            strip(at, at.index.constant(0))
        else:
            loop(at, at.index.constant(0), columns.blocks, "strip", strip)

    def emit_elements(self, at: BodyLowering, iteration: SSAValue) -> None:
        """Emit the elements of an iteration one by one, where no block has room."""
        place = self.grid.locate(at, iteration)
        zero = at.index.constant(0)
        spans = (
            *place.along.items(),
            (self.tile.row_index, place.rows),
            (self.tile.column_index, place.columns),
        )
        axes = [(v, s.first, s.end) for v, s in spans if v is not None and s is not None]
        axes += [(v, zero, at.index.constant(count)) for v, count in self.tile.whole]
        for op, own, _ in self.nest.results():
            self._each(at, op, own, [axis for axis in axes if axis[0] in own])

    def _each(
        self,
        at: BodyLowering,
        op: tix.DefineOp,
        own: Sequence[SSAValue],
        axes: Sequence[tuple[SSAValue, SSAValue, SSAValue]],
    ) -> None:
        """Emit loops over `axes`, each an index with its bounds, around a store."""
        if not axes:
            values = [at.index.values[v] for v in own]
            at.index.values.update(zip(op.indices, values, strict=True))
            return self.store(at, op)
        (index, low, high), *rest = axes

        def one(inner: BodyLowering, k: SSAValue) -> None:
            inner.index.values[index] = k
            self._each(inner, op, own, rest)

        loop(at, low, high, index.name_hint, one)
