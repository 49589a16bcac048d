"""The contributions to the gradients of a function, found in the stage `derivative`."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.ir import Operation

from dialects import tix
from passes.rewriting.programs import fresh_name, reads_of
from tadc.explain.contribution import Contribution
from tadc.function import Function


def contributions(function: Function, *wrt: str) -> Iterator[Contribution]:
    """The sums of the derivative by these arguments, all by default, that stem from a read.

    Raises `UnknownNameError` where one is not an argument.
    """
    places = {op.location for d in function.program.op.definitions for op in reads_of(d)}
    module = function.module_at("derivative", wrt)
    (program,) = (op for op in module.ops if isinstance(op, tix.ProgramOp))
    for definition in program.definitions:
        names: dict[tix.Variable, str] = {}
        for index in definition.indices:
            names[index] = fresh_name(index.name_hint or "p", names.values())
        for op in definition.walk():
            if isinstance(op, tix.ReductionOp) and op.location in places and _is_outermost(op):
                yield Contribution(function.program.span(op.location), names, op, None)


def _is_outermost(op: Operation) -> bool:
    """True if an operation stands in no reduction."""
    around = op.parent_op()
    return around is None or (not isinstance(around, tix.ReductionOp) and _is_outermost(around))
