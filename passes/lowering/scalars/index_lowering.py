"""From affine forms of indices and sizes to `arith`: positions in buffers, loop bounds, conditions.

x[2 * i + k]  of  x: [N, 3]        %0 = arith.muli %i, %c2 : index
                                   %1 = arith.addi %0, %k : index
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, cast

from xdsl.dialects import arith
from xdsl.dialects.builtin import LocationAttr
from xdsl.ir import Block, SSAValue

from tadc.dialects import tix
from tadc.dialects.tix import Affine, Constraint, Variable
from tadc.dialects.tix.affine import factors_of
from tadc.passes.analysis.size_bounds import SizeBounds
from tadc.passes.lowering import operations
from tadc.passes.lowering.scalars.index_arithmetic import IndexArithmetic, Term
from tadc.passes.rewriting.shallow_copy import shallow_copy


@dataclass(frozen=True)
class Ring:
    """The stride of planes in a ring buffer: plane n is at n modulo the number of planes."""

    stride: SSAValue | int
    planes: int


Stride = SSAValue | int | Ring


class Values(dict[Variable, SSAValue]):
    """The values of indices and sizes.

    Results are `known` by forms of these. A new value of an index, as of the column where a loop
    begins anew, drops the results that mention it, and the floor divisions of forms with it.
    """

    def __init__(self, known: dict[object, SSAValue], given: Mapping[Variable, SSAValue] = {}):
        super().__init__(given)
        self.known = known

    def __setitem__(self, key: Variable, value: SSAValue) -> None:
        if self.get(key, value) is not value:
            self._forget(key)
        super().__setitem__(key, value)

    def update(self, *given: Any, **more: SSAValue) -> None:
        for key, value in dict[Variable, SSAValue](*given, **more).items():
            self[key] = value

    def _forget(self, key: Variable) -> None:
        """Drop all results that depend on an index or a size."""
        for found in [found for found in self.known if _mentions(found, key)]:
            del self.known[found]
        for other in [v for v in self if _is_quotient_of(v, key)]:
            del self[other]
            self._forget(other)


def _mentions(found: object, key: Variable) -> bool:
    """True if the key of a known result contains a form of an index or a size."""
    if isinstance(found, tuple):
        return any(_mentions(part, key) for part in cast("tuple[object, ...]", found))
    return isinstance(found, Affine) and _holds(found, key)


def _holds(form: Affine, key: Variable) -> bool:
    if not isinstance(key, str):
        return key in form.terms
    return any(key in factors_of(size) for size in form.sizes)


def _is_quotient_of(v: Variable, key: Variable) -> bool:
    return (
        isinstance(v, SSAValue)
        and isinstance(v.owner, tix.FloorDivOp)
        and _holds(v.owner.form, key)
    )


class IndexLowering(IndexArithmetic):
    """Emits index arithmetic of a block; equal forms are computed once.

    An index has a value, or a place: an affine form of indices that have values, as `i + 2` for the
    third row of a block. So an element has equal forms at all places that share it.
    """

    def __init__(self, block: Block, location: LocationAttr, sizes: SizeBounds | None = None):
        super().__init__(block, location)
        self.sizes = sizes or SizeBounds.unknown()
        """Bounds of sizes that hold in all calls."""
        self.values = Values(self.known)
        self.places: dict[Variable, Affine] = {}

    def inside(self, block: Block) -> IndexLowering:
        """The lowering of a nested block, in which all values computed so far are available."""
        inner = IndexLowering(block, self.location, self.sizes)
        inner.stand_in(self)
        inner.values = Values(inner.known, self.values)
        inner.places = dict(self.places)
        return inner

    def placed(self, places: Mapping[Variable, Affine]) -> IndexLowering:
        """The lowering of the same block where these indices have other places."""
        inner = shallow_copy(self)
        inner.places = {**self.places, **places}
        return inner

    def elsewhere(self, places: Mapping[Variable, SSAValue]) -> IndexLowering:
        """The lowering of the same block where these indices have other values; nothing is known
        of them."""
        inner = shallow_copy(self)
        inner.known = {}
        inner.values = Values(inner.known, {**self.values, **places})
        return inner

    def outermost(self, indices: Iterable[Variable]) -> IndexLowering:
        """The lowering of the outermost block in which these indices have their values.

        What depends on the indices alone is computed there once, for all iterations of the loops
        inside. A branch is left only along with a loop around it: what it needs may be needed there
        alone.
        """
        own = {v: self.values[v] for v in indices}
        found = around = self
        while around.outer and own.items() <= around.outer.values.items():
            is_loop = bool(around.block.args)
            around = around.outer
            found = around if is_loop else found
        found = shallow_copy(found)
        found.places = {}
        return found

    def form(self, form: Affine) -> SSAValue:
        """The value of an affine form of lowered indices and sizes."""
        if self.places:
            form = form.substitute(self.places)
        found = self.known.get(form)
        if found is None:
            found = self.known[form] = self._sum(form)
        return found

    def _sum(self, form: Affine) -> SSAValue:
        return self.plus(self.total(self._terms(form)), form.constant)

    def _terms(self, form: Affine) -> list[Term]:
        """The terms of a form, without its constant."""
        return [Term(self._multiple(key, abs(c)), c < 0) for key, c in form.terms.items()]

    def _multiple(self, key: Variable, times: int) -> SSAValue:
        return self.mul(self._variable(key), self.constant(times))

    def _variable(self, key: Variable) -> SSAValue:
        """The value of an index or a size, which may be a product of sizes."""
        if key in self.values or not isinstance(key, str):
            return self.values[key]
        return reduce(self.mul, (self.values[factor] for factor in factors_of(key)))

    def floordiv(self, form: Affine, divisor: int) -> SSAValue:
        value = self.form(form)
        return value if divisor == 1 else self.quotient(value, self.constant(divisor))

    def strides(self, shape: Sequence[Affine]) -> list[SSAValue | int]:
        """The row-major strides of a shape, as numbers where they are."""
        strides: list[SSAValue | int] = [1]
        for size in reversed(shape[1:]):
            last = strides[-1]
            if isinstance(last, int) and not size.terms:
                strides.append(last * max(0, size.constant))
            else:
                last = self.constant(last) if isinstance(last, int) else last
                strides.append(self.mul(last, self.form(size)))
        return strides[::-1][: len(shape)]

    def linear(self, forms: Sequence[Affine], strides: Sequence[Stride]) -> SSAValue:
        """The position of an element, with constants folded before anything is emitted.

        What differs between elements at a fixed distance is added last, in this block: numbers,
        which are a part of the address then, and steps of a stride, one after the other, so that
        registers hold the position of one of them alone.
        """
        parts: list[Affine] = []
        terms: list[Term] = []
        steps: list[tuple[SSAValue, int]] = []
        for form, stride in zip(forms, strides, strict=True):
            placed = form.substitute(self.places) if self.places else form
            if isinstance(stride, Ring):
                terms.append(Term(self._in_ring(placed, stride), False))
                continue
            if isinstance(stride, int):
                parts.append(placed if stride == 1 else placed * stride)
                continue
            count = placed.constant
            if placed.terms:
                terms.append(Term(self.mul(self._sum(placed - count), stride), False))
            if count:
                steps.append((stride, count))
        fixed = parts[0] if len(parts) == 1 else Affine.sum(parts)
        total = self.plus(self.total([*terms, *self._terms(fixed)]), 0)
        for stride, count in steps:
            total = self.stepped(total, stride, count)
        return self.plus_here(total, fixed.constant)

    def _in_ring(self, plane: Affine, ring: Ring) -> SSAValue:
        """The position of a plane in a ring buffer."""
        place = self.remainder(self._sum(plane), ring.planes)
        stride = ring.stride
        return self.mul(place, self.constant(stride) if isinstance(stride, int) else stride)

    def bounds(self, index: SSAValue, constraints: Sequence[Constraint]) -> tuple[SSAValue, ...]:
        """The bounds [first, end) of an index under its constraints."""
        ends = [(c.form[index] > 0, self.bound(index, c)) for c in constraints]
        low = [value for is_low, value in ends if is_low]
        high = [value for is_low, value in ends if not is_low]
        return reduce(self.max, low), reduce(self.min, high)

    def bound(self, index: SSAValue, constraint: Constraint) -> SSAValue:
        """The first value of an index under a constraint with a positive coefficient; else the end.

        `c k + e >= 0` is `k >= ceil(-e / c)` for `c > 0`, where `ceil(x / c)` is `floor((x + c - 1)
        / c)`; and `k <= floor(e / -c)` for `c < 0`.
        """
        c = constraint.form[index]
        rest = constraint.form - Affine.of(index) * c
        if c > 0:
            return self.floordiv(-rest + (c - 1), c)
        # the end is floor(rest / -c) + 1 = floor((rest - c) / -c)
        return self.floordiv(rest + (-c), -c)

    def holds(self, disjuncts: Sequence[Sequence[Constraint]]) -> SSAValue:
        """A condition in disjunctive form, as one bit."""
        return reduce(self._or, (reduce(self._and, map(self._test, d)) for d in disjuncts))

    def _test(self, constraint: Constraint) -> SSAValue:
        positive = Affine({k: c for k, c in constraint.form.terms.items() if c > 0})
        rest = positive - constraint.form
        predicate = "eq" if constraint.equality else "sge"
        return self.insert(arith.CmpiOp(self.form(positive), self.form(rest), predicate)).result

    def _and(self, a: SSAValue, b: SSAValue) -> SSAValue:
        return self.insert(operations.binary(arith.AndIOp, a, b)).result

    def _or(self, a: SSAValue, b: SSAValue) -> SSAValue:
        return self.insert(operations.binary(arith.OrIOp, a, b)).result
