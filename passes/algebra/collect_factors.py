"""`collect-factors`: terms of a sum are multiplied, and divided, once by what they have in common.

    sum[j](a[i] / d * b[j] * e + c[i] * a[i] / d * b[j] * e)         d, e: of i and j

becomes

    sum[j]((1 + c[i]) * a[i] * b[j] * e / d)

`passes/algebra/factoring/monomials.py` says how. Terms of sums are taken apart where something dear
depends both on the sum's indices and on others: it is computed for all pairs of these. Choices by
values with the same test, and 0 otherwise, become one choice:

    (a if r < 1 else 0) * e + (b if r < 1 else 0) * e      =      (a + b if r < 1 else 0) * e

**Quotients.** The same quotient should come out of all terms. Of a numerator the factor is divided
that is made of the same values as the denominator, as `(1 - r)` is for `r + 0.01`. Where a sum has
several other quotients by one value, they are products with its reciprocal, if that value certainly
is not near 0 (`passes/analysis/lower_bounds.py`), or if the reciprocal is in the terms anyway: else
it could overflow where no quotient does.

Sums over a short index beside a long one become short sums inside (`factoring/nested_sums.py`).

Only the order changes in which terms are added, and factors multiplied and divided. Differences
that are factors stay as they are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

from xdsl.ir import Operation, SSAValue

from tadc.dialects import tix
from tadc.dialects.tix import Constraint
from tadc.dialects.tix import elementwise as ew
from tadc.passes.algebra.factoring.monomials import Factored, Monomial, Power
from tadc.passes.algebra.factoring.nested_sums import nest_short_sums
from tadc.passes.algebra.factoring.scalar_monomials import Chosen, Leaf, Scalars, factors_in
from tadc.passes.analysis.costs import COST_OF_FUNCTION, weight
from tadc.passes.analysis.index_uses import IndexUses
from tadc.passes.analysis.lower_bounds import is_far_from_zero
from tadc.passes.analysis.properties import calls_expanded, sums_bounded
from tadc.passes.analysis.rounding import in_extremum, must_round_identically
from tadc.passes.analysis.value_numbers import ValueNumbers
from tadc.passes.index_sets.context import stays_inside
from tadc.passes.index_sets.sets import index_set
from tadc.passes.rewriting.builder import BodyBuilder
from tadc.passes.rewriting.cloner import Cloner, operations_behind
from tadc.passes.rewriting.program_pass import LocalPass
from tadc.passes.rewriting.programs import definition_around, rewrite_definition
from tadc.passes.rewriting.terms import terms_of
from tadc.passes.scheduling.tiles.sum_lengths import blocked_sums


@dataclass(frozen=True)
class CollectFactorsPass(LocalPass):
    """`collect-factors`: no options."""

    name = "collect-factors"
    requires = (sums_bounded, calls_expanded)
    leaves = (sums_bounded,)

    def rewrite(self, program: tix.ProgramOp) -> tix.ProgramOp:
        return collect_factors(program)


def collect_factors(program: tix.ProgramOp) -> tix.ProgramOp:
    """The program, changed in place, with the factors of pairs collected."""
    found = [op for op in program.definitions if _sums_of_pairs(op)]
    fixed = must_round_identically(program) if found else ()
    for op in found:
        if not any(s in fixed or in_extremum(s) for s in _sums_of_pairs(op)):
            nested = nest_short_sums(op, _is_dear_value)
            _rewrite(nested, _sums_of_pairs(nested))
    return program


def _sums_of_pairs(op: tix.DefineOp) -> list[tix.SumOp]:
    """The long sums of a definition that have something dear of pairs in their terms."""
    long = [o for o in blocked_sums(op.body) if isinstance(o, tix.SumOp) and len(o.results) == 1]
    uses = IndexUses()
    return [s for s in long if _is_of_pairs(s, uses)]


def _is_of_pairs(op: tix.SumOp, uses: IndexUses) -> bool:
    """True if something dear depends on indices of the sum, and on others."""
    own = {*op.indices}
    dear = [o.rhs if isinstance(o, ew.DivOp) else o.results[0] for o in op.walk() if _is_dear(o)]
    return any(uses.of(v) & own and uses.of(v) - own for v in dear)


def _is_dear_value(value: SSAValue) -> bool:
    return isinstance(value.owner, Operation) and _is_dear(value.owner)


def _is_dear(op: Operation) -> bool:
    """True for a division and for a function, but for small powers."""
    if isinstance(op, ew.PowOp):
        return (tix.constant_value(op.rhs) or -1.0) < 0
    scalar = isinstance(op, tix.UnaryOp | tix.BinaryOp | tix.CallOp)
    return scalar and weight(op) >= COST_OF_FUNCTION


def _rewrite(op: tix.DefineOp, sums: Collection[tix.SumOp]) -> None:
    """Collect the factors of these sums, where that saves something."""
    numbers = ValueNumbers(op)
    found: dict[Operation, _Terms] = {
        s: terms for s in sums if (terms := _Terms.of(s, numbers)) is not None
    }
    if not found:
        return

    def body(e: BodyBuilder, own: list[SSAValue]) -> SSAValue:
        return _Writer(e, found).copy_definition(op, e, own)

    rewrite_definition(op, body)


# --- writing terms --------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Terms:
    """The collected terms of a sum, and how their quotients are written."""

    terms: Sequence[Monomial]
    by_reciprocal: Collection[Hashable]
    """The denominators by whose reciprocal terms are multiplied."""
    elements: Mapping[Hashable, frozenset[int]]
    """The numbers of the reads and of the sums that factors are made of."""
    indices: Mapping[Hashable, frozenset[SSAValue]]
    """The indices that factors depend on."""
    outside: Sequence[SSAValue]
    """The values that choices use and that are computed outside of them."""

    @staticmethod
    def of(op: tix.SumOp, numbers: ValueNumbers) -> _Terms | None:
        """None where terms stay as they are."""
        scalars = Scalars(op, numbers)
        terms = scalars.terms
        powers = factors_in(terms)
        before = terms_of(tix.yielded(op.body), op.body.block)
        if len(terms) >= len(before) and not any(p.divides for p, _ in powers):
            return None
        elements = {p.factor: _elements(p.factor, numbers) for p, _ in powers}
        uses = IndexUses()
        indices = {p.factor: _indices(p.factor, uses) for p, _ in powers}
        used = {p.factor.value for p, _ in powers if isinstance(p.factor, Leaf)}
        inside = [v for o in op.body.walk() for v in o.results[:1] if v in used]
        outside = [v for v in inside if _is_there(v, op)]
        return _Terms(terms, _reciprocals(op, powers, numbers, uses), elements, indices, outside)


def _is_there(value: SSAValue, sum_: tix.SumOp) -> bool:
    """True if a value in a sum can be computed for all of its points, whatever choices say.

    What choices by indices leave out are a few points, or the sum would have other bounds.
    """
    known = [*index_set(definition_around(sum_)), *sum_.constraints]
    return not any(
        isinstance(op, tix.FloorDivOp | tix.IfOp) or not stays_inside(op, known)
        for op in operations_behind([value], sum_)
    )


def _elements(factor: Hashable, numbers: ValueNumbers) -> frozenset[int]:
    match factor:
        case Leaf(value=value):
            return _made_of(value, numbers)
        case Chosen(terms=terms) | Factored(terms=terms):
            parts = [_elements(p.factor, numbers) for p, _ in factors_in(terms)]
            return frozenset[int]().union(*parts)
        case _:
            return frozenset()


def _made_of(value: SSAValue, numbers: ValueNumbers) -> frozenset[int]:
    found: set[int] = set()
    pending = [value]
    while pending:
        op = pending.pop().owner
        match op:
            case tix.UnaryOp() | tix.BinaryOp() | tix.CallOp():
                pending += op.operands
            case tix.ConstantOp():
                pass
            case Operation():
                found.add(numbers[op.results[0]])
            case _:
                pass
    return frozenset(found)


def _indices(factor: Hashable, uses: IndexUses) -> frozenset[SSAValue]:
    match factor:
        case Leaf(value=value):
            return uses.of(value)
        case Chosen(terms=terms, like=like):
            test = frozenset[SSAValue]().union(*map(uses.of, like.operands))
            return test.union(*(_indices(p.factor, uses) for p, _ in factors_in(terms)))
        case Factored(terms=terms):
            parts = [_indices(p.factor, uses) for p, _ in factors_in(terms)]
            return frozenset[SSAValue]().union(*parts)
        case _:
            return frozenset()


def _reciprocals(
    op: tix.SumOp, powers: Sequence[tuple[Power, int]], numbers: ValueNumbers, uses: IndexUses
) -> set[Hashable]:
    """The denominators of several quotients, or of a reciprocal, which overflow nowhere else.

    A term that has further indices has a quotient for each of their values.
    """
    whole = uses.of(tix.yielded(op.body))
    counts: Counter[Hashable] = Counter()
    for power, count in powers:
        counts[power.factor] += count if power.divides else 0
    there = {numbers[v] for o in op.walk() if (v := _inverted(o)) is not None}
    found: set[Hashable] = set()
    for factor, count in counts.items():
        if isinstance(factor, Leaf) and count:
            is_there = numbers[factor.value] in there
            several = count > 1 or bool(whole - uses.of(factor.value))
            if is_there or (several and is_far_from_zero(factor.value)):
                found.add(factor)
    return found


def _inverted(op: Operation) -> SSAValue | None:
    """The value of which an operation computes a number over a power."""
    match op:
        case ew.DivOp() if tix.constant_value(op.lhs) is not None:
            return op.rhs
        case ew.PowOp() if (tix.constant_value(op.rhs) or 0.0) < 0:
            return op.lhs
        case _:
            return None


class _Writer(Cloner):
    """Copies a body; some sums have their terms written anew."""

    def __init__(self, builder: BodyBuilder, found: Mapping[Operation, _Terms]):
        super().__init__(builder)
        self.found = found

    def copy_reduction(self, op: tix.ReductionOp) -> SSAValue:
        if op not in self.found:
            return super().copy_reduction(op)

        def domain(own: list[SSAValue]) -> Sequence[Constraint]:
            return self.inner(self.builder, op.indices, own).constraints(op.constraints)

        def body(e: BodyBuilder, own: list[SSAValue]) -> SSAValue:
            how, inner = self.found[op], self.inner(e, op.indices, own)
            for value in how.outside:
                inner.fetch(value)
            return _Products(inner, how).sum(how.terms)

        return self.builder.sum([v.name_hint for v in op.indices], domain, body)


@dataclass
class _Products:
    """Writes products into a body."""

    cloner: Cloner
    how: _Terms

    def sum(self, terms: Sequence[Monomial]) -> SSAValue:
        """The sum of terms, one by one; those that are subtracted last."""
        e = self.cloner.builder
        ordered = sorted(terms, key=lambda t: t.number < 0)
        return reduce(e.add, [self._product(term) for term in ordered])

    def _product(self, term: Monomial) -> SSAValue:
        """A product: first of what the pair has alone, which quotients divide."""
        e = self.cloner.builder
        above = {p.factor: n for p, n in term.powers.items() if not p.divides}
        below = {p.factor: n for p, n in term.powers.items() if p.divides}
        quotients = self._quotients(above, below)
        pair = frozenset[SSAValue]().union(
            *(self.how.indices[p.factor] for p in term.powers if p.divides)
        )
        inner = [f for f in above if self.how.indices[f] <= pair]
        outer = [f for f in above if f not in inner]
        number = e.constant(abs(term.number))
        if any(below.values()) and not quotients and not any(above[f] for f in inner) and outer:
            inner.append(outer.pop(0))
        product = number
        for f in inner:
            product = e.mul(product, e.pow(self._value(f), e.constant(above[f])))
        for value in quotients:
            product = e.mul(product, value)
        for divisor, times in below.items():
            for _ in range(times):
                product = e.div(product, self._value(divisor))
        for f in outer:
            product = e.mul(product, e.pow(self._value(f), e.constant(above[f])))
        return e.neg(product) if term.number < 0 else product

    def _quotients(self, above: dict[Hashable, int], below: dict[Hashable, int]) -> list[SSAValue]:
        """Powers of quotients, and of reciprocals; what is in them no longer counts."""
        e, found = self.cloner.builder, list[SSAValue]()
        for divisor in below:
            for factor in above:
                times = min(above[factor], below[divisor])
                if times and self._belong(factor, divisor):
                    quotient = e.div(self._value(factor), self._value(divisor))
                    found.append(e.pow(quotient, e.constant(times)))
                    above[factor] -= times
                    below[divisor] -= times
            if below[divisor] and divisor in self.how.by_reciprocal:
                reciprocal = e.div(e.constant(1), self._value(divisor))
                both = min(above.get(divisor, 0), below[divisor])
                if both:  # about 1, where powers of each could overflow and vanish
                    quotient = e.mul(self._value(divisor), reciprocal)
                    found.append(e.pow(quotient, e.constant(both)))
                    above[divisor] -= both
                if below[divisor] > both:
                    found.append(e.pow(reciprocal, e.constant(below[divisor] - both)))
                below[divisor] = 0
        return found

    def _belong(self, factor: Hashable, divisor: Hashable) -> bool:
        """True if a factor is made of the same values as a divisor, and is another one."""
        same = self.how.elements[factor] == self.how.elements[divisor]
        return same and factor != divisor

    def _value(self, factor: Hashable) -> SSAValue:
        match factor:
            case Leaf(value=value):
                self.cloner.fetch(value)
                return self.cloner.value(value)
            case Factored(terms=terms):
                return self.sum(terms)
            case _:
                assert isinstance(factor, Chosen)
                return self._choice(factor)

    def _choice(self, chosen: Chosen) -> SSAValue:
        like, e = chosen.like, self.cloner.builder

        def then(e: BodyBuilder, _: list[SSAValue]) -> SSAValue:
            return _Products(self.cloner.inner(e), self.how).sum(chosen.terms)

        def otherwise(e: BodyBuilder, _: list[SSAValue]) -> SSAValue:
            return e.constant(0)

        for v in like.operands:
            self.cloner.fetch(v)
        if isinstance(like, tix.IfOp):
            disjuncts = [self.cloner.constraints(disjunct) for disjunct in like.condition]
            return e.choose(disjuncts, then, otherwise)
        lhs, rhs = map(self.cloner.value, like.operands)
        return e.where(like.comparison, lhs, rhs, then, otherwise)
