"""Copying bodies: a `Cloner` maps the values and indices of an old body to those of a new one.

A pass is a cloner that copies some operations in a way of its own: it overrides `copy`,
`copy_reduction` or `copy_if`, and everything else is copied, and folded on the way, by a
`BodyBuilder`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Self

from xdsl.ir import Operation, Region, SSAValue

from tadc.dialects import tix
from tadc.dialects.quick import block_in, operands_of, ops_in
from tadc.dialects.tix import Affine, Constraint, Variable
from tadc.passes.rewriting.builder import BodyBuilder
from tadc.passes.rewriting.failure import place
from tadc.passes.rewriting.scoped_map import ScopedMap
from tadc.passes.rewriting.shallow_copy import shallow_copy


class Cloner:
    """Copies operations of an old body through a builder.

    `values` maps old scalars and tensors to new ones (an absent one stays itself: it is defined
    around both bodies), `indices` maps old indices to affine forms of new ones. The cloner of a
    region inside sees what the cloner around it knows, also what that learns later.
    """

    def __init__(
        self,
        builder: BodyBuilder,
        values: ScopedMap[SSAValue, SSAValue] | None = None,
        indices: ScopedMap[Variable, Affine] | None = None,
    ):
        self.builder = builder
        self.values: ScopedMap[SSAValue, SSAValue] = ScopedMap() if values is None else values
        self.indices: ScopedMap[Variable, Affine] = ScopedMap() if indices is None else indices

    def value(self, old: SSAValue) -> SSAValue:
        return self.values.get(old, old)

    def form(self, old: Affine) -> Affine:
        return old.substitute(self.indices)

    def constraints(self, old: Sequence[Constraint]) -> list[Constraint]:
        return [c.substitute(self.indices) for c in old]

    def inner(
        self, builder: BodyBuilder, own: Sequence[SSAValue] = (), new: Sequence[SSAValue] = ()
    ) -> Self:
        """The cloner of a region inside, whose own indices `own` become `new`.

        It is a copy with maps of its own: whatever else a pass keeps in its cloners is shared.
        """
        indices: dict[Variable, Affine] = {a: Affine.of(b) for a, b in zip(own, new, strict=True)}
        cloner = shallow_copy(self)
        cloner.builder = builder
        cloner.values, cloner.indices = self.values.new_child(), self.indices.new_child(indices)
        return cloner

    def copy_definition(
        self, op: tix.DefineOp, builder: BodyBuilder, own: Sequence[SSAValue]
    ) -> SSAValue:
        """Copy the body of a definition, whose indices become `own`."""
        return self.inner(builder, op.indices, own).copy_body(op.body)

    def copy_body(self, region: Region) -> SSAValue:
        """Copy all operations of the region; the new value of what it yields."""
        for op in ops_in(block_in(region)):
            if not isinstance(op, tix.YieldOp):
                self.copy(op)
        return self.value(tix.yielded(region))

    def fetch(self, value: SSAValue) -> None:
        """Copy the operation that defines `value`, and all that this uses, unless they are here."""
        if not self._has(value) and isinstance(value.owner, Operation):
            self.require(value.owner)
            self.copy(value.owner)

    def require(self, op: Operation) -> None:
        """Copy what `op` uses from outside and this cloner does not have yet."""
        pending = [op]
        while pending:
            current = pending[-1]
            if missing := self._missing(current):
                pending += reversed(missing)
                continue
            pending.pop()
            if current is not op and not self._has(current.results[0]):
                self.copy(current)

    def _missing(self, op: Operation) -> list[Operation]:
        owners = [v.owner for v in free_values(op) if not self._has(v)]
        return [o for o in owners if isinstance(o, Operation) and not isinstance(o, tix.DefineOp)]

    def _has(self, value: SSAValue) -> bool:
        return value in self.values or value in self.indices

    def copy(self, op: Operation) -> None:
        """Copy one operation and remember its result."""
        self.builder.location = op.location
        if isinstance(op, tix.FloorDivOp):
            self.indices[op.result] = self.builder.floordiv(self.form(op.form), op.divisor.data)
            return
        if isinstance(op, tix.AtOp):
            forms = [self.form(f) for f in op.forms]
            at = self.builder.at(self.value(op.tensor), forms, op.is_clamped)
            self.indices[op.result] = at
            return
        old, *_ = op.results
        self.values[old] = new = self._copied(op)
        if new.name_hint is None:
            new.name_hint = old.name_hint

    def _copied(self, op: Operation) -> SSAValue:
        e = self.builder
        match op:
            case tix.ConstantOp():
                return e.constant(op.value.data)
            case tix.UnaryOp():
                return e.unary(type(op), self.value(op.operand))
            case tix.BinaryOp():
                return e.binary(type(op), self.value(op.lhs), self.value(op.rhs))
            case tix.CallOp():
                return e.call(op.function.data, [self.value(v) for v in op.arguments])
            case tix.ReadOp():
                return self.copy_read(op)
            case tix.IndexToRealOp():
                return e.index_to_real(self.form(op.form))
            case tix.ReductionOp():
                return self.copy_reduction(op)
            case tix.IfOp():
                return self.copy_if(op)
            case tix.WhereOp():
                return self.copy_where(op)
            case _:
                raise ValueError(f"{place(op.location)}{op.name} cannot stand in a body")

    def copy_read(self, op: tix.ReadOp) -> SSAValue:
        tensor = self.value(op.tensor)
        indices = self._renamed(op)
        if indices is not None:
            return self.builder.insert(op.with_indices(tensor, indices)).result
        view = None if op.view is None else op.shape
        return self.builder.read(tensor, [self.form(f) for f in op.forms], view)

    def _renamed(self, op: tix.ReadOp) -> list[SSAValue] | None:
        """The new indices of a read that has the same forms over these; None where it has others,
        which takes several times as long."""
        if any(size in self.indices for row in op.map.data.rows for size, _ in row.sizes):
            return None
        found: list[SSAValue] = []
        for old in op.indices:
            form = self.indices.get(old)
            new = old if form is None else form.single_index
            if new is None or new in found:
                return None
            found.append(new)
        return found

    def copy_reduction(self, op: tix.ReductionOp) -> SSAValue:
        def domain(own: list[SSAValue]) -> list[Constraint]:
            return self.inner(self.builder, op.indices, own).constraints(op.constraints)

        def body(e: BodyBuilder, own: list[SSAValue]) -> SSAValue:
            return self.inner(e, op.indices, own).copy_body(op.body)

        return self.builder.reduce(type(op), [v.name_hint for v in op.indices], domain, body)

    def copy_if(self, op: tix.IfOp) -> SSAValue:
        return self.builder.choose(
            [self.constraints(disjunct) for disjunct in op.condition],
            lambda e, _: self.inner(e).copy_body(op.then),
            lambda e, _: self.inner(e).copy_body(op.otherwise),
        )

    def copy_where(self, op: tix.WhereOp) -> SSAValue:
        return self.builder.where(
            op.comparison,
            self.value(op.lhs),
            self.value(op.rhs),
            lambda e, _: self.inner(e).copy_body(op.then),
            lambda e, _: self.inner(e).copy_body(op.otherwise),
        )


def free_values(op: Operation) -> list[SSAValue]:
    """Values from outside that `op` and the operations in its regions use."""
    if not op.regions:
        return list(operands_of(op))
    return [v for inner in op.walk() for v in operands_of(inner) if not _defined_inside(v, op)]


def operations_behind(values: Iterable[SSAValue], around: Operation) -> Iterator[Operation]:
    """The operations in the body of `around` that make values, from the last one on."""
    pending, seen = list(values), set[Operation]()
    while pending:
        op = pending.pop().owner
        if isinstance(op, Operation) and op not in seen and around.is_ancestor(op):
            seen.add(op)
            yield op
            pending += free_values(op)


def _defined_inside(value: SSAValue, op: Operation) -> bool:
    return value.owner is not op and op.is_ancestor(value.owner)
