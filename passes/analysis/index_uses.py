"""Indices that a value depends on: those of definitions and sums that it reads on any way.

%0 = tix.sum (%k) in (...) {           %0: {%i},  %1: {%i, %k}
  %1 = tix.read %x[%i + %k]
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, TypeVar

from xdsl.ir import Operation, SSAValue

from tadc.dialects import tix
from tadc.dialects.quick import QuickOperation, operands_of, walk

Found = TypeVar("Found")


class IndexUses:
    """The indices of definitions and sums that values depend on, each looked at once.

    The program must not change meanwhile.
    """

    def __init__(self) -> None:
        self._of: dict[SSAValue, frozenset[SSAValue]] = {}
        self._of_operations: dict[Operation, frozenset[SSAValue]] = {}
        self._found: dict[Hashable, Any] = {}

    def once(self, key: Hashable, find: Callable[[], Found]) -> Found:
        """A fact about the program that is found once; equal keys are the same fact."""
        try:
            return self._found[key]
        except KeyError:
            found = self._found[key] = find()
            return found

    def of(self, value: SSAValue) -> frozenset[SSAValue]:
        found = self._of.get(value)
        if found is None:
            found = self._of[value] = self._of_value(value)
        return found

    def _of_value(self, value: SSAValue) -> frozenset[SSAValue]:
        owner = value.owner
        if isinstance(owner, tix.ReductionOp):
            return self._of_total(owner, owner.results.index(value))
        if isinstance(owner, QuickOperation):
            return self.of_operation(owner)
        return frozenset() if type(value.type) is tix.TensorType else frozenset([value])

    def _of_total(self, op: tix.ReductionOp, number: int) -> frozenset[SSAValue]:
        """The indices that one of the results of a reduction depends on."""
        values = (tix.all_yielded(op.body)[number], *op.free_indices)
        return frozenset(used for v in values for used in self.of(v)) - {*op.indices}

    def of_operation(self, op: Operation) -> frozenset[SSAValue]:
        """The indices that an operation and all inside it depend on, less those that it binds."""
        found = self._of_operations.get(op)
        if found is None:
            found = self._of_operations[op] = self._used_in(op)
        return found

    def _used_in(self, op: Operation) -> frozenset[SSAValue]:
        if isinstance(op, tix.DefineOp):
            return frozenset()
        if not op.regions:
            return frozenset[SSAValue]().union(*map(self.of, operands_of(op)))
        ops = list(walk(op))
        used = {v for inner in ops for v in operands_of(inner)}
        made = {v for inner in ops for v in inner.results}
        bound = {v for inner in ops for region in inner.regions for v in region.block.args}
        return frozenset[SSAValue]().union(*map(self.of, used - made - bound)) - bound
