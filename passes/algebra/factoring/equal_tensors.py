"""Tensors that are equal become one: what a formula says twice has one name, and one adjoint.

y_sum[i] = sum[k](x[i, k])                 y_sum[i] = sum[k](x[i, k])
y_sum_1[i] = sum[l](x[i, l])     becomes
y[i] = y_sum[i] * y_sum_1[i]               y[i] = y_sum[i] * y_sum[i]
"""

from __future__ import annotations

from collections.abc import Container

from xdsl.ir import SSAValue
from xdsl.rewriter import Rewriter

from tadc.dialects import tix
from tadc.passes.analysis.equivalence import canonical_form
from tadc.passes.rewriting.programs import exchange


def merge_equal_tensors(program: tix.ProgramOp, kept: Container[str]) -> tix.ProgramOp:
    """The program, changed in place, without definitions that are equal to earlier ones.

    Those with labels in `kept` stay.
    """
    firsts: dict[object, SSAValue] = {}
    instead: dict[SSAValue, SSAValue] = {}
    for op in program.definitions:
        exchange(op, instead)
        form = canonical_form(op)
        first = firsts.setdefault((form.key, form.tensors), op.result)
        if first is not op.result and op.label.data not in kept:
            instead[op.result] = first
    for op in reversed(program.definitions):
        if op.result in instead:
            Rewriter.erase_op(op)
    return program
