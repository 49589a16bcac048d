"""Sizes of blocks: how wide and how high those of a tile may be.

    y[i, j] = sum[k](x[i, k] * w[j, k])    1024 x 1024    blocks of 6 x 64: 24 vectors of sums
                                           65 columns     of 48, and of 32 for the other 17

Registers hold the sums of a block beside what a term needs. Vectors have whole lines, so blocks are
a few vectors wide; what they leave at the end of short rows has narrower ones (`tile_grid`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue

from tadc.dialects import tix
from tadc.passes.analysis.costs import weight
from tadc.passes.analysis.index_uses import IndexUses
from tadc.passes.scheduling.costs.tile_cost import (
    ADDITIONS_UNDER_WAY,
    SHARE_OF_SUMS,
    Sizes,
    extent_of,
    operations,
    terms_like_rows,
)
from tadc.passes.scheduling.tiles.tile import Tile
from tadc.passes.scheduling.tiles.tile_analysis import constant_extent

SHARE_OF_DEAR_SUMS = 0.5
"""The share of the registers for accumulators, where terms need functions or several vectors."""

MOST_COLUMNS = 64
"""Columns of a block: four vectors, which begin in as many lines of each row that is read."""

MOST_COLUMNS_WITH_REST = 4 * MOST_COLUMNS
"""Columns from which on the overlap of the last block is a small part of a row."""

FEWEST_COLUMNS = 4
"""Columns of a block where no axis has room for half a vector: late layers of few channels."""

MOST_ROWS = 8
"""Rows of a block."""


def widths(extent: int, lanes: int) -> Iterator[int]:
    """The columns that blocks may have, the most first: powers of two, and three quarters; four
    alone where there is no room for half a vector."""
    widest = min(MOST_COLUMNS, _power_of_two_below(extent))
    least = max(lanes // 2, 2)
    least = least if widest >= least else FEWEST_COLUMNS
    for n in range(4):
        width = widest >> n
        if width >= least:
            yield width
        if n == 0 and widest == MOST_COLUMNS and width * 3 // 4 % lanes == 0:
            yield width * 3 // 4


def width_of_row(sums: Sequence[tix.ReductionOp], lanes: int, registers: tix.Registers) -> int:
    """The columns of one-row blocks with enough accumulators to hide the latency of additions; 0
    where blocks of several rows are as wide, or terms need the registers."""
    width = ADDITIONS_UNDER_WAY // registers.of_vector * lanes
    return width if width > MOST_COLUMNS and not _is_heavy(sums) else 0


def is_narrow(columns: int, registers: tix.Registers) -> bool:
    """True if blocks have less than three quarters of the most columns, in proportion to the
    vectors that registers hold."""
    return 4 * columns * tix.AVX_512.vectors < 3 * MOST_COLUMNS * registers.vectors


def is_long(length: int) -> bool:
    """True if a range has room for the widest blocks."""
    return length >= MOST_COLUMNS


def narrow_width(op: tix.DefineOp, column: SSAValue, columns: int, lanes: int, sizes: Sizes) -> int:
    """The columns of narrower blocks: the vectors that the rest of a known size needs, or half of
    the whole blocks' where sizes are only like those given; 0 where there is no rest, or it needs
    whole blocks."""
    extent = extent_of(op, column, sizes)
    if extent >= MOST_COLUMNS_WITH_REST:
        return 0
    lengths = extent, likely_extent(op, column, sizes)
    if max(lengths) >= MOST_COLUMNS_WITH_REST:
        return 0
    least = lengths[0] % columns if is_known(op, column) else columns // 2
    tile = Tile(None, column, 1, columns, rest=-(-least // lanes) * lanes)
    return tile.rest if any(tile.narrow_blocks(n % columns) for n in lengths) else 0


def likely_extent(op: tix.DefineOp, index: SSAValue, sizes: Sizes) -> int:
    """The length of an axis in calls: where sizes are only like those given, somewhat longer."""
    extent = extent_of(op, index, sizes)
    if extent >= MOST_COLUMNS_WITH_REST or index not in op.indices or is_known(op, index):
        return extent
    return extent + extent // 8


def is_known(op: tix.DefineOp, index: SSAValue) -> bool:
    """True if the length of an axis is a number in the code, not only like that of an example."""
    return constant_extent(op.shape[op.indices.index(index)]) is not None


@dataclass(frozen=True)
class Room:
    """The registers for the sums of blocks, beside those that a term needs."""

    registers: tix.Registers
    is_dear: bool
    """True if a term needs more registers than those of what it reads.

    A product takes four, of what all rows read along the columns, and one for each row in turn.
    """
    keeps_rows: bool
    """True if the operands of each row stay in registers for later terms."""

    @staticmethod
    def of(
        sums: Sequence[tix.ReductionOp],
        row: SSAValue,
        column: SSAValue,
        uses: IndexUses,
        registers: tix.Registers,
    ) -> Room:
        """The room for these rows and columns of sums."""
        reads = [(r, s) for s in sums for r in s.walk() if isinstance(r, tix.ReadOp)]
        used = [uses.of_operation(r) for r, _ in reads]
        own = any(row in indices and column in indices for indices in used)
        across = sum(column in indices for indices in used)
        dear = own or across > len(sums) or _is_heavy(sums)
        keeps = any(
            row in indices and column not in indices and terms_like_rows(r, s, row) > 1
            for (r, s), indices in zip(reads, used, strict=True)
        )
        return Room(registers, dear, keeps)

    def rows(self, vectors: int) -> int:
        """The rows of blocks with so many vectors of columns."""
        count = self.registers.count
        width = vectors * self.registers.of_vector
        share = SHARE_OF_DEAR_SUMS if self.is_dear else SHARE_OF_SUMS
        # beside the sums one register of each column, and one of a row
        most = min(int(share * count) // width, (count - 1) // width - 1)
        if self.keeps_rows:  # or one of each row
            most = min(most, (count + 1) // (width + 1) - 1)
        return max(1, min(MOST_ROWS, most))


def height(extent: int, most: int, known: bool) -> int:
    """The rows of a block: as many as registers hold, or fewer if the last block overlaps less."""
    if not known:
        return min(extent, most)
    return min(range(min(extent, most), 0, -1), key=lambda r: -(-extent // r) * (r + 1.5))


def _is_heavy(sums: Iterable[tix.ReductionOp]) -> bool:
    """True if elementary functions need the registers."""
    return any(weight(o) > 1 for s in sums for o, _ in operations(s.body))


def _power_of_two_below(n: int) -> int:
    return 1 << (n.bit_length() - 1) if n else 0
