"""Which operations must round alike wherever they are computed.

The derivative of an extremum goes to the terms that are equal to it: a term is computed once for
the extremum and again for the comparison. Both must round alike, or no term is found. So whatever
decides a comparison for equality, or an extremum in a program with such comparisons, is computed as
it is written: `a * b + c` rounds twice, and sums are added in order.
"""

from __future__ import annotations

from xdsl.ir import Operation, SSAValue

from dialects import tix


def must_round_alike(program: tix.ProgramOp) -> frozenset[Operation]:
    """The operations that decide comparisons for equality; none where there are no such."""
    ops = list(program.walk())
    equalities = [op for op in ops if isinstance(op, tix.WhereOp) and op.comparison in ("eq", "ne")]
    if not equalities:
        return frozenset()
    extrema = [op for op in ops if isinstance(op, tix.ExtremumOp)]
    pending = [v for op in equalities for v in op.operands]
    # an extremum of one term is that term by now, in a definition that is compared with it
    pending += [v for op in equalities for v in _definition_of(op.rhs)]
    pending += [tix.yielded(op.body) for op in extrema]
    return frozenset(_needed(pending))


def _definition_of(value: SSAValue) -> list[SSAValue]:
    """What a read reads, where that is a definition."""
    tensor = value.owner.tensor if isinstance(value.owner, tix.ReadOp) else None
    if tensor is None or not isinstance(tensor.owner, tix.DefineOp):
        return []
    return [tix.yielded(tensor.owner.body)]


def _needed(pending: list[SSAValue]) -> set[Operation]:
    """The operations within definitions that these values come from."""
    found: set[Operation] = set()
    while pending:
        op = pending.pop().owner
        if isinstance(op, Operation) and not isinstance(op, tix.DefineOp) and op not in found:
            found.add(op)
            pending += [*op.operands, *(tix.yielded(region) for region in op.regions)]
    return found
