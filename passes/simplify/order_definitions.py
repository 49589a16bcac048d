"""`order-definitions`: order definitions so that few values are alive at a time.

    p_1, p_2, p_3, d_1, d_2, d_3, d_4      becomes      p_1, d_1, d_2, p_2, d_3, p_3, d_4

where `p_k` reads `p_(k-1)`, and `d_k` reads `d_(k-1)` and `p_(k-1)`: forward mode through a chain
needs three tensors at a time in the second order, and all of them in the first one. Reverse mode
reads the last `p` first, so that nothing changes there.

The order is made from its end: of the definitions whose readers all have their place, the one comes
next that leaves the fewest elements alive before it, on equal terms the one that stood last. That
is a heuristic (the best order is hard to find: Sethi 1975), so it is taken only where it needs less
than the order that was there. Symbolic sizes count as `ASSUMED_SIZE` elements each.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from tadc.dialects import tix
from tadc.passes.analysis.properties import all_used
from tadc.passes.rewriting.program_pass import ContractPass
from tadc.passes.rewriting.programs import reads_of, type_of

ASSUMED_SIZE = 64
"""The number that stands for every symbolic size when elements are counted."""


@dataclass(frozen=True)
class OrderDefinitionsPass(ContractPass):
    """`order-definitions`: no options."""

    name = "order-definitions"
    requires = leaves = (all_used,)

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for program in op.ops:
            if isinstance(program, tix.ProgramOp):
                order_definitions(program)


def order_definitions(program: tix.ProgramOp) -> None:
    """Bring the definitions of a program into the order that needs the least memory, in place."""
    old = program.definitions
    reads = {op: list(dict.fromkeys(r.tensor for r in reads_of(op))) for op in old}
    new = _Backwards(program, reads).order()
    if _peak(new, reads, program) >= _peak(old, reads, program):
        return
    block, last = program.body.block, program.body.block.last_op
    assert last is not None
    for op in new:
        op.detach()
        block.insert_op_before(op, last)


Reads = dict[tix.DefineOp, list[SSAValue]]


class _Backwards:
    """The order from its end, definition by definition."""

    def __init__(self, program: tix.ProgramOp, reads: Reads):
        self.reads = reads
        self.position = {op: n for n, op in enumerate(reads)}
        self.readers: dict[SSAValue, list[tix.DefineOp]] = {}
        for op, tensors in reads.items():
            for tensor in tensors:
                self.readers.setdefault(tensor, []).append(op)
        self.missing = {op: len(self.readers.get(op.result, [])) for op in reads}
        self.alive = set(program.returned)
        self.heap: list[tuple[int, int, tix.DefineOp]] = []
        self.done: set[tix.DefineOp] = set()

    def order(self) -> list[tix.DefineOp]:
        found: list[tix.DefineOp] = []
        for op, missing in self.missing.items():
            if not missing:
                self._offer(op)
        while self.heap:
            op = heapq.heappop(self.heap)[-1]
            if op not in self.done:
                self.done.add(op)
                found.append(op)
                self._place(op)
        return found[::-1]

    def _place(self, op: tix.DefineOp) -> None:
        self.alive.discard(op.result)
        for tensor in self.reads[op]:
            if tensor not in self.alive:
                self.alive.add(tensor)
                for reader in self.readers[tensor]:  # it costs them less from now on
                    if not self.missing[reader] and reader not in self.done:
                        self._offer(reader)
        for tensor in self.reads[op]:
            if isinstance(tensor.owner, tix.DefineOp):
                self.missing[tensor.owner] -= 1
                if not self.missing[tensor.owner]:
                    self._offer(tensor.owner)

    def _offer(self, op: tix.DefineOp) -> None:
        born = [v for v in self.reads[op] if v not in self.alive and _is_stored(v)]
        growth = sum(map(_elements, born)) - _elements(op.result)
        heapq.heappush(self.heap, (growth, -self.position[op], op))


def _peak(order: Sequence[tix.DefineOp], reads: Reads, program: tix.ProgramOp) -> int:
    """The most elements of definitions that are alive at a time."""
    last = {tensor: n for n, op in enumerate(order) for tensor in reads[op]}
    last.update(dict.fromkeys(program.returned, len(order)))
    peak = alive = 0
    for n, op in enumerate(order):
        alive += _elements(op.result)
        peak = max(peak, alive)
        dead = {v for v in (*reads[op], op.result) if _is_stored(v) and last.get(v, n) == n}
        alive -= sum(map(_elements, dead))
    return peak


def _is_stored(tensor: SSAValue) -> bool:
    """True for definitions; arguments are kept by the caller."""
    return isinstance(tensor.owner, tix.DefineOp)


def _elements(tensor: SSAValue) -> int:
    sizes = (
        size.constant + sum(abs(c) for c in size.terms.values()) * ASSUMED_SIZE
        for size in type_of(tensor).shape
    )
    return prod(max(0, size) for size in sizes)
