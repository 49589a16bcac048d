"""`zero-arguments`: leave out arguments that are zero, and what they contribute.

    tix.program @p_pullback (%x = "x" : ..., %dy = "dy" : ..., %dz = "dz" : ...) {
      %dx = tix.define "dx" (%i) : !tix.tensor<[N], f64> {
        %0 = tix.read %dy[%i]
        %1 = tix.read %dz[%i]
        %2 = tix.read %x[%i]
        %3 = tix.mul %1, %2
        %4 = tix.add %0, %3
        tix.yield %4
      }
      tix.return %dx
    }

becomes, with `zero-arguments{names=dz}`,

    tix.program @p_pullback (%x = "x" : ..., %dy = "dy" : ...) {
      %dx = tix.define "dx" (%i) : !tix.tensor<[N], f64> {
        %0 = tix.read %dy[%i]
        tix.yield %0
      }
      tix.return %dx
    }

An adjoint that is not there contributes nothing. So with z for a zero that comes from arguments

    -z = z    z + z = z - z = z    z x = x z = z    z / x = z    sum z = z
    (z if c else z) = (z if c else 0) = z

whatever x is: infinite, not a number, or outside of where it means anything. Terms of this kind are
left out, and definitions of them, unless they are results. Where z stands in other operations, it
is the number 0. Takes any program; on exit it has none of these arguments.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import Block, Operation, SSAValue

from tadc.dialects import tix
from tadc.dialects.tix import elementwise as ew
from tadc.passes.rewriting.builder import BodyBuilder
from tadc.passes.rewriting.cloner import Cloner
from tadc.passes.rewriting.failure import PassFailure
from tadc.passes.rewriting.program_pass import ProgramPass
from tadc.passes.rewriting.programs import ProgramBuilder, arguments_of, copy_definition


@dataclass(frozen=True)
class ZeroArgumentsPass(ProgramPass):
    """`zero-arguments{names=dy,dz}`: the arguments that are zero."""

    name = "zero-arguments"
    names: tuple[str, ...]

    def rewrite(self, program: tix.ProgramOp) -> tix.ProgramOp:
        return zero_arguments(program, self.names)


def zero_arguments(program: tix.ProgramOp, names: Sequence[str]) -> tix.ProgramOp:
    """The program without these arguments, for zeros in their place."""
    unknown = [name for name in names if name not in program.arguments]
    if unknown:
        raise PassFailure(program.location, f"no argument is named {unknown[0]}")
    zeros = _zeros(program, {program.arguments[name] for name in names})
    builder = ProgramBuilder([a for a in arguments_of(program) if a[0] not in names])
    cloner = _WithoutZeros(BodyBuilder(builder.block, program.location), zeros)
    kept = (v for name, v in program.arguments.items() if name not in names)
    cloner.values.update(zip(kept, builder.block.args, strict=True))
    for op in program.definitions:
        if op.result not in zeros or op.result in program.returned:
            cloner.values[op.result] = copy_definition(builder, cloner, op)
    return builder.finish(program, [cloner.value(v) for v in program.returned])


def _zeros(program: tix.ProgramOp, arguments: set[SSAValue]) -> set[SSAValue]:
    """All tensors and scalars of a program that are zeros if these arguments are."""
    zeros = set(arguments)
    for op in program.definitions:
        _find_zeros(op.body.block, zeros)
        if tix.yielded(op.body) in zeros:
            zeros.add(op.result)
    return zeros


def _find_zeros(block: Block, zeros: set[SSAValue]) -> None:
    for op in block.ops:
        for region in op.regions:
            _find_zeros(region.block, zeros)
        if _is_zero(op, zeros):
            zeros.add(op.results[0])


def _is_zero(op: Operation, zeros: set[SSAValue]) -> bool:
    """True if the equations of the module make the value of `op` a zero."""
    match op:
        case tix.ReadOp():
            return op.tensor in zeros
        case ew.NegOp():
            return op.operand in zeros
        case ew.AddOp() | ew.SubOp():
            return op.lhs in zeros and op.rhs in zeros
        case ew.MulOp():
            return op.lhs in zeros or op.rhs in zeros
        case ew.DivOp():
            return op.lhs in zeros
        case tix.SumOp():
            return tix.yielded(op.body) in zeros
        case tix.IfOp() | tix.WhereOp():
            values = [tix.yielded(region) for region in op.regions]
            numbers = [v for v in values if tix.constant_value(v) == 0]
            return len(numbers) < len(values) and zeros.issuperset(set(values) - set(numbers))
        case _:
            return False


class _WithoutZeros(Cloner):
    """Copies what is no zero."""

    def __init__(self, builder: BodyBuilder, zeros: set[SSAValue]):
        super().__init__(builder)
        self.zeros = zeros

    def copy(self, op: Operation) -> None:
        if op.results[0] in self.zeros:
            self.builder.location = op.location
            self.values[op.results[0]] = self.builder.constant(0)
        else:
            super().copy(op)
