"""Comments of a plan: the work of each definition, its predicted time, and what was rejected.

    y[i, j]: rows i by 4, columns j by 64, 64 blocks a group   # 2.1 G operations, 13 MB, 15 ms
      # rejected: rows j, columns i: 1.0 times the cost; plain: 4.6 times

The costs are those by which `tile_choice` chose, the time is that of `predict`, on one core.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tadc.dialects import tix
from tadc.passes.scheduling.blocking import Blocking, ChooseBlocking
from tadc.passes.scheduling.costs.predict_time import predict
from tadc.passes.scheduling.streams.reused_values import dear_values
from tadc.passes.scheduling.text.plan_parser import LoopPlan, PlanFailure
from tadc.passes.scheduling.text.plan_text import nest_text
from tadc.passes.scheduling.text.value_text import index_names
from tadc.passes.scheduling.tiles.tile import Tile
from tadc.passes.scheduling.tiles.tile_analysis import registers_for
from tadc.passes.scheduling.tiles.tile_choice import priced_tiles

SHARED_LOOPS = {"row": "row by row", "in": "in bands"}
"""Loops that definitions share, by the first word of their entries."""

MOST_REJECTED = 2
"""Rejected pairs of rows and columns that are told."""


@dataclass(frozen=True)
class Comments:
    """Comments on the nests of one call."""

    sizes: Mapping[str, int] | None
    """All sizes of the call, where they are known."""
    example: Mapping[str, int]
    """The sizes for which nests were chosen."""
    own: ChooseBlocking
    """The nests that are chosen where nobody plans."""
    refused: Mapping[str, PlanFailure]
    """The entries of a plan by hand that are not possible here, by definition."""
    plan: LoopPlan
    """The plan by hand."""

    def about(self, op: tix.DefineOp, nest: Blocking, loops: str) -> list[str]:
        """The comment behind the entry of a definition, which shares `loops` with others, and those
        below it."""
        return [self._work(op, nest), *self._not_shared(op, loops), *self._below(op, nest)]

    def _work(self, op: tix.DefineOp, nest: Blocking) -> str:
        if self.sizes is None:
            return ""
        found = predict(op, nest, self.sizes)
        return (
            f"{_short(found.operations, 'op')}, {_short(found.bytes, 'B')}, "
            f"{_short(found.seconds, 's')} predicted"
        )

    def _not_shared(self, op: tix.DefineOp, loops: str) -> Iterator[str]:
        """The entry that asks for loops that a definition shares with none of its neighbours."""
        for entry in self.plan.entries:
            asked = SHARED_LOOPS.get(entry.kind.text)
            if entry.name.text == op.label.data and asked and asked != loops:
                yield (
                    f"line {entry.kind.line} of the plan is not possible here: "
                    f"no neighbour is computed {asked} with {op.label.data}"
                )

    def _below(self, op: tix.DefineOp, nest: Blocking) -> Iterator[str]:
        refused = self.refused.get(op.label.data)
        if refused:
            yield f"line {refused.token.line} of the plan is not possible here: {refused.reason}"
        if nest.tiles and (same := nest.tiles[0].neighbours):
            yield f"neighbours share {len(same)} of its {len(dear_values(op))} functions"
        own = self.own(op)
        if own.tiles != nest.tiles or bool(own.stream) != bool(nest.stream):
            yield f"by hand; the compiler would choose: {nest_text(op, own)}"
        elif rejected := list(self._rejected(op, nest)):
            yield f"rejected: {'; '.join(rejected)}"

    def _rejected(self, op: tix.DefineOp, nest: Blocking) -> Iterator[str]:
        """Other rows and columns, and the plain nest, with their costs."""
        priced = priced_tiles(op, self.example, registers_for(op))
        if not priced:
            return
        taken = [_axes(tile) for tile in nest.tiles]
        chosen = next((p.cost for p in priced if taken and _axes(p.tile) == taken[0]), None)
        cost = priced[0].plain if chosen is None else chosen
        others = {_axes(p.tile): p for p in reversed(priced) if _axes(p.tile) not in taken}
        names = index_names(op)
        for other in sorted(others.values(), key=lambda p: p.cost)[:MOST_REJECTED]:
            row, column = other.tile.row_index, other.tile.column_index
            rows = f"rows {names[row]}, " if row is not None else ""
            along = "columns" if column in op.indices else "terms"
            yield f"{rows}{along} {names[column]}: {other.cost / cost:.1f} times the cost"
        if chosen is not None:
            yield f"plain: {priced[0].plain / cost:.1f} times"


def _axes(tile: Tile) -> tuple[object, object]:
    return tile.row_index, tile.column_index


PREFIXES = ((1e9, "G"), (1e6, "M"), (1e3, "k"), (1, ""), (1e-3, "m"), (1e-6, "µ"))


def _short(number: float, unit: str) -> str:
    """A number with two digits and its unit, with a prefix: `2.1 GB`, `15 ms`."""
    factor, prefix = next((p for p in PREFIXES if number >= 0.995 * p[0]), (1, ""))
    digits = number / factor
    return f"{digits:.{1 if digits < 9.95 else 0}f} {prefix}{unit}"
