"""The number of elements that one thread computes: copies of each index of a result.

With copies of i and j, `y[i, j] = sum[k](x[i, k] * w[k, j])` reads both factors once for several
products. The time of all threads is modelled as

    time of all threads = max(threads, needed) x (cycles of one thread)

in cycles of one of the four parts of a multiprocessor: it multiplies and adds one number for each
thread of a warp in a cycle, while the reads of all four go through one unit, a warp in a cycle.
An operation counts as often as loops execute it, times its copies: those of the indices on which
it depends. Fewer threads than hide the latency of memory take as long as these do.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

from xdsl.dialects import arith, math, memref, scf
from xdsl.dialects.builtin import IndexType, f64
from xdsl.ir import Block, Operation, SSAValue

from tadc.dialects.loops import LibmOp
from tadc.dialects.quick import ops_in
from tadc.passes.analysis.index_ranges import Range, Ranges
from tadc.passes.lowering.gpu_threads.copies import Dependence, Dependences

WARP = 32
"""Threads that read memory together."""

COPIES = (1, 2, 4, 8)
"""The numbers of copies that an index can have."""

MOST_COPIES = 32
"""The largest number of elements of a thread."""

MOST_REGISTERS = 96
"""The largest number of 32-bit values that a thread holds: totals, and the reads of one term.

A thread has at most 255 registers, and 128 if a multiprocessor is to have two blocks of 256
threads.
"""

MOST_OPERATIONS = 1500
"""The largest number of operations of a kernel: compile time grows with it."""

NEEDED_THREADS = 160_000
"""Threads that hide the latency of memory: three fifths of what an H100 holds. With fewer, for the
sake of fewer reads, kernels took longer (docs/decisions/0109-several-elements-by-a-thread.md)."""

LOAD, DIVISION, FUNCTION = 4.0, 8.0, 16.0
"""Cycles of a read, of a division or a root, and of a function such as an exponential."""


@dataclass(frozen=True)
class Tile:
    """The elements of a thread: copies of each index, those of the last one a warp apart."""

    copies: tuple[int, ...]

    @property
    def lanes(self) -> int:
        """The threads with consecutive values of the last index; 1 where it has no copies."""
        return WARP if self.copies[-1] > 1 else 1

    @property
    def steps(self) -> tuple[int, ...]:
        """The distance of neighbouring tiles along each index."""
        return (*self.copies[:-1], self.copies[-1] * self.lanes)


@dataclass(frozen=True)
class _Work:
    """The work for one element, each part by the set of indices on which it depends."""

    cycles: Mapping[Dependence, float]
    registers: Mapping[Dependence, int]
    operations: Mapping[Dependence, int]


def best_tile(block: Block, extents: Sequence[int], known: Mapping[SSAValue, Range]) -> Tile:
    """The tile of a parallel loop with this body and these extents; sizes are `known`."""
    one = Tile((1,) * len(extents))
    work = _work(block, Ranges(known))
    if all(len(d) == len(extents) for d, cycles in work.cycles.items() if cycles):
        return one
    candidates = [one, *(t for t in _tiles(len(extents)) if _is_possible(t, work))]

    def rank(tile: Tile) -> tuple[float, int, int]:
        # of equals the one with more copies of what a warp reads as one number
        return _time(tile, work, extents), prod(tile.copies), tile.copies[-1]

    return min(candidates, key=rank)


def _tiles(rank: int) -> Iterator[Tile]:
    for copies in product(COPIES, repeat=min(rank, 4)):
        if prod(copies) <= MOST_COPIES:
            yield Tile((1,) * (rank - len(copies)) + copies)


def _is_possible(tile: Tile, work: _Work) -> bool:
    registers = _total(work.registers, tile)
    return registers <= MOST_REGISTERS and _total(work.operations, tile) <= MOST_OPERATIONS


def _time(tile: Tile, work: _Work, extents: Sequence[int]) -> float:
    tiles = [-(-n // step) for n, step in zip(extents, tile.steps, strict=True)]
    threads = prod(tiles) * tile.lanes
    return max(threads, NEEDED_THREADS) * _total(work.cycles, tile)


def _total(amounts: Mapping[Dependence, float], tile: Tile) -> float:
    """The sum of amounts, each multiplied by the copies of the indices on which it depends."""
    return sum(n * prod(tile.copies[i] for i in d) for d, n in amounts.items())


def _work(block: Block, ranges: Ranges) -> _Work:
    dependences = Dependences(block, block.args)
    cycles = defaultdict[Dependence, float](float)
    registers: Counter[Dependence] = Counter()
    operations: Counter[Dependence] = Counter()
    for op, times in _operations(block, ranges, 1):
        around = dependences.around[op]
        operations[around] += 1
        cycles[around] += times * _cycles(op)
        if isinstance(op, memref.LoadOp):
            registers[around] += _registers(op.results[0])
        if isinstance(op, scf.ForOp):
            for v in op.results:
                registers[dependences.of(v)] += _registers(v)
    return _Work(cycles, registers, operations)


def _operations(block: Block, ranges: Ranges, times: int) -> Iterator[tuple[Operation, int]]:
    """All operations in a block, and how often each is executed."""
    for op in ops_in(block):
        yield op, times
        inner = times
        if isinstance(op, scf.ForOp):
            inner *= max(1, ranges.of(op.ub)[1] - ranges.of(op.lb)[0])
        for region in op.regions:
            for inside in region.blocks:
                yield from _operations(inside, ranges, inner)


def _registers(value: SSAValue) -> int:
    return 2 if value.type == f64 else 1


def _cycles(op: Operation) -> float:
    """The cost of an operation; arithmetic of indices is mostly moved out of loops."""
    if isinstance(op, memref.LoadOp | memref.StoreOp):
        return LOAD
    if isinstance(op, arith.DivfOp | math.SqrtOp):
        return DIVISION
    if isinstance(op, LibmOp) or op.name.startswith("math."):
        return FUNCTION
    is_index = not op.results or isinstance(op.results[0].type, IndexType)
    return 0.0 if is_index or isinstance(op, arith.ConstantOp | scf.ForOp | scf.IfOp) else 1.0
