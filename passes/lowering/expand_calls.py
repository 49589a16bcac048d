"""`expand-calls`: put the formulas of functions in the place of their calls.

    tix.function "softplus" (%v) {             %y = tix.define "y" (%i) : ... {
      %0 = tix.exp %v                            %3 = tix.read %x[%i]
      %1 = tix.log1p %0                          %0 = tix.exp %3
      tix.yield %1                               %1 = tix.log1p %0
    } derivative (%v, %value) {...}    becomes   tix.yield %1
    %y = tix.define "y" (%i) : ... {           }
      %3 = tix.read %x[%i]
      %4 = tix.call "softplus"(%3)
      tix.yield %4
    }

The derivative of a function need not be that of its value, so a program must be derived before:
from here on its calls are `log1p(exp(x))` and nothing else. On exit there are no calls and no
functions; without calls on entry the program stays as it is.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import Operation
from xdsl.rewriter import Rewriter

from tadc.dialects import tix
from tadc.passes.analysis.properties import calls_expanded
from tadc.passes.rewriting.cloner import Cloner
from tadc.passes.rewriting.failure import PassFailure
from tadc.passes.rewriting.formulas import emit_formula
from tadc.passes.rewriting.program_pass import ProgramPass
from tadc.passes.rewriting.programs import copy_program


@dataclass(frozen=True)
class ExpandCallsPass(ProgramPass):
    """`expand-calls`: no options."""

    name = "expand-calls"
    leaves = (calls_expanded,)

    def rewrite(self, program: tix.ProgramOp) -> tix.ProgramOp:
        return expand_calls(program)


def expand_calls(program: tix.ProgramOp) -> tix.ProgramOp:
    """The program with formulas instead of calls; itself where it has no functions."""
    functions = tix.functions_of(program)
    if not functions:
        return program
    for function in functions.values():
        _check_ends(function, ())
    expanded = copy_program(program, _Expander)
    for function in tix.functions_of(expanded).values():
        Rewriter.erase_op(function)
    return expanded


def _check_ends(function: tix.FunctionOp, around: tuple[tix.FunctionOp, ...]) -> None:
    """Raise an error for a recursive function, whose formula would be infinite."""
    if function in around:
        name = function.label.data
        raise PassFailure(function.location, f"the value of {name} needs {name} itself")
    for op in function.value.walk():
        if isinstance(op, tix.CallOp):
            _check_ends(op.callee, (*around, function))


class _Expander(Cloner):
    """Copies a body; a call becomes the formula of the function at the arguments."""

    def copy(self, op: Operation) -> None:
        if not isinstance(op, tix.CallOp):
            return super().copy(op)
        self.builder.location = op.location
        arguments = [lambda v=v: self.value(v) for v in op.arguments]
        value = emit_formula(self.builder, op.callee.value, arguments, _Expander)
        self.values[op.result] = value
