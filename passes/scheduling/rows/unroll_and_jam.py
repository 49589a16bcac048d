"""Jammed rows: how many rows of definitions that share them are computed at the same time.

    s[i] = sum[j](exp(x[i, j]))           rows i to i + 3 at once: four sums for each j

Unroll-and-jam of the loop over rows: while one row waits for the end of its reduction, others go
on.
"""

from __future__ import annotations

from tadc.dialects import tix
from tadc.passes.scheduling.extents import Extents
from tadc.passes.scheduling.rows.rfactored_sums import piece_sum_of
from tadc.passes.scheduling.rows.vectorized_rows import long_reductions
from tadc.passes.scheduling.tiles.tile_analysis import bytes_of_element

ROWS_JAMMED = 4
"""Rows that are jammed: independent rows hide each other's latency."""

MOST_BYTES_JAMMED = 512
"""The most bytes of a row that is jammed. Longer rows seldom wait for the end of a reduction, and
hardware prefetchers do not follow four of them at once."""

FEWEST_ROWS = 64
"""The fewest rows of which some are jammed: enough are left for all threads."""


def rows_jammed(op: tix.DefineOp, extents: Extents) -> int:
    """The number of rows to jam at most: rows of terms, or else of elements of the result."""
    has_terms = has_rows_of_terms(op)
    length = extents.terms if has_terms else extents.row or 1
    is_short = length * bytes_of_element(op.type) <= MOST_BYTES_JAMMED
    fewest = FEWEST_ROWS * (1 if has_terms else length)
    are_many = extents.elements is None or extents.elements >= fewest
    return ROWS_JAMMED if is_short and are_many else 1


def has_rows_of_terms(op: tix.DefineOp) -> bool:
    """True if a row is one of terms: of a reduction that is neither unrolled nor over rows."""
    return bool(long_reductions(op)) and not piece_sum_of(op)
