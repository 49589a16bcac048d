"""The inside of a tile: one block of rows x columns, from accumulators to finished elements.

    %acc = memref.alloca() : memref<PQ x T>            zeroed
    scf.for %k ... {
      what depends on the first row alone is computed here
      scf.for %q = 0 to Q { acc[q] += body }
      the same for the second row
      scf.for %q = 0 to Q { acc[Q + q] += body }
    }
    scf.for %q = 0 to Q { y[i0, j0 + q] = f(acc[q]) }
    ...

Rows are written out, so that nothing but the loops over columns, whose bounds are numbers, offers
itself for vectors; `acc` becomes registers. A long sum inside a sum has accumulators of its own.
What was computed ahead of a place (sums, panels) is *available* there: it is loaded instead.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass, field, replace

from xdsl.dialects import arith
from xdsl.ir import Operation, SSAValue

from dialects import tix
from passes.rewriting.cloner import free_values
from passes.scheduling.body_lowering import BodyLowering
from passes.scheduling.elementary import CONTRACT
from passes.scheduling.emit import buffer, difference, load, loop, repeat, store, zeroed
from passes.scheduling.index_uses import IndexUses
from passes.scheduling.segments import Segments
from passes.scheduling.tile import Hoisted, Tile
from passes.scheduling.tile_analysis import constant_range, hoisted_values, tileable_sums
from passes.scheduling.tile_totals import Totals

Load = Callable[[BodyLowering, SSAValue, SSAValue], SSAValue]
"""Loads a value that was computed before, for a row and a column of the block."""
Use = Callable[[BodyLowering, SSAValue, SSAValue, SSAValue], None]
"""Takes the value of a row and a column: lowering, value, row, column."""


@dataclass(frozen=True)
class Chunk:
    """The part [low, high) of the range of a sum's index, at most `length` long."""

    index: SSAValue
    low: SSAValue
    high: SSAValue
    length: int

    def inside(self, op: tix.SumOp) -> list[SSAValue]:
        """The index with those inside it."""
        return op.indices[op.indices.index(self.index) :]


def bounds(
    at: BodyLowering, op: tix.SumOp, indices: Sequence[SSAValue]
) -> tuple[SSAValue, SSAValue]:
    """The bounds of the first of `indices`, which are the last ones of the sum."""
    provide_bounds(at, op)
    return at.bounds(op, indices)


def provide_bounds(at: BodyLowering, op: tix.SumOp) -> None:
    """Emit what the bounds of a sum depend on."""
    for outer in missing(at, op.free_indices, ())[0]:
        at.operation(outer)


def missing(
    at: BodyLowering, roots: Iterable[SSAValue], available: Container[SSAValue]
) -> tuple[list[Operation], list[SSAValue]]:
    """Operations to emit, in order, and values to load, which `roots` need and `at` lacks.

    The operations may stand in the bodies around, which are emitted later than the sums in them.
    """
    ops: dict[Operation, None] = {}
    loaded: dict[SSAValue, None] = {}

    def visit(value: SSAValue) -> None:
        owner = value.owner
        if value in at.scalars or value in at.index.values or not isinstance(owner, Operation):
            return
        if value in available:
            loaded[value] = None
        elif owner not in ops and not isinstance(owner, tix.DefineOp):
            for v in (*owner.operands, *free_values(owner)):
                visit(v)
            ops[owner] = None

    for root in roots:
        visit(root)
    return list(ops), list(loaded)


@dataclass
class TileBody:
    """Emits a block by its first row and column; `available` loads what was computed ahead.

    Without a first row it emits what all blocks of a strip share.
    """

    tile: Tile
    uses: IndexUses
    first_row: SSAValue | None
    first_column: SSAValue
    available: dict[SSAValue, Load] = field(default_factory=dict[SSAValue, "Load"])

    def rows_of(self, value: SSAValue) -> int:
        """The number of rows in which a value differs."""
        return self.tile.rows if self.tile.row_index in self.uses.of(value) else 1

    def size_of(self, value: SSAValue) -> int:
        """The number of elements of a block in which a value differs."""
        return self.rows_of(value) * self.tile.columns

    def position(self, at: BodyLowering, rows: int, row: SSAValue, column: SSAValue) -> SSAValue:
        """The place of an element in a buffer for a block of `rows` rows."""
        if rows == 1:
            return column
        return at.index.add(at.index.mul(row, at.index.constant(self.tile.columns)), column)

    # --- one value for every row and column ---

    def elements(self, at: BodyLowering, root: SSAValue, rows: int, use: Use) -> None:
        """Emit the value `root` for each of the rows and all columns, and use it.

        An operation stands in the outermost of the loops in which its operands are known.
        """
        ops, loaded = missing(at, [root], self.available)
        around, per_row, per_element = self._levels(ops)
        for op in around:
            at.operation(op)

        def each_row(inner: BodyLowering, row: SSAValue) -> None:
            if self.tile.row_index is not None and self.first_row is not None:
                inner.index.values[self.tile.row_index] = inner.index.add(self.first_row, row)
            for op in per_row:
                inner.operation(op)

            def each_column(innermost: BodyLowering, column: SSAValue) -> None:
                here = innermost.index.add(self.first_column, column)
                innermost.index.values[self.tile.column_index] = here
                for v in loaded:
                    innermost.scalars[v] = self.available[v](innermost, row, column)
                for op in per_element:
                    innermost.operation(op)
                use(innermost, innermost.scalars[root], row, column)

            repeat(inner, self.tile.columns, "q", each_column)

        for n in range(rows):
            each_row(at.inside(at.index.block), at.index.constant(n))

    def _levels(
        self, ops: Iterable[Operation]
    ) -> tuple[list[Operation], list[Operation], list[Operation]]:
        """Operations that are the same for the block, that vary by row, and that vary by column."""
        levels: tuple[list[Operation], list[Operation], list[Operation]] = ([], [], [])
        for op in ops:
            found = self.uses.of(op.results[0])
            by_column, by_row = self.tile.column_index in found, self.tile.row_index in found
            levels[2 if by_column else 1 if by_row else 0].append(op)
        return levels

    def finish(self, at: BodyLowering, op: tix.DefineOp, use: Use) -> None:
        """Emit every element from its sums, which are available."""
        self.elements(at, tix.yielded(op.body), self.tile.rows, use)

    # --- sums ---

    def accumulators(self, at: BodyLowering, op: tix.SumOp) -> SSAValue:
        """Zeros for the sums of one block, which are available from now on."""
        acc = zeroed(at, self.size_of(op.result), "acc")
        self.provide(op.result, acc)
        return acc

    def provide(self, value: SSAValue, source: SSAValue) -> None:
        """Let a value be loaded from a buffer from now on."""
        rows = self.rows_of(value)
        self.available[value] = lambda at, row, column: load(
            at, source, self.position(at, rows, row, column)
        )

    def add_sum(self, at: BodyLowering, op: tix.SumOp, acc: SSAValue) -> None:
        """Add all terms of a sum to its accumulators."""
        self.hoist_from_terms(at, op)
        provide_bounds(at, op)
        segments = Segments.of(at, op, op.indices)
        if segments is None:
            return self.add_terms(at, op, op.indices, acc)
        size = self.size_of(op.result)
        totals = Totals.begin(at, segments, acc, at.index.constant(size), size, in_registers=True)

        def fill(inner: BodyLowering, own: Sequence[SSAValue]) -> None:
            self.add_terms(inner, op, own, acc)
            totals.take(inner)

        segments.each(at, fill)
        totals.end(at)

    def add_terms(
        self,
        at: BodyLowering,
        op: tix.SumOp,
        indices: Sequence[SSAValue],
        acc: SSAValue,
        chunk: Chunk | None = None,
    ) -> None:
        """The loops of some indices of a sum, the first one over a chunk, with the block inside."""
        if not indices:
            return self._add_term(at, op, acc)
        index, *rest = indices

        def fill(inner: BodyLowering, k: SSAValue) -> None:
            inner.index.values[index] = k
            self.add_terms(inner, op, rest, acc)

        low, high = (chunk.low, chunk.high) if chunk else bounds(at, op, indices)
        loop(at, low, high, index.name_hint, fill)

    def _add_term(self, at: BodyLowering, op: tix.SumOp, acc: SSAValue) -> None:
        """`acc[row * columns + column] += body`, for one term."""
        body = replace(self, available=dict(self.available))
        for inner in tileable_sums(op.body, self.tile, self.uses):
            body.add_sum(at, inner, body.accumulators(at, inner))
        hoisted = hoisted_values(op, self.tile, self.uses)
        for value in (*hoisted.per_term, *(h.value for h in hoisted.panels)):
            if value not in body.available:  # as the elements of a panel are, where there is one
                body.hoist(at, value, "term")
        rows = self.rows_of(op.result)

        def add(at: BodyLowering, value: SSAValue, row: SSAValue, column: SSAValue) -> None:
            position = self.position(at, rows, row, column)
            total = arith.AddfOp(load(at, acc, position), value, CONTRACT)
            store(at, at.insert(total).result, acc, position)

        body.elements(at, tix.yielded(op.body), rows, add)

    # --- what is computed ahead ---

    def hoist_from_terms(self, at: BodyLowering, op: tix.SumOp) -> None:
        """Compute ahead what is the same for all terms of a sum."""
        for value in hoisted_values(op, self.tile, self.uses).per_block:
            self.hoist(at, value, "block")

    def hoist(self, at: BodyLowering, value: SSAValue, hint: str) -> None:
        """Compute a value of a sum's body for all rows and columns: it is available from now on."""
        rows = self.rows_of(value)
        target = buffer(at, self.size_of(value), hint)

        def use(at: BodyLowering, value: SSAValue, row: SSAValue, column: SSAValue) -> None:
            store(at, value, target, self.position(at, rows, row, column))

        self.elements(at, value, rows, use)
        self.provide(value, target)

    def fill_panel(
        self, at: BodyLowering, op: tix.SumOp, hoisted: Hoisted, chunk: Chunk | None
    ) -> None:
        """Fill a panel with a value for all terms, or those of a chunk: available from now on."""
        indices = _panel_indices(op, hoisted, chunk)
        target = buffer(at, _panel_size(op, indices, chunk) * self.tile.columns, "panel")

        def position(at: BodyLowering, column: SSAValue) -> SSAValue:
            term = at.index.constant(0)
            for v in indices:
                low, length = _panel_range(at, op, v, chunk)
                here = difference(at, at.index.values[v], low)
                term = at.index.add(at.index.mul(term, at.index.constant(length)), here)
            return at.index.add(at.index.mul(term, at.index.constant(self.tile.columns)), column)

        def put(at: BodyLowering, value: SSAValue, _: SSAValue, column: SSAValue) -> None:
            store(at, value, target, position(at, column))

        def fill(at: BodyLowering, rest: Sequence[SSAValue]) -> None:
            if not rest:
                return self.elements(at, hoisted.value, 1, put)
            low, high = _panel_bounds(at, op, rest[0], chunk)

            def one(inner: BodyLowering, k: SSAValue) -> None:
                inner.index.values[rest[0]] = k
                fill(inner, rest[1:])

            loop(at, low, high, rest[0].name_hint, one)

        fill(at, indices)
        self.available[hoisted.value] = lambda at, _, column: load(at, target, position(at, column))


def _panel_indices(op: tix.SumOp, hoisted: Hoisted, chunk: Chunk | None) -> list[SSAValue]:
    """The indices of a sum along which a panel holds a value."""
    return [v for v in hoisted.indices if chunk is None or v in chunk.inside(op)]


def _panel_size(op: tix.SumOp, indices: Iterable[SSAValue], chunk: Chunk | None) -> int:
    """The number of terms in a panel."""
    size = 1
    for v in indices:
        found = constant_range(op, v)
        size *= chunk.length if chunk and v is chunk.index else found[1] if found else 0
    return size


def _panel_range(
    at: BodyLowering, op: tix.SumOp, v: SSAValue, chunk: Chunk | None
) -> tuple[SSAValue, int]:
    """The first value of an index of a panel, and the number of values that there is room for."""
    if chunk is not None and v is chunk.index:
        return chunk.low, chunk.length
    found = constant_range(op, v)
    assert found is not None
    return at.index.constant(found[0]), found[1]


def _panel_bounds(
    at: BodyLowering, op: tix.SumOp, v: SSAValue, chunk: Chunk | None
) -> tuple[SSAValue, SSAValue]:
    """The bounds of an index of a panel."""
    if chunk is not None and v is chunk.index:
        return chunk.low, chunk.high
    low, length = constant_range(op, v) or (0, 0)
    return at.index.constant(low), at.index.constant(low + length)
