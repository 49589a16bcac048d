"""Walk through the loops of a bounded program with concrete sizes, and count.

`walk(definition, sizes)` says for every element of a definition what is read, and how many loops on
the way have no iteration.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from xdsl.ir import Operation, Region, SSAValue

from tadc.dialects import tix
from tadc.dialects.tix import Constraint, Variable
from tadc.sizes import shape_of


@dataclass
class Visits:
    """What happens for one element."""

    reads: Counter[SSAValue] = field(default_factory=Counter)
    elements: list[tuple[int, ...]] = field(default_factory=list[tuple[int, ...]])
    """Where tensors are read, in order."""
    empty: int = 0
    """Loops inside another loop that have no iteration."""
    outermost_empty: int = 0
    """Loops without iteration that are the first of a sum."""


def walk(definition: tix.DefineOp, sizes: Mapping[str, int]) -> dict[tuple[int, ...], Visits]:
    found: dict[tuple[int, ...], Visits] = {}
    for element in np.ndindex(shape_of(definition.type, sizes)):
        visits = found[element] = Visits()
        values: dict[Variable, int] = {
            **sizes,
            **dict(zip(definition.indices, element, strict=True)),
        }
        _region(definition.body, values, visits)
    return found


def _region(region: Region, values: dict[Variable, int], visits: Visits) -> None:
    for op in region.block.ops:
        _operation(op, values, visits)


def _operation(op: Operation, values: dict[Variable, int], visits: Visits) -> None:
    match op:
        case tix.FloorDivOp():
            values[op.result] = op.form.evaluate(values) // op.divisor.data
        case tix.ReadOp():
            visits.reads[op.tensor] += 1
            visits.elements.append(tuple(f.evaluate(values) for f in op.forms))
        case tix.ReductionOp():
            _loops(op, op.indices, values, visits)
        case tix.IfOp():
            taken = any(all(_holds(c, values) for c in piece) for piece in op.condition)
            _region(op.then if taken else op.otherwise, values, visits)
        case _:
            pass


def _holds(constraint: Constraint, values: Mapping[Variable, int]) -> bool:
    value = constraint.form.evaluate(values)
    return value == 0 if constraint.equality else value >= 0


def _loops(
    op: tix.ReductionOp, own: Sequence[SSAValue], values: dict[Variable, int], visits: Visits
) -> None:
    if not own:
        _region(op.body, values, visits)
        return
    index, *rest = own
    low, high = [], []
    for c in op.constraints:
        if c.form[index] and not any(c.form[v] for v in rest):
            other = c.form.evaluate({**values, index: 0})
            if c.form[index] > 0:
                low.append(-(other // c.form[index]))
            else:
                high.append(other // -c.form[index])
    steps = range(max(low), min(high) + 1)
    if not steps and index is op.indices[0]:
        visits.outermost_empty += 1
    elif not steps:
        visits.empty += 1
    for value in steps:
        values[index] = value
        _loops(op, rest, values, visits)
