"""Stages that roll along with their reader: their last vectors stay in registers.

    z[i, j] = sum[s in range(7)](x[i + s, j])          rows i .. i + 7, along the columns:
    y[i, j] = sum[t in range(7)](z[i, j + t])            z[i, j + 16 ..] is computed,
                                                         y[i, j ..] is made of it and z[i, j ..]

The elements of y in a vector read two vectors of z, of which the first is the second one of the
vector before. So z has no memory at all, not even that of a band, and what is loaded for it goes
on while y is computed. The windows of z are shuffles of both vectors, where loads would lie in two
lines of a cache each.

Several rows advance together, where those of z share what they load (`stream_tiles`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from xdsl.ir import SSAValue

from tadc.dialects import tix
from tadc.dialects.tix import Affine
from tadc.passes.rewriting.programs import reads_of
from tadc.passes.scheduling.bands.band_stages import Axis, Roll
from tadc.passes.scheduling.streams.stream_choice import possible_stream
from tadc.passes.scheduling.streams.stream_tiles import loads_of, may_be_written_out, operations_of
from tadc.passes.scheduling.tiles.tile import Tile
from tadc.passes.scheduling.tiles.tile_analysis import lanes_of

ROWS = 8
"""Rows that advance together: two vectors of z for each are half of the registers of AVX-512. Sums
of 7 x 7 by hand take .9 of the time of four rows on Zen 4."""

MOST_OPERATIONS = 240
"""The most operations for a column of a block, over all rows: they are unrolled."""


def roll_of(
    stage: tix.DefineOp, root: tix.DefineOp, tensor: SSAValue, axes: Sequence[Axis | None]
) -> Roll | None:
    """The roll of a stage along with its only reader, which reads it as `tensor`, in windows
    `axes`.

    None where windows lie in other rows, or in more than two vectors, or where elements have no
    form for whole blocks.
    """
    *others, column = axes
    if len(root.indices) != len(axes) or len(axes) < 2 or column is None:
        return None
    if any(axis != Axis(n, 1, 0, 0) for n, axis in enumerate(others)):
        return None
    if (column.index, column.step) != (len(axes) - 1, 1):
        return None
    lanes = lanes_of(root)
    if lanes_of(stage) != lanes or not 0 < column.high - column.low <= lanes >= -column.low:
        return None
    if not (_has_blocks(stage) and _has_blocks(root)) or not _are_windows(tensor, root):
        return None
    rows, each = ROWS, operations_of(stage) + operations_of(root)
    while rows > 1 and rows * each > MOST_OPERATIONS:
        rows //= 2
    roll = Roll(0, rows, column.low, column.high)
    tiles = [tile_of(stage, replace(roll, row=n)) for n in range(len(others))]
    loads = [loads_of(stage, tile) for tile in tiles]
    return replace(roll, row=min(reversed(range(len(others))), key=lambda n: loads[n]))


def _has_blocks(op: tix.DefineOp) -> bool:
    """True if whole blocks of a definition are written out, and borders are under masks."""
    stream = possible_stream(op) if may_be_written_out(op) else None
    return stream is not None and stream.modulus == 1 and not stream.in_segments


def _are_windows(tensor: SSAValue, root: tix.DefineOp) -> bool:
    """True if all reads of a tensor stay in the reader's own row, with step 1 along the columns."""
    reads = [read for read in reads_of(root) if read.tensor is tensor]
    own = [Affine.of(v) for v in root.indices]
    return all(
        [*read.forms[:-1]] == own[:-1] and read.forms[-1][root.indices[-1]] == 1 for read in reads
    )


def tile_of(op: tix.DefineOp, roll: Roll) -> Tile:
    """The tile of a block with one vector in each of the rows that advance together."""
    lanes = lanes_of(op)
    row = op.indices[roll.row] if roll.rows > 1 else None
    return Tile(row, op.indices[-1], roll.rows, lanes, lanes, in_stream=True)
