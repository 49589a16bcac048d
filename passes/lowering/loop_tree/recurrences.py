"""The next element of a recurrence, from the one before it.

    y[k] = sum[j in range(k, N)](t[j] * prod[l in range(k + 1, j + 1)](w[l]))

    begin sum y.1[j]            total = 0
    for k backwards             for k from N - 1 to 0:
      carry y.1                   total = t[k] + w[k + 1] * total
      store y                     y[k] = total

w[N], of which there is nothing to weigh, is 0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from xdsl.dialects import arith
from xdsl.ir import SSAValue

from tadc.dialects import tix
from tadc.dialects.tix import Affine, Constraint
from tadc.passes.index_sets.sets import index_set
from tadc.passes.lowering import operations
from tadc.passes.lowering.loop_builders import one_of
from tadc.passes.lowering.needed_operations import missing
from tadc.passes.lowering.scalars.body_lowering import BodyLowering
from tadc.passes.lowering.scalars.elementary import CONTRACT
from tadc.passes.rewriting.cloner import free_values
from tadc.passes.rewriting.programs import definition_around
from tadc.passes.scheduling.recurrences import Recurrence


def next_element(at: BodyLowering, found: Recurrence, total: SSAValue) -> SSAValue:
    """An element of a recurrence, from the one before it."""
    scan, op = found.scan, definition_around(found.scan.op)
    known = index_set(op)
    size = op.shape[op.indices.index(scan.index)]
    of_term, of_rest = found.tests_of_term(known), found.tests_of_rest(size, known)
    for needed in missing(at, [*free_values(scan.op), *free_values(found.product)], ())[0]:
        at.operation(needed)
    at.index.values[scan.own] = at.index.form(Affine.of(scan.index) + scan.offset)
    at.index.values[found.factor] = at.index.form(found.place)
    weight = _where(at, of_term if found.weighs_term else of_rest, partial(_body, found.product))
    at.scalars[found.product.result] = weight if found.weighs_term else at.constant(1.0)
    term = _where(at, of_term, partial(_body, scan.op))
    weighed = at.insert(operations.binary(arith.MulfOp, weight, total, fastmath=CONTRACT)).result
    return at.insert(operations.binary(arith.AddfOp, term, weighed, fastmath=CONTRACT)).result


def _where(
    at: BodyLowering, tests: Sequence[Constraint], emit: Callable[[BodyLowering], SSAValue]
) -> SSAValue:
    """A value where tests hold, else 0."""
    if not tests:
        return emit(at)
    return one_of(at, at.index.holds([tests]), emit, lambda otherwise: otherwise.constant(0.0))


def _body(op: tix.ReductionOp, at: BodyLowering) -> SSAValue:
    """Emit the body of a reduction, whose index has a value, and give what it yields."""
    for inner in op.body.block.ops:
        if not isinstance(inner, tix.YieldOp) and inner.results[0] not in at.scalars:
            at.operation(inner)
    return at.scalars[tix.yielded(op.body)]
