"""The sums of a definition that blocks compute, with accumulators in registers."""

from __future__ import annotations

from xdsl.ir import Region

from tadc.dialects import tix
from tadc.passes.analysis.access import MASKABLE, access
from tadc.passes.analysis.index_uses import IndexUses
from tadc.passes.index_sets.context import is_bounded_inside
from tadc.passes.index_sets.sets import index_set
from tadc.passes.rewriting.programs import definition_around
from tadc.passes.scheduling.tiles.sum_lengths import blocked_sums, is_short
from tadc.passes.scheduling.tiles.tile import Tile
from tadc.passes.scheduling.tiles.tile_analysis import (
    indices_of,
    is_rectangular,
    reads_outside_terms,
)


def tileable_sums(region: Region, tile: Tile, uses: IndexUses) -> list[tix.ReductionOp]:
    """The sums of a body that get accumulators.

    They are long, and have the same terms for all rows of a block; for all columns, too, or
    `is_sloped` holds. All that is summed up in one of them depends on the column.
    """
    rows = tuple(index for index, _ in tile.axes)

    def find() -> list[tix.ReductionOp]:
        return [
            s
            for s in blocked_sums(region)
            if all(tile.column_index in uses.of(total) for total in s.results)
            and is_rectangular(s, rows, uses)
            and (is_rectangular(s, [tile.column_index], uses) or is_sloped(s, tile, uses))
        ]

    # not how wide a tile is
    return uses.once((tileable_sums, region, rows, tile.column_index), find)


def is_sloped(op: tix.ReductionOp, tile: Tile, uses: IndexUses) -> bool:
    """True if bounds of the innermost index, and no others, move with the column.

        sum[k](x[k] * w[j - k]),  j - 9 <= k <= j

    Columns of a block then differ in a few terms at both ends, which masks leave out: what differs
    by lane must have such vectors, unless all terms have the same, and what does not must be there
    for every term, as each bound leaves it to some column. A single bound leaves each term to a
    column whose element reads it. Bounds are the same for all values of the outer indices, so that
    they are known ahead of all loops. Quotients of the column, as in 4 * (j // 3) + k >= j, move
    them by other steps from column to column.
    """
    column, index = tile.column_index, op.indices[-1]
    bounds = [c for c in op.constraints if c.form[index]]
    moving = [c for c in op.constraints if column in indices_of([c.form], uses)]
    inner = list(op.body.walk())
    sums = [o for o in inner if isinstance(o, tix.ReductionOp)]
    fixed = [*index_set(definition_around(op)), *(c for s in sums for c in s.constraints)]
    fixed += [c for c in op.constraints if c not in moving]
    is_read = len(moving) == 1 and isinstance(op.parent_op(), tix.DefineOp)
    used = {v for c in moving for v in c.form.indices if v is not column}
    ahead = {read for read, _ in reads_outside_terms(op, uses)}
    return (
        bool(moving)
        and not any(column in uses.of(v) for v in used)
        and not any(c.form[v] for c in bounds for v in op.indices[:-1])
        and not any(isinstance(o, tix.FloorDivOp | tix.IfOp) for o in inner)
        and all(map(is_short, sums))
        and all(abs(c.form[index]) == 1 and c.form[column] and not c.equality for c in moving)
        and all(
            access(o, column, uses) in MASKABLE or o in ahead
            if column in uses.of_operation(o)
            else is_read or is_bounded_inside(o, fixed, moving)
            for o in inner
            if isinstance(o, tix.ReadOp)
        )
    )
