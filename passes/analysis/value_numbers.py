"""Numbers of values: those with the same number are equal to the last bit, wherever they stand.

    %0 = tix.sub %a, %b         3        %4 = tix.sub %b, %a         6
    %1 = tix.pow %0, 2.0        4        %5 = tix.pow %4, 2.0        4
    %2 = tix.add %1, %c         5        %6 = tix.add %c, %5         5

A number stands for what an operation computes and for the numbers of its operands: this is global
value numbering (Alpern, Wegman and Zadeck, POPL 1988), with three laws that hold for any rounding:

- x + y = y + x, and so for `mul`, `maximum` and `minimum`: operands count in one order;
- reductions are equal if they are but for the names of their indices;
- f(-x) = f(x) for even functions f, such as |x|, cosh x, x**2 and x * x: of their operands only the
  absolute value counts.

Two values have the same absolute value where they differ in signs alone: x - y and y - x, -x and x,
odd functions of such, their products and quotients. They are not exchanged elsewhere: x - x is 0
both ways round, but -(x - x) is -0.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import count
from typing import TypeAlias

from xdsl.dialects.builtin import FloatData
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.traits import Commutative

from tadc.dialects import tix
from tadc.dialects.quick import operands_of, ops_in
from tadc.dialects.tix import Affine, Constraint, Variable
from tadc.dialects.tix import elementwise as ew
from tadc.passes.rewriting.scoped_map import ScopedMap
from tadc.passes.rewriting.shallow_copy import shallow_copy

Key: TypeAlias = object
"""Hashable: what is computed, and the numbers of what it is computed from."""

EVEN = (ew.AbsOp, ew.CoshOp)
"""Functions of one real with f(-x) = f(x) to the last bit; `cos` rounds otherwise at -x."""

ODD = (ew.SinOp, ew.AsinOp, ew.AtanOp, ew.SinhOp, ew.TanhOp, ew.ErfOp, ew.SignOp)
"""Functions of one real with f(-x) = -f(x) to the last bit; `tan`, in glibc's vectors for AVX2,
rounds otherwise at -x."""


class ValueNumbers:
    """The number of every value in a definition, in time linear in its text and depth.

    Indices of reductions count as those that `same` has for them: then values in the bodies of
    several reductions may be equal.
    """

    def __init__(self, definition: tix.DefineOp, same: Mapping[SSAValue, SSAValue] | None = None):
        indices: ScopedMap[Variable, Key] = ScopedMap()
        for own, index in (same or {}).items():
            indices[own] = index
        self._definition = definition
        self._walk = _Walk({}, count(), ScopedMap(), ScopedMap(), indices, depth=0)
        self._walk.block(definition.body.block, inside=True)

    def shifted(self, distances: Mapping[SSAValue, int]) -> ValueNumbers:
        """The numbers that values have here where indices are larger by these distances."""
        found = shallow_copy(self)
        indices = self._walk.indices.new_child()
        found._walk = replace(
            self._walk, numbers=ScopedMap(), absolute=ScopedMap(), indices=indices, moved=distances
        )
        found._walk.block(self._definition.body.block, inside=True)
        return found

    @property
    def repeat(self) -> bool:
        """True if two values are equal that are neither read nor constants."""
        barred = tix.ReadOp, tix.ConstantOp
        computed = [n for v, n in self._walk.numbers.items() if not isinstance(v.owner, barred)]
        return len(set(computed)) < len(computed)

    def __getitem__(self, value: SSAValue) -> int:
        """The number of a real value."""
        return self._walk.numbers[value]


@dataclass
class _Walk:
    """Numbers the values of blocks, operands before what uses them."""

    known: dict[Key, int]
    fresh: count[int]
    numbers: ScopedMap[SSAValue, int]
    absolute: ScopedMap[SSAValue, int]
    """The number of the absolute value of each value."""
    indices: ScopedMap[Variable, Key]
    """Keys of quotients, and of the indices of reductions around."""
    depth: int
    moved: Mapping[SSAValue, int] = field(default_factory=dict[SSAValue, int])
    """The distances that are added to indices."""

    def block(self, block: Block, inside: bool) -> None:
        """Number the values of a block; with `inside`, also those in bodies of reductions."""
        for op in ops_in(block):
            match op:
                case tix.YieldOp():
                    pass
                case tix.FloorDivOp():
                    key = "quotient", self._form(op.form), op.divisor.data
                    self.indices[op.result] = key
                case tix.AtOp():
                    self.indices[op.result] = (
                        "at",
                        op.tensor,
                        op.is_clamped,
                        *map(self._form, op.forms),
                    )
                case _:
                    for region in op.regions if not isinstance(op, tix.ReductionOp) else ():
                        self.block(region.block, inside)
                    result = op.results[0]
                    self.numbers[result] = self._number(self._key(op))
                    self.absolute[result] = self._absolute(op)
                    if inside and isinstance(op, tix.ReductionOp):
                        self.block(op.body.block, inside)

    def _number(self, key: Key) -> int:
        if key not in self.known:
            self.known[key] = next(self.fresh)
        return self.known[key]

    def _key(self, op: Operation) -> Key:
        match op:
            case tix.ConstantOp(value=FloatData(data=number)):
                return op.name, number.hex()
            case tix.ReadOp():
                return op.name, op.tensor, *map(self._form, op.forms)
            case tix.IndexToRealOp():
                return op.name, self._form(op.form)
            case tix.ReductionOp():
                return self._reduction(op)
            case tix.IfOp():
                disjuncts = frozenset(self._constraints(d) for d in op.condition)
                return op.name, disjuncts, *map(self._value, op.regions)
            case tix.WhereOp():
                sides = self.numbers[op.lhs], self.numbers[op.rhs]
                return op.name, op.comparison, *sides, *map(self._value, op.regions)
            case tix.CallOp():
                return op.name, op.function.data, *(self.numbers[v] for v in op.arguments)
            case _:
                return self._elementwise(op)

    def _elementwise(self, op: Operation) -> Key:
        numbers = [self.numbers[v] for v in operands_of(op)]
        match op:
            case ew.MulOp() if numbers[0] == numbers[1]:
                return op.name, "square", self.absolute[op.lhs]
            case ew.PowOp() if (tix.constant_value(op.rhs) or 1) % 2 == 0:
                return op.name, "even", self.absolute[op.lhs], numbers[1]
            case _ if isinstance(op, EVEN):
                return op.name, self.absolute[op.operand]
            case _:
                return op.name, *(sorted(numbers) if op.has_trait(Commutative) else numbers)

    def _absolute(self, op: Operation) -> int:
        """The number of the absolute value, which -x has too."""
        match op:
            case ew.NegOp() | ew.AbsOp():
                return self.absolute[op.operand]
            case ew.SubOp():
                parts = sorted(self.numbers[v] for v in operands_of(op))
            case ew.MulOp():
                parts = sorted(self.absolute[v] for v in operands_of(op))
            case ew.DivOp():
                parts = [self.absolute[v] for v in operands_of(op)]
            case _ if isinstance(op, ODD):
                parts = [self.absolute[op.operand]]
            case _:
                parts = [self.numbers[op.results[0]]]
        return self._number(("absolute", op.name, *parts))

    def _reduction(self, op: tix.ReductionOp) -> Key:
        """The key of a reduction, whose indices count by their places."""
        own: dict[Variable, Key] = {v: ("own", self.depth, n) for n, v in enumerate(op.indices)}
        inner = replace(
            self,
            numbers=self.numbers.new_child(),
            absolute=self.absolute.new_child(),
            indices=self.indices.new_child(own),
            depth=self.depth + 1,
        )
        inner.block(op.body.block, inside=False)
        return op.name, len(own), inner._constraints(op.constraints), inner._value(op.body)

    def _value(self, region: Region) -> int:
        return self.numbers[tix.yielded(region)]

    def _form(self, form: Affine) -> Key:
        constant = form.constant + sum(form[v] * n for v, n in self.moved.items())
        return frozenset((self.indices.get(v, v), c) for v, c in form.terms.items()), constant

    def _constraints(self, constraints: Iterable[Constraint]) -> Key:
        return frozenset((self._form(c.form), c.equality) for c in constraints)
