"""Estimates of scalar operations, as formulas in the sizes: good enough to decide about threads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import lcm, prod
from typing import TypeAlias, cast

from xdsl.ir import Block, Operation, SSAValue

from tadc.dialects.tix import (
    Affine,
    AtOp,
    CallOp,
    Constraint,
    DefineOp,
    FloorDivOp,
    IfOp,
    ReductionOp,
    Variable,
    WhereOp,
)
from tadc.dialects.tix import elementwise as ew
from tadc.passes.analysis.costs import CHEAP, COST_OF_FUNCTION, weight

Quotient: TypeAlias = tuple[Affine, int]
"""A form in the sizes, and what it is divided by."""

Middles: TypeAlias = Mapping[Variable, Quotient]
"""The value of each index in the middle of its range."""


@dataclass(frozen=True)
class Range:
    """The bounds of an index, in the sizes alone."""

    low: tuple[Quotient, ...]
    high: tuple[Quotient, ...]
    widths: tuple[Affine, ...] = ()
    """The distances of bounds that move alike with other indices."""
    segments: tuple[Affine, Affine] | None = None
    """The number of points in all ranges between neighbouring elements of an index tensor, and that
    of the ranges, where such elements are its bounds."""

    def length(self, sizes: Mapping[str, int]) -> int:
        """The number of points; the mean number where a bound depends on other indices."""
        values = cast("Mapping[Variable, int]", sizes)
        if self.segments is not None:
            points, ranges = (form.evaluate(values) for form in self.segments)
            return max(1, points // max(1, ranges))
        low = min(form.evaluate(values) // divisor for form, divisor in self.low)
        high = min(form.evaluate(values) // divisor for form, divisor in self.high)
        return max(0, min([low + high, *(form.evaluate(values) for form in self.widths)]) + 1)

    @property
    def middle(self) -> Quotient:
        """The index in the middle of the range: `c k + a >= 0` and `b - d k >= 0` leave the values
        from -a/c to b/d, and half their sum is (b c - a d) / (2 c d)."""
        (a, c), (b, d) = self.low[0], self.high[0]
        return b * c - a * d, 2 * c * d


@dataclass(frozen=True)
class Cost:
    """Operations outside of reductions, and for each reduction its ranges and the cost inside."""

    operations: int
    reductions: tuple[tuple[tuple[Range, ...], Cost], ...] = ()
    has_quotients: bool = False
    """True if indices are divided, which may be split (`passes/splitting/split_axes.py`)."""
    has_common_values: bool = False
    """True if columns have values of a function in common, which may be a tensor
    (`passes/layout/outline_values.py`)."""

    def at(self, sizes: Mapping[str, int]) -> int:
        """The number of operations for these sizes."""
        return self.operations + sum(
            prod(r.length(sizes) for r in ranges) * inner.at(sizes)
            for ranges, inner in self.reductions
        )


ONE, FUNCTION = Cost(1), Cost(COST_OF_FUNCTION)
"""The costs of most operations."""


def cost_of(definition: DefineOp) -> Cost:
    """The cost of one element."""
    sizes = zip(definition.indices, definition.shape, strict=True)
    cost = _of_block(definition.body.block, {v: (size - 1, 2) for v, size in sizes})
    return replace(cost, has_common_values=_has_common_values(definition))


def _has_common_values(definition: DefineOp) -> bool:
    """True if the value of a function depends on the last index, but not on all."""
    last, indices = {*definition.indices[-1:]}, {*definition.indices}
    used: dict[SSAValue, set[SSAValue]] = {v: {v} for v in indices}
    for op in definition.body.block.ops:  # in order, as expressions are deeper than calls may be
        own = {v for inner in op.walk() for o in inner.operands for v in used.get(o, ())}
        if weight(op) >= COST_OF_FUNCTION and last <= own and not indices <= own:
            return True
        used |= dict.fromkeys(op.results, own)
    return False


def _of_block(block: Block, middles: Middles) -> Cost:
    inner = dict(middles)
    costs: list[Cost] = []
    for op in block.ops:
        if isinstance(op, FloorDivOp):
            form, divisor = _in_the_middle(op.form, inner)
            inner[op.result] = form, divisor * op.divisor.data
        if isinstance(op, AtOp):
            inner[op.result] = (Affine(), 1) if op.end is None else (op.end - 1, 2)
        costs.append(_of_operation(op, inner))
    reductions = (pair for cost in costs for pair in cost.reductions)
    has_quotients = any(cost.has_quotients for cost in costs)
    return Cost(sum(cost.operations for cost in costs), tuple(reductions), has_quotients)


def _of_operation(op: Operation, middles: Middles) -> Cost:
    match op:
        case ReductionOp():
            inner, ranges = dict(middles), list[Range]()
            for v in op.indices:
                ranges.append(_range(v, op.constraints, inner))
                inner[v] = ranges[-1].middle
            return Cost(0, ((tuple(ranges), _of_block(op.body.block, inner)),))
        case IfOp() | WhereOp():
            then, otherwise = (_of_block(r.block, middles) for r in (op.then, op.otherwise))
            operations = then.operations + otherwise.operations
            has_quotients = then.has_quotients or otherwise.has_quotients
            return Cost(operations, (*then.reductions, *otherwise.reductions), has_quotients)
        case FloorDivOp():
            return Cost(1, has_quotients=True)
        case ew.UnaryOp() | ew.BinaryOp() if not isinstance(op, CHEAP):
            return FUNCTION
        case CallOp():
            return _of_block(op.callee.value.block, {})
        case _:
            return ONE


def _range(index: SSAValue, constraints: Iterable[Constraint], middles: Middles) -> Range:
    """The range of an index, whose bounds may depend on indices before it."""
    low, high = list[Quotient](), list[Quotient]()
    for constraint in constraints:
        c = constraint.form[index]
        rest = constraint.form - Affine.of(index) * c
        if not c or any(v not in middles for v in rest.indices):
            continue
        (low if c > 0 else high).append((rest, abs(c)))
        if constraint.equality:
            (high if c > 0 else low).append((-rest, abs(c)))
    segments = _segments(form for form, _ in (*low, *high))
    if segments is not None:
        return Range(((Affine(), 1),), ((segments[0], 1),), segments=segments)
    sums = (a + b for a, m in low for b, n in high if m == n == 1 and a.indices)
    widths = tuple(form for form in sums if not form.indices)
    return Range(_fixed(low, middles), _fixed(high, middles), widths)


def _segments(bounds: Iterable[Affine]) -> tuple[Affine, Affine] | None:
    """The end of an index tensor's elements and the number of these, if one of them is a bound."""
    for op in (v.owner for form in bounds for v in form.indices):
        if isinstance(op, AtOp) and op.end is not None and op.shape:
            return op.end - 1, op.shape[0] - 1
    return None


def _fixed(bounds: Sequence[Quotient], middles: Middles) -> tuple[Quotient, ...]:
    """The bounds that depend on sizes alone; where there are none, each in the middle of the ranges
    of other indices."""
    fixed = tuple((form, divisor) for form, divisor in bounds if not form.indices)
    moving = ((*_in_the_middle(form, middles), divisor) for form, divisor in bounds)
    return fixed or tuple((form, inner * divisor) for form, inner, divisor in moving)


def _in_the_middle(form: Affine, middles: Middles) -> Quotient:
    """A form of indices in the middle of their ranges."""
    divisor = lcm(*(middles[v][1] for v in form.indices))
    total = form * divisor
    for v in form.indices:
        middle, own = middles[v]
        total += (middle * (divisor // own) - Affine.of(v) * divisor) * form[v]
    return total, divisor
