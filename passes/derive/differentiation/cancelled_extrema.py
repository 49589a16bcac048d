"""Extrema that cancel: maxima that keep exponentials finite, and on which no result depends.

    m[i] = max[k](x[i, k])
    e[i, j] = exp(x[i, j] - m[i])                  e^(-t[i]) times as large
    y[i, j] = e[i, j] / sum[k](e[i, k])            e^(-t[i]) / e^(-t[i]) = 1 times as large

Add any t[i] to each element of m: every y stays as it is, in exact arithmetic. So the derivative
of y by m is 0, and no gradient has to ask which terms of the maximum are the largest.

A value that depends on t as e^a(t) v or as v + a(t), where a is a linear form in elements of t and
v is free of t, has a `Shift`. The rules are those of arithmetic,

    (u + a) + (v + b) = (u + v) + (a + b)          e^a u * e^b v = e^(a + b) u v
    e^(v + a) = e^a e^v                            log(e^a v) = a + log v
    e^a u + e^a v = e^a (u + v)                    (e^a v)^c = e^(c a) v^c

and values that follow none of them depend on t in another way. Choices are as their branches: what
only decides has the derivative 0. A result is free of m if its shift holds no element of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from math import isfinite
from typing import TypeAlias

from xdsl.ir import Block, Operation, SSAValue

from tadc.dialects import tix
from tadc.dialects.tix import Affine, Variable
from tadc.dialects.tix import elementwise as ew
from tadc.passes.index_sets.paths import elements

Element: TypeAlias = tuple[SSAValue, tuple[Affine, ...]]
"""An element of t: the extremum, and where it is read."""


@dataclass(frozen=True)
class Shift:
    """A value depends on t as e^a(t) v if it `is_factor`, else as v + a(t)."""

    amount: Mapping[Element, Fraction]
    """The linear form a; empty where the value is free of t."""
    is_factor: bool = False
    otherwise: frozenset[SSAValue] = frozenset()
    """The extrema that v is not free of."""

    def plus(self, other: Shift) -> Shift:
        """The shift with both amounts, of two that are alike."""
        amount = dict(self.amount)
        for element, number in other.amount.items():
            amount[element] = amount.get(element, Fraction()) + number
        is_factor = self.is_factor or other.is_factor
        return Shift(amount, is_factor, self.otherwise | other.otherwise).known

    def times(self, number: Fraction) -> Shift:
        """The shift with so many times the amount."""
        return replace(self, amount={e: c * number for e, c in self.amount.items()}).known

    def without(self, variables: set[Variable]) -> Shift:
        """The shift outside of where these variables are."""
        inside = {t for t, forms in self.amount if any(variables & {*f.terms} for f in forms)}
        return replace(self, otherwise=self.otherwise | inside).known

    @property
    def known(self) -> Shift:
        """The shift without what is 0, and without extrema that v is not free of."""
        kept = {e: c for e, c in self.amount.items() if c and e[0] not in self.otherwise}
        return Shift(kept, self.is_factor and bool(kept), self.otherwise)

    @property
    def lost(self) -> Shift:
        """The shift of a value that follows no rule."""
        return Shift({}, otherwise=self.otherwise.union(tensor for tensor, _ in self.amount))

    @property
    def parts(self) -> set[tuple[Element, Fraction, bool]]:
        """The terms of the amount."""
        return {(element, number, self.is_factor) for element, number in self.amount.items()}

    def may_be(self, is_factor: bool) -> bool:
        """True for the way in which the value depends on t; where it does not, for both."""
        return not self.amount or self.is_factor == is_factor


FREE = Shift({})
"""The shift of values that do not depend on t."""

ONE = Fraction(1)


def cancelled_extrema(program: tix.ProgramOp, results: Iterable[SSAValue]) -> set[SSAValue]:
    """The tensors whose elements are extrema, and which these results do not depend on.

    Takes time linear in the text, where a value depends on few extrema.
    """
    extrema: set[SSAValue] = {d.result for d in program.definitions if _is_extremum(d)}
    if not extrema:
        return set()
    shifts = _Shifts(extrema)
    for definition in program.definitions:
        shifts.visit(definition)
    for result in results:
        extrema -= shifts.of_tensor(result).lost.otherwise
    return extrema


def _is_extremum(definition: tix.DefineOp) -> bool:
    return any(isinstance(value.owner, tix.ExtremumOp) for value in elements(definition))


class _Shifts:
    """The shifts of tensors in their own indices, and of values."""

    def __init__(self, extrema: Iterable[SSAValue]):
        self._tensors: dict[SSAValue, Shift] = {}
        self._values: dict[SSAValue, Shift] = {}
        self._extrema = frozenset(extrema)

    def of_tensor(self, tensor: SSAValue) -> Shift:
        """The shift of the element at the indices of a definition; arguments have none."""
        return self._tensors.get(tensor, FREE)

    def visit(self, definition: tix.DefineOp) -> None:
        """Find the shift of a definition, after those of what it reads."""
        self._block(definition.body.block)
        shift = self._values[tix.yielded(definition.body)].without(_quotients(definition))
        tensor = definition.result
        if tensor in self._extrema:
            own = tensor, tuple(Affine.of(v) for v in definition.indices)
            shift = shift if shift.may_be(is_factor=False) else shift.lost
            shift = shift.plus(Shift({own: ONE}))
        self._tensors[tensor] = shift
        self._values.clear()

    def _block(self, block: Block) -> None:
        for op in block.ops:
            for region in op.regions:
                self._block(region.block)
            if op.results and not isinstance(op, tix.FloorDivOp):
                self._values[op.results[0]] = self._of(op)

    def _of(self, op: Operation) -> Shift:
        inside = [tix.yielded(region) for region in op.regions]
        match op:
            case tix.ReadOp():
                return self._read(op)
            case ew.AddOp() | ew.SubOp():
                return self._total(op)
            case ew.MulOp() | ew.DivOp():
                return self._product(op)
            case ew.PowOp() if (power := _number(op.rhs)) is not None:
                return self._as_factor(op.lhs, power)
            case ew.SqrtOp():
                return self._as_factor(op.operand, ONE / 2)
            case ew.AbsOp() | ew.ReluOp():
                return self._as_factor(op.operand, ONE)
            case ew.NegOp():
                shift = self._values[op.operand]
                return shift if shift.is_factor else shift.times(-ONE)
            case ew.ExpOp():
                return self._changed(op.operand, is_factor=True)
            case ew.LogOp():
                return self._changed(op.operand, is_factor=False)
            case ew.StepOp():
                return FREE
            case ew.MaximumOp() | ew.MinimumOp():
                return self._common(op.operands)
            case tix.IfOp() | tix.WhereOp():
                return self._common(inside)
            case tix.SumOp() | tix.ExtremumOp():
                shift = self._values[inside[0]].without({*op.indices, *_quotients(op)})
                is_kept = isinstance(op, tix.ExtremumOp) or shift.may_be(is_factor=True)
                return shift if is_kept else shift.lost
            case _:
                return self._lost([*op.operands, *inside])

    def _read(self, op: tix.ReadOp) -> Shift:
        shift = self.of_tensor(op.tensor)
        if not isinstance(op.tensor.owner, tix.DefineOp) or not shift.amount:
            return shift
        own: list[Variable] = [*op.tensor.owner.indices]
        places = dict(zip(own, op.forms, strict=True))
        moved = replace(shift, amount={})
        for (t, forms), number in shift.amount.items():  # two elements may become one: m[i], m[j]
            element = t, tuple(f.substitute(places) for f in forms)
            moved = moved.plus(Shift({element: number}, shift.is_factor))
        return moved

    def _total(self, op: ew.AddOp | ew.SubOp) -> Shift:
        lhs, rhs = self._values[op.lhs], self._values[op.rhs]
        if lhs.may_be(is_factor=False) and rhs.may_be(is_factor=False):
            return lhs.plus(rhs if isinstance(op, ew.AddOp) else rhs.times(-ONE))
        return self._common(op.operands)

    def _product(self, op: ew.MulOp | ew.DivOp) -> Shift:
        lhs, rhs = self._values[op.lhs], self._values[op.rhs]
        divides = isinstance(op, ew.DivOp)
        if lhs.may_be(is_factor=True) and rhs.may_be(is_factor=True):
            return lhs.plus(rhs.times(-ONE) if divides else rhs)
        if number := _number(op.rhs):
            return lhs.times(1 / number if divides else number)
        if (number := _number(op.lhs)) and not divides:
            return rhs.times(number)
        return self._lost(op.operands)

    def _as_factor(self, value: SSAValue, power: Fraction) -> Shift:
        shift = self._values[value]
        return shift.times(power) if shift.may_be(is_factor=True) else shift.lost

    def _changed(self, value: SSAValue, is_factor: bool) -> Shift:
        shift = self._values[value]
        follows = shift.may_be(not is_factor)
        return replace(shift, is_factor=is_factor).known if follows else shift.lost

    def _common(self, values: Iterable[SSAValue]) -> Shift:
        """The shift of a value that is one of these, or if they are factors a sum of them.

        A constant 0 is a multiple of every factor.
        """
        given = list(values)
        if any(self._values[v].is_factor for v in given):
            given = [v for v in given if ew.constant_value(v) != 0]
        first, *others = [self._values[v] for v in given]
        otherwise = first.otherwise.union(*(s.otherwise for s in others))
        different = {tensor for s in others for (tensor, _), *_ in first.parts ^ s.parts}
        return replace(first, otherwise=otherwise | different).known

    def _lost(self, values: Iterable[SSAValue]) -> Shift:
        lost = (self._values[v].lost.otherwise for v in values if v in self._values)
        return Shift({}, otherwise=frozenset(tensor for found in lost for tensor in found))


def _quotients(op: Operation) -> set[Variable]:
    """The quotients of indices that are found within an operation."""
    return {inner.result for inner in op.walk() if isinstance(inner, tix.FloorDivOp)}


def _number(value: SSAValue) -> Fraction | None:
    """The finite number that a value is, if it is one."""
    number = ew.constant_value(value)
    return None if number is None or not isfinite(number) else Fraction(number)
