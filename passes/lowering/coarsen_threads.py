"""`coarsen-threads`: a thread of a GPU computes several elements of a result.

    loops.parallel (%i, %j) to (%I, %J) {          loops.parallel (%q, %p, %l) to (...) {
      for %k { s += x[%i, %k] * w[%k, %j] }    =>    for %k { s += x[8*p, k] * w[k, 128*q + l]
      store s, y[%i, %j]                                      t += x[8*p + 1, k] * ... }
    }                                                store s, y[8*p, 128*q + l]
                                                     store t, y[8*p + 1, 128*q + l], ...
                                                   }

What copies have in common, here the reads, they have once
(`passes/lowering/gpu_threads/copies.py`); how many there are follows from a model of the time
(`passes/lowering/gpu_threads/thread_costs.py`).
Copies of an index follow each other. Those of the last one are a warp apart, as the threads of a
warp read what lies side by side: i = (c m + r) by m copies, j = 32 (c n + r) + lane by n. Tiles of
the last index come before the index before it, so that a block of threads computes a rectangle.

An index beyond its size is the last one instead, and its element is not stored: nothing is read
outside, no element is written twice. Elements have the same sums in the same order, so their bits
stay. On entry and on exit programs are scheduled, without tiles for processors.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith, func, memref
from xdsl.dialects.builtin import IndexType, ModuleOp
from xdsl.ir import SSAValue

from tadc.dialects.loops import ParallelOp
from tadc.dialects.loops.functions import names_in
from tadc.dialects.quick import append
from tadc.dialects.tix import Affine
from tadc.passes.analysis.index_ranges import Range, Ranges
from tadc.passes.lowering import operations
from tadc.passes.lowering.gpu_threads.copies import Copier, Dependences
from tadc.passes.lowering.gpu_threads.thread_costs import Tile, best_tile
from tadc.passes.lowering.parallel import parallel
from tadc.passes.lowering.scalars.index_lowering import IndexLowering
from tadc.passes.rewriting.program_pass import ContractPass
from tadc.passes.rewriting.written_sizes import parse_sizes


@dataclass(frozen=True)
class CoarsenThreadsPass(ContractPass):
    """`coarsen-threads{sizes="I=512"}`: made best for these sizes, right for all."""

    name = "coarsen-threads"
    sizes: tuple[str, ...] = ()

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        sizes = parse_sizes(self.sizes)
        for function in op.ops:
            if isinstance(function, func.FuncOp):
                coarsen(function, sizes)


def coarsen(function: func.FuncOp, sizes: Mapping[str, int]) -> None:
    """Let each thread of a function compute as many elements as pays for these sizes."""
    block = function.body.block
    (loop,) = (op for op in block.ops if isinstance(op, ParallelOp))
    numbers = _numbers(function, sizes)
    extents = [Ranges(numbers).of(size) for size in loop.sizes]
    if not extents or any(low < high or high < 1 for low, high in extents) or _reads_own(function):
        return
    tile = best_tile(loop.body.block, [n for n, _ in extents], numbers)
    if max(tile.copies) == 1:
        return
    end = function.body.block.last_op
    assert end is not None
    loop.detach()
    end.detach()
    index = IndexLowering(block, function.location)
    append(block, _Tiles(loop, tile, index).made())
    append(block, end)
    loop.erase()


def _reads_own(function: func.FuncOp) -> bool:
    """True if a function loads from a buffer that it stores into."""
    ops = list(function.body.walk())
    written = {op.memref for op in ops if isinstance(op, memref.StoreOp)}
    return any(isinstance(op, memref.LoadOp) and op.memref in written for op in ops)


def _numbers(function: func.FuncOp, sizes: Mapping[str, int]) -> dict[SSAValue, Range]:
    """The sizes of a function, as far as they are known."""
    arguments = [a for a in function.body.block.args if isinstance(a.type, IndexType)]
    named = zip(arguments, names_in(function, "sizes"), strict=True)
    return {a: (sizes[name], sizes[name]) for a, name in named if name in sizes}


class _Tiles:
    """Rewrites a parallel loop over elements into one over tiles of elements."""

    def __init__(self, loop: ParallelOp, tile: Tile, index: IndexLowering):
        """`loop` is detached from its block, to which `index` appends."""
        self.loop, self.tile, self.index = loop, tile, index
        self.sizes = [_form(size) for size in loop.sizes]
        index.values.update((size, size) for size in loop.sizes)
        self.elements = loop.body.block

    def made(self) -> ParallelOp:
        """Build the parallel loop over tiles."""
        order = list(range(len(self.tile.copies)))
        if self.tile.lanes > 1 and len(order) > 1:  # a block of threads computes a rectangle
            order[-2], order[-1] = order[-1], order[-2]
        counts = [self._count(n) for n in order]
        if self.tile.lanes > 1:
            counts.append(self.index.constant(self.tile.lanes))
        hints: list[SSAValue | str] = [self.elements.args[n] for n in order]
        if self.tile.lanes > 1:
            hints.append("lane")

        def fill(inner: IndexLowering, places: Sequence[SSAValue]) -> None:
            self._fill(inner, dict(zip(order, places, strict=False)), places[-1])

        return parallel(self.index, counts, hints, fill)

    def _count(self, n: int) -> SSAValue:
        """The number of tiles along an index."""
        size, step = self.sizes[n], self.tile.steps[n]
        if not size.terms:
            return self.index.constant(-(-size.constant // step))
        return self.index.floordiv(size + (step - 1), step)

    def _fill(self, inner: IndexLowering, tiles: Mapping[int, SSAValue], lane: SSAValue) -> None:
        """Append the code of all elements of a tile."""
        indices, inside = self.elements.args, dict[tuple[int, int], SSAValue]()
        copied = [n for n, count in enumerate(self.tile.copies) if count > 1]
        dependences = Dependences(self.elements, [indices[n] for n in copied])
        counts = [self.tile.copies[n] for n in copied]
        copier = Copier(dependences, counts, inside)
        inner.values.update((v, v) for v in (*tiles.values(), lane))
        start = (0,) * len(copied)
        for n, tile in tiles.items():
            if n not in copied:
                copier.define(indices[n], start, tile)
        for number, n in enumerate(copied):
            for r in range(counts[number]):
                at = (*start[:number], r, *start[number + 1 :])
                place = inner.form(self._place(n, tiles[n], r, lane))
                if not self._is_inside(n, r):
                    inside[number, r], place = self._clamped(inner, n, place)
                copier.define(indices[n], at, place)
        copier.copy(self.elements, inner.block, start)

    def _clamped(self, inner: IndexLowering, n: int, place: SSAValue) -> tuple[SSAValue, SSAValue]:
        """A test that a place is in bounds, and the place clamped to the last one."""
        test = inner.insert(arith.CmpiOp(place, self.loop.sizes[n], "slt"))
        last = inner.form(self.sizes[n] - 1)
        return test.result, inner.insert(operations.binary(arith.MinSIOp, place, last)).result

    def _place(self, n: int, tile: SSAValue, r: int, lane: SSAValue) -> Affine:
        """The value of the r-th copy of an index in a tile."""
        first = Affine.of(tile) * self.tile.steps[n]
        is_last = n == len(self.tile.copies) - 1
        return first + Affine.of(lane) + r * self.tile.lanes if is_last else first + r

    def _is_inside(self, n: int, r: int) -> bool:
        """True if a copy of an index is always in bounds."""
        size, is_last = self.sizes[n], n == len(self.tile.copies) - 1
        is_first = r == 0 and not is_last
        return is_first or (not size.terms and size.constant % self.tile.steps[n] == 0)


def _form(size: SSAValue) -> Affine:
    """A size as a number where it is one."""
    low, high = Ranges().of(size)
    return Affine.of(size) if low < high else Affine(constant=low)
