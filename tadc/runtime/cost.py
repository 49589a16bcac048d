"""Estimates of scalar operations per definition: good enough to decide whether to use threads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import prod
from typing import cast

from xdsl.ir import Block, Operation, SSAValue

from dialects.tix import (
    Affine,
    CallOp,
    Constraint,
    DefineOp,
    IfOp,
    ProgramOp,
    ReductionOp,
    Variable,
    WhereOp,
)
from dialects.tix import elementwise as ew
from passes.analysis.costs import CHEAP, COST_OF_FUNCTION
from tadc.sizes import shape_of

ASSUMED_EXTENT = 8
"""The length assumed of a range that depends on other indices."""


def work_of(definition: DefineOp, sizes: Mapping[str, int]) -> int:
    """Operations of one evaluation of the whole definition."""
    return prod(shape_of(definition.type, sizes)) * _of_block(definition.body.block, sizes)


def total_work(program: ProgramOp, sizes: Mapping[str, int]) -> int:
    """Operations of one evaluation of a program."""
    return sum(work_of(definition, sizes) for definition in program.definitions)


def _of_block(block: Block, sizes: Mapping[str, int]) -> int:
    return sum(_of_operation(op, sizes) for op in block.ops)


def _of_operation(op: Operation, sizes: Mapping[str, int]) -> int:
    match op:
        case ReductionOp():
            lengths = (_length(v, op.constraints, sizes) for v in op.indices)
            return prod(lengths) * _of_block(op.body.block, sizes)
        case IfOp() | WhereOp():
            return _of_block(op.then.block, sizes) + _of_block(op.otherwise.block, sizes)
        case ew.UnaryOp() | ew.BinaryOp() if not isinstance(op, CHEAP):
            return COST_OF_FUNCTION
        case CallOp():
            return _of_block(op.callee.value.block, sizes)
        case _:
            return 1


def _length(index: SSAValue, constraints: Iterable[Constraint], sizes: Mapping[str, int]) -> int:
    """The length of a range that has bounds without other indices, else a guess."""
    values = cast("Mapping[Variable, int]", sizes)
    low: list[int] = []
    high: list[int] = []
    for constraint in constraints:
        c = constraint.form[index]
        rest = constraint.form - Affine.of(index) * c
        if c and not rest.indices:
            (low if c > 0 else high).append(rest.evaluate(values) // abs(c))
    return max(0, min(high) + min(low) + 1) if low and high else ASSUMED_EXTENT
