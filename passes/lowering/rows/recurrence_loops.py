"""Loops that compute each element of a row from the one before it.

    y[k] = sum[j in range(k, N)](t[j] * prod[l in range(k + 1, j + 1)](w[l]))

    total = 0
    for k from N - 1 to 0:
        total = t[k] + w[k + 1] * total        w[N], of which there is nothing to weigh, is 0
        y[k] = total

Rows are independent of each other (`passes/scheduling/recurrences.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType
from xdsl.ir import Block, Region, SSAValue

from tadc.dialects import tix
from tadc.dialects.loops import ParallelOp
from tadc.dialects.tix import Affine, Constraint
from tadc.passes.index_sets.sets import index_set
from tadc.passes.lowering import operations
from tadc.passes.lowering.emit import carrying_loop, mirrored, one_of, store
from tadc.passes.lowering.scalars.body_lowering import BodyLowering
from tadc.passes.lowering.scalars.elementary import CONTRACT
from tadc.passes.lowering.trees import missing
from tadc.passes.rewriting.cloner import free_values
from tadc.passes.scheduling.recurrences import Recurrence


def recurrence_loops(outer: BodyLowering, op: tix.DefineOp, found: Recurrence) -> ParallelOp:
    """The loops of a recurrence: one iteration for a row."""
    shape = dict(zip(op.indices, op.shape, strict=True))
    size = shape.pop(found.scan.index)
    body = Block(arg_types=[IndexType()] * len(shape))
    for new, old in zip(body.args, shape, strict=True):
        new.name_hint = old.name_hint
    limits = [outer.index.form(n) for n in shape.values()]
    at = outer.inside(body)
    at.index.values.update(zip(shape, body.args, strict=True))
    strides = at.strides[op.result, op.shape]
    low, high, one = at.index.constant(0), at.index.form(size), at.index.constant(1)

    def fill(inner: BodyLowering, n: SSAValue, totals: Sequence[SSAValue]) -> Sequence[SSAValue]:
        k = n if found.scan.is_forwards else mirrored(inner, low, high, one, n)
        inner.index.values[found.scan.index] = k
        total = _next(inner, op, found, totals[0])
        place = inner.index.linear([Affine.of(v) for v in op.indices], strides)
        store(inner, total, at.buffers[op.result], place)
        return [total]

    start = at.constant(0.0)
    carrying_loop(at, low, high, one, found.scan.index.name_hint, [start], fill)
    return ParallelOp(limits, Region(body))


def _next(at: BodyLowering, op: tix.DefineOp, found: Recurrence, total: SSAValue) -> SSAValue:
    """An element from the one before it."""
    scan, known = found.scan, index_set(op)
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
    """The value of a term, or a factor, whose index is known; products of these are, too."""
    for inner in op.body.block.ops:
        if not isinstance(inner, tix.YieldOp) and inner.results[0] not in at.scalars:
            at.operation(inner)
    return at.scalars[tix.yielded(op.body)]
