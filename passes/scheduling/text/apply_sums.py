"""The panels and chunks of a sum that a plan by hand says, where the sum may have them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue

from tadc.dialects import tix
from tadc.passes.analysis.index_uses import IndexUses
from tadc.passes.scheduling.text.plan_parser import Axis, PlanFailure, SumLine, as_written, words
from tadc.passes.scheduling.text.value_text import ValueText
from tadc.passes.scheduling.tiles.sum_lengths import blocked_sums, constant_range
from tadc.passes.scheduling.tiles.tile import Hoisted, Tile
from tadc.passes.scheduling.tiles.tile_analysis import (
    PANEL_ELEMENTS,
    hoisted_values,
    is_rectangular,
)

MOST_ELEMENTS = 2 * PANEL_ELEMENTS
"""Elements of a panel, and of sums that wait in memory, at most: they lie on the stack."""


@dataclass(frozen=True)
class PlannedSum:
    """A sum of a definition as a plan says it, in the blocks of a tile."""

    definition: tix.DefineOp
    text: ValueText
    line: SumLine
    tile: Tile
    uses: IndexUses

    def among(self, tiled: Sequence[tix.ReductionOp]) -> tix.ReductionOp:
        """The sum that the line is about, one of those that run in the blocks."""
        line = self.line
        sums = blocked_sums(self.definition.body)
        if line.number.value > len(sums):
            raise PlanFailure(
                line.number.token, f"{self.definition.label.data} has {len(sums)} long sums"
            )
        op = sums[line.number.value - 1]
        names = [self.text.indices[v] for v in op.indices]
        if [token.text for token in line.indices] != names:
            raise PlanFailure(
                (*line.indices, line.number.token)[0], f"this sum is over {', '.join(names)}"
            )
        if op not in tiled:
            raise PlanFailure(line.number.token, "this sum does not run in these blocks")
        if not all(is_rectangular(s, [self.tile.column_index], self.uses) for s in tiled):
            raise PlanFailure(
                line.number.token,
                "there are no panels and chunks where the bounds of a sum move with the columns",
            )
        return op

    def panels(self, op: tix.ReductionOp) -> tuple[Hoisted, ...]:
        """The values that are copied, of those that may be."""
        known = hoisted_values(op, self.tile, self.uses).panels
        texts = [words(self.text.of(h.value)) for h in known]
        found: dict[Hoisted, None] = {}
        for value in self.line.panels:
            wanted = [token.text for token in value]
            if wanted not in texts:
                names = dict.fromkeys(self.text.of(h.value) for h in known)
                raise PlanFailure(
                    value[0],
                    f"{as_written(value)} is no panel of this sum",
                    f"panels may be {', '.join(names)}"
                    if names
                    else "all that it reads lies side by side: it needs no panels",
                )
            found.update((h, None) for h, text in zip(known, texts, strict=True) if text == wanted)
        self._check_size(op, list(found))
        return tuple(found)

    def chunk(self, chunk: Axis, op: tix.ReductionOp) -> tuple[SSAValue, int]:
        """The index that is cut, with the length of its chunks."""
        names = {self.text.indices[v]: v for v in op.indices}
        if chunk.index.text not in names:
            raise PlanFailure(
                chunk.index,
                f"{chunk.index.text} is no index of this sum",
                f"its indices are {', '.join(names)}",
            )
        index = names[chunk.index.text]
        inside = op.indices[op.indices.index(index) + 1 :]
        if any(constant_range(op, v) is None for v in inside):
            raise PlanFailure(
                chunk.index,
                f"the sum cannot be cut along {chunk.index.text}",
                "the ranges of indices inside it must be numbers",
            )
        return index, chunk.width.value

    def _check_size(self, op: tix.ReductionOp, panels: Sequence[Hoisted]) -> None:
        """Refuse panels that are too large for the stack."""
        line, chunk, columns = self.line, self.line.chunk, self.tile.columns
        names = self.text.indices
        outside: set[SSAValue] = set()
        if chunk:
            cut = [names[v] for v in op.indices].index(chunk.index.text)
            outside.update(op.indices[:cut])
        for panel in panels:
            elements = columns
            for index in panel.indices:
                if index in outside:
                    continue
                if chunk and names[index] == chunk.index.text:
                    elements *= chunk.width.value
                    continue
                found = constant_range(op, index)
                if found is None:
                    raise PlanFailure(
                        line.number.token,
                        f"a panel must be cut: a call tells how long {names[index]} is",
                        f"sum {line.number.value} over {', '.join(names[v] for v in op.indices)} "
                        f"in chunks of 256 of {names[index]}: panel ...",
                    )
                elements *= found[1]
            if elements > MOST_ELEMENTS:
                raise PlanFailure(
                    (chunk.width if chunk else line.number).token,
                    f"a panel would have {elements} elements; {MOST_ELEMENTS} are the most",
                    "shorter chunks make it smaller",
                )
