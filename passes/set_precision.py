"""`set-precision`: give every tensor of undeclared precision the one of the arrays at hand.

    %y = tix.define "y" (%i) : !tix.tensor<[N], real> {...}

becomes, with `set-precision{real=f32}`,

    %y = tix.define "y" (%i) : !tix.tensor<[N], f32> {...}

On exit no tensor has the element type `real`.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException

from dialects import tix
from dialects.tix import TensorType
from passes.emitter import Emitter, Scope
from passes.programs import ProgramBuilder, arguments_of, rewrite_programs


@dataclass(frozen=True)
class SetPrecisionPass(ModulePass):
    """`set-precision{real=f64}`: the element type, `f32` or `f64`, of tensors of type `real`."""

    name = "set-precision"
    real: str = "f64"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.real not in ("f32", "f64"):
            raise PassFailedException(f"real must be f32 or f64, not {self.real}")
        rewrite_programs(op, lambda program: set_precision(program, self.real))


def set_precision(program: tix.ProgramOp, real: str) -> tix.ProgramOp:
    """The program with `real` replaced by the element type of that name."""
    arguments = arguments_of(program)
    builder = ProgramBuilder([(name, _precise(type, real), at) for name, type, at in arguments])
    scope = Scope(Emitter(builder.block, program.location))
    scope.values.update(zip(program.body.block.args, builder.block.args, strict=True))
    for op in program.definitions:
        scope.values[op.result] = _define(builder, scope, op, real)
    return builder.finish(program, [scope.value(v) for v in program.returned])


def _define(builder: ProgramBuilder, scope: Scope, op: tix.DefineOp, real: str) -> SSAValue:
    def body(e: Emitter, own: list[SSAValue]) -> SSAValue:
        return scope.copy_definition(op, e, own)

    names = [v.name_hint for v in op.indices]
    return builder.define(op.label.data, _precise(op.type, real), names, op.location, body)


def _precise(type: TensorType, real: str) -> TensorType:
    return TensorType.of(type.shape, tix.ELEMENT_TYPES[real]) if type.dtype == "real" else type
