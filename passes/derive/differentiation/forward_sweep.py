"""Forward mode over definitions: for each definition that depends on a tangent, one of its tangent.

    f_dot[α] = sum over the reads x[A α + a] in f[α] of  ∂E/∂(read) · x_dot[A α + a]

which is in gather form as it is: every element is a sum over the points that the function sums.

A sweep may carry *columns*, more indices that every tangent has behind its own: with `x_dot[α, c]`
the tangents are matrices, Jacobians if the seed is the identity.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from xdsl.ir import SSAValue

from tadc.dialects import tix
from tadc.dialects.tix import Affine, TensorType
from tadc.passes.derive.differentiation.forward_scalars import LocalForward, Tangent
from tadc.passes.derive.differentiation.forward_values import number
from tadc.passes.derive.differentiation.names import Labels
from tadc.passes.index_sets.paths import elements
from tadc.passes.rewriting.builder import BodyBuilder
from tadc.passes.rewriting.cloner import Cloner
from tadc.passes.rewriting.programs import label_of

Seed: TypeAlias = Callable[[BodyBuilder, Sequence[Affine], Sequence[Affine]], SSAValue]
"""Emits one element of a tangent, given the indices of the tensor and those of the columns."""


def stored(tensor: SSAValue) -> Seed:
    """A tangent that a tensor holds."""
    return lambda e, element, columns: e.read(tensor, [*element, *columns])


def number_everywhere(value: float) -> Seed:
    """A tangent that is the same number for every element."""
    return lambda e, element, columns: e.constant(value)


@dataclass
class ForwardSweep:
    """One sweep over definitions, first to last: seed tensors, then visit each definition.

    `tensors` maps the old tensors to the new ones, which hold the forward values; `names` are those
    of tangents that are results. A tensor without a tangent does not depend on the seeds.
    """

    labels: Labels
    tensors: Cloner
    names: Mapping[SSAValue, str] = field(default_factory=dict[SSAValue, str])
    columns: Sequence[tuple[str, Affine]] = ()
    """Names and sizes of the indices that every tangent has behind its own."""
    tangents: dict[SSAValue, Seed] = field(default_factory=dict[SSAValue, Seed])
    defined: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    """The tangents as tensors: seeds that are stored, and those of visited definitions."""

    def seed(self, tensors: Iterable[SSAValue], tangents: Iterable[SSAValue]) -> None:
        """Give each tensor a tangent that is stored."""
        for tensor, tangent in zip(tensors, tangents, strict=True):
            self.tangents[tensor] = stored(tangent)
            self.defined[tensor] = tangent

    def visit(self, op: tix.DefineOp) -> None:
        """Define the tangent of `op`, unless it is 0; what it reads must have been visited."""
        if self.vanishes(op):
            return

        def body(e: BodyBuilder, own: list[SSAValue]) -> SSAValue:
            forms = [Affine.of(v) for v in own]
            return self.element(e, op, forms[: op.type.rank], forms[op.type.rank :])

        names = [*(v.name_hint for v in op.indices), *(name for name, _ in self.columns)]
        sizes = [*op.type.shape, *(size for _, size in self.columns)]
        type = TensorType.of(sizes, tix.ELEMENT_TYPES[op.type.dtype])
        tangent = self.labels.builder.define(self._label(op.result), type, names, op.location, body)
        self.seed([op.result], [tangent])

    def vanishes(self, op: tix.DefineOp) -> bool:
        """True if the tangent of `op` is 0 for every element."""
        return self._local(op, ()).vanishes

    def element(
        self,
        e: BodyBuilder,
        op: tix.DefineOp,
        element: Sequence[Affine],
        columns: Sequence[Affine] = (),
        counted: Callable[[tix.ReadOp], bool] = lambda read: True,
    ) -> SSAValue:
        """Emit one element of the tangent of `op`, as if reads that do not count had none."""
        cloner = self.tensors.inner(e)
        cloner.indices.update(zip(op.indices, element, strict=True))
        return self._local(op, columns, counted).at(cloner)

    def _local(
        self,
        op: tix.DefineOp,
        columns: Sequence[Affine],
        counted: Callable[[tix.ReadOp], bool] = lambda read: True,
    ) -> LocalForward:
        def tangent_of(read: tix.ReadOp) -> Tangent | None:
            seed = self.tangents.get(read.tensor) if counted(read) else None
            return None if seed is None else lambda e, element: seed(e, element, columns)

        forward = self.tensors.value(op.result)
        return LocalForward(op, forward, frozenset(elements(op)), tangent_of=tangent_of)

    def _label(self, tensor: SSAValue) -> str:
        if tensor in self.names:
            return self.labels.builder.fresh_label(self.names[tensor])
        return self.labels.fresh(f"{label_of(tensor)}_dot")

    def tangent_or_zero(self, tensor: SSAValue) -> SSAValue:
        """The tangent of a result, defined as 0 where there is none."""
        if tensor in self.defined:
            return self.defined[tensor]
        return self.labels.builder.define_like(tensor, self._label(tensor), number(0))
