"""Values of a body as sums of products of factors, whose equality `ValueNumbers` decides.

    2 * (x - y) * z**2 / d - w * (y - x)      =      2 (x - y) z z / d  +  w (x - y)

A factor is a `Leaf`, which knows a value that it stands for, a `Chosen` sum of terms, or a sum that
factors were taken out of (`monomials.Factored`). Differences, and odd functions of them, that are
equal but for their sign are one factor; not where they divide, as signs of zeros count there.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field

from xdsl.ir import Operation, SSAValue

from tadc.dialects import tix
from tadc.dialects.tix import Constraint
from tadc.dialects.tix import elementwise as ew
from tadc.passes.algebra.factoring.monomials import Collector, Factored, Monomial, Power
from tadc.passes.analysis.lower_bounds import is_far_from_zero
from tadc.passes.analysis.value_numbers import ODD, ValueNumbers
from tadc.passes.rewriting.terms import terms_of

LARGEST_EXPONENT = 16
"""The largest exponent of a power that is a product of equal factors."""


@dataclass(frozen=True)
class Leaf:
    """A factor that is not taken apart: equal values have the same key."""

    key: Hashable
    value: SSAValue = field(compare=False)


@dataclass(frozen=True)
class Chosen:
    """A sum of terms where a test holds, and 0 elsewhere."""

    test: Hashable
    key: Hashable
    terms: tuple[Monomial, ...] = field(compare=False)
    like: tix.WhereOp | tix.IfOp = field(compare=False)
    """A choice with this test."""


class Scalars:
    """The values of a sum's body as terms, and these collected."""

    def __init__(self, op: tix.SumOp, numbers: ValueNumbers):
        self._op = op
        self._numbers = numbers
        self._leaves: dict[Hashable, tuple[Leaf, int]] = {}
        self._collector = Collector(self._expanded)

    @property
    def terms(self) -> list[Monomial]:
        """The terms of the sum, collected."""
        return self._collector.collect(self._terms(tix.yielded(self._op.body)))

    def number(self, value: SSAValue) -> int:
        """The number of a value."""
        return self._numbers[value]

    # --- taking apart -----------------------------------------------------------------------------

    def _terms(self, value: SSAValue) -> list[Monomial]:
        """The terms of a value, each as a product."""
        block = value.owner.parent if isinstance(value.owner, Operation) else None
        if block is None:
            return [self._product(value)]
        terms = terms_of(value, block)
        return [Monomial(-1.0 if t.negative else 1.0) * self._product(t.value) for t in terms]

    def _product(self, value: SSAValue) -> Monomial:
        op = value.owner
        if not isinstance(op, Operation) or not self._is_own(op):
            return self._leaf(value)
        match op:
            case ew.MulOp():
                return self._product(op.lhs) * self._product(op.rhs)
            case ew.NegOp():
                return Monomial(-1.0) * self._product(op.operand)
            case ew.DivOp() if abs(tix.constant_value(op.lhs) or 1.0) == 1:
                return self._product(op.lhs) * self._divisor(op.rhs)
            case ew.PowOp():
                return self._power(op)
            case tix.ConstantOp() if math.isfinite(number := tix.constant_value(value) or 0.0):
                return Monomial(number)
            case tix.WhereOp() | tix.IfOp() if tix.constant_value(tix.yielded(op.otherwise)) == 0:
                return self._chosen(op)
            case _:
                return self._leaf(value)

    def _is_own(self, op: Operation) -> bool:
        """True for operations of the sum, and of choices in it."""
        around = op.parent_op()
        while isinstance(around, tix.WhereOp | tix.IfOp):
            around = around.parent_op()
        return around is self._op

    def _power(self, op: ew.PowOp) -> Monomial:
        exponent = tix.constant_value(op.rhs)
        if exponent is None or exponent != int(exponent) or abs(exponent) > LARGEST_EXPONENT:
            return self._leaf(op.result)
        if exponent > 0:
            return self._product(op.lhs) ** int(exponent)
        return self._divisor(op.lhs) ** int(-exponent)

    def _divisor(self, value: SSAValue) -> Monomial:
        """A denominator, as one factor that has its own sign; powers and products are taken apart
        where nothing overflows without the others."""
        op = value.owner
        match op:
            case ew.PowOp() if (exponent := tix.constant_value(op.rhs) or 0.0) == int(exponent):
                if 0 < exponent <= LARGEST_EXPONENT and is_far_from_zero(op.lhs):
                    return self._divisor(op.lhs) ** int(exponent)
            case ew.MulOp() if is_far_from_zero(op.lhs) and is_far_from_zero(op.rhs):
                return self._divisor(op.lhs) * self._divisor(op.rhs)
            case _:
                pass
        return Monomial.of(Leaf(self.number(value), value), divides=True)

    def _leaf(self, value: SSAValue) -> Monomial:
        key, sign = self._signed(value)
        leaf, own = self._leaves.setdefault(key, (Leaf(key, value), sign))
        return Monomial(float(sign * own)) * Monomial.of(leaf)

    def _signed(self, value: SSAValue) -> tuple[Hashable, int]:
        """A key that a value and its negative have in common, and a sign that tells them apart."""
        op = value.owner
        if isinstance(op, ew.SubOp):
            a, b = self.number(op.lhs), self.number(op.rhs)
            return ("difference", min(a, b), max(a, b)), 1 if a <= b else -1
        if isinstance(op, ODD):
            key, sign = self._signed(op.operand)
            return (op.name, key), sign
        return self.number(value), 1

    def _chosen(self, op: tix.WhereOp | tix.IfOp) -> Monomial:
        terms = self._collector.collect(self._terms(tix.yielded(op.then)))
        return _choice(self._test(op), op, terms)

    def _test(self, op: tix.WhereOp | tix.IfOp) -> Hashable:
        if isinstance(op, tix.IfOp):
            return frozenset(map(frozenset[Constraint], op.condition))
        return op.comparison, self.number(op.lhs), self.number(op.rhs)

    # --- sums that are the only factor of a term --------------------------------------------------

    def _expanded(self, terms: Sequence[Monomial]) -> list[Monomial]:
        return _with_joined_choices(
            [part for term in terms for part in self._parts(term)], self._collector
        )

    def _parts(self, term: Monomial) -> list[Monomial]:
        """The terms of the sum that a term is, if some of them divide."""
        leaf = term.only
        if not isinstance(leaf, Leaf) or not isinstance(leaf.value.owner, ew.AddOp | ew.SubOp):
            return [term]
        if not self._is_own(leaf.value.owner):
            return [term]
        parts = self._terms(leaf.value)
        if not any(power.divides for part in parts for power in part.powers):
            return [term]
        return [Monomial(term.number * part.number, part.powers) for part in parts]


def _with_joined_choices(terms: Sequence[Monomial], collector: Collector) -> list[Monomial]:
    """Terms in which choices with the same test are one."""
    choices: dict[Hashable, list[tuple[float, Chosen]]] = {}
    for term in terms:
        if isinstance(chosen := term.only, Chosen):
            choices.setdefault(chosen.test, []).append((term.number, chosen))
    several = {test: group for test, group in choices.items() if len(group) > 1}
    found = [t for t in terms if not isinstance(c := t.only, Chosen) or c.test not in several]
    for test, group in several.items():
        parts = [Monomial(n) * t for n, chosen in group for t in chosen.terms]
        found.append(_choice(test, group[0][1].like, collector.collect(parts)))
    return found


def _choice(test: Hashable, like: tix.WhereOp | tix.IfOp, terms: Sequence[Monomial]) -> Monomial:
    """Terms where a test holds; the number of a single one is outside."""
    number = terms[0].number if len(terms) == 1 else 1.0
    inner = tuple(Monomial(t.number / number, t.powers) for t in terms) if number else (*terms,)
    key = frozenset((t.number, t.key) for t in inner)
    return Monomial(number or 1.0) * Monomial.of(Chosen(test, key, inner, like))


def factors_in(terms: Iterable[Monomial]) -> list[tuple[Power, int]]:
    """The powers of all terms, and of the sums that are factors of them."""
    found: list[tuple[Power, int]] = []
    for term in terms:
        for power, count in term.powers.items():
            found.append((power, count))
            if isinstance(power.factor, Chosen | Factored):
                found += factors_in(power.factor.terms)
    return found
