"""The tensors that depend on others: derivatives by few arguments need no more adjoints."""

from __future__ import annotations

from collections.abc import Container, Iterable

from xdsl.ir import SSAValue

from tadc.dialects import tix
from tadc.passes.rewriting.programs import accesses_of, reads_of


def varied(
    program: tix.ProgramOp, starts: Iterable[SSAValue], constant: Container[SSAValue] = ()
) -> set[SSAValue]:
    """The tensors whose elements are computed from any of `starts`, these included.

    What is computed from them by way of a `constant` one alone does not count.
    """
    found = set(starts)
    for op in program.definitions:
        if op.result not in constant and any(read.tensor in found for read in accesses_of(op)):
            found.add(op.result)
    return found


def useful(program: tix.ProgramOp, results: Iterable[SSAValue]) -> set[SSAValue]:
    """The tensors that `results` are computed from, these included."""
    found = set(results)
    for op in reversed(program.definitions):
        if op.result in found:
            found.update(read.tensor for read in reads_of(op))
    return found
