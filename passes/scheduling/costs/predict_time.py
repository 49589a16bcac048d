"""The time that a definition takes on one core, predicted from its plan, its sizes and a machine.

    y[i, j] = sum[k](x[i, k] * w[j, k])      blocks of 4 x 64, f32: 16 vectors of sums

    per term of a block    16 multiply-additions, 2 a cycle               8 cycles
                           4 vectors of the panel and 4 splats, 2 a cycle 4 cycles
                           an addition waits 4 cycles for the one before  4 cycles

The largest of these is the time of a term; copying panels comes on top. The whole takes that, or
the time for its bytes if this is longer. It informs, and decides nothing: plans depend on a program
and its sizes alone, not on the machine.

What runs how often comes from `frequencies`, what is shared by rows and columns from the tile. A
multiplication whose product is added costs nothing of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import prod

from xdsl.ir import Operation, SSAValue

from tadc.dialects import tix
from tadc.dialects.tix import elementwise as ew
from tadc.dialects.tix.affine import SizeValues
from tadc.passes.analysis.access import is_slow, stride
from tadc.passes.analysis.costs import CHEAP, FREE
from tadc.passes.scheduling.blocking import Blocking
from tadc.passes.scheduling.costs.frequencies import bytes_of, frequencies, tensor_bytes
from tadc.passes.scheduling.costs.instructions import Instructions
from tadc.passes.scheduling.costs.strided_lines import COST_OF_LINE, cost_of_lines_apart
from tadc.passes.scheduling.tiles.tile import Hoisted, Tile
from tadc.passes.scheduling.tiles.tile_analysis import VECTOR_BYTES, tree_of
from tadc.passes.scheduling.tiles.transposed_reads import square_reads

FUNCTION_SLOTS: Mapping[type[Operation], float] = {
    ew.ExpOp: 20,
    ew.DivOp: 16,
    ew.SignOp: 4,
    ew.SqrtOp: 20,
    ew.LogOp: 24,
    ew.TanhOp: 40,
    ew.SigmoidOp: 40,
}


@dataclass(frozen=True)
class Machine:
    """The speeds of one core. The numbers assumed are those of servers of 2022 with AVX-512."""

    gigahertz: float = 2.4
    """The clock while vectors are in use."""
    arithmetic: float = 2
    """Vectors that are multiplied, or multiplied and added, per cycle."""
    additions: float = 2
    """Vectors that are added per cycle."""
    together: float = 2
    """Vectors of both kinds per cycle, where there are as many of each."""
    loads: float = 2
    """Vectors or numbers that are read from the nearest cache per cycle."""
    latency: float = 4
    """Cycles until a sum can be added to again."""
    functions: Mapping[type[Operation], float] = field(default_factory=lambda: FUNCTION_SLOTS)
    """Elementary functions of a vector, in additions."""
    other_function: float = 40
    """Elementary functions that `functions` does not name, in additions."""
    plain_function: float = 1.8
    """The factor by which functions are slower in plain nests, which LLVM vectorizes."""
    nearest_bytes: int = 32 << 10
    """Bytes that stay in the nearest cache beside others."""
    line: float = 2
    """Cycles for a line of memory that comes from the next cache."""
    cache_bytes: int = 4 << 20
    """Bytes that stay near a core."""
    large_bytes: int = 96 << 20
    """Bytes that no cache keeps from one call to the next."""
    cache_speed: float = 40
    """Gigabytes per second from the caches of a core, and to them."""
    shared_speed: float = 24
    memory_speed: float = 15
    stream_speed: float = 15
    """From memory, and to it past the caches."""
    step: float = 2e-6
    """Seconds to begin a definition."""
    element: float = 0.5
    """Cycles to handle an element that lies apart from its neighbours."""


MACHINE = Machine()


@dataclass(frozen=True)
class Prediction:
    """The work of a definition, and the time it takes."""

    operations: float
    """Additions, multiplications and functions of numbers, as they are written."""
    bytes: int
    """The bytes of all tensors that it reads and writes, each once."""
    seconds: float
    busy: float
    """The seconds without the time to move the bytes of each tensor once."""


def predict(
    op: tix.DefineOp,
    nest: Blocking,
    sizes: Mapping[str, int],
    machine: Machine = MACHINE,
    by_rows: bool = False,
) -> Prediction:
    """The work and the time of a definition in a nest, on one core, for all its sizes.

    What is computed `by_rows` has vectors, as tiles and streams have.
    """
    known = SizeValues(sizes)
    elements = prod(max(0, n.evaluate(known)) for n in op.shape)
    found = frequencies(op, sizes)
    work = sum(n for o, n in found.runs.items() if _is_arithmetic(o))
    moved = bytes_of(op, sizes)
    element = _Cycles(op, nest, sizes, found, machine, by_rows)
    busy = 1e-9 * max(
        element.cycles() * elements * element.computed() / machine.gigahertz,
        element.traffic() * elements / machine.shared_speed,
    )
    # but for streams, a large result is read before it is written
    again = 0 if nest.stream else tensor_bytes(op.type, sizes)
    if nest.stream:
        machine = replace(machine, memory_speed=machine.stream_speed)
    seconds = max(busy, seconds_to_move(moved, again, machine)) + machine.step
    terms = sum(n * len(o.results) for o, n in found.terms.items())
    return Prediction((work + terms) * elements, moved, seconds, busy)


def _is_arithmetic(op: Operation) -> bool:
    return isinstance(op, ew.UnaryOp | ew.BinaryOp) and not isinstance(op, ew.NegOp)


def seconds_to_move(moved: int, again: int, machine: Machine) -> float:
    """The seconds to move so many bytes, and `again` more where no cache holds them."""
    if moved <= machine.cache_bytes:
        return moved / machine.cache_speed / 1e9
    if moved <= machine.large_bytes:
        return moved / machine.shared_speed / 1e9
    return (moved + again) / machine.memory_speed / 1e9


@dataclass(frozen=True)
class _Panel:
    """A value of a sum that a tile copies."""

    sum: tix.ReductionOp
    value: SSAValue
    fill: float
    """The cycles to fill one element of the panel."""
    elements: float


@dataclass
class _Cycles(Instructions):
    """Counts the cycles of an element of a definition."""

    machine: Machine
    by_rows: bool

    def cycles(self) -> float:
        """The cycles of one element: what takes longest, and what comes on top."""
        panels, m = self._panels(), self.machine
        replaced = self._replaced()
        products = additions = loads = on_top = latency = 0.0
        for o in self.found.runs:
            if o in replaced:
                continue
            if isinstance(o, tix.ReductionOp):
                terms = self.found.terms[o]
                for total, term in zip(o.results, tix.all_yielded(o.body), strict=True):
                    is_fused = isinstance(term.owner, Operation) and _is_product(term.owner)
                    products += terms * self.share(total, o) * is_fused
                    additions += terms * self.share(total, o) * (not is_fused)
                latency += terms * self._latency(o)
                on_top += self._end_of_sum(o)
            elif isinstance(o, tix.ReadOp):
                loads += self.issues(o) * self._cost_of_read(o)
                loads += self._lines(o) * m.loads * m.line
                on_top += self._lines_of_square(o)
            elif isinstance(o, ew.AddOp | ew.SubOp) and not _adds_product(o):
                additions += self.issues(o) * self._slots(o)
            elif isinstance(o, ew.UnaryOp | ew.BinaryOp):
                products += self.issues(o) * self._slots(o)
        for panel in panels:
            assert self.tile
            terms = self.found.terms[panel.sum]
            far = panel.elements * self.bytes > m.nearest_bytes
            loads += terms / self.lanes / self.tile.rows * (m.loads * m.line if far else 1)
            on_top += terms * panel.fill / (self.tile.rows * self.tile.shared_blocks)
        on_top += 1 / self.lanes if self._stores_vectors() else m.element
        both = (products + additions) / m.together
        arithmetic = max(products / m.arithmetic, additions / m.additions, both)
        return max(arithmetic, loads / m.loads, latency * m.latency) + on_top

    def traffic(self) -> float:
        """The bytes of an element that a plain nest reads again from beyond the caches of a core.

        Between two uses of what a read reads the loops inside run, and read their part of it.
        """
        if self.tile:
            return 0.0
        reads = [o for o in self.found.runs if isinstance(o, tix.ReadOp) and self.loops(o)]
        far = [o for o in reads if self._bytes_between(o) > self.machine.cache_bytes / 2]
        return sum(self.found.runs[o] * self.bytes for o in far)

    def _bytes_between(self, op: tix.ReadOp) -> float:
        """The reuse distance of a read: the bytes it touches between two uses of an element."""
        known = SizeValues(self.sizes)
        shape = dict(zip(self.op.indices, self.op.shape, strict=True))
        used = self.uses.of_operation(op)
        total = float(self.bytes)
        for index in [*self.loops(op), *reversed(self.op.indices)]:
            if index not in used:
                return total
            size = shape.get(index)
            total *= self.found.lengths[index] if size is None else size.evaluate(known)
        return 0.0

    def _replaced(self) -> set[Operation]:
        """The operations whose values are loaded from a panel instead."""
        return {o for panel in self._panels() for o in tree_of(panel.value, panel.sum.body)}

    def _slots(self, op: ew.UnaryOp | ew.BinaryOp) -> float:
        """The cost of an operation, in additions."""
        if isinstance(op, FREE):
            return 0
        if _is_product(op) and _is_added(op):
            return 0
        if isinstance(op, CHEAP) and type(op) not in self.machine.functions:
            return 1
        cost = self.machine.functions.get(type(op), self.machine.other_function)
        has_vectors = self.tile or self.nest.stream or self.by_rows or self._is_term(op)
        return cost if has_vectors else cost * self.machine.plain_function

    def _is_term(self, op: Operation) -> bool:
        """True for an operation in the terms of a long sum, whose lanes are vectors."""
        sums = (s for s, axis in self.along.items() if isinstance(s, tix.ReductionOp) and axis)
        return any(s.is_ancestor(op) for s in sums)

    def _cost_of_read(self, op: tix.ReadOp) -> float:
        """The loads of a read per instruction: several for elements that lie apart."""
        axis = self.tile.column_index if self.tile else self.axis(op)
        if axis is None or axis not in self.uses.of_operation(op):
            return 1
        step = stride(op, axis, self.uses)
        if is_slow(step):
            return self.lanes * self.machine.loads * self.machine.element
        return max(1, 2 * abs(step or 0) - 1)

    def _latency(self, op: tix.ReductionOp) -> float:
        """The latencies of additions per term, which independent accumulators overlap."""
        if self.is_short(op):
            return 0
        if self.tile:
            rows = sum(self.tile.count_in(self.uses.of(total)) for total in op.results)
            return 1 / (rows * self.tile.columns)
        return 1 / (4 * self.lanes) if self.axis(op) else 0.5

    def _end_of_sum(self, op: tix.ReductionOp) -> float:
        """The cycles in which the lanes of a sum are added to each other; short ones have none."""
        if self.is_short(op):
            return 0
        in_lanes = self.along_terms or (not self.tile and self.along.get(op))
        return self.found.runs[op] * 16 if in_lanes else 0

    def _lines(self, op: tix.ReadOp) -> float:
        """The lines per element that a tile reads anew for each term, as terms lie apart."""
        loops = self.loops(op)
        if not (self.tile and loops) or self.along_terms:
            return 0
        if tensor_bytes(op.tensor_type, self.sizes) <= self.machine.nearest_bytes:
            return 0
        step = stride(op, loops[0], self.uses)
        if step is not None and abs(step) * self.bytes < VECTOR_BYTES:
            return 0
        rows = 1
        if self.tile.row_index is not None:
            apart = stride(op, self.tile.row_index, self.uses)
            rows = self.tile.rows if apart is None or abs(apart) >= self.lanes else 1
        by_column = self.tile.column_index in self.uses.of_operation(op)
        lines = rows * (self.tile.columns / self.lanes if by_column else 1)
        return self.found.runs[op] * lines / (self.tile.rows * self.tile.columns)

    def _lines_of_square(self, op: tix.ReadOp) -> float:
        """The cycles per element for lines of a square that share a place, one for each column.

        Others come while the vectors before them are transposed.
        """
        if self.tile is None or op not in square_reads(self.op, self.tile, self.uses):
            return 0
        step = stride(op, self.tile.column_index, self.uses, self.sizes)
        cost = cost_of_lines_apart(abs(step or 0) * self.bytes)
        more = max(0, cost - COST_OF_LINE)
        # the unit of costs is an instruction, of which a core takes two in a cycle
        return more / 2 / self.tile.rows

    def _panels(self) -> list[_Panel]:
        """All values that are copied."""
        tile = self.tile
        if not tile:
            return []
        return [
            _Panel(s, h.value, self._fill(s, h.value), self._elements(tile, s, h))
            for s, all_ in tile.panels.items()
            for h in all_
        ]

    def _elements(self, tile: Tile, op: tix.ReductionOp, hoisted: Hoisted) -> float:
        """The elements of a panel."""
        index, length = tile.chunks.get(op, (None, 0))
        outside = op.indices[: op.indices.index(index)] if index is not None else []
        lengths = (
            length if v is index else self.found.lengths[v]
            for v in hoisted.indices
            if v not in outside
        )
        return tile.columns * prod(lengths)

    def _fill(self, op: tix.ReductionOp, value: SSAValue) -> float:
        cost = 1 / self.lanes
        for o in tree_of(value, op.body):
            if isinstance(o, tix.ReadOp):
                assert self.tile
                slow = is_slow(stride(o, self.tile.column_index, self.uses))
                cost += self.machine.element if slow else 1 / self.lanes
            elif isinstance(o, ew.UnaryOp | ew.BinaryOp):
                cost += self._slots(o) / self.lanes / self.machine.arithmetic
        return cost

    def _stores_vectors(self) -> bool:
        last = self.op.indices[-1] if self.op.indices else None
        return (self.tile.column_index if self.tile else self.along.get(self.op)) is last


def _is_product(op: Operation) -> bool:
    if isinstance(op, ew.PowOp):
        exponent = op.rhs.owner
        return isinstance(exponent, tix.ConstantOp) and exponent.value.data == 2
    return isinstance(op, ew.MulOp)


def _adds_product(op: Operation) -> bool:
    """True if an operand is a product that is only added."""
    owners = (v.owner for v in op.operands)
    return any(isinstance(o, Operation) and _is_product(o) and _is_added(o) for o in owners)


def _is_added(op: Operation) -> bool:
    """True if the result is only added, to another number or to a sum."""
    users = [use.operation for use in op.results[0].uses]
    return len(users) == 1 and (
        isinstance(users[0], ew.AddOp | ew.SubOp)
        or (isinstance(users[0], tix.YieldOp) and isinstance(users[0].parent_op(), tix.SumOp))
    )
