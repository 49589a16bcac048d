"""Building bodies: a `BodyBuilder` appends operations to a block and folds what it can on the way.

Passes that make new bodies write `e.mul(x, y)` and `e.sum(["k"], domain, body)`. Scalars are folded
by `passes/rewriting/scalar_builder.py`; here are reads, reductions, choices and quotients.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from xdsl.dialects.builtin import LocationAttr
from xdsl.ir import Block, Region, SSAValue

from tadc.dialects import tix
from tadc.dialects.quick import INDEX, block_with, ops_in, region_with
from tadc.dialects.tix import Affine, Constraint, elementwise
from tadc.passes.rewriting.scalar_builder import ScalarBuilder
from tadc.passes.rewriting.scoped_map import ScopedMap

Body = Callable[["BodyBuilder", list[SSAValue]], SSAValue]
"""Fills the block of a region operation: gets its builder and its own indices, gives its value."""

LocalIndices: TypeAlias = ScopedMap[object, SSAValue]
"""The quotients and elements of index tensors that this block, or one around it, computes."""


class BodyBuilder(ScalarBuilder):
    """Appends whole bodies to `block`: reads, regions and indices beside scalars."""

    def __init__(
        self,
        block: Block,
        location: LocationAttr,
        local_indices: LocalIndices | None = None,
    ):
        super().__init__(block, location)
        # what `floordiv` and `at` emitted here and, in maps further on, in the blocks around
        self.local_indices = LocalIndices() if local_indices is None else local_indices

    def read(
        self, tensor: SSAValue, forms: Sequence[Affine], view: Sequence[Affine] | None = None
    ) -> SSAValue:
        return self.insert(tix.ReadOp(tensor, forms, view)).result

    def index_to_real(self, form: Affine) -> SSAValue:
        if not form.terms:
            return self.constant(form.constant)
        return self.insert(tix.IndexToRealOp(form)).result

    def floordiv(self, form: Affine, divisor: int) -> Affine:
        """`form // divisor`: multiples of the divisor need no operation, equal quotients one.

        As `form // m = -((m - 1 - form) // m)`, `(1 - p) // 2` is `-(p // 2)` too.
        """
        whole, opposite = whole_part(form, divisor), divisor - 1 - form
        other = whole_part(opposite, divisor)
        if len(other.terms) < len(whole.terms):
            return -(other + self._quotient(opposite - other * divisor, divisor))
        return whole + self._quotient(form - whole * divisor, divisor)

    def at(self, tensor: SSAValue, forms: Sequence[Affine], clamp: bool = False) -> Affine:
        """The element of an index tensor: equal ones in a block or around it are one."""
        key = tensor, clamp, *forms
        if key not in self.local_indices:
            self.local_indices[key] = self.insert(tix.AtOp(tensor, forms, clamp)).result
        return Affine.of(self.local_indices[key])

    def _quotient(self, rest: Affine, divisor: int) -> Affine:
        """The quotient of a form with numbers from 0 to `divisor - 1`."""
        if not rest.terms:
            return Affine()
        if (rest, divisor) not in self.local_indices:
            self.local_indices[rest, divisor] = self.insert(tix.FloorDivOp(rest, divisor)).result
        return Affine.of(self.local_indices[rest, divisor])

    def region(self, names: Sequence[str | None], body: Body) -> Region:
        """A region with own indices of these names, filled by `body`."""
        block = block_with([INDEX] * len(names))
        for argument, name in zip(block.args, names, strict=True):
            argument.name_hint = name
        inner = BodyBuilder(block, self.location, self.local_indices.new_child())
        inner.insert(tix.YieldOp(body(inner, list(block.args))))
        _drop_unused(block)
        return region_with(block)

    def reduce(
        self,
        kind: type[tix.ReductionOp],
        names: Sequence[str | None],
        domain: Callable[[list[SSAValue]], Sequence[Constraint]],
        body: Body,
    ) -> SSAValue:
        """A reduction over own indices of these names; `domain` and `body` get the indices."""
        region = self.region(names, body)
        return self.insert(kind(domain(list(region.block.args)), region)).result

    def sum(
        self,
        names: Sequence[str | None],
        domain: Callable[[list[SSAValue]], Sequence[Constraint]],
        body: Body,
    ) -> SSAValue:
        """`reduce` by `tix.sum`."""
        return self.reduce(tix.SumOp, names, domain, body)

    def guard(
        self, constraints: Sequence[Constraint], body: Body, otherwise: float = 0.0
    ) -> SSAValue:
        """The value of `body` where all constraints hold, else a number."""
        if not constraints:
            return body(self, [])
        return self.choose([constraints], body, lambda e, _: e.constant(otherwise))

    def choose(
        self, disjuncts: Sequence[Sequence[Constraint]], then: Body, otherwise: Body
    ) -> SSAValue:
        """One of two values by indices.

        Just that value where both are the same number, and one of them where numbers decide it.
        """
        possible = _possible(disjuncts)
        if not possible:
            return otherwise(self, [])
        if [] in possible:
            return then(self, [])
        regions = self.region([], then), self.region([], otherwise)
        return self._unless_equal(regions, lambda: tix.IfOp(possible, *regions))

    def where(
        self, predicate: tix.Predicate, x: SSAValue, y: SSAValue, then: Body, otherwise: Body
    ) -> SSAValue:
        """One of two values by a comparison, or just that value where both are the same number."""
        a, b = tix.constant_value(x), tix.constant_value(y)
        if a is not None and b is not None:
            return (then if elementwise.compare(predicate, a, b) else otherwise)(self, [])
        if predicate == "ne" and b == 0 and isinstance(x.owner, tix.WhereOp | tix.IfOp):
            match [tix.constant_value(tix.yielded(region)) for region in x.owner.regions]:
                case [1, 0]:
                    return self._as(x.owner, then, otherwise)
                case [0, 1]:
                    return self._as(x.owner, otherwise, then)
                case _:
                    pass
        regions = self.region([], then), self.region([], otherwise)
        return self._unless_equal(regions, lambda: tix.WhereOp(predicate, x, y, *regions))

    def _as(self, test: tix.IfOp | tix.WhereOp, then: Body, otherwise: Body) -> SSAValue:
        """One of two values, decided as `test` decides."""
        if isinstance(test, tix.IfOp):
            return self.choose(test.condition, then, otherwise)
        return self.where(test.comparison, test.lhs, test.rhs, then, otherwise)

    def _unless_equal(
        self, regions: Sequence[Region], choice: Callable[[], tix.IfOp | tix.WhereOp]
    ) -> SSAValue:
        first, second = (tix.constant_value(tix.yielded(r)) for r in regions)
        if first is not None and first == second:
            for region in regions:
                region.drop_all_references()  # what they use may be unused without them
            return self.constant(first)
        return self.insert(choice()).result


def _possible(disjuncts: Sequence[Sequence[Constraint]]) -> list[list[Constraint]]:
    """The disjuncts that no number contradicts, without what numbers grant."""
    return [
        [c for c in disjunct if not c.decided]
        for disjunct in disjuncts
        if all(c.decided is not False for c in disjunct)
    ]


def whole_part(form: Affine, divisor: int) -> Affine:
    """The `w` with smallest `form - w * divisor` that has no negative number."""
    return Affine({k: c // divisor for k, c in form.terms.items()}, form.constant // divisor)


def _drop_unused(block: Block) -> None:
    """Bodies are pure: what nobody uses need not be there."""
    for op in reversed(list(ops_in(block))):
        if op.results and all(r.first_use is None for r in op.results):
            op.detach()
            op.erase()
