"""Properties of programs that passes require and leave, each a function to what breaks it.

A pass states them as data (`ContractPass` in `passes/rewriting/program_pass.py`), and tests check
them before and after each pass. A program as it is parsed has `sums_bounded` and `axes_apart`.
"""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.ir import Operation, SSAValue

from tadc.dialects import tix
from tadc.dialects.tix import Constraint
from tadc.passes.analysis.linear_uses import adjoint_needs
from tadc.passes.rewriting.programs import reads_of, type_of


def axes_apart(program: tix.ProgramOp) -> Iterator[Operation]:
    """Every tensor is read and defined in the shape of its type: `merge-axes` comes later."""
    for op in program.walk():
        if isinstance(op, tix.ReadOp | tix.DefineOp) and op.view is not None:
            yield op


def sums_named(program: tix.ProgramOp) -> Iterator[Operation]:
    """The value of a sum that an adjoint needs is an element of a definition of its own.

    Sums within conditions and within other sums may stay: their values may not be defined
    everywhere, or be cheaper to compute again.
    """
    for definition in program.definitions:
        value = tix.yielded(definition.body)
        for op in definition.body.block.ops:
            if isinstance(op, tix.ExtremumOp):
                needed = op.result is not value
            else:
                needed = isinstance(op, tix.ReductionOp) and adjoint_needs(op.result, definition)
            if needed:
                yield op


def equations_solved(program: tix.ProgramOp) -> Iterator[Operation]:
    """No equation holds an own index of its sum."""
    for op in _sums(program):
        if any(c.equality and any(c.form[v] for v in op.indices) for c in op.constraints):
            yield op


def sums_bounded(program: tix.ProgramOp) -> Iterator[Operation]:
    """Every own index of a sum has bounds in the indices before it, and there is nothing else."""
    return (op for op in _sums(program) if not _is_bounded(op))


def sums_over_ranges(program: tix.ProgramOp) -> Iterator[Operation]:
    """Every sum has indices: single points are read instead."""
    return (op for op in _sums(program) if not op.indices)


def all_used(program: tix.ProgramOp) -> Iterator[Operation]:
    """Every definition is read, or is a result."""
    used = {*program.returned, *(r.tensor for op in program.definitions for r in reads_of(op))}
    return (op for op in program.definitions if op.result not in used)


def calls_expanded(program: tix.ProgramOp) -> Iterator[Operation]:
    """No function of the user is called: all operations are those of the dialect."""
    return (op for op in program.walk() if isinstance(op, tix.CallOp))


def precisions_set(program: tix.ProgramOp) -> Iterator[Operation]:
    """Every tensor has elements of a machine type."""
    if any(type_of(t).dtype == "real" for t in program.body.block.args):
        yield program
    yield from (op for op in program.definitions if type_of(op.result).dtype == "real")


def _sums(program: tix.ProgramOp) -> Iterator[tix.ReductionOp]:
    return (op for op in program.walk() if isinstance(op, tix.ReductionOp))


def _is_bounded(op: tix.ReductionOp) -> bool:
    last = [_last_own(c, op) for c in op.constraints]
    if None in last or any(c.equality for c in op.constraints):
        return False
    signs = {(v, c.form[v] > 0) for v, c in zip(last, op.constraints, strict=True) if v}
    return all((v, positive) in signs for v in op.indices for positive in (True, False))


def _last_own(constraint: Constraint, op: tix.ReductionOp) -> SSAValue | None:
    """The index that a constraint bounds: the innermost own one that it holds."""
    held = [v for v in op.indices if constraint.form[v]]
    return held[-1] if held else None
