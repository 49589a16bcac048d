"""`differentiate`: derivatives of a program, in gather form.

**Reverse mode** (`mode=reverse`, the default). The derivative program takes the arguments of the
program and one adjoint `df` per result `f`, and returns one gradient `dx` per argument `x` that is
asked for, each a sum over exactly the points that read it:
`passes/derive/differentiation/reverse_sweep.py`. The equations stay as they are;
`solve-index-kernels` solves them.

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
asked for, and returns one tangent `f_dot` per result:
`passes/derive/differentiation/forward_sweep.py`.

    %f_dot = tix.define "f_dot" (%i) : !tix.tensor<[4], f64> {
      %2 = tix.read %x_dot[2 * %i]
      %3 = tix.read %f[%i]
      %4 = tix.mul %2, %3
      tix.yield %4
    }

**Inverse modes** (`mode=inverse-jvp`, `inverse-vjp` and `log-abs-det`) of programs that update
their arguments: `passes/derive/inversion/inverse_forward.py`, `inverse_reverse.py` and
`determinant.py`. Linear systems that are left stand behind the program; `split-solves` puts them
where they belong.

    p[i] = p[i] * s[i]      becomes      p_dot[i] = (p_dot[i] - p[i] * s_dot[i]) / s[i]

Maxima that cancel, as those that keep the exponentials of a softmax finite, count as constants:
the derivative by them is 0 (`passes/derive/differentiation/cancelled_extrema.py`).

On entry sums need no order of bounds; on exit sums may hold equations in their own indices.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from xdsl.ir import SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from tadc.dialects import tix
from tadc.passes.analysis.activity import varied
from tadc.passes.analysis.properties import axes_apart, sums_named
from tadc.passes.analysis.stage_checks import require_no_views
from tadc.passes.derive.differentiation.cancelled_extrema import cancelled_extrema
from tadc.passes.derive.differentiation.extended_program import ExtendedProgram
from tadc.passes.derive.differentiation.forward_sweep import ForwardSweep
from tadc.passes.derive.differentiation.names import adjoint_names, tangent_names
from tadc.passes.derive.differentiation.reverse_sweep import ReverseSweep
from tadc.passes.derive.inversion.determinant import log_abs_det
from tadc.passes.derive.inversion.inverse_forward import inverse_jvp
from tadc.passes.derive.inversion.inverse_program import InverseProgram
from tadc.passes.derive.inversion.inverse_reverse import inverse_vjp
from tadc.passes.rewriting.failure import PassFailure
from tadc.passes.rewriting.program_pass import ProgramPass
from tadc.passes.rewriting.programs import label_of, location_of, type_of


@dataclass(frozen=True)
class DifferentiatePass(ProgramPass):
    """`differentiate{mode=reverse wrt=a,b}`: derivatives by these arguments, by default all.

    With `of=f` only these results have adjoints, and the gradients are theirs alone.
    `mode=forward` gives tangents instead of gradients. With `unit_adjoint=true` the adjoints of the
    results are 1 instead of arguments: the gradient of a scalar. With `keep_values=true` the
    results of the program come first, before the derivatives; the adjoints of the definitions that
    `observe` names come last. With `keep_pivots=true` the inverse modes also return what they
    divide by.
    """

    name = "differentiate"
    requires = (axes_apart, sums_named)
    wrt: tuple[str, ...] = ()
    unit_adjoint: bool = False
    keep_values: bool = False
    mode: str = "reverse"
    keep_pivots: bool = False
    observe: tuple[str, ...] = ()
    of: tuple[str, ...] = ()

    def rewrite(self, program: tix.ProgramOp) -> tix.ProgramOp:
        require_no_views(program)
        for what, names, known in (
            ("argument", self.wrt, program.arguments),
            ("result", self.of, program.result_names),
        ):
            if unknown := [name for name in names if name not in known]:
                raise PassFailure(program.location, f"no {what} is named {unknown[0]}")
        for name in self.wrt:
            if not type_of(value := program.arguments[name]).is_real:
                what = "an index tensor" if type_of(value).is_index else "a size"
                reason = f"{name} is {what}: there is no derivative by whole numbers"
                raise PassFailure(value.location, reason, "derive by arguments of real numbers")
        match self.mode:
            case "reverse":
                return self._reverse(program)
            case "forward":
                return self._forward(program)
            case "inverse-jvp":
                return _with_systems(inverse_jvp(program, self.keep_pivots), program)
            case "inverse-vjp":
                return _with_systems(inverse_vjp(program, self.keep_pivots), program)
            case "log-abs-det":
                return _with_systems(log_abs_det(program), program)
            case _:
                modes = "reverse, forward, inverse-jvp, inverse-vjp, log-abs-det"
                reason = f"there is no mode {self.mode!r}; modes are {modes}"
                raise PassFailure(program.location, reason)

    def _reverse(self, program: tix.ProgramOp) -> tix.ProgramOp:
        names = dict(zip(program.returned, program.result_names, strict=True))
        seeds = zip(adjoint_names(program), names, strict=True)
        seeds = [(adjoint, v) for adjoint, v in seeds if not self.of or names[v] in self.of]
        results = [v for _, v in seeds]
        new = ExtendedProgram(
            program,
            () if self.unit_adjoint else seeds,
            reserved={f"d{name}" for name in program.arguments},
        )
        sweep = ReverseSweep(new.labels, new.tensors)
        adjoints = [1.0] * len(results) if self.unit_adjoint else new.added
        sweep.seeds.update(zip(results, adjoints, strict=True))
        wrt = self._wrt(program)
        observed = _labelled(program, self.observe)
        starts = [*(program.arguments[name] for name in wrt), *observed]
        active = varied(program, starts, cancelled_extrema(program, results))
        seen: dict[SSAValue, SSAValue] = {}
        for op in reversed(program.definitions):
            if op.result in active:
                stored = op.result in observed
                adjoint = sweep.visit(op, lambda read: read.tensor in active, stored)
                if stored and isinstance(adjoint, SSAValue):
                    seen[op.result] = adjoint
        gradients = [_gradient(sweep, name, program.arguments[name]) for name in wrt]
        names = [_gradient_name(g, name, program) for g, name in zip(gradients, wrt, strict=True)]
        adjoints = [seen[v] for v in observed]
        return self._finish(new, [*gradients, *adjoints], [*names, *map(label_of, adjoints)])

    def _forward(self, program: tix.ProgramOp) -> tix.ProgramOp:
        wrt = self._wrt(program)
        by_name = dict(zip(wrt, tangent_names(program, wrt), strict=True))
        arguments = [program.arguments[name] for name in wrt]
        seeds = list(zip(by_name.values(), arguments, strict=True))
        # the tangent of an argument that is updated is a new version of that of the argument
        others = iter(tangent_names(program, (n for n in program.result_names if n not in by_name)))
        names = [by_name.get(n) or next(others) for n in program.result_names]
        new = ExtendedProgram(program, seeds, reserved=names)
        sweep = ForwardSweep(
            new.labels, new.tensors, dict(zip(program.returned, names, strict=True))
        )
        sweep.seed(arguments, new.added)
        cancelled = cancelled_extrema(program, program.returned)
        for op in program.definitions:
            if op.result not in cancelled:
                sweep.visit(op)
        tangents = [sweep.tangent_or_zero(value) for value in program.returned]
        return self._finish(new, tangents, names)

    def _wrt(self, program: tix.ProgramOp) -> tuple[str, ...]:
        every = [n for n, v in program.arguments.items() if type_of(v).is_real]
        return self.wrt or tuple(every)

    def _finish(
        self, new: ExtendedProgram, derivatives: list[SSAValue], names: list[str]
    ) -> tix.ProgramOp:
        if not self.keep_values:
            return new.builder.finish(new.program, derivatives, names)
        values = map(new.tensors.value, new.program.returned)
        return new.builder.finish(
            new.program, [*values, *derivatives], [*new.program.result_names, *names]
        )


def _with_systems(made: InverseProgram, program: tix.ProgramOp) -> tix.ProgramOp:
    """The program of an inverse mode; its linear systems are put behind `program`."""
    Rewriter.insert_op(made.systems, InsertPoint.after(program))
    return made.program


def _labelled(program: tix.ProgramOp, labels: Iterable[str]) -> list[SSAValue]:
    """The definitions of these labels; of two, the last: sums get names before what reads them."""
    known = {op.label.data: op.result for op in program.definitions}
    for label in labels:
        if label not in known:
            raise PassFailure(program.location, f"no definition is labelled {label}")
    return [known[label] for label in labels]


def _gradient(sweep: ReverseSweep, name: str, argument: SSAValue) -> SSAValue:
    """Define `d<name>`."""
    label = sweep.labels.builder.fresh_label(f"d{name}")
    return sweep.gather(label, argument, sweep.index_names(argument), location_of(argument))


def _gradient_name(gradient: SSAValue, argument: str, program: tix.ProgramOp) -> str:
    """`dx`, or what it is called where that is taken.

    The adjoint of an argument that is updated is taken by design: the gradient is a new version.
    """
    return f"d{argument}" if argument in program.result_names else label_of(gradient)
