"""Code for several elements at once, in which what they have in common stands once.

    for %k {                                 for %k {
      %a = load %x[%i, %k]                     %a = load %x[%i, %k]
      %b = load %w[%k, %j]          =>         %b = load %w[%k, %j]
      %p = mulf %a, %b                         %b' = load %w[%k, %j']
      %s' = addf %s, %p                        %p = mulf %a, %b      %p' = mulf %a, %b'
    }                                          ...
                                             }

This is unroll-and-jam: copies of the body for each pair of an `i` and a `j`, with all loops as one.
A value needs a copy for each value of the indices on which it depends, and no more. It depends on
those of its operands; what a loop carries, on those of what it begins with and of what each
iteration yields; and everything inside a loop or a branch on those of its bounds or its condition,
whose copies are loops and branches of their own. Each element is computed as before, by the same
operations in the same order.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from xdsl.dialects import arith, memref, scf
from xdsl.ir import Block, Operation, Region, SSAValue

from tadc.dialects.loops import EndOp
from tadc.dialects.quick import append, block_with, make, operands_of, ops_in
from tadc.passes.analysis.index_ranges import yielded

Coordinates = tuple[int, ...]
"""The number of a copy, for each index that has copies."""

Dependence = frozenset[int]
"""The indices that have copies, by number, on which a value depends."""

NONE: Dependence = frozenset()


class Dependences:
    """The indices on which each value of a body depends, given those that have copies."""

    def __init__(self, block: Block, copied: Sequence[SSAValue]):
        self.of_value: dict[SSAValue, Dependence] = {
            v: frozenset([n]) for n, v in enumerate(copied)
        }
        self.around: dict[Operation, Dependence] = {}
        """The indices for which each operation is copied; a store is copied for all of them."""
        self.every = frozenset(range(len(copied)))
        self._block(block, NONE)

    def of(self, *values: SSAValue) -> Dependence:
        """The indices on which at least one of these values depends."""
        return NONE.union(*(self.of_value.get(v, NONE) for v in values))

    def _block(self, block: Block, around: Dependence) -> None:
        for op in ops_in(block):
            own = around | self.of(*operands_of(op))
            match op:
                case scf.ForOp():
                    self._loop(op, around | self.of(op.lb, op.ub, op.step))
                case scf.IfOp():
                    self._branch(op, own)
                case memref.StoreOp():
                    self.around[op] = self.every
                case _:
                    self.around[op] = own
                    self.of_value.update((result, own) for result in op.results)

    def _loop(self, op: scf.ForOp, around: Dependence) -> None:
        """Find the dependences of carried values, which may depend on each other: a fixed point."""
        self.around[op] = around
        index, *carried = op.body.block.args
        self.of_value[index] = around
        found = [around | self.of(start) for start in op.iter_args]
        while True:
            self.of_value.update(zip(carried, found, strict=True))
            self._block(op.body.block, around)
            after = [a | self.of(v) for a, v in zip(found, yielded(op.body), strict=True)]
            if after == found:
                break
            found = after
        self.of_value.update(zip(op.results, found, strict=True))

    def _branch(self, op: scf.IfOp, around: Dependence) -> None:
        self.around[op] = around
        regions = [r for r in (op.true_region, op.false_region) if r.blocks]
        for region in regions:
            self._block(region.block, around)
        for n, result in enumerate(op.results):
            self.of_value[result] = around | self.of(*(yielded(r)[n] for r in regions))


@dataclass
class Copier:
    """Appends copies of operations to blocks."""

    dependences: Dependences
    counts: Sequence[int]
    """The number of copies of each index that has some."""
    inside: Mapping[tuple[int, int], SSAValue]
    """Tests that a copy of an index is in bounds, where that is not known."""

    def __post_init__(self) -> None:
        self.values: dict[tuple[SSAValue, Coordinates], SSAValue] = {}

    def value(self, value: SSAValue, at: Coordinates) -> SSAValue:
        """The copy of a value for these coordinates; a value from outside of the loop is its
        own."""
        return self.values.get((value, self._own(value, at)), value)

    def define(self, value: SSAValue, at: Coordinates, copy: SSAValue) -> None:
        """Record the copy of a value at these coordinates."""
        copy.name_hint = value.name_hint
        self.values[value, self._own(value, at)] = copy

    def _own(self, value: SSAValue, at: Coordinates) -> Coordinates:
        own = self.dependences.of(value)
        return tuple(c if n in own else 0 for n, c in enumerate(at))

    def _each(self, free: Dependence, at: Coordinates) -> Iterator[Coordinates]:
        """All coordinates that differ from `at` in the free indices only."""
        return product(*(range(self.counts[n]) if n in free else (c,) for n, c in enumerate(at)))

    def copy(self, block: Block, to: Block, at: Coordinates, around: Dependence = NONE) -> None:
        """Append copies of the operations of a block but the last, at coordinates that are given
        for the indices `around`."""
        for op in ops_in(block):
            if isinstance(op, scf.YieldOp | EndOp):
                continue
            for each in self._each(self.dependences.around[op] - around, at):
                self._copy_one(op, to, each)

    def _copy_one(self, op: Operation, to: Block, at: Coordinates) -> None:
        match op:
            case scf.ForOp():
                self._loop(op, to, at)
            case scf.IfOp():
                self._branch(op, to, at)
            case memref.StoreOp():
                self._store(op, to, at)
            case _:
                append(to, copy := self._plain(op, at))
                for old, new in zip(op.results, copy.results, strict=True):
                    self.define(old, at, new)

    def _plain(self, op: Operation, at: Coordinates) -> Operation:
        """An operation without regions, on copies of its operands."""
        operands = [self.value(v, at) for v in operands_of(op)]
        copy = make(type(op), operands, [r.type for r in op.results], op.properties)
        copy.attributes, copy.location = dict(op.attributes), op.location
        return copy

    def _results(
        self, values: Sequence[SSAValue], around: Dependence, at: Coordinates
    ) -> list[tuple[int, Coordinates]]:
        """The results of a copied operation: the number of each old result, with coordinates."""
        return [
            (n, each)
            for n, value in enumerate(values)
            for each in self._each(self.dependences.of(value) - around, at)
        ]

    def _loop(self, op: scf.ForOp, to: Block, at: Coordinates) -> None:
        around = self.dependences.around[op]
        index, *carried = op.body.block.args
        places = self._results(op.results, around, at)
        starts = [self.value(op.iter_args[n], each) for n, each in places]
        body = block_with([index.type, *(start.type for start in starts)])
        self.define(index, at, body.args[0])
        for (n, each), argument in zip(places, body.args[1:], strict=True):
            self.define(carried[n], each, argument)
        self._fill(body, op.body, places, at, around)
        low, high, step = (self.value(v, at) for v in (op.lb, op.ub, op.step))
        loop = scf.ForOp(low, high, step, starts, Region(body))
        self._append(to, op, loop, places)

    def _branch(self, op: scf.IfOp, to: Block, at: Coordinates) -> None:
        around = self.dependences.around[op]
        places = self._results(op.results, around, at)
        sides: list[Region] = []
        for region in (op.true_region, op.false_region):
            sides.append(Region())
            if region.blocks:
                self._fill(body := Block(), region, places, at, around)
                sides[-1].add_block(body)
        types = [op.results[n].type for n, _ in places]
        branch = scf.IfOp(self.value(op.cond, at), types, sides[0], sides[1])
        self._append(to, op, branch, places)

    def _fill(
        self,
        body: Block,
        region: Region,
        places: Sequence[tuple[int, Coordinates]],
        at: Coordinates,
        around: Dependence,
    ) -> None:
        """Copy a region into `body`, and yield the copies of its results."""
        self.copy(region.block, body, at, around)
        old = yielded(region)
        append(body, scf.YieldOp(*(self.value(old[n], each) for n, each in places)))

    def _append(
        self, to: Block, op: Operation, copy: Operation, places: Sequence[tuple[int, Coordinates]]
    ) -> None:
        copy.location = op.location
        append(to, copy)
        for (n, each), result in zip(places, copy.results, strict=True):
            self.define(op.results[n], each, result)

    def _store(self, op: memref.StoreOp, to: Block, at: Coordinates) -> None:
        """Copy a store, predicated by the tests that the copies of its indices are in bounds."""
        store = self._plain(op, at)
        tests = [self.inside[place] for place in enumerate(at) if place in self.inside]
        if not tests:
            append(to, store)
            return
        test, *others = tests
        for other in others:
            append(to, both := arith.AndIOp(test, other))
            test = both.result
        append(body := Block(), store)
        append(body, scf.YieldOp())
        append(to, scf.IfOp(test, [], Region(body)))
