"""A blocking: the loops of one definition, in blocks of a tile, as a stream, or plain.

y[i, j] = sum[k](x[i, k] * w[j, k])      Blocking(tiles=(Tile(i, j, rows=4, columns=64, ...),))
z[i, j] = exp(x[i, j])                   Blocking(stream=Stream(z, ...)), if it is large
z[i] = x[2 * i]                          Blocking()
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from tadc.dialects import tix
from tadc.passes.rewriting.written_sizes import parse_sizes
from tadc.passes.scheduling.costs.tile_cost import Sizes, length_of
from tadc.passes.scheduling.extents import UNKNOWN, Extents, extents_of
from tadc.passes.scheduling.loop_tree.nodes import Node
from tadc.passes.scheduling.recurrences import is_recurrence
from tadc.passes.scheduling.rows.unroll_and_jam import has_rows_of_terms
from tadc.passes.scheduling.rows.vectorized_rows import long_reductions
from tadc.passes.scheduling.scans import is_scanned
from tadc.passes.scheduling.streams.stream_choice import Stream, is_window, stream_of
from tadc.passes.scheduling.tiles.tile import Tile
from tadc.passes.scheduling.tiles.tile_analysis import rows_share
from tadc.passes.scheduling.tiles.tile_choice import ChooseTiles, tile_chooser


@dataclass(frozen=True)
class Blocking:
    """The loops of a definition; neither in tiles nor as a stream: one iteration per element."""

    tiles: Sequence[Tile] = ()
    """The tiles in order: the first one for which the sizes have room is taken."""
    stream: Stream | None = None
    alone: bool = False
    """True if neighbours share no rows with it: a plan by hand says so, or its rows are short."""
    in_bands: bool = False
    """True if a plan by hand asks for bands, whatever the size of the result is."""
    tree: Node | None = None
    """The loops as a tree, which go before tiles and streams (docs/new-recipe.md)."""
    extents: Extents = UNKNOWN
    """The numbers of elements and terms, for the sizes that loops are chosen for."""


PLAIN = Blocking()

FEWEST_ELEMENTS_OF_ROW = 16
"""The length of the shortest rows that are computed together: a vector of f32."""

ChooseBlocking = Callable[[tix.DefineOp], Blocking]


def blocking_chooser(
    tile: bool,
    sizes: Sequence[str],
    least: Sequence[str] = (),
    registers: tix.Registers = tix.AVX_512,
) -> ChooseBlocking | None:
    """The blockings that are best for sizes written as `N=512`, for a pass that has these options,
    on a processor with these registers.

    Blocks for which the `least` sizes have room need no others beside them.

    None without tiles: then all are plain. Raises `PassFailedException` where a text is no size.
    """
    choose, example = tile_chooser(tile, sizes, least, registers), parse_sizes(sizes)
    return partial(chosen_blocking, choose=choose, example=example) if choose else None


def chosen_blocking(op: tix.DefineOp, choose: ChooseTiles, example: Sizes) -> Blocking:
    """The tiles that `choose` gives, else a stream where the result may be large, else plain.

    Windows with borders are streams, too, where the rows of tiles would share nothing.
    """
    tiles, found = choose(op), Blocking(extents=extents_of(op, example))
    if tiles and (tiles[0].in_stream or rows_share(op, tiles[0]) or not is_window(op, example)):
        return replace(found, tiles=tiles)
    alone = is_recurrence(op) or _has_short_rows(op, example)
    return replace(found, stream=stream_of(op, example), alone=alone)


def _has_short_rows(op: tix.DefineOp, example: Sizes) -> bool:
    """True if reductions, or the last index of the result, have few values for these sizes.

    Scans are worth their vectors at any length.
    """
    if is_scanned(op):
        return False
    reductions = long_reductions(op) if has_rows_of_terms(op) else []
    lengths = [length_of(o, o.indices[-1], example) for o in reductions]
    if not reductions and op.indices:
        last = op.shape[-1]
        known = all(name in example for name in last.sizes)
        lengths = [last.evaluate({n: example[n] for n in last.sizes})] if known else []
    return any(length < FEWEST_ELEMENTS_OF_ROW for length in lengths)
