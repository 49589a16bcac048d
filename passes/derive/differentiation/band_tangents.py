"""The entries of a Jacobian band by band: forward mode from unit tangents.

A column P of a Jacobian is the tangent of a program along the unit tangent of the element P. So
the entry of a band (`passes/index_sets/bands.py`) at (α, u) is the tangent of `t[α]` at

    x_dot[Q] = 1 where Q = P else 0           P = element(α, u)

by those reads that share in the band. A read of x itself at Q has the tangent 1 where `Q = P`. One
of a tensor s at γ has the entry of that of its bands which holds it, if there is one:

    sum over the offsets v of the band with element(γ, v) = P   of   entry[γ, v]

an equation for v as those of adjoints, which the passes behind solve in integers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.ir import Operation, SSAValue

from tadc.dialects import tix
from tadc.dialects.tix import Affine, Constraint, TensorType, Variable
from tadc.passes.derive.differentiation.extended_program import ExtendedProgram
from tadc.passes.derive.differentiation.forward_scalars import LocalForward
from tadc.passes.derive.differentiation.forward_values import Frame
from tadc.passes.index_sets.band_flow import Flow, Flows, Share
from tadc.passes.index_sets.bands import Band
from tadc.passes.index_sets.paths import elements
from tadc.passes.rewriting.builder import BodyBuilder

Values = dict[Variable, Affine]


class BandTangents:
    """The tensors of entries that are added to a program, one for each band."""

    def __init__(self, new: ExtendedProgram, flows: Flows):
        self.new = new
        self.flows = flows
        self._stored: dict[Flow, SSAValue] = {}

    def define_all(self, of: Mapping[SSAValue, str]) -> None:
        """Define the entries of all definitions; those of the tensors `of` have these labels."""
        for op in self.new.program.definitions:
            wanted = of.get(op.result, f"{op.label.data}_dot")
            for flow in self.flows.get(op.result, ()):
                self._stored[flow] = self._define(op, flow, wanted)

    def entries(self, tensor: SSAValue) -> list[SSAValue]:
        """The tensors of the entries of a definition, band by band."""
        return [self._stored[flow] for flow in self.flows[tensor]]

    def _define(self, op: tix.DefineOp, flow: Flow, wanted: str) -> SSAValue:
        band = flow.band
        rank = op.type.rank
        shares: dict[tix.ReadOp, list[Share]] = {}
        for share in flow.shares:
            shares.setdefault(share.read, []).append(share)

        def body(e: BodyBuilder, own: list[SSAValue]) -> SSAValue:
            values: Values = {v: Affine.of(new) for v, new in zip(op.indices, own, strict=False)}
            _set_offsets(e, band, values, [Affine.of(v) for v in own[rank:]])
            column = [form.substitute(values) for form in band.element]
            cloner = self.new.tensors.inner(e, op.indices, own[:rank])
            forward = self.new.tensors.value(op.result)
            local = _LocalBand(
                op,
                forward,
                frozenset(elements(op)),
                tangent_of=lambda read: None,
                shares=shares,
                column=column,
                entry=self._entry,
            )
            return e.constant(0) if local.vanishes else local.at(cloner)

        names = [*(v.name_hint for v in op.indices), *("k" for _ in band.dimensions)]
        sizes = [*op.type.shape, *(offset.size for offset in band.dimensions)]
        type = TensorType.of(sizes, tix.ELEMENT_TYPES[op.type.dtype])
        label = self.new.builder.fresh_label(wanted)
        return self.new.builder.define(label, type, names, op.location, body)

    def _entry(
        self, e: BodyBuilder, source: Flow, row: Sequence[Affine], column: Sequence[Affine]
    ) -> SSAValue:
        """The entry of a band in this row and column; 0 where the band does not hold it."""
        band = source.band
        values: Values = dict(zip(band.indices, row, strict=True))
        stored = self._stored.get(source)

        def equations() -> list[Constraint]:
            pairs = zip(band.element, column, strict=True)
            return [Constraint(form.substitute(values) - p, True) for form, p in pairs]

        def read(e: BodyBuilder) -> SSAValue:
            if stored is None:
                return e.constant(1)
            return e.read(stored, [*row, *_places(e, band, values)])

        if not band.offsets:
            return e.guard(equations(), lambda e, _: read(e))

        def domain(own: list[SSAValue]) -> list[Constraint]:
            for offset, v in zip(band.offsets, own, strict=True):
                values[offset.index] = Affine.of(v)
            region = [c.substitute(values) for c in band.region]
            return [c for c in [*equations(), *region] if not c.decided]

        def body(e: BodyBuilder, own: list[SSAValue]) -> SSAValue:
            domain(own)
            return read(e)

        return e.sum(["k"] * len(band.offsets), domain, body)


def _set_offsets(e: BodyBuilder, band: Band, values: Values, places: Sequence[Affine]) -> None:
    """Add the offsets at these places of a row, one for each dimension, to the values."""
    left = iter(places)
    for offset in band.offsets:
        first = -e.floordiv(offset.low.substitute(values), offset.divisor)
        values[offset.index] = first if offset.is_fixed else first + next(left)


def _places(e: BodyBuilder, band: Band, values: Mapping[Variable, Affine]) -> list[Affine]:
    """The places in the dimensions of a band at which offsets have these values."""
    return [
        values[offset.index] + e.floordiv(offset.low.substitute(values), offset.divisor)
        for offset in band.dimensions
    ]


Entry = Callable[[BodyBuilder, Flow, Sequence[Affine], Sequence[Affine]], SSAValue]


@dataclass(frozen=True)
class _LocalBand(LocalForward):
    """Forward mode over the scalars of one definition, by the reads that share in a band."""

    shares: Mapping[tix.ReadOp, Sequence[Share]] = field(kw_only=True)
    column: Sequence[Affine] = field(kw_only=True)
    entry: Entry = field(kw_only=True)

    def _is_active(self, op: Operation, active: set[SSAValue]) -> bool:
        if isinstance(op, tix.ReadOp):
            return op in self.shares
        return super()._is_active(op, active)

    def _of(self, op: Operation, frame: Frame) -> SSAValue:
        if not isinstance(op, tix.ReadOp):
            return super()._of(op, frame)
        self.require(op, frame)
        e, cloner = frame.cloner.builder, frame.cloner
        row = [cloner.form(form) for form in op.forms]
        total = e.constant(0)
        for share in self.shares[op]:
            self.require_values((v for c in share.disjunct for v in c.form.indices), frame)

            def entry(e: BodyBuilder, _: list[SSAValue], share: Share = share) -> SSAValue:
                return self.entry(e, share.source, row, self.column)

            total = e.add(total, e.guard(cloner.constraints(share.disjunct), entry))
        return total
