"""A cache of the prices of tiles: equivalent definitions have the same ones.

    w_packed[k, j] = w[j, k]
    y[i, j] = sum[k](x[i, k] * w_packed[k, j])     priced when `pack-reads` looks for the best copy,
                                                   and again when loops are chosen

Several passes ask for the prices of one definition, each for a copy of it, and a program may hold
definitions that are alike, as may one that is compiled later. The prices of each column are kept
with tiles in which numbers stand for the values and operations of the definition. They are facts:
whether they are found here or anew makes no difference to what is chosen.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from xdsl.ir import Operation, SSAValue

from tadc.dialects import tix
from tadc.once import cached_property
from tadc.passes.analysis.equivalence import canonical_form
from tadc.passes.rewriting.shallow_copy import changed
from tadc.passes.scheduling.tiles.tile import Hoisted, Neighbour, Tile


@dataclass(frozen=True)
class PricedTile:
    """A tile, its cost per element of the result, and that of the plain nest."""

    tile: Tile
    cost: float
    plain: float
    is_good: bool
    """True if the tile is clearly cheaper."""


MOST_KNOWN = 1000
"""The number of columns whose prices are kept, some 10 kB each; then all are forgotten."""

_known: dict[object, Sequence[PricedTile]] = {}

Part = SSAValue | Operation
"""A value or an operation of a definition."""


class KnownPrices:
    """The prices of the tiles of a definition for these sizes and registers, by the index of their
    columns."""

    def __init__(self, op: tix.DefineOp, sizes: Mapping[str, int], registers: tix.Registers):
        program = op.parent_op()
        own = canonical_form(op).key, tuple(sorted(sizes.items())), registers
        self._op = op
        self._key = (*own, *_known_of_sizes(program)) if isinstance(program, tix.ProgramOp) else own

    @cached_property
    def _parts(self) -> Sequence[Part]:
        """The values and operations of the definition, in an order that equivalent ones share."""
        found: list[Part] = []
        for inner in self._op.walk():
            found += [inner, *inner.results]
            found += [v for region in inner.regions for v in region.block.args]
        return found

    def of(
        self, column: SSAValue | None, find: Callable[[], Sequence[PricedTile]]
    ) -> Sequence[PricedTile]:
        """The tiles with these columns, from the cache, or else those that `find` gives."""
        key = self._key, None if column is None else self._op.indices.index(column)
        known = _known.get(key)
        if known is not None:
            return [_with_parts(priced, self._parts.__getitem__) for priced in known]
        found = find()
        numbers = {part: n for n, part in enumerate(self._parts)}
        if len(_known) >= MOST_KNOWN:
            _known.clear()
        _known[key] = [_with_parts(priced, numbers.__getitem__) for priced in found]
        return found


def _known_of_sizes(program: tix.ProgramOp) -> tuple[object, ...]:
    """The facts that a program has of its sizes; the largest say which sums are always short."""
    return tuple(program.derived), tuple(sorted(program.largest_sizes.items()))


def _with_parts(priced: PricedTile, to: Callable[[Any], Any]) -> PricedTile:
    """A priced tile, with its values and operations replaced by what `to` maps them to."""
    return PricedTile(_moved(priced.tile, to), priced.cost, priced.plain, priced.is_good)


def _moved(tile: Tile, to: Callable[[Any], Any]) -> Tile:
    """A tile, with its values and operations replaced by what `to` maps them to."""
    return changed(
        tile,
        row_index=None if tile.row_index is None else to(tile.row_index),
        column_index=to(tile.column_index),
        along=tuple((to(v), n) for v, n in tile.along),
        panels={
            to(op): tuple(Hoisted(to(h.value), tuple(map(to, h.indices))) for h in hoisted)
            for op, hoisted in tile.panels.items()
        },
        chunks={to(op): (to(v), n) for op, (v, n) in tile.chunks.items()},
        whole=tuple((to(v), n) for v, n in tile.whole),
        neighbours={
            to(v): tuple(Neighbour(to(other.value), other.rows, other.columns) for other in same)
            for v, same in tile.neighbours.items()
        },
    )
