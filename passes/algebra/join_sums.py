"""`join-sums`: sums over the same points whose terms share expensive values become one sum.

    dx[i] = 2 * sum[j](w(x[i] - x[j]) * a[j]) - sum[k](w(x[k] - x[i]) * a[i])

becomes

    dx[i] = sum[j](2 * (w(x[i] - x[j]) * a[j]) - w(x[j] - x[i]) * a[i])

by  sum_k u + sum_k v = sum_k (u + v).  The gradients of forces between the points of one set are
like this: of a pair (i, j), each end has a term, and both need the distance. What is equal in the
terms is computed once from here on (`share-values`), and what they have as factors in common is
multiplied once (`collect-factors`).

Sums are joined that are terms of an element, but for factors, which move into them, and whose
terms depend on the same indices: `split-sums` parts others. What they share must be dear: to run
over the points once more costs little.

Only the order changes in which terms are added.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce

from xdsl.ir import Operation, SSAValue

from tadc.dialects import tix
from tadc.dialects.tix import Affine, Constraint, Variable
from tadc.dialects.tix import elementwise as ew
from tadc.passes.analysis.costs import COST_OF_FUNCTION, FREE, weight
from tadc.passes.analysis.index_uses import IndexUses
from tadc.passes.analysis.properties import calls_expanded, sums_bounded
from tadc.passes.analysis.rounding import must_round_identically
from tadc.passes.analysis.value_numbers import ValueNumbers
from tadc.passes.rewriting.builder import BodyBuilder
from tadc.passes.rewriting.cloner import Cloner
from tadc.passes.rewriting.products import Product
from tadc.passes.rewriting.program_pass import LocalPass
from tadc.passes.rewriting.programs import rewrite_definition
from tadc.passes.rewriting.terms import Term, add_terms, terms_of
from tadc.passes.scheduling.tiles.sum_lengths import is_short, term_count

LEAST_SHARED = COST_OF_FUNCTION
"""The least cost of what the terms of two sums share: one elementary function."""


@dataclass(frozen=True)
class JoinSumsPass(LocalPass):
    """`join-sums`: no options."""

    name = "join-sums"
    requires = (sums_bounded, calls_expanded)
    leaves = (sums_bounded,)

    def rewrite(self, program: tix.ProgramOp) -> tix.ProgramOp:
        return join_sums(program)


@dataclass(frozen=True)
class Scaled:
    """A term of an element that is a sum times a number, and other factors."""

    sum: tix.SumOp
    number: float
    others: tuple[SSAValue, ...]


def join_sums(program: tix.ProgramOp) -> tix.ProgramOp:
    """The program, changed in place, with sums joined that share dear values."""
    found = [(op, scaled) for op in program.definitions if len(scaled := _scaled_sums(op)) > 1]
    fixed = must_round_identically(program) if found else ()
    for op, scaled in found:
        free = [s for s in scaled if s.sum not in fixed]
        groups = [group for alike in _alike(free) for group in _sharing(op, alike)]
        if groups:
            _rewrite(op, groups)
    return program


def _scaled_sums(op: tix.DefineOp) -> list[Scaled]:
    """The long sums that an element has as terms, in order."""
    if sum(isinstance(o, tix.SumOp) for o in op.body.block.ops) < 2:
        return []
    terms = terms_of(tix.yielded(op.body), op.body.block)
    return [scaled for term in terms if (scaled := _scaled(term, op)) is not None]


def _scaled(term: Term, op: tix.DefineOp) -> Scaled | None:
    """A term as a product with a long sum that nothing else needs."""
    product = Product.of(term.value, op.body.block)
    sums = [s for v in product.factors if isinstance(s := v.owner, tix.SumOp) and not is_short(s)]
    if product.divisors or len(sums) != 1:
        return None
    (sum_,) = sums
    if len(sum_.results) > 1 or not sum_.result.has_one_use():
        return None
    number, others = 1.0, list[SSAValue]()
    for v in product.factors:
        constant = tix.constant_value(v)
        if constant is not None:
            number *= constant
        elif v is not sum_.result:
            others.append(v)
    return Scaled(sum_, -number if product.negative != term.negative else number, tuple(others))


def _alike(found: Sequence[Scaled]) -> list[list[Scaled]]:
    """The sums over the same points, whose terms depend on the same indices around them."""
    uses = IndexUses()
    groups: dict[object, list[Scaled]] = {}
    for scaled in found:
        own: dict[Variable, Affine] = {
            v: Affine.of(f"#{n}") for n, v in enumerate(scaled.sum.indices)
        }
        points = frozenset(c.substitute(own) for c in scaled.sum.constraints)
        values = (tix.yielded(scaled.sum.body), *scaled.others)
        around = {v for value in values for v in uses.of(value)} - {*scaled.sum.indices}
        groups.setdefault((len(own), points, frozenset(around)), []).append(scaled)
    return [group for group in groups.values() if len(group) > 1]


def _sharing(op: tix.DefineOp, alike: Sequence[Scaled]) -> list[list[Scaled]]:
    """Groups of sums, of those given, whose terms share dear values."""
    first = alike[0].sum
    numbers = ValueNumbers(
        op,
        {
            own: index
            for scaled in alike[1:]
            for own, index in zip(scaled.sum.indices, first.indices, strict=True)
        },
    )
    groups: list[tuple[list[Scaled], dict[object, int]]] = []
    for scaled in alike:
        costs = _costs(scaled.sum, numbers)
        for group, known in groups:
            if sum(cost for key, cost in costs.items() if key in known) >= LEAST_SHARED:
                group.append(scaled)
                known.update(costs)
                break
        else:
            groups.append(([scaled], costs))
    return [group for group, _ in groups if len(group) > 1]


def _costs(op: tix.SumOp, numbers: ValueNumbers) -> dict[object, int]:
    """The costs of the values that the terms of a sum are made of, by their numbers.

    Quotients by equal values count as equal: one division may do for them.
    """
    found: dict[object, int] = {}
    for o in _operations(op.body.block.ops):
        key = ("divisor", numbers[o.rhs]) if isinstance(o, ew.DivOp) else numbers[o.results[0]]
        found[key] = _cost(o)
    return found


def _operations(ops: Iterable[Operation]) -> list[Operation]:
    """Operations that compute something, those in choices too, but none in short sums."""
    found: list[Operation] = []
    for o in ops:
        if isinstance(o, tix.IfOp | tix.WhereOp):
            found += [inner for region in o.regions for inner in _operations(region.block.ops)]
        elif not isinstance(o, FREE):
            found.append(o)
    return found


def _cost(op: Operation) -> int:
    """The cost of a value; that of a short sum is that of its terms."""
    if not isinstance(op, tix.ReductionOp):
        return weight(op)
    inner = sum(_cost(o) for o in op.body.block.ops if not isinstance(o, FREE))
    return (term_count(op) or 1) * inner


# --- the joined sum -------------------------------------------------------------------------------


def _rewrite(op: tix.DefineOp, groups: Sequence[Sequence[Scaled]]) -> None:
    """Put one sum in the place of each group."""
    first = {group[0].sum: group for group in groups}
    joined = {scaled.sum for group in groups for scaled in group}
    terms = terms_of(tix.yielded(op.body), op.body.block)

    def body(e: BodyBuilder, own: list[SSAValue]) -> SSAValue:
        cloner = Cloner(e).inner(e, op.indices, own)
        total = e.constant(0)
        for term in terms:
            scaled = _scaled(term, op)
            if scaled is None or scaled.sum not in joined:
                total = add_terms(cloner, [term], total)
            elif scaled.sum in first:
                total = e.add(total, _joined(cloner, first[scaled.sum]))
        return total

    rewrite_definition(op, body)


def _joined(cloner: Cloner, group: Sequence[Scaled]) -> SSAValue:
    """The sum of the terms of all."""
    op = group[0].sum
    for scaled in group:
        cloner.require(scaled.sum)
        for v in scaled.others:
            cloner.fetch(v)

    def domain(own: list[SSAValue]) -> Sequence[Constraint]:
        return cloner.inner(cloner.builder, op.indices, own).constraints(op.constraints)

    def body(e: BodyBuilder, own: list[SSAValue]) -> SSAValue:
        total = e.constant(0)
        for scaled in group:
            term = cloner.inner(e, scaled.sum.indices, own).copy_body(scaled.sum.body)
            factors = [e.constant(scaled.number), *map(cloner.value, scaled.others)]
            total = e.add(total, reduce(e.mul, factors, term))
        return total

    return cloner.builder.sum([v.name_hint for v in op.indices], domain, body)
