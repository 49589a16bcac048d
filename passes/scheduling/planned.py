"""A plan by hand, applied to definitions: entries of `plan_parser` become nests, or are refused.

A plan says how loops run, and cannot make a result wrong: what a definition has no loops for is
refused here, with what it has instead.

    y[i, j] = sum[k](x[i, k] * w[j, k])

    y[i, j]: rows i by 4, columns i by 64         rows and columns run along different indices
    y[i, j]: columns j by 40                      40 columns are no whole vectors of 16
    y[i, j]: rows i by 4, columns j by 64
      sum 1 over k: panel x[i, k]                 x[i, k] is no panel of this sum: w[j, k] is
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from xdsl.ir import SSAValue

from dialects import tix
from passes.rewriting.programs import tensor_names
from passes.scheduling.index_uses import IndexUses
from passes.scheduling.nest import PLAIN, ChooseNest, Nest
from passes.scheduling.plan_parser import (
    Axis,
    Blocks,
    Count,
    Entry,
    LoopPlan,
    PlanFailure,
    SumLine,
    Token,
    as_written,
    words,
)
from passes.scheduling.streams import possible_stream
from passes.scheduling.tile import Hoisted, Tile
from passes.scheduling.tile_analysis import (
    PANEL_ELEMENTS,
    blocked_sums,
    constant_extent,
    constant_range,
    hoisted_values,
    is_rectangular,
    lanes_of,
    tileable_sums,
)
from passes.scheduling.tile_choice import may_have_tiles
from passes.scheduling.value_text import ValueText, index_names

MOST_VECTORS_OF_SUMS = 64
"""Vectors of sums in a block: more than registers hold, and few enough to be written out."""

MOST_ELEMENTS = 2 * PANEL_ELEMENTS
"""Elements of a panel, and of sums that wait in memory, at most: they lie on the stack."""

MOST_ALTERNATIVES = 4
"""Tiles of a definition, of which sizes choose at run time."""


def planned(plan: LoopPlan, program: tix.ProgramOp, choose: ChooseNest) -> ChooseNest:
    """The nests of a plan where these are possible; elsewhere those that `choose` gives."""
    if not plan.entries:
        return choose
    entries = {entry.name.text: entry for entry in plan.entries}
    names = tensor_names(program)

    def chosen(op: tix.DefineOp) -> Nest:
        entry = entries.get(op.label.data)
        try:
            return choose(op) if entry is None else nest_of(entry, op, names)
        except PlanFailure:
            return choose(op)

    return chosen


def refusals(plan: LoopPlan, program: tix.ProgramOp) -> dict[str, PlanFailure]:
    """The entries of a plan that are not possible in a program, by definition."""
    definitions = {op.label.data: op for op in program.definitions}
    names = tensor_names(program)
    found: dict[str, PlanFailure] = {}
    for entry in plan.entries:
        if (op := definitions.get(entry.name.text)) is not None:
            try:
                nest_of(entry, op, names)
            except PlanFailure as failure:
                found[entry.name.text] = failure
    return found


def nest_of(entry: Entry, op: tix.DefineOp, tensors: Mapping[SSAValue, str]) -> Nest:
    """The nest that a plan says for a definition; `tensors` are the names of the program's.

    Raises `PlanFailure` where the definition has no such nest.
    """
    return _Definition(op, tensors).nest(entry)


@dataclass(frozen=True)
class _Definition:
    """A definition that a plan is applied to."""

    op: tix.DefineOp
    tensors: Mapping[SSAValue, str]

    @cached_property
    def text(self) -> ValueText:
        return ValueText(self.tensors, index_names(self.op))

    @cached_property
    def indices(self) -> dict[str, SSAValue]:
        return {self.text.indices[v]: v for v in self.op.indices}

    @property
    def label(self) -> str:
        return self.op.label.data

    def nest(self, entry: Entry) -> Nest:
        if [token.text for token in entry.indices] != list(self.indices):
            written = f"{self.label}[{', '.join(self.indices)}]" if self.indices else self.label
            raise PlanFailure(entry.name, f"the definition is {written} here")
        if entry.kind.text == "plain":
            return PLAIN
        if entry.kind.text == "stream":
            stream = possible_stream(self.op)
            if stream is None:
                raise PlanFailure(
                    entry.kind,
                    f"{self.label} cannot be written as a stream",
                    "streams read neighbours along the last index, and have no long sums, other "
                    "reductions or choices by values",
                )
            return Nest(stream=stream)
        if not may_have_tiles(self.op):
            raise PlanFailure(
                entry.kind,
                f"{self.label} cannot be computed in blocks",
                "blocks are for sums of more than 16 terms, without other reductions and choices "
                "by values; plain is always possible",
            )
        if len(entry.blocks) > MOST_ALTERNATIVES:
            raise PlanFailure(entry.kind, f"at most {MOST_ALTERNATIVES} tiles are alternatives")
        return Nest([_Blocks(self, blocks).tile() for blocks in entry.blocks])

    def index(self, token: Token) -> SSAValue:
        if token.text not in self.indices:
            raise PlanFailure(
                token,
                f"{token.text} is no index of {self.label}",
                f"its indices are {', '.join(self.indices)}",
            )
        return self.indices[token.text]

    def extent(self, index: SSAValue) -> int | None:
        """The size of the result along an index as a number; None where a call tells."""
        return constant_extent(self.op.shape[self.op.indices.index(index)])


@dataclass(frozen=True)
class _Blocks:
    """A tile as a plan says it, for a definition."""

    of: _Definition
    blocks: Blocks

    def tile(self) -> Tile:
        """The tile; raises `PlanFailure` where it is none."""
        rows, columns = self.blocks.rows, self.blocks.columns
        column = self.of.index(columns.index)
        row = None if rows is None else self.of.index(rows.index)
        if rows and row is column:
            raise PlanFailure(
                rows.index,
                "rows and columns run along different indices",
                "without rows, a block has one: columns j by 64",
            )
        lanes = self._lanes(columns.width)
        for axis in filter(None, (rows, columns)):
            self._check_room(axis)
        height = rows.width.value if rows else 1
        vectors = height * columns.width.value // lanes
        if vectors > MOST_VECTORS_OF_SUMS:
            raise PlanFailure(
                (rows or columns).width.token,
                f"a block of {height} x {columns.width.value} elements is {vectors} vectors of "
                f"sums; {MOST_VECTORS_OF_SUMS} are the most",
            )
        return self._with_sums(Tile(row, column, height, columns.width.value, lanes))

    def _lanes(self, columns: Count) -> int:
        """The elements of a vector, of which the columns are a multiple."""
        n, lanes = columns.value, lanes_of(self.of.op)
        if n >= lanes and n % lanes:
            down, up = n - n % lanes, n - n % lanes + lanes
            raise PlanFailure(
                columns.token,
                f"{n} columns are no whole vectors of {lanes}",
                f"{down} and {up} are",
            )
        if n < lanes and (n < 2 or n & (n - 1)):
            raise PlanFailure(
                columns.token,
                f"{n} columns are no vector",
                "the columns of a block are a power of two from 2 to "
                f"{lanes}, or a multiple of {lanes}",
            )
        return min(n, lanes)

    def _check_room(self, axis: Axis) -> None:
        extent = self.of.extent(self.of.index(axis.index))
        if extent is not None and extent < axis.width.value:
            raise PlanFailure(
                axis.width.token,
                f"{axis.index.text} has {extent} values: there is no room for {axis.width.value}",
            )

    def _with_sums(self, tile: Tile) -> Tile:
        """The tile with its groups, panels and chunks."""
        uses = IndexUses()
        sums = tileable_sums(self.of.op.body, tile, uses)
        if not sums:
            raise PlanFailure(
                self.blocks.columns.index,
                f"no sum of {self.of.label} can run in these blocks",
                "its terms must be the same along the rows, and read along the columns",
            )
        group = self._group(tile)
        panels: dict[tix.SumOp, tuple[Hoisted, ...]] = {}
        chunks: dict[tix.SumOp, tuple[SSAValue, int]] = {}
        for line in self.blocks.sums:
            planned_sum = _Sum(self.of, line, tile, uses)
            op = planned_sum.among(sums)
            if op in panels or op in chunks:
                raise PlanFailure(line.number.token, "this sum has a line already")
            if line.chunk:
                chunks[op] = planned_sum.chunk(line.chunk, op)
            if line.panels:
                panels[op] = planned_sum.panels(op)
        if chunks and group * tile.rows * tile.columns > MOST_ELEMENTS:
            raise PlanFailure(
                (self.blocks.group or self.blocks.columns.width).token,
                f"{group * tile.rows * tile.columns} sums would wait in memory between chunks",
                f"{MOST_ELEMENTS} are the most: make groups of fewer blocks",
            )
        return Tile(
            tile.row_index,
            tile.column_index,
            tile.rows,
            tile.columns,
            tile.lanes,
            group,
            panels,
            chunks,
        )

    def _group(self, tile: Tile) -> int:
        group = self.blocks.group
        if group is None:
            return 1
        if tile.row_index is None:
            raise PlanFailure(group.token, "blocks without rows are in no groups")
        return group.value


@dataclass(frozen=True)
class _Sum:
    """A sum as a plan says it, in the blocks of a tile."""

    of: _Definition
    line: SumLine
    tile: Tile
    uses: IndexUses

    def among(self, tiled: Sequence[tix.SumOp]) -> tix.SumOp:
        """The sum that the line is about, one of those that run in the blocks."""
        line = self.line
        sums = blocked_sums(self.of.op.body)
        if line.number.value > len(sums):
            raise PlanFailure(line.number.token, f"{self.of.label} has {len(sums)} long sums")
        op = sums[line.number.value - 1]
        names = [self.of.text.indices[v] for v in op.indices]
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

    def panels(self, op: tix.SumOp) -> tuple[Hoisted, ...]:
        """The values that are copied, of those that may be."""
        known = hoisted_values(op, self.tile, self.uses).panels
        texts = [words(self.of.text.of(h.value)) for h in known]
        found: dict[Hoisted, None] = {}
        for value in self.line.panels:
            wanted = [token.text for token in value]
            if wanted not in texts:
                names = dict.fromkeys(self.of.text.of(h.value) for h in known)
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

    def chunk(self, chunk: Axis, op: tix.SumOp) -> tuple[SSAValue, int]:
        """The index that is cut, with the length of its chunks."""
        names = {self.of.text.indices[v]: v for v in op.indices}
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

    def _check_size(self, op: tix.SumOp, panels: Sequence[Hoisted]) -> None:
        """Refuse panels that are too large for the stack."""
        line, chunk, columns = self.line, self.line.chunk, self.tile.columns
        names = self.of.text.indices
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
