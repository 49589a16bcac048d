"""Estimates of scalar operations, as formulas in the sizes: good enough to decide about threads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import prod
from typing import cast

from xdsl.ir import Block, Operation, SSAValue

from dialects.tix import (
    Affine,
    CallOp,
    Constraint,
    DefineOp,
    FloorDivOp,
    IfOp,
    ReductionOp,
    Variable,
    WhereOp,
)
from dialects.tix import elementwise as ew
from passes.analysis.costs import CHEAP, COST_OF_FUNCTION

ASSUMED_EXTENT = 8
"""The length assumed of a range that depends on other indices."""


@dataclass(frozen=True)
class Range:
    """The bounds of an index that depend on sizes alone, each a form and what it is divided by."""

    low: tuple[tuple[Affine, int], ...]
    high: tuple[tuple[Affine, int], ...]
    widths: tuple[Affine, ...] = ()
    """The distances of bounds that move alike with other indices."""

    def length(self, sizes: Mapping[str, int]) -> int:
        """The number of points; a guess where a bound depends on other indices."""
        values = cast("Mapping[Variable, int]", sizes)
        found = [form.evaluate(values) for form in self.widths]
        if self.low and self.high:
            low = min(form.evaluate(values) // divisor for form, divisor in self.low)
            high = min(form.evaluate(values) // divisor for form, divisor in self.high)
            found.append(high + low)
        return max(0, min(found, default=ASSUMED_EXTENT - 1) + 1)


@dataclass(frozen=True)
class Cost:
    """Operations outside of reductions, and for each reduction its ranges and the cost inside."""

    operations: int
    reductions: tuple[tuple[tuple[Range, ...], Cost], ...] = ()
    has_quotients: bool = False
    """True if indices are divided, which may be split (`passes/split_axes.py`)."""

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
    return _of_block(definition.body.block)


def _of_block(block: Block) -> Cost:
    costs = [_of_operation(op) for op in block.ops]
    reductions = (pair for cost in costs for pair in cost.reductions)
    has_quotients = any(cost.has_quotients for cost in costs)
    return Cost(sum(cost.operations for cost in costs), tuple(reductions), has_quotients)


def _of_operation(op: Operation) -> Cost:
    match op:
        case ReductionOp():
            ranges = tuple(_range(v, op.constraints) for v in op.indices)
            return Cost(0, ((ranges, _of_block(op.body.block)),))
        case IfOp() | WhereOp():
            then, otherwise = _of_block(op.then.block), _of_block(op.otherwise.block)
            operations = then.operations + otherwise.operations
            has_quotients = then.has_quotients or otherwise.has_quotients
            return Cost(operations, (*then.reductions, *otherwise.reductions), has_quotients)
        case FloorDivOp():
            return Cost(1, has_quotients=True)
        case ew.UnaryOp() | ew.BinaryOp() if not isinstance(op, CHEAP):
            return FUNCTION
        case CallOp():
            return _of_block(op.callee.value.block)
        case _:
            return ONE


def _range(index: SSAValue, constraints: Iterable[Constraint]) -> Range:
    low: list[tuple[Affine, int]] = []
    high: list[tuple[Affine, int]] = []
    for constraint in constraints:
        c = constraint.form[index]
        rest = constraint.form - Affine.of(index) * c
        if c:
            (low if c > 0 else high).append((rest, abs(c)))
    sums = (a + b for a, m in low for b, n in high if m == n == 1 and a.indices)
    widths = tuple(form for form in sums if not form.indices)
    return Range(_fixed(low), _fixed(high), widths)


def _fixed(bounds: Iterable[tuple[Affine, int]]) -> tuple[tuple[Affine, int], ...]:
    """The bounds that depend on sizes alone."""
    return tuple((form, divisor) for form, divisor in bounds if not form.indices)
