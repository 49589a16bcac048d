"""`sparse-jacobian`: the entries of a Jacobian that can differ from 0, as tensors.

    tix.program @y (%x = "x" : !tix.tensor<[N], f64>) {
      %y = tix.define "y" (%i) : !tix.tensor<[N - 1], f64> {
        %0 = tix.read %x[%i]
        %1 = tix.read %x[%i + 1]
        %2 = tix.mul %0, %1
        tix.yield %2
      }
      tix.return %y
    }

becomes, with `sparse-jacobian{wrt=x}`, a program of one tensor for each band of the Jacobian,
here P = i and P = i + 1:

    dy_dx[i] = x[i + 1]
    dy_dx_1[i] = x[i]

in the order of the results and, in each of them, in that of its bands: see
`passes/index_sets/band_flow.py` for what these are, and which entries they hold, and
`passes/derive/differentiation/band_tangents.py` for their values. A result that does not depend on
the argument has one tensor, of zeros. `of=y` leaves out other results.

On entry sums need no order of bounds; on exit sums may hold equations in their own indices.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue

from tadc.dialects import tix
from tadc.passes.analysis.activity import varied
from tadc.passes.analysis.properties import axes_apart, sums_named
from tadc.passes.analysis.stage_checks import require_no_views
from tadc.passes.derive.differentiation.band_tangents import BandTangents
from tadc.passes.derive.differentiation.cancelled_extrema import cancelled_extrema
from tadc.passes.derive.differentiation.extended_program import ExtendedProgram
from tadc.passes.index_sets.band_flow import Flow, Flows, band_flow
from tadc.passes.rewriting.failure import PassFailure
from tadc.passes.rewriting.program_pass import ProgramPass
from tadc.passes.rewriting.programs import accesses_of, label_of, tensor_names


@dataclass(frozen=True)
class SparseJacobianPass(ProgramPass):
    """`sparse-jacobian{wrt=x of=y}`: by one argument, of these results, by default all."""

    name = "sparse-jacobian"
    requires = (axes_apart, sums_named)
    wrt: str
    of: tuple[str, ...] = ()

    def rewrite(self, program: tix.ProgramOp) -> tix.ProgramOp:
        require_no_views(program)
        for what, names, known in (
            ("argument", (self.wrt,), program.arguments),
            ("result", self.of, program.result_names),
        ):
            if unknown := [name for name in names if name not in known]:
                raise PassFailure(program.location, f"no {what} is named {unknown[0]}")
        _check_is_derived_by(program, self.wrt)
        results = dict(zip(program.result_names, program.returned, strict=True))
        results = {n: v for n, v in results.items() if not self.of or n in self.of}
        flows = flows_of(program, self.wrt)
        labels = {v: f"d{name}_d{self.wrt}" for name, v in results.items()}
        new = ExtendedProgram(program, (), labels.values())
        tangents = BandTangents(new, flows)
        tangents.define_all(labels)
        entries: list[SSAValue] = []
        for value in results.values():
            if value in flows:
                entries += tangents.entries(value)
            else:
                label = new.builder.fresh_label(labels[value])
                zero = new.builder.define_like(value, label, lambda e, own: e.constant(0))
                entries.append(zero)
        return new.builder.finish(new.program, entries, [label_of(v) for v in entries])


def _check_is_derived_by(program: tix.ProgramOp, name: str) -> None:
    """Raise `PassFailure` where elements of index tensors decide what depends on an argument."""
    active = varied(program, [program.arguments[name]])
    for op in program.definitions:
        for access in accesses_of(op) if op.result in active else ():
            if isinstance(access, tix.AtOp):
                index = tensor_names(program)[access.tensor]
                reason = f"the elements of {index} tell which entries there are, no index set does"
                hint = "derivative(...) and forward(...) derive by the argument"
                raise PassFailure(access.location, reason, hint)


def flows_of(program: tix.ProgramOp, wrt: str) -> Flows:
    """The bands of what depends on an argument, as the pass finds them."""
    cancelled = cancelled_extrema(program, program.returned)
    return band_flow(program, program.arguments[wrt], cancelled)


def bands_of_results(program: tix.ProgramOp, wrt: str, of: Sequence[str] = ()) -> list[list[Flow]]:
    """The bands of each result, in the order in which the pass returns their entries."""
    flows = flows_of(program, wrt)
    results = zip(program.result_names, program.returned, strict=True)
    return [flows.get(value, []) for name, value in results if not of or name in of]
