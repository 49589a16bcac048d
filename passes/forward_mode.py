"""Forward mode over definitions: for each definition that depends on a tangent, one of its tangent.

    f_dot[α] = sum over the reads x[A α + a] in f[α] of  ∂E/∂(read) · x_dot[A α + a]

which is in gather form as it is: every element is a sum over the points that the function sums.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from xdsl.ir import SSAValue

from dialects import tix
from passes.derivative_names import Labels
from passes.emitter import Emitter, Scope
from passes.programs import location_of, type_of
from passes.regions import elements
from passes.tangents import LocalForward, Tangent, tangent_tensor


class ForwardSweep:
    """One sweep over definitions, first to last: seed arguments, then visit each definition.

    `tensors` maps the old tensors to the new ones, which hold the forward values; `names` are those
    of the tangents that are results. A tensor without a tangent does not depend on the seeds.
    """

    def __init__(self, labels: Labels, tensors: Scope, names: Mapping[SSAValue, str]):
        self.labels = labels
        self.names = names
        self.tensors = tensors
        self.tangents: dict[SSAValue, SSAValue] = {}

    def visit(self, op: tix.DefineOp) -> None:
        """Define the tangent of `op`, unless it is 0; what it reads must have been visited."""
        local = local_forward(op, self.tensors, lambda read: self._tangent(read.tensor))
        if local.vanishes:
            return

        def body(e: Emitter, own: list[SSAValue]) -> SSAValue:
            return local.at(self.tensors.inner(e, op.indices, own))

        names = [v.name_hint for v in op.indices]
        self.tangents[op.result] = self.labels.builder.define(
            self._label(op.result), op.type, names, op.location, body
        )

    def _label(self, tensor: SSAValue) -> str:
        if tensor in self.names:
            return self.labels.builder.fresh_label(self.names[tensor])
        assert isinstance(tensor.owner, tix.DefineOp)
        return self.labels.fresh(f"{tensor.owner.label.data}_dot")

    def _tangent(self, tensor: SSAValue) -> Tangent | None:
        found = self.tangents.get(tensor)
        return None if found is None else tangent_tensor(found)

    def tangent_or_zero(self, tensor: SSAValue) -> SSAValue:
        """The tangent of a result, defined as 0 where there is none."""
        if tensor in self.tangents:
            return self.tangents[tensor]
        names: list[str | None] = [None] * type_of(tensor).rank
        return self.labels.builder.define(
            *(self._label(tensor), type_of(tensor), names, location_of(tensor)),
            lambda e, _: e.constant(0),
        )


def local_forward(
    op: tix.DefineOp, tensors: Scope, tangent_of: Callable[[tix.ReadOp], Tangent | None]
) -> LocalForward:
    """Forward mode in `op`, where reads have these tangents."""
    return LocalForward(
        op, tensors.value(op.result), frozenset(elements(op)), tangent_of=tangent_of
    )
