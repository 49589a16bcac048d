"""`interchange-sums`: the last index of a reduction is the one along which it reads neighbours.

    s = sum[j, i](x[i, j] * y[i, j])        becomes        s = sum[i, j](x[i, j] * y[i, j])

Loops are nested in the order of a sum's indices, and elements lie in the order of a tensor's
dimensions, the last one side by side. A loop over i inside of one over j reads one element of a
cache line and comes back for the next one when the line is gone: 20 times slower for matrices that
do not fit a cache.

Indices are sorted by how far apart the elements lie that neighbours read, over all reads; those
that are equal stay in their order. A window of few terms leaves the last place to an index along
which vectors can be read:

    s = sum[j, v](x[2*j + v] * w[v] * y[j])           s = sum[v, j](x[2*j + v] * w[v] * y[j])

Only the order changes in which terms are added or compared. Reductions stay as they are where an
index would have bounds that depend on one after it; and sums that must round identically, or that
are inside extrema.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue

from tadc.dialects import tix
from tadc.dialects.tix import Affine, Constraint
from tadc.passes.algebra.shift_sums import in_extremum
from tadc.passes.analysis.access import is_slow, stride
from tadc.passes.analysis.index_uses import IndexUses
from tadc.passes.analysis.properties import sums_bounded
from tadc.passes.analysis.rounding import must_round_identically
from tadc.passes.rewriting.builder import BodyBuilder
from tadc.passes.rewriting.cloner import Cloner
from tadc.passes.rewriting.program_pass import LocalPass
from tadc.passes.rewriting.programs import ProgramBuilder, copy_definition, copy_program
from tadc.passes.scheduling.tiles.bounding_boxes import constant_length

COST_OF_LINE = 8
"""The cost of an element on another cache line as a multiple of one on the same line."""

FEWEST_OF_VECTOR = 16
"""The terms of a vector of f32."""

Orders = Mapping[tix.ReductionOp, Sequence[SSAValue]]
"""The indices of reductions in their new order."""


@dataclass(frozen=True)
class InterchangeSumsPass(LocalPass):
    """`interchange-sums`: no options."""

    name = "interchange-sums"
    requires = leaves = (sums_bounded,)

    def rewrite(self, program: tix.ProgramOp) -> tix.ProgramOp:
        return interchange_sums(program)


def interchange_sums(program: tix.ProgramOp) -> tix.ProgramOp:
    """The program with sums whose indices are in order; itself where all are."""
    inner = (op for d in program.definitions for op in d.walk())
    ordered = (op for op in inner if isinstance(op, tix.SumOp | tix.ExtremumOp))
    found = {op: order for op in ordered if (order := _order(op)) != list(op.indices)}
    if not found:
        return program
    fixed = must_round_identically(program)
    orders: dict[tix.ReductionOp, Sequence[SSAValue]] = {
        op: order
        for op, order in found.items()
        if isinstance(op, tix.ExtremumOp) or (op not in fixed and not in_extremum(op))
    }

    def define(builder: ProgramBuilder, tensors: Cloner, op: tix.DefineOp) -> SSAValue:
        return copy_definition(builder, _Interchanger(tensors, orders), op)

    return copy_program(program, define=define) if orders else program


def _order(op: tix.ReductionOp) -> list[SSAValue]:
    """The indices of a reduction, those first along which what is read lies furthest apart."""
    if len(op.indices) < 2:
        return list(op.indices)
    reads = [o for o in op.body.walk() if isinstance(o, tix.ReadOp)]
    order = sorted(op.indices, key=lambda v: -sum(_distance(read, v) for read in reads))
    if _is_window(order[-1], op):
        long = [v for v in order if not _is_window(v, op) and _lies_along(v, reads)]
        order = sorted(order, key=lambda v: v in long[-1:])
    return order if _is_bounded(order, op) else list(op.indices)


def _is_window(index: SSAValue, op: tix.ReductionOp) -> bool:
    """True if an index has fewer values than a vector has terms."""
    length = constant_length(index, op.constraints)
    return length is not None and length < FEWEST_OF_VECTOR


def _lies_along(index: SSAValue, reads: Sequence[tix.ReadOp]) -> bool:
    """True if vectors hold what is read along an index."""
    return not any(is_slow(stride(read, index, IndexUses())) for read in reads)


def _is_bounded(order: Sequence[SSAValue], op: tix.ReductionOp) -> bool:
    """True if in this order each index has bounds on both sides that no later one moves."""
    later = {*order}
    for index in order:
        later.remove(index)
        known = [c.form[index] for c in op.constraints if later.isdisjoint(c.form.indices)]
        if not (any(n > 0 for n in known) and any(n < 0 for n in known)):
            return False
    return True


def _distance(read: tix.ReadOp, index: SSAValue) -> int:
    """The distance of neighbours along an index, by the outermost dimension in which they differ.

    It is 0 for one element, and their distance in memory if that is short.
    """
    step = stride(read, index, IndexUses())
    if step is not None and abs(step) < COST_OF_LINE:
        return abs(step)
    dimensions = enumerate(reversed(read.forms), 1)
    return COST_OF_LINE * max((n for n, form in dimensions if _depends(form, index)), default=0)


def _depends(form: Affine, index: SSAValue) -> bool:
    """True if a form has an index, by itself or through quotients."""
    quotients = (v.owner for v in form.indices if isinstance(v.owner, tix.FloorDivOp))
    return bool(form[index]) or any(_depends(q.form, index) for q in quotients)


class _Interchanger(Cloner):
    """Copies; reductions get their indices in another order on the way."""

    def __init__(self, tensors: Cloner, orders: Orders):
        super().__init__(tensors.builder, tensors.values)
        self.orders = orders

    def copy_reduction(self, op: tix.ReductionOp) -> SSAValue:
        order = self.orders.get(op)
        if order is None:
            return super().copy_reduction(op)

        def domain(own: list[SSAValue]) -> list[Constraint]:
            return self.inner(self.builder, order, own).constraints(op.constraints)

        def body(e: BodyBuilder, own: list[SSAValue]) -> SSAValue:
            return self.inner(e, order, own).copy_body(op.body)

        return self.builder.reduce(type(op), [v.name_hint for v in order], domain, body)
