"""Programs in which partial sums are tensors: each stands in front of the definition of its sum.

    f[i, j] = sum[k, l](a[i, k] * b[k, l] * c[l, j])

with the partial sum over k of `a * b` becomes

    f_sum[i, l] = sum[k](a[i, k] * b[k, l])
    f[i, j] = sum[l](c[l, j] * f_sum[i, l])
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from xdsl.ir import SSAValue

from tadc.dialects import tix
from tadc.dialects.tix import Constraint, TensorType
from tadc.passes.algebra.factoring.partial_sums import Extraction
from tadc.passes.rewriting.builder import BodyBuilder
from tadc.passes.rewriting.cloner import Cloner
from tadc.passes.rewriting.products import multiply
from tadc.passes.rewriting.programs import ProgramBuilder, copy_changed, copy_program
from tadc.passes.rewriting.terms import add_terms, terms_of

Extractions = Mapping[tix.ReductionOp, Extraction]
"""The partial sum to take out of some sums."""


def extracted(program: tix.ProgramOp, found: Extractions) -> tix.ProgramOp:
    """A copy of the program with these partial sums as tensors."""

    def define(program: ProgramBuilder, tensors: Cloner, op: tix.DefineOp) -> SSAValue:
        """Append a copy of `op`, behind the partial sums of its sums."""
        return copy_changed(program, SumExtractor(program, tensors, op, found), op, found)

    return copy_program(program, define=define)


class SumExtractor(Cloner):
    """Copies a body; partial sums become definitions in front of it."""

    def __init__(
        self,
        program: ProgramBuilder,
        tensors: Cloner,
        definition: tix.DefineOp,
        found: Extractions,
    ):
        super().__init__(tensors.builder, tensors.values)
        self.program = program
        self.tensors = tensors
        self.definition = definition
        self.found = found

    def copy_reduction(self, op: tix.ReductionOp) -> SSAValue:
        """The sum with its partial sum read from a tensor; other reductions are copied."""
        extraction = self.found.get(op)
        if extraction is None:
            return super().copy_reduction(op)
        tensor = self.define(extraction, op)
        part = self._factored(extraction, tensor, op)
        others = terms_of(tix.yielded(op.body), op.body.block)
        negative = others.pop(extraction.position).negative
        e = self.builder
        if not others:
            return e.neg(part) if negative else part
        total = _sum(self, op.indices, op.constraints, lambda inner: add_terms(inner, others))
        return e.sub(total, part) if negative else e.add(total, part)

    def define(self, partial: Extraction, op: tix.ReductionOp) -> SSAValue:
        """The definition of the tensor that a partial sum is."""

        def body(e: BodyBuilder, own: list[SSAValue]) -> SSAValue:
            inner = Cloner(self.tensors.builder, self.tensors.values).inner(e)
            inner.indices.update(partial.image.point(own))
            return e.guard(partial.guards, lambda e, _: partial_sum(inner.inner(e)))

        def partial_sum(inner: Cloner) -> SSAValue:
            term = partial.inside
            if not partial.indices:
                return multiply(inner, term)
            for v in (v for c in partial.within for v in c.form.indices):
                inner.fetch(v)
            return _sum(inner, partial.indices, partial.within, lambda inner: multiply(inner, term))

        definition = self.definition
        type = TensorType.of(partial.image.sizes, tix.ELEMENT_TYPES[definition.type.dtype])
        kind = "sum" if partial.indices else "factor"
        label = self.program.fresh_label(f"{definition.label.data}_{kind}")
        names = [form.indices[0].name_hint for form in partial.image.forms]
        return self.program.define(label, type, names, op.location, body)

    def _factored(self, partial: Extraction, tensor: SSAValue, op: tix.ReductionOp) -> SSAValue:
        """The sum of the other factors times the partial sum."""

        def term(inner: Cloner) -> SSAValue:
            for v in (v for form in partial.image.forms for v in form.indices):
                inner.fetch(v)
            element = inner.builder.read(tensor, [inner.form(f) for f in partial.image.forms])
            return multiply(inner, partial.outside, [element])

        left = [v for v in op.indices if v not in partial.indices]

        def whole(e: BodyBuilder, _: object) -> SSAValue:
            inner = self.inner(e)
            return _sum(inner, left, partial.around, term) if left else term(inner)

        return self.builder.guard(self.constraints(partial.terms), whole)


def _sum(
    cloner: Cloner,
    indices: Sequence[SSAValue],
    constraints: Sequence[Constraint],
    value: Callable[[Cloner], SSAValue],
) -> SSAValue:
    """The sum over these old indices of what `value` emits through a cloner inside."""

    def domain(own: list[SSAValue]) -> list[Constraint]:
        return cloner.inner(cloner.builder, indices, own).constraints(constraints)

    def body(e: BodyBuilder, own: list[SSAValue]) -> SSAValue:
        return value(cloner.inner(e, indices, own))

    return cloner.builder.sum([v.name_hint for v in indices], domain, body)
