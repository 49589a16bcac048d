"""A blocking: the loops of one definition, in blocks of a tile, as a stream, or plain.

y[i, j] = sum[k](x[i, k] * w[j, k])      Blocking(tiles=(Tile(i, j, rows=4, columns=64, ...),))
z[i, j] = exp(x[i, j])                   Blocking(stream=Stream(z, ...)), if it is large
z[i] = x[2 * i]                          Blocking()
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import prod

from tadc.dialects import tix
from tadc.dialects.tix.affine import SizeValues
from tadc.passes.rewriting.written_sizes import parse_sizes
from tadc.passes.scheduling.costs.tile_cost import Sizes, length_of
from tadc.passes.scheduling.recurrences import is_recurrence
from tadc.passes.scheduling.rows.piece_sums import piece_sum_of
from tadc.passes.scheduling.rows.row_forms import MOST_BYTES_BESIDE, ROWS_BESIDE, long_reductions
from tadc.passes.scheduling.scans import is_scanned
from tadc.passes.scheduling.streams.streams import Stream, is_window, stream_of
from tadc.passes.scheduling.tiles.tile import Tile
from tadc.passes.scheduling.tiles.tile_analysis import bytes_of_element, rows_share
from tadc.passes.scheduling.tiles.tile_choice import ChooseTiles, tile_chooser


@dataclass(frozen=True)
class Blocking:
    """The loops of a definition; neither in tiles nor as a stream: one iteration per element."""

    tiles: Sequence[Tile] = ()
    """The tiles in order: the first one for which the sizes have room is taken."""
    stream: Stream | None = None
    alone: bool = False
    """True if neighbours share no rows with it: a plan by hand says so, or its rows are short."""
    in_strips: bool = False
    """True if neighbours may share strips with it: a near cache has room for one."""
    is_near: bool = False
    """True if a near cache has room for a row of its terms."""
    beside: int = 1
    """The rows of terms that go side by side at most."""
    is_far: bool = False
    """True if no near cache has room for the result."""
    row: int | None = None
    """The elements of a row of the result; None where sizes do not tell."""


PLAIN = Blocking()

FEWEST_ELEMENTS_OF_ROW = 16
"""The length of the shortest rows that are computed together: a vector of f32."""

MOST_TERMS_OF_STRIP = 2048
"""Terms of the longest sums in strips: of four vectors of 64 bytes for each, a strip has 512 KB."""

FEWEST_BYTES_OF_FAR = 3 << 18
"""Bytes of the smallest results that leave the near caches until others read them."""

MOST_TERMS_OF_ROW = 1 << 16
"""Terms of the longest sums whose row stays in a near cache: 256 KB of f32."""

FEWEST_ROWS_BESIDE = 64
"""Rows that there are at least, for threads to share."""

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
    tiles, terms = choose(op), _most_terms(op, example)
    found = Blocking(
        in_strips=terms <= MOST_TERMS_OF_STRIP,
        is_near=terms <= MOST_TERMS_OF_ROW,
        beside=_beside(op, terms, example),
        is_far=_is_far(op, example),
        row=_row(op, example),
    )
    if tiles and (tiles[0].in_stream or rows_share(op, tiles[0]) or not is_window(op, example)):
        return replace(found, tiles=tiles)
    alone = is_recurrence(op) or _has_short_rows(op, example)
    return replace(found, stream=stream_of(op, example), alone=alone)


def _beside(op: tix.DefineOp, terms: float, example: Sizes) -> int:
    """The rows of so many terms, or else of the elements of the result, that go side by side."""
    count, has_terms = _elements(op, example), _has_long_terms(op)
    length = terms if has_terms else _row(op, example) or 1
    is_short = length * bytes_of_element(op.type) <= MOST_BYTES_BESIDE
    fewest = FEWEST_ROWS_BESIDE * (1 if has_terms else length)
    return ROWS_BESIDE if is_short and (count is None or count >= fewest) else 1


def _has_long_terms(op: tix.DefineOp) -> bool:
    """True if a row is one of terms: of a reduction that is neither unrolled nor over rows."""
    return bool(long_reductions(op)) and not piece_sum_of(op)


def _is_far(op: tix.DefineOp, example: Sizes) -> bool:
    """True if a result has so many bytes for these sizes, or for unknown ones."""
    count = _elements(op, example)
    return count is None or count * bytes_of_element(op.type) >= FEWEST_BYTES_OF_FAR


def _elements(op: tix.DefineOp, example: Sizes) -> int | None:
    """The elements of the result for these sizes; None where they do not tell."""
    known = SizeValues(example)
    if any(name not in known for size in op.type.shape for name in size.sizes):
        return None
    return prod(max(0, size.evaluate(known)) for size in op.type.shape)


def _row(op: tix.DefineOp, example: Sizes) -> int | None:
    """The elements of a row of the result for these sizes."""
    known, last = SizeValues(example), op.type.shape[-1:]
    if not last or any(name not in known for name in last[0].sizes):
        return None
    return last[0].evaluate(known)


def _most_terms(op: tix.DefineOp, example: Sizes) -> float:
    """The number of terms of the longest reduction."""
    reductions = (o for o in op.walk() if isinstance(o, tix.ReductionOp))
    counts = (prod(length_of(o, v, example) for v in o.indices) for o in reductions)
    return max(counts, default=0)


def _has_short_rows(op: tix.DefineOp, example: Sizes) -> bool:
    """True if reductions, or the last index of the result, have few values for these sizes.

    Scans are worth their vectors at any length.
    """
    if is_scanned(op):
        return False
    reductions = long_reductions(op) if _has_long_terms(op) else []
    lengths = [length_of(o, o.indices[-1], example) for o in reductions]
    if not reductions and op.indices:
        last = op.shape[-1]
        known = all(name in example for name in last.sizes)
        lengths = [last.evaluate({n: example[n] for n in last.sizes})] if known else []
    return any(length < FEWEST_ELEMENTS_OF_ROW for length in lengths)
