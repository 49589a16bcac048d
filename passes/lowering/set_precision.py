"""`set-precision`: give every tensor of undeclared precision the one of the arrays at hand.

    %y = tix.define "y" (%i) : !tix.tensor<[N], real> {...}

becomes, with `set-precision{real=f32}`,

    %y = tix.define "y" (%i) : !tix.tensor<[N], f32> {...}

On exit no tensor has the element type `real`.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.rewriter import Rewriter
from xdsl.utils.exceptions import PassFailedException

from tadc.dialects import tix
from tadc.dialects.tix import TensorType
from tadc.passes.analysis.properties import precisions_set
from tadc.passes.rewriting.program_pass import ProgramPass
from tadc.passes.rewriting.programs import type_of


@dataclass(frozen=True)
class SetPrecisionPass(ProgramPass):
    """`set-precision{real=f64}`: the element type, `f32` or `f64`, of tensors of type `real`."""

    name = "set-precision"
    leaves = (precisions_set,)
    real: str = "f64"

    def rewrite(self, program: tix.ProgramOp) -> tix.ProgramOp:
        if self.real not in ("f32", "f64"):
            raise PassFailedException(f"real must be f32 or f64, not {self.real}")
        return set_precision(program, self.real)


def set_precision(program: tix.ProgramOp, real: str) -> tix.ProgramOp:
    """A copy of the program with `real` replaced by the element type of that name.

    The program itself, where all its types are declared.
    """
    tensors = [*program.body.block.args, *(d.result for d in program.definitions)]
    if all(type_of(v).dtype != "real" for v in tensors):
        return program
    copy = program.clone()
    for value in [*copy.body.block.args, *(d.result for d in copy.definitions)]:
        type = type_of(value)
        if type.dtype == "real":
            precise = TensorType.of(type.shape, tix.ELEMENT_TYPES[real])
            Rewriter.replace_value_with_new_type(value, precise)
    return copy
