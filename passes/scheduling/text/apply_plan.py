"""A plan by hand: entries of `plan_parser` become blockings of definitions, or are refused.

A plan says how loops run, and cannot make a result wrong: what a definition has no loops for is
refused here, with what it has instead.

    y[i, j] = sum[k](x[i, k] * w[j, k])

    y[i, j]: rows i by 4, columns i by 64         rows and columns run along different indices
    y[i, j]: columns j by 40                      40 columns are no whole vectors of 16
    y[i, j]: rows i by 4, columns j by 64
      sum 1 over k: panel x[i, k]                 x[i, k] is no panel of this sum: w[j, k] is
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from xdsl.ir import SSAValue

from tadc.dialects import tix
from tadc.once import cached_property
from tadc.passes.analysis.index_uses import IndexUses
from tadc.passes.rewriting.programs import tensor_names
from tadc.passes.scheduling.blocking import PLAIN, Blocking, ChooseBlocking
from tadc.passes.scheduling.streams.stream_choice import possible_stream
from tadc.passes.scheduling.text.apply_sums import MOST_ELEMENTS, PlannedSum
from tadc.passes.scheduling.text.plan_parser import (
    Axis,
    Blocks,
    Count,
    Entry,
    LoopPlan,
    PlanFailure,
    Token,
)
from tadc.passes.scheduling.text.plan_text import blocks_text
from tadc.passes.scheduling.text.value_text import ValueText, index_names
from tadc.passes.scheduling.tiles.dot_tiles import has_terms_in_lanes
from tadc.passes.scheduling.tiles.packing import is_same_along
from tadc.passes.scheduling.tiles.sum_lengths import blocked_sums
from tadc.passes.scheduling.tiles.tile import Hoisted, Tile
from tadc.passes.scheduling.tiles.tile_analysis import (
    constant_extent,
    is_rectangular,
    lanes_of,
    registers_for,
)
from tadc.passes.scheduling.tiles.tile_choice import may_have_tiles, tile_without_sums
from tadc.passes.scheduling.tiles.tileable_sums import tileable_sums

MOST_VECTORS_OF_SUMS = 64
"""Vectors of sums in a block: more than registers hold, and few enough to be written out."""

MOST_ALTERNATIVES = 4
"""The most tiles of a definition, one of which is chosen by sizes at run time."""


def planned(plan: LoopPlan, program: tix.ProgramOp, choose: ChooseBlocking) -> ChooseBlocking:
    """The blockings of a plan where these are possible; elsewhere those that `choose` gives."""
    if not plan.entries:
        return choose
    entries = {entry.name.text: entry for entry in plan.entries}
    names = tensor_names(program)

    def chosen(op: tix.DefineOp) -> Blocking:
        """The blocking that the plan says for a definition, if it says one that is possible."""
        entry = entries.get(op.label.data)
        try:
            if entry is None:
                return choose(op)
            if entry.kind.text == "row":
                blocking_of(entry, op, names)
                return replace(choose(op), tiles=())
            if entry.kind.text == "in":
                blocking_of(entry, op, names)
                return replace(choose(op), in_bands=True)
            return replace(blocking_of(entry, op, names), alone=True)
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
                blocking_of(entry, op, names)
            except PlanFailure as failure:
                found[entry.name.text] = failure
    return found


def blocking_of(entry: Entry, op: tix.DefineOp, tensors: Mapping[SSAValue, str]) -> Blocking:
    """The blocking that a plan says for a definition; `tensors` are the names of the program's.

    Raises `PlanFailure` where the definition has no such blocking.
    """
    return _Definition(op, tensors).blocking(entry)


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

    def blocking(self, entry: Entry) -> Blocking:
        """The loops that an entry of a plan asks for; raises `PlanFailure` where there are none."""
        if [token.text for token in entry.indices] != list(self.indices):
            written = f"{self.label}[{', '.join(self.indices)}]" if self.indices else self.label
            raise PlanFailure(entry.name, f"the definition is {written} here")
        if entry.kind.text in ("plain", "row", "in"):
            return PLAIN
        if entry.kind.text == "stream":
            stream = possible_stream(self.op)
            if stream is None:
                raise PlanFailure(
                    entry.kind,
                    f"{self.label} cannot be written as a stream",
                    "streams read neighbours along the last index, and have no long sums or other "
                    "reductions",
                )
            return Blocking(stream=stream)
        if not may_have_tiles(self.op) and not tile_without_sums(self.op, {}):
            raise PlanFailure(
                entry.kind,
                f"{self.label} cannot be computed in blocks",
                "blocks are for sums and other reductions of more than 16 terms, and not in "
                "choices by values, and for functions that neighbours share; plain is always "
                "possible",
            )
        if len(entry.blocks) > MOST_ALTERNATIVES:
            raise PlanFailure(entry.kind, f"at most {MOST_ALTERNATIVES} tiles are alternatives")
        has_masks = registers_for(self.op).of_vector == 1
        tiles = (_Blocks(self, blocks).tile() for blocks in entry.blocks)
        return Blocking([replace(tile, has_masks=has_masks) for tile in tiles])

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
        row = None if rows is None else self.of.index(rows.index)
        if self.blocks.along_terms:
            return self._along_terms(row)
        if self.blocks.whole:
            raise PlanFailure(
                self.blocks.whole[0],
                "blocks with columns have rows along one index",
                "all goes with terms: rows i by 4, all s, terms k by 16",
            )
        column = self.of.index(columns.index)
        if rows and row is column:
            raise PlanFailure(
                rows.index,
                "rows and columns run along different indices",
                "without rows, a block has one: columns j by 64",
            )
        lanes = self._lanes(columns.width)
        self._check_room(columns)
        height = rows.width.value if rows else 1
        tile = Tile(row, column, height, columns.width.value, lanes, self._rest(lanes))
        return self._with_sums(self._of_size(tile))

    def _along_terms(self, row: SSAValue | None) -> Tile:
        """A tile whose vectors run along the terms of the only long sum."""
        rows, columns = self.blocks.rows, self.blocks.columns
        sums, uses = blocked_sums(self.of.op.body), IndexUses()
        if len(sums) != 1 or not has_terms_in_lanes(sums[0], uses):
            raise PlanFailure(
                columns.index,
                f"vectors cannot run along terms of {self.of.label}",
                "they do in one long sum of arithmetic, whose reads are at most two apart along "
                "its last index",
            )
        names = self.of.text.indices
        column = sums[0].indices[-1]
        if columns.index.text != names[column]:
            raise PlanFailure(columns.index, f"terms of this sum run along {names[column]}")
        whole = tuple((self.of.index(token), self._whole(token)) for token in self.blocks.whole)
        for token in (*([rows.index] if rows else []), *self.blocks.whole):
            self._check_rows_of_terms(token, sums[0], uses)
        axes = [v for v in (row, *(index for index, _ in whole)) if v is not None]
        if len(set(axes)) < len(axes):
            raise PlanFailure(columns.index, "rows run along different indices")
        if self.blocks.sums:
            raise PlanFailure(self.blocks.sums[0].number.token, "terms need no panels and chunks")
        if self.blocks.along:
            raise PlanFailure(self.blocks.along[0].index, "terms are in groups of one value")
        if self.blocks.rest:
            raise PlanFailure(self.blocks.rest.token, "terms need no narrower blocks")
        lanes = lanes_of(self.of.op)
        if columns.width.value % lanes:
            raise PlanFailure(
                columns.width.token,
                f"{columns.width.value} terms are no whole vectors of {lanes}",
            )
        height = rows.width.value if rows else 1
        tile = Tile(row, column, height, columns.width.value, lanes, whole=whole)
        return replace(self._of_size(tile), group=self._group(tile))

    def _whole(self, token: Token) -> int:
        """The number of values of an index of which a block has all."""
        extent = self.of.extent(self.of.index(token))
        if not extent:
            raise PlanFailure(token, f"a call tells how many values {token.text} has")
        return extent

    def _check_rows_of_terms(self, token: Token, op: tix.ReductionOp, uses: IndexUses) -> None:
        index = self.of.index(token)
        if index not in uses.of_operation(op) or not is_rectangular(op, [index], uses):
            raise PlanFailure(
                token, f"the sum has the same value, or other terms, along {token.text}"
            )

    def _of_size(self, tile: Tile) -> Tile:
        """The tile, if sizes have room for it and it is not too large."""
        rows, columns = self.blocks.rows, self.blocks.columns
        if rows:
            self._check_room(rows)
        vectors = tile.height * tile.columns // tile.lanes
        if vectors > MOST_VECTORS_OF_SUMS:
            raise PlanFailure(
                (rows or columns).width.token,
                f"a block of {tile.height} x {tile.columns} elements is {vectors} vectors of "
                f"sums; {MOST_VECTORS_OF_SUMS} are the most",
            )
        return tile

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

    def _rest(self, lanes: int) -> int:
        """The columns of narrower blocks, whole vectors, too; 0 if the plan has none."""
        rest, columns = self.blocks.rest, self.blocks.columns.width.value
        if rest and (rest.value % lanes or rest.value >= columns):
            raise PlanFailure(
                rest.token,
                f"{rest.value} columns are no narrower blocks of whole vectors of {lanes}",
                f"they have a multiple of {lanes} columns, less than {columns}",
            )
        return rest.value if rest else 0

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
        alone = tile_without_sums(self.of.op, {})
        if alone and _axes(alone) == _axes(tile) and not self.blocks.sums:
            return replace(alone, group=self._group(tile))
        if alone and not sums:
            raise PlanFailure(
                self.blocks.columns.index,
                f"{self.of.label} cannot be computed in these blocks",
                f"its elements share what they need in {blocks_text(self.of.op, alone)}",
            )
        if not sums:
            raise PlanFailure(
                self.blocks.columns.index,
                f"no sum of {self.of.label} can run in these blocks",
                "its terms must be the same along the rows, and read along the columns",
            )
        tile = replace(tile, group=self._group(tile), along=self._along(tile))
        panels: dict[tix.ReductionOp, tuple[Hoisted, ...]] = {}
        chunks: dict[tix.ReductionOp, tuple[SSAValue, int]] = {}
        for line in self.blocks.sums:
            planned_sum = PlannedSum(self.of.op, self.of.text, line, tile, uses)
            op = planned_sum.among(sums)
            if op in panels or op in chunks:
                raise PlanFailure(line.number.token, "this sum has a line already")
            if line.chunk:
                chunks[op] = planned_sum.chunk(line.chunk, op)
            if line.panels:
                panels[op] = planned_sum.panels(op)
        waiting = tile.shared_blocks * tile.rows * tile.columns
        if chunks and waiting > MOST_ELEMENTS:
            raise PlanFailure(
                (self.blocks.group or self.blocks.columns.width).token,
                f"{waiting} sums would wait in memory between chunks",
                f"{MOST_ELEMENTS} are the most: make groups of fewer blocks",
            )
        shared = [h.value for found in panels.values() for h in found]
        for axis, (index, _) in zip(self.blocks.along, tile.along, strict=True):
            if not is_same_along(index, [*chunks, *panels], shared, uses):
                raise PlanFailure(
                    axis.index,
                    f"what blocks share differs along {axis.index.text}",
                    "panels, and the bounds of sums with panels or chunks, are the same for all "
                    "values",
                )
        return replace(tile, panels=panels, chunks=chunks)

    def _along(self, tile: Tile) -> tuple[tuple[SSAValue, int], ...]:
        """The other indices for whose values a group is computed."""
        found: dict[SSAValue, int] = {}
        for axis in self.blocks.along:
            index = self.of.index(axis.index)
            if index in (tile.row_index, tile.column_index, *found):
                raise PlanFailure(axis.index, "groups are for values of an index of their own")
            found[index] = axis.width.value
        return tuple(found.items())

    def _group(self, tile: Tile) -> int:
        group = self.blocks.group
        if group is None:
            return 1
        if tile.row_index is None:
            raise PlanFailure(group.token, "blocks without rows are in no groups")
        return group.value


def _axes(tile: Tile) -> tuple[object, ...]:
    return tile.row_index, tile.rows, tile.column_index, tile.columns
