"""`differentiate`: derivatives of a program, in gather form.

**Reverse mode** (`mode=reverse`, the default). The derivative program takes the arguments of the
program and one adjoint `df` per result `f`, and returns one gradient `dx` per argument `x` that is
asked for, each a sum over exactly the points that read it: `passes/reverse_mode.py`. The equations
stay as they are; `solve-index-kernels` solves them.

    %f = tix.define "f" (%i) : !tix.tensor<[4], f64> {
      %0 = tix.read %x[2 * %i]
      %1 = tix.exp %0
      tix.yield %1
    }

becomes (the forward value is read, not computed again)

    %dx = tix.define "dx" (%p) : !tix.tensor<[8], f64> {
      %2 = tix.sum (%i) in (%p == 2 * %i, %i >= 0, %i <= 3) {
        %3 = tix.read %df[%i]
        %4 = tix.read %f[%i]
        %5 = tix.mul %3, %4
        tix.yield %5
      }
      tix.yield %2
    }

**Forward mode** (`mode=forward`). The derivative program takes one tangent `x_dot` per argument
asked for, and returns one tangent `f_dot` per result: `passes/forward_mode.py`.

    %f_dot = tix.define "f_dot" (%i) : !tix.tensor<[4], f64> {
      %2 = tix.read %x_dot[2 * %i]
      %3 = tix.read %f[%i]
      %4 = tix.mul %2, %3
      tix.yield %4
    }

On entry sums need no order of bounds; on exit sums may hold equations in their own indices.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass

from dialects import tix
from passes.derivative_names import Labels, adjoint_names, tangent_names
from passes.emitter import Emitter, Scope
from passes.failure import PassFailure
from passes.forward_mode import ForwardSweep
from passes.programs import (
    ProgramBuilder,
    arguments_of,
    copy_definition,
    location_of,
    rewrite_programs,
    type_of,
)
from passes.reverse_mode import ReverseSweep


@dataclass(frozen=True)
class DifferentiatePass(ModulePass):
    """`differentiate{mode=reverse wrt=a,b}`: derivatives by these arguments, by default all.

    `mode=forward` gives tangents instead of gradients. With `unit_adjoint=true` the adjoints of the
    results are 1 instead of arguments: the gradient of a scalar. With `keep_values=true` the
    results of the program come first, before the derivatives.
    """

    name = "differentiate"
    wrt: tuple[str, ...] = ()
    unit_adjoint: bool = False
    keep_values: bool = False
    mode: str = "reverse"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.mode not in MODES:
            modes = ", ".join(MODES)
            raise PassFailure(op.location, f"there is no mode {self.mode!r}; modes are {modes}")
        rewrite_programs(op, self.differentiate)

    def differentiate(self, program: tix.ProgramOp) -> tix.ProgramOp:
        """The derivative program of `program`."""
        unknown = [name for name in self.wrt if name not in program.arguments]
        if unknown:
            raise PassFailure(program.location, f"no argument is named {unknown[0]}")
        return MODES[self.mode](self, program)

    def _reverse(self, program: tix.ProgramOp) -> tix.ProgramOp:
        results = dict.fromkeys(v for v in program.returned if isinstance(v.owner, tix.DefineOp))
        seeds = zip(adjoint_names(program), results, strict=True)
        new = _Beside(
            program,
            () if self.unit_adjoint else seeds,
            reserved={f"d{name}" for name in program.arguments},
        )
        sweep = ReverseSweep(new.labels, new.tensors)
        adjoints = [1.0] * len(results) if self.unit_adjoint else new.added
        sweep.seeds.update(zip(results, adjoints, strict=True))
        for op in reversed(program.definitions):
            sweep.visit(op)
        wrt = self._wrt(program)
        gradients = [new.gradient(sweep, name) for name in wrt]
        names = [_gradient_name(g, name, program) for g, name in zip(gradients, wrt, strict=True)]
        return self._finish(new, gradients, names)

    def _forward(self, program: tix.ProgramOp) -> tix.ProgramOp:
        wrt = self._wrt(program)
        by_name = dict(zip(wrt, tangent_names(program, wrt), strict=True))
        arguments = [program.arguments[name] for name in wrt]
        seeds = list(zip(by_name.values(), arguments, strict=True))
        # the tangent of an argument that is updated is a new version of that of the argument
        others = iter(tangent_names(program, (n for n in program.result_names if n not in by_name)))
        names = [by_name.get(n) or next(others) for n in program.result_names]
        new = _Beside(program, seeds, reserved=names)
        sweep = ForwardSweep(
            new.labels, new.tensors, dict(zip(program.returned, names, strict=True))
        )
        sweep.seed(arguments, new.added)
        for op in program.definitions:
            sweep.visit(op)
        tangents = [sweep.tangent_or_zero(value) for value in program.returned]
        return self._finish(new, tangents, names)

    def _wrt(self, program: tix.ProgramOp) -> tuple[str, ...]:
        return self.wrt or tuple(program.arguments)

    def _finish(self, new: _Beside, derivatives: list[SSAValue], names: list[str]) -> tix.ProgramOp:
        if not self.keep_values:
            return new.builder.finish(new.program, derivatives, names)
        values = map(new.tensors.value, new.program.returned)
        return new.builder.finish(
            new.program, [*values, *derivatives], [*new.program.result_names, *names]
        )


MODES = {
    "reverse": DifferentiatePass._reverse,  # pyright: ignore[reportPrivateUsage]
    "forward": DifferentiatePass._forward,  # pyright: ignore[reportPrivateUsage]
}


class _Beside:
    """A program in the making: a copy of `program` with more arguments, to define more beside it.

    `seeds` are names of new arguments, each with the tensor whose type it has.
    """

    def __init__(
        self,
        program: tix.ProgramOp,
        seeds: Iterable[tuple[str, SSAValue]],
        reserved: Iterable[str],
    ):
        self.program = program
        added = [(name, type_of(v), location_of(v)) for name, v in seeds]
        self.builder = ProgramBuilder([*arguments_of(program), *added])
        self.builder.labels |= set(tix.functions_of(program))
        self.labels = Labels(self.builder, reserved)
        self.tensors = Scope(Emitter(self.builder.block, program.location))
        old, new = program.body.block.args, self.builder.block.args
        self.tensors.values.update(zip(old, new, strict=False))
        self.added = new[len(old) :]
        for op in program.definitions:
            label = self.labels.fresh(op.label.data)
            self.tensors.values[op.result] = copy_definition(self.builder, self.tensors, op, label)

    def gradient(self, sweep: ReverseSweep, name: str) -> SSAValue:
        """Define `d<name>`."""
        argument = self.program.arguments[name]
        names = sweep.index_names(argument)
        return sweep.gather(
            self.builder.fresh_label(f"d{name}"), argument, names, argument.location
        )


def _gradient_name(gradient: SSAValue, argument: str, program: tix.ProgramOp) -> str:
    """`dx`, or what it is called where that is taken.

    The adjoint of an argument that is updated is taken by design: the gradient is a new version.
    """
    assert isinstance(gradient.owner, tix.DefineOp)
    return f"d{argument}" if argument in program.result_names else gradient.owner.label.data
