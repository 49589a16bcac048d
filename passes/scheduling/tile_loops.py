"""Emits a definition in register blocks: the loops that `passes/scheduling/tile_choice.py` chose.

    loops.parallel (%u) to (%units) {           one strip of columns, some blocks of rows
      %panel = memref.alloca() : memref<...>      filled: panel[k * Q + q] = w[j0 + q, k]
      scf.for %block ... {
        %acc = memref.alloca() : memref<PQ x T>   zeroed
        scf.for %k ... {
          scf.for %p = 0 to P { scf.for %q = 0 to Q { acc[p * Q + q] += x[i0 + p, k] * panel } }
        }
        scf.for %p ... { scf.for %q ... { y[i0 + p, j0 + q] = f(acc[p * Q + q]) } }
      }
    }

The bounds of the loops over p and q are numbers: a compiler unrolls them, keeps `acc` in registers
and puts neighbours along q into vectors. Sums longer than a panel are cut into chunks, and `acc` of
all blocks of the iteration then waits in memory while the next chunk is copied.

Where the columns are no multiple of Q, the last block of an iteration starts earlier, so that it
ends with the last column; the same holds for rows. The elements it shares with the block before
are computed twice, by the same iteration, from the same operations: they get the same bits. Sizes
that do not hold one block are computed element by element.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IndexType
from xdsl.ir import Block, Region, SSAValue

from dialects import tix
from dialects.loops import ParallelOp
from passes.scheduling.body_lowering import BodyLowering
from passes.scheduling.tile_analysis import (
    Dependence,
    Tile,
    constant_extent,
    constant_range,
    tileable_sums,
)
from passes.scheduling.tile_body import (
    Cut,
    Fill,
    TileBody,
    bounds,
    buffer,
    load,
    loop,
    store,
    zeroed,
)

Store = Callable[[BodyLowering, SSAValue], None]
"""Stores the value of the element whose indices the lowering knows."""
Emit = Callable[[BodyLowering, "Span", "Span | None"], None]
"""Emits the elements of some columns and rows."""


def _split(at: BodyLowering, n: SSAValue, size: SSAValue) -> tuple[SSAValue, SSAValue]:
    """Quotient and remainder."""
    quotient = at.insert(arith.FloorDivSIOp(n, size)).result
    return quotient, at.insert(arith.SubiOp(n, at.index.mul(quotient, size))).result


def _at_least_one(at: BodyLowering, n: SSAValue) -> SSAValue:
    return at.insert(arith.MaxSIOp(n, at.index.constant(1))).result


@dataclass(frozen=True)
class Span:
    """The blocks of one axis that an iteration computes, of all blocks from 0 to `size`."""

    first: SSAValue
    blocks: SSAValue | None
    """How many; None: one."""
    end: SSAValue
    size: SSAValue
    width: int
    exact: bool
    """No block would reach beyond the end."""

    def start(self, at: BodyLowering, block: SSAValue) -> SSAValue:
        """The first index of a block, which ends with the last index at the latest."""
        start = at.index.add(self.first, at.index.mul(block, at.index.constant(self.width)))
        if self.exact:
            return start
        last = at.insert(arith.SubiOp(self.size, at.index.constant(self.width))).result
        return at.insert(arith.MinSIOp(start, last)).result


def tiled(outer: BodyLowering, op: tix.DefineOp, tiles: list[Tile], emit: Store) -> ParallelOp:
    """The nest of a definition; `outer` is the lowering of the function's block.

    The first of the tiles for which the sizes have room is taken; if there is none, the elements
    are computed one by one.
    """
    nests = [TiledLoops(op, tile, emit) for tile in tiles]
    units = [nest.units(outer) for nest in nests]
    whole = [nest.is_whole(outer) for nest in nests]
    total = units[0]
    for test, number in reversed(list(zip(whole, units, strict=True))):
        total = number if test is None else _select(outer, test, number, total)
    block = Block(arg_types=[IndexType()])
    block.args[0].name_hint = "unit"

    def fill(at: BodyLowering, n: int) -> None:
        if n == len(nests):
            return nests[0].unit(at, block.args[0], nests[0].elements)
        test = whole[n]
        if test is None:
            return nests[n].unit(at, block.args[0], nests[n].tiles)
        _either(
            at,
            test,
            lambda inner: nests[n].unit(inner, block.args[0], nests[n].tiles),
            lambda inner: fill(inner, n + 1),
        )

    fill(outer.inside(block), 0)
    return ParallelOp([total], Region(block))


def _select(at: BodyLowering, test: SSAValue, a: SSAValue, b: SSAValue) -> SSAValue:
    return a if a is b else at.insert(arith.SelectOp(test, a, b)).result


def _and(at: BodyLowering, a: SSAValue, b: SSAValue) -> SSAValue:
    return at.insert(arith.AndIOp(a, b)).result


def _either(
    at: BodyLowering,
    test: SSAValue,
    then: Callable[[BodyLowering], None],
    otherwise: Callable[[BodyLowering], None],
) -> None:
    """`scf.if` without results."""
    blocks = Block(), Block()
    for block, fill in zip(blocks, (then, otherwise), strict=True):
        fill(at.inside(block))
        block.add_op(scf.YieldOp())
    at.insert(scf.IfOp(test, [], Region(blocks[0]), Region(blocks[1])))


class TiledLoops:
    """Emits one definition as tiles; `store` emits the store of an element."""

    def __init__(self, op: tix.DefineOp, tile: Tile, store: Store):
        self.op = op
        self.tile = tile
        self.store = store
        self.deps = Dependence()
        self.sums = tileable_sums(op.body, tile, self.deps)
        self.shape = dict(zip(op.indices, op.type.shape, strict=True))

    # --- the loops around a block ---

    def units(self, at: BodyLowering) -> SSAValue:
        """How many iterations of the parallel loop."""
        self.others = [v for v in self.op.indices if v not in (self.tile.p, self.tile.q)]
        self.extents = [at.index.form(self.shape[v]) for v in self.others]
        self.strips = self._strips(at)
        self.blocks, self.groups = self._groups(at)
        return reduce(at.index.mul, [*self.extents, self.strips, self.groups])

    def unit(self, at: BodyLowering, number: SSAValue, emit: Emit) -> None:
        """One iteration."""
        rest, group = _split(at, number, self.groups)
        rest, strip = _split(at, rest, self.strips)
        for v, extent in reversed(list(zip(self.others, self.extents, strict=True))):
            rest, at.index.values[v] = _split(at, rest, extent)
        emit(at, self._columns(at, strip), self._rows(at, group))

    def _strips(self, at: BodyLowering) -> SSAValue:
        """Strips of columns; the last one may be almost two blocks wide."""
        size, columns = self.shape[self.tile.q], self.tile.columns
        extent = constant_extent(size)
        if extent is not None:
            return at.index.constant(max(1, extent // columns))
        return _at_least_one(at, at.index.floordiv(size, columns))

    def _groups(self, at: BodyLowering) -> tuple[SSAValue, SSAValue]:
        """How many blocks of rows, and how many groups of them."""
        if self.tile.p is None:
            return at.index.constant(1), at.index.constant(1)
        size, rows, group = self.shape[self.tile.p], self.tile.rows, self.tile.group
        extent = constant_extent(size)
        if extent is not None:
            blocks = -(-extent // rows)
            return at.index.constant(blocks), at.index.constant(max(1, -(-blocks // group)))
        blocks = at.index.floordiv(size + (rows - 1), rows)
        raised = at.index.add(blocks, at.index.constant(group - 1))
        groups = at.insert(arith.FloorDivSIOp(raised, at.index.constant(group))).result
        return blocks, _at_least_one(at, groups)

    def _columns(self, at: BodyLowering, strip: SSAValue) -> Span:
        index, width = at.index, self.tile.columns
        size = index.form(self.shape[self.tile.q])
        first = index.mul(strip, index.constant(width))
        extent = constant_extent(self.shape[self.tile.q])
        if extent is not None and extent % width == 0:
            return Span(first, None, index.add(first, index.constant(width)), size, width, True)
        after = index.add(strip, index.constant(1))
        is_last = at.insert(arith.CmpiOp(after, self.strips, "eq")).result
        regular = index.mul(after, index.constant(width))
        end = at.insert(arith.SelectOp(is_last, size, regular)).result
        wide = at.insert(arith.SubiOp(end, first)).result
        raised = index.add(wide, index.constant(width - 1))
        blocks = at.insert(arith.FloorDivSIOp(raised, index.constant(width))).result
        return Span(first, blocks, end, size, width, False)

    def _rows(self, at: BodyLowering, group: SSAValue) -> Span | None:
        """Blocks are spread evenly, so that a group of one block overlaps no other group."""
        if self.tile.p is None:
            return None
        index, width, size = at.index, self.tile.rows, self.shape[self.tile.p]
        low, high = (
            at.insert(arith.FloorDivSIOp(index.mul(g, self.blocks), self.groups)).result
            for g in (group, index.add(group, index.constant(1)))
        )
        number = at.insert(arith.SubiOp(high, low)).result
        rows = index.form(size)
        first = index.mul(low, index.constant(width))
        end = at.insert(arith.MinSIOp(index.mul(high, index.constant(width)), rows)).result
        extent = constant_extent(size)
        exact = extent is not None and extent % width == 0
        return Span(first, number, end, rows, width, exact)

    def is_whole(self, at: BodyLowering) -> SSAValue | None:
        """Is there room for one block? None: as the numbers say."""
        tests: list[SSAValue] = []
        for axis, width in ((self.tile.p, self.tile.rows), (self.tile.q, self.tile.columns)):
            if axis is not None and self.shape[axis].terms:
                size = at.index.form(self.shape[axis])
                test = arith.CmpiOp(size, at.index.constant(width), "sge")
                tests.append(at.insert(test).result)
        if not tests:
            return None
        return reduce(lambda a, b: _and(at, a, b), tests)

    def elements(self, at: BodyLowering, columns: Span, rows: Span | None) -> None:
        """The same elements one by one, where an axis has no room for a block."""

        def element(inner: BodyLowering, q: SSAValue) -> None:
            inner.index.values[self.tile.q] = q
            self.store(inner, inner.region(self.op.body))

        def row(inner: BodyLowering, p: SSAValue) -> None:
            if self.tile.p is not None:
                inner.index.values[self.tile.p] = p
            loop(inner, columns.first, columns.end, self.tile.q.name_hint, element)

        if self.tile.p is None or rows is None:
            row(at, columns.first)
        else:
            loop(at, rows.first, rows.end, self.tile.p.name_hint, row)

    # --- strips: what the blocks of one iteration share ---

    def tiles(self, at: BodyLowering, columns: Span, rows: Span | None) -> None:
        def strip(inner: BodyLowering, block: SSAValue) -> None:
            emit = self._cut if self.tile.chunks else self._whole
            emit(inner, columns.start(inner, block), rows)

        if columns.blocks is None:
            strip(at, at.index.constant(0))
        else:
            loop(at, at.index.constant(0), columns.blocks, "strip", strip)

    def _each_block(self, at: BodyLowering, rows: Span | None, fill: Fill) -> None:
        if rows is None or rows.blocks is None:
            fill(at, at.index.constant(0))
        else:
            loop(at, at.index.constant(0), rows.blocks, "block", fill)

    def _body(
        self, at: BodyLowering, rows: Span | None, block: SSAValue, strip: TileBody
    ) -> TileBody:
        """One block, which knows what its strip knows."""
        p0 = rows.start(at, block) if rows else None
        return TileBody(self.tile, self.deps, p0, strip.q0, dict(strip.given))

    def _finish(self, at: BodyLowering, body: TileBody) -> None:
        body.finish(at, self.op, lambda at, value, _p, _q: self.store(at, value))

    def _panels(self, at: BodyLowering, strip: TileBody, op: tix.SumOp, cut: Cut | None) -> None:
        """Fill the panels of a sum."""
        for saved in self.tile.panels.get(op, ()):
            size = self.tile.columns
            for v in saved.own:
                if cut is None or v in cut.inside(op):
                    found = constant_range(op, v)
                    size *= cut.length if cut and v is cut.index else found[1] if found else 0
            strip.panel(at, op, saved, cut, buffer(at, size, "panel"))

    def _whole(self, at: BodyLowering, q: SSAValue, rows: Span | None) -> None:
        """All panels hold all of their sums: a block is finished before the next one."""
        strip = TileBody(self.tile, self.deps, None, q)
        for op in self.sums:
            self._panels(at, strip, op, None)

        def fill(inner: BodyLowering, block: SSAValue) -> None:
            body = self._body(inner, rows, block, strip)
            for op in self.sums:
                body.add_sum(inner, op, body.accumulators(inner, op))
            self._finish(inner, body)

        self._each_block(at, rows, fill)

    def _cut(self, at: BodyLowering, q: SSAValue, rows: Span | None) -> None:
        """Sums advance by chunks; between these, those of all blocks wait in memory."""
        strip = TileBody(self.tile, self.deps, None, q)
        sizes = {op: strip.rows_of(op.result) * self.tile.columns for op in self.sums}
        waiting = {op: zeroed(at, size * self.tile.group, "sums") for op, size in sizes.items()}
        for op in self.sums:
            self._advance(at, strip, op, op.indices, rows, waiting[op])

        def fill(inner: BodyLowering, block: SSAValue) -> None:
            body = self._body(inner, rows, block, strip)
            for op in self.sums:
                self._resume(inner, body, op, block, waiting[op])
            self._finish(inner, body)

        self._each_block(at, rows, fill)

    def _resume(
        self, at: BodyLowering, body: TileBody, op: tix.SumOp, block: SSAValue, waiting: SSAValue
    ) -> SSAValue:
        """The accumulators of a block, with what its sums have reached."""
        size = body.rows_of(op.result) * self.tile.columns
        acc = buffer(at, size, "acc")
        first = at.index.mul(block, at.index.constant(size))

        def take(inner: BodyLowering, n: SSAValue) -> None:
            store(inner, load(inner, waiting, inner.index.add(first, n)), acc, n)

        loop(at, at.index.constant(0), at.index.constant(size), "n", take)
        body.give(op, acc)
        return acc

    def _suspend(
        self, at: BodyLowering, acc: SSAValue, size: int, block: SSAValue, waiting: SSAValue
    ) -> None:
        first = at.index.mul(block, at.index.constant(size))

        def put(inner: BodyLowering, n: SSAValue) -> None:
            store(inner, load(inner, acc, n), waiting, inner.index.add(first, n))

        loop(at, at.index.constant(0), at.index.constant(size), "n", put)

    def _advance(
        self,
        at: BodyLowering,
        strip: TileBody,
        op: tix.SumOp,
        own: list[SSAValue],
        rows: Span | None,
        waiting: SSAValue,
    ) -> None:
        """The loops of a sum down to the index that is cut, with its chunks inside."""
        if op not in self.tile.chunks:
            self._panels(at, strip, op, None)
            return self._chunk(at, strip, op, own, None, rows, waiting)
        index, length = self.tile.chunks[op]
        low, high = bounds(at, op, own)

        def fill(inner: BodyLowering, k: SSAValue) -> None:
            if own[0] is not index:
                inner.index.values[own[0]] = k
                return self._advance(inner, strip, op, own[1:], rows, waiting)
            after = inner.index.add(k, inner.index.constant(length))
            end = inner.insert(arith.MinSIOp(after, high)).result
            cut = Cut(index, k, end, length)
            self._panels(inner, strip, op, cut)
            self._chunk(inner, strip, op, own, cut, rows, waiting)

        step = length if own[0] is index else 1
        loop(at, low, high, own[0].name_hint if step == 1 else "chunk", fill, step)

    def _chunk(
        self,
        at: BodyLowering,
        strip: TileBody,
        op: tix.SumOp,
        own: list[SSAValue],
        cut: Cut | None,
        rows: Span | None,
        waiting: SSAValue,
    ) -> None:
        """Add the terms of one chunk to the sums of all blocks."""

        def fill(inner: BodyLowering, block: SSAValue) -> None:
            body = self._body(inner, rows, block, strip)
            acc = self._resume(inner, body, op, block, waiting)
            body.save_block(inner, op)
            body.add_terms(inner, op, own, acc, cut)
            size = body.rows_of(op.result) * self.tile.columns
            self._suspend(inner, acc, size, block, waiting)

        self._each_block(at, rows, fill)
