"""The operations that must round identically wherever they are computed.

The derivative of an extremum goes to the terms that are equal to it: a term is computed once for
the extremum and again for the comparison. Both must round identically, or no term is found. So
whatever decides a comparison for equality, or an extremum in a program with such comparisons, is
computed as it is written: `a * b + c` rounds twice, and sums are added in order.
"""

from __future__ import annotations

from collections.abc import Set

from xdsl.ir import Operation, SSAValue

from tadc.dialects import tix
from tadc.dialects.tix import elementwise as ew

COMPARING = (
    *(tix.WhereOp, tix.ExtremumOp, tix.CallOp),
    *(ew.AbsOp, ew.ReluOp, ew.MaximumOp, ew.MinimumOp),
)
"""Operations whose derivatives compare values; those of users' functions may."""


def must_round_identically(
    program: tix.ProgramOp, compared: Set[str] = frozenset()
) -> frozenset[Operation]:
    """The operations that decide comparisons for equality; none where there are no such.

    `compared` are the labels of definitions that others than those of `program` compare with.
    """
    equalities = _equalities(program)
    if not equalities:
        return frozenset()
    extrema = [op for op in program.walk() if isinstance(op, tix.ExtremumOp)]
    pending = [v for op in equalities for v in op.operands]
    labels = compared_definitions(program) | compared
    pending += [tix.yielded(d.body) for d in program.definitions if d.label.data in labels]
    pending += [tix.yielded(op.body) for op in extrema]
    return frozenset(_needed(pending))


def compared_definitions(program: tix.ProgramOp) -> frozenset[str]:
    """The labels of definitions whose elements a comparison for equality reads.

    An extremum of one term is that term by now, in a definition that is compared with it.
    """
    reads = [op.rhs.owner for op in _equalities(program) if isinstance(op.rhs.owner, tix.ReadOp)]
    owners = [read.tensor.owner for read in reads]
    return frozenset(op.label.data for op in owners if isinstance(op, tix.DefineOp))


def has_equality(op: Operation) -> bool:
    """True if a comparison for equality stands in `op`."""
    return bool(_equalities(op))


def has_comparison(op: tix.DefineOp) -> bool:
    """True if a derivative of this definition compares values: then their rounding decides."""
    return any(isinstance(inner, COMPARING) for inner in op.walk())


def is_free(op: Operation, fixed: Set[Operation]) -> bool:
    """True if none of the `fixed` operations, which must round identically, stands in `op`."""
    return not fixed or fixed.isdisjoint(op.walk())


def _equalities(within: Operation) -> list[tix.WhereOp]:
    choices = [op for op in within.walk() if type(op) is tix.WhereOp]
    return [op for op in choices if op.comparison in ("eq", "ne")]


def _needed(pending: list[SSAValue]) -> set[Operation]:
    """The operations within definitions that these values come from."""
    found: set[Operation] = set()
    while pending:
        op = pending.pop().owner
        if isinstance(op, Operation) and not isinstance(op, tix.DefineOp) and op not in found:
            found.add(op)
            pending += [*op.operands, *(tix.yielded(region) for region in op.regions)]
    return found


def in_extremum(op: Operation) -> bool:
    """True for what stands in an extremum, whose terms derivatives compare with its value."""
    around = op.parent_op()
    return around is not None and (isinstance(around, tix.ExtremumOp) or in_extremum(around))
