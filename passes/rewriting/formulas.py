"""Formulas of the functions that a program brings along, emitted where they are called."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.ir import Region, SSAValue

from tadc.passes.rewriting.builder import BodyBuilder
from tadc.passes.rewriting.cloner import Cloner

Argument = Callable[[], SSAValue]
"""Emits a value; asked only where the formula needs it."""


def emit_formula(
    e: BodyBuilder, formula: Region, arguments: Sequence[Argument], cloner: type[Cloner] = Cloner
) -> SSAValue:
    """The value of a formula at these arguments; operations get the place of the call."""
    inner, location = cloner(e), e.location
    for parameter, argument in zip(formula.block.args, arguments, strict=True):
        if parameter.uses:
            inner.values[parameter] = argument()
    before = e.block.last_op
    result = inner.copy_body(formula)
    op = e.block.first_op if before is None else before.next_op
    while op is not None:
        for each in op.walk():
            each.location = location
        op = op.next_op
    e.location = location
    return result
