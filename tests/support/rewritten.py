"""Programs before and after a pass that makes code better: they must mean the same."""

from __future__ import annotations

from collections.abc import Callable

from tadc.dialects import tix
from tadc.passes.algebra.shift_sums import shift_sums
from tadc.passes.analysis.stage_checks import require_bounded
from tadc.passes.derive.absorb_conditions import bounded_without_conditions
from tests.support.derivations import Case, assert_close, interpret


def check_meaning(rewrite: Callable[[tix.ProgramOp], tix.ProgramOp], case: Case) -> int:
    """The number of programs, of the value and the derivative of a case, that a pass changes."""
    program, derivative = case.function.program.op, case.function.derivative().program.op
    gradients = interpret(derivative, case.inputs)
    changed = 0
    for given, inputs, expected in (
        (program, case.values, case.results),
        (derivative, case.inputs, gradients),
    ):
        made = rewrite(given)
        made.verify()
        assert_close(interpret(made, inputs), expected, 1e-11, case.source)
        narrow = shift_sums(bounded_without_conditions(made))
        require_bounded(narrow)
        assert_close(interpret(narrow, inputs), expected, 1e-11, case.source)
        changed += made is not given
    return changed
