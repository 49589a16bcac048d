"""The inside of a tile: one block of rows x columns, from accumulators to finished elements.

    %acc = memref.alloca() : memref<PQ x T>            zeroed
    scf.for %k ... {
      what depends on p = 0 alone is computed here
      scf.for %q = 0 to Q { acc[q] += body }
      the same for p = 1
      scf.for %q = 0 to Q { acc[Q + q] += body }
    }
    scf.for %q = 0 to Q { y[i0, j0 + q] = f(acc[q]) }
    ...

Rows are written out, so that nothing but the loops over q, whose bounds are numbers, offers itself
for vectors; `acc` becomes registers. A long sum inside a sum has accumulators of its own. What was
computed ahead of a place (sums, panels) is *given* there: it is loaded instead.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass, field, replace

from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import IndexType
from xdsl.ir import Block, Operation, Region, SSAValue

from dialects import tix
from passes.rewriting.cloner import free_values
from passes.scheduling.body_lowering import BodyLowering
from passes.scheduling.elementary import CONTRACT
from passes.scheduling.tile_analysis import (
    Dependence,
    Saved,
    Tile,
    constant_range,
    saved_values,
    tileable_sums,
)

Fill = Callable[[BodyLowering, SSAValue], None]
"""Fills the block of a loop: gets its lowering and its index."""
Given = Callable[[BodyLowering, SSAValue, SSAValue], SSAValue]
"""Loads a value that was computed before, for a row and a column of the block."""
Use = Callable[[BodyLowering, SSAValue, SSAValue, SSAValue], None]
"""Takes the value of a row and a column: lowering, value, row, column."""


def loop(
    at: BodyLowering, low: SSAValue, high: SSAValue, hint: str | None, fill: Fill, step: int = 1
) -> None:
    """`scf.for` over [low, high), its block filled by `fill`."""
    block = Block(arg_types=[IndexType()])
    block.args[0].name_hint = hint
    fill(at.inside(block), block.args[0])
    block.add_op(scf.YieldOp())
    at.insert(scf.ForOp(low, high, at.index.constant(step), [], Region(block)))


def count(at: BodyLowering, times: int, hint: str, fill: Fill) -> None:
    """A loop of a known number of iterations; a single one is no loop."""
    zero = at.index.constant(0)
    if times == 1:
        fill(at, zero)
    else:
        loop(at, zero, at.index.constant(times), hint, fill)


def buffer(at: BodyLowering, elements: int, hint: str) -> SSAValue:
    """Elements on the stack."""
    op = at.insert(memref.AllocaOp.get(at.element, shape=[elements]))
    op.memref.name_hint = hint
    return op.memref


def load(at: BodyLowering, source: SSAValue, position: SSAValue) -> SSAValue:
    return at.insert(memref.LoadOp.get(source, [position])).res


def store(at: BodyLowering, value: SSAValue, target: SSAValue, position: SSAValue) -> None:
    at.insert(memref.StoreOp.get(value, target, [position]))


def zeroed(at: BodyLowering, elements: int, hint: str) -> SSAValue:
    """Zeros on the stack."""
    target = buffer(at, elements, hint)
    count(at, elements, "z", lambda inner, z: store(inner, inner.constant(0.0), target, z))
    return target


def needed(
    at: BodyLowering, roots: Iterable[SSAValue], given: Container[SSAValue]
) -> tuple[list[Operation], list[SSAValue]]:
    """What values need that `at` does not know: operations to emit, in order, and given values.

    The operations may stand in the bodies around, which are emitted later than the sums in them.
    """
    ops: dict[Operation, None] = {}
    loaded: dict[SSAValue, None] = {}

    def visit(value: SSAValue) -> None:
        owner = value.owner
        if value in at.scalars or value in at.index.values or not isinstance(owner, Operation):
            return
        if value in given:
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
    """A block whose first row is `p0` and whose first column is `q0`."""

    tile: Tile
    deps: Dependence
    p0: SSAValue | None
    q0: SSAValue
    given: dict[SSAValue, Given] = field(default_factory=dict[SSAValue, "Given"])

    def rows_of(self, value: SSAValue) -> int:
        """How many rows differ."""
        return self.tile.rows if self.tile.p in self.deps.of(value) else 1

    def position(self, at: BodyLowering, rows: int, p: SSAValue, q: SSAValue) -> SSAValue:
        """Of an accumulator."""
        if rows == 1:
            return q
        return at.index.add(at.index.mul(p, at.index.constant(self.tile.columns)), q)

    # --- one value for every row and column ---

    def elements(self, at: BodyLowering, root: SSAValue, rows: int, use: Use) -> None:
        """Emit the value `root` for each of the rows and all columns, and use it.

        An operation stands in the outermost of the loops in which its operands are known.
        """
        ops, given = needed(at, [root], self.given)
        by_level: tuple[list[Operation], list[Operation], list[Operation]] = ([], [], [])
        for op in ops:
            found = self.deps.of(op.results[0])
            by_level[2 if self.tile.q in found else 1 if self.tile.p in found else 0].append(op)
        for op in by_level[0]:
            at.operation(op)

        def row(inner: BodyLowering, p: SSAValue) -> None:
            if self.tile.p is not None and self.p0 is not None:
                inner.index.values[self.tile.p] = inner.index.add(self.p0, p)
            for op in by_level[1]:
                inner.operation(op)

            def column(innermost: BodyLowering, q: SSAValue) -> None:
                innermost.index.values[self.tile.q] = innermost.index.add(self.q0, q)
                for v in given:
                    innermost.scalars[v] = self.given[v](innermost, p, q)
                for op in by_level[2]:
                    innermost.operation(op)
                use(innermost, innermost.scalars[root], p, q)

            count(inner, self.tile.columns, "q", column)

        for n in range(rows):
            row(at.inside(at.index.block), at.index.constant(n))

    def finish(self, at: BodyLowering, op: tix.DefineOp, use: Use) -> None:
        """Every element from its sums, which are given."""
        self.elements(at, tix.yielded(op.body), self.tile.rows, use)

    # --- sums ---

    def accumulators(self, at: BodyLowering, op: tix.SumOp) -> SSAValue:
        """Zeros for the sums of one block, which are given from now on."""
        acc = zeroed(at, self.rows_of(op.result) * self.tile.columns, "acc")
        self.give(op, acc)
        return acc

    def give(self, op: tix.SumOp, acc: SSAValue) -> None:
        rows = self.rows_of(op.result)
        self.given[op.result] = lambda at, p, q: load(at, acc, self.position(at, rows, p, q))

    def add_sum(self, at: BodyLowering, op: tix.SumOp, acc: SSAValue) -> None:
        """All terms of a sum, added to its accumulators."""
        self.save_block(at, op)
        self.add_terms(at, op, op.indices, acc)

    def add_terms(
        self,
        at: BodyLowering,
        op: tix.SumOp,
        own: Sequence[SSAValue],
        acc: SSAValue,
        cut: Cut | None = None,
    ) -> None:
        """The loops of the indices `own` of a sum, the first one cut, with the block inside."""
        if not own:
            return self._add_term(at, op, acc)
        index, *rest = own

        def fill(inner: BodyLowering, k: SSAValue) -> None:
            inner.index.values[index] = k
            self.add_terms(inner, op, rest, acc)

        low, high = (cut.low, cut.high) if cut else bounds(at, op, own)
        loop(at, low, high, index.name_hint, fill)

    def _add_term(self, at: BodyLowering, op: tix.SumOp, acc: SSAValue) -> None:
        """`acc[p * Q + q] += body`, for one term."""
        body = replace(self, given=dict(self.given))
        for inner in tileable_sums(op.body, self.tile, self.deps):
            body.add_sum(at, inner, body.accumulators(at, inner))
        for value in saved_values(op, self.tile, self.deps).term:
            if value not in body.given:
                body.save(at, value, "term")
        rows = self.rows_of(op.result)

        def add(at: BodyLowering, value: SSAValue, p: SSAValue, q: SSAValue) -> None:
            position = self.position(at, rows, p, q)
            total = arith.AddfOp(load(at, acc, position), value, CONTRACT)
            store(at, at.insert(total).result, acc, position)

        body.elements(at, tix.yielded(op.body), rows, add)

    # --- what is computed ahead ---

    def save_block(self, at: BodyLowering, op: tix.SumOp) -> None:
        """What is the same for all terms of a sum."""
        for value in saved_values(op, self.tile, self.deps).block:
            self.save(at, value, "block")

    def save(self, at: BodyLowering, value: SSAValue, hint: str) -> None:
        """A value of a sum's body, for all rows and columns: given from now on."""
        rows = self.rows_of(value)
        target = buffer(at, rows * self.tile.columns, hint)

        def use(at: BodyLowering, value: SSAValue, p: SSAValue, q: SSAValue) -> None:
            store(at, value, target, self.position(at, rows, p, q))

        self.elements(at, value, rows, use)
        self.given[value] = lambda at, p, q: load(at, target, self.position(at, rows, p, q))

    def panel(
        self, at: BodyLowering, op: tix.SumOp, saved: Saved, cut: Cut | None, target: SSAValue
    ) -> None:
        """Fill a panel with a value for all terms, or those of a chunk: given from now on."""
        own = [v for v in saved.own if cut is None or v in cut.inside(op)]

        def position(at: BodyLowering, q: SSAValue) -> SSAValue:
            place = at.index.constant(0)
            for v in own:
                low, length = _place(at, op, v, cut)
                here = at.insert(arith.SubiOp(at.index.values[v], low)).result
                place = at.index.add(at.index.mul(place, at.index.constant(length)), here)
            return at.index.add(at.index.mul(place, at.index.constant(self.tile.columns)), q)

        def fill(at: BodyLowering, rest: Sequence[SSAValue]) -> None:
            if not rest:
                self.elements(
                    at,
                    saved.value,
                    1,
                    lambda at, value, _, q: store(at, value, target, position(at, q)),
                )
                return
            low, high = _range(at, op, rest[0], cut)

            def one(inner: BodyLowering, k: SSAValue) -> None:
                inner.index.values[rest[0]] = k
                fill(inner, rest[1:])

            loop(at, low, high, rest[0].name_hint, one)

        fill(at, own)
        self.given[saved.value] = lambda at, _, q: load(at, target, position(at, q))


@dataclass(frozen=True)
class Cut:
    """The chunk [low, high) of the index of a sum, at most `length` long."""

    index: SSAValue
    low: SSAValue
    high: SSAValue
    length: int

    def inside(self, op: tix.SumOp) -> list[SSAValue]:
        """The index with those inside it."""
        return op.indices[op.indices.index(self.index) :]


def bounds(at: BodyLowering, op: tix.SumOp, own: Sequence[SSAValue]) -> tuple[SSAValue, SSAValue]:
    """Of the first of the indices `own`, the last ones of the sum."""
    for outer in needed(at, op.free_indices, ())[0]:
        at.operation(outer)
    index, *rest = own
    around = [c for c in op.constraints if c.form[index] and not any(c.form[v] for v in rest)]
    low, high = at.index.bounds(index, around)
    return low, high


def _place(at: BodyLowering, op: tix.SumOp, v: SSAValue, cut: Cut | None) -> tuple[SSAValue, int]:
    """Where an index of a panel starts, and how many values it has there."""
    if cut is not None and v is cut.index:
        return cut.low, cut.length
    found = constant_range(op, v)
    assert found is not None
    return at.index.constant(found[0]), found[1]


def _range(
    at: BodyLowering, op: tix.SumOp, v: SSAValue, cut: Cut | None
) -> tuple[SSAValue, SSAValue]:
    if cut is not None and v is cut.index:
        return cut.low, cut.high
    low, length = constant_range(op, v) or (0, 0)
    return at.index.constant(low), at.index.constant(low + length)
