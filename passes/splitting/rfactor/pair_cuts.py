"""Sums along both indices of pairs that share something expensive: one is cut into pieces.

dx[i] = sum[j](exp(-(x[i] - z[j])**2) * b[j])
dz[j] = sum[i](exp(-(x[i] - z[j])**2) * a[i])        into 2 pieces, of every other row each
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tadc.dialects import tix
from tadc.dialects.tix import Affine
from tadc.dialects.tix.affine import SizeValues
from tadc.passes.analysis.all_pairs import LongSum, long_sums, pairs_along
from tadc.passes.index_sets.sets import boxed_indices
from tadc.passes.scheduling.all_pairs import Walk, are_walked, pieces_for, walking_sum
from tadc.passes.scheduling.rows.vectorized_rows import LONGEST_ROW
from tadc.passes.splitting.rfactor.cut import Cut, Places, definitions_read, first_readers

FEWEST_ROWS_OF_PAIRS = 512
"""Rows of pairs at least: 32 for each unit of the work that threads share."""

FEWEST_COLUMNS = 64
"""Columns of pairs at least: four vectors of f32."""


def pair_cuts(
    free: Sequence[tix.DefineOp],
    places: Places,
    sizes: Mapping[str, int],
) -> list[Cut]:
    """The sums along one index of pairs that a definition along the other one takes along
    (`passes/scheduling/all_pairs.py`): the first of those that take most."""
    ops = [op for op in free if op.indices and op.view is None]
    seconds = [second for op in ops for second in long_sums(op) if are_walked(second.op)]
    ways = [
        [cut for s in seconds if (cut := _cut_of_pair(first, s, places, sizes)) is not None]
        for first in filter(None, map(walking_sum, free))
    ]
    readers, best = first_readers(places), max(ways, key=len) if ways else []
    return [c for c in best if c.behind < readers.get(c.definition.result, len(places))]


def _cut_of_pair(
    first: LongSum,
    second: LongSum,
    places: Places,
    sizes: Mapping[str, int],
) -> Cut | None:
    """The cut of the second sum, if one walk over pairs may compute both."""
    walker, length = first.definition, boxed_indices(first.op)[first.index]
    height = boxed_indices(second.op).get(second.index)
    if second.definition is walker or height is None or len(second.op.constraints) > 2:
        return None
    if not _are_many(height, length, sizes):
        return None
    is_there = all(places[op] < places[walker] for op in definitions_read(second.op))
    pair = pairs_along(first, second, length, height) if is_there else None
    if pair is None:
        return None
    pieces = pieces_for(length.evaluate(SizeValues(sizes)))
    cut = Cut(second.op, second.definition, places[walker], [height], pair[1], pieces)
    return cut if Walk(first, pair[0]).has(cut.shape[:-1]) else None


def _are_many(rows: Affine, columns: Affine, sizes: Mapping[str, int]) -> bool:
    """True if there are enough rows for units, and enough columns for vectors."""
    if not {*rows.sizes, *columns.sizes} <= sizes.keys():
        return False
    known = SizeValues(sizes)
    along = columns.evaluate(known)
    is_long = rows.evaluate(known) >= FEWEST_ROWS_OF_PAIRS
    return is_long and FEWEST_COLUMNS <= along <= LONGEST_ROW
