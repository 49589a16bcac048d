"""`factor-sums`: a sum within a sum becomes a tensor, where that saves operations.

    f[i, j] = sum[k, l](a[i, k] * b[k, l] * c[l, j])       I K L J terms
    g[p] = sum[k, j](e[p - k, j])                          P K J terms
    h[i, j] = sum[k](u[i, k] * v[k, j] + w[i + k]**3)

become

    f_sum[i, l] = sum[k](a[i, k] * b[k, l])                I K L terms
    f[i, j] = sum[l](c[l, j] * f_sum[i, l])                I L J terms
    g_sum[p] = sum[j](e[p, j])
    g[p] = sum[k](g_sum[p - k])
    h_sum[i] = sum[k](w[i + k]**3)
    h[i, j] = sum[k](u[i, k] * v[k, j]) + h_sum[i]

by the distributive law: with `D_k = {l : (k, l) in D}` for the index set D of the sum,

    sum_{(k, l) in D} A(k) B(k, l) = sum_k A(k) sum_{l in D_k} B(k, l),    Σ (E + F) = Σ E + Σ F.

Which sums are worth it, and where this is safe, says `passes/factoring/partial_sums.py`: it counts
operations against elements to store. One partial sum after the other is taken out, until none is.
Only the order changes in which terms are multiplied and added: by its rounding, and where an
argument is not finite, the result may differ. Sums that must round identically stay as they are,
and so do those inside extrema.

On entry and on exit sums are bounded.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue

from dialects import tix
from dialects.tix import Constraint, TensorType
from passes.analysis.rounding import must_round_identically
from passes.factoring.equal_tensors import merge_equal_tensors
from passes.factoring.partial_sums import Extraction, find_extraction
from passes.rewriting.builder import BodyBuilder
from passes.rewriting.cloner import Cloner
from passes.rewriting.part_sizes import with_derived_sizes
from passes.rewriting.products import multiply
from passes.rewriting.program_pass import ProgramPass
from passes.rewriting.programs import ProgramBuilder, copy_definition, copy_program
from passes.rewriting.terms import add_terms, terms_of
from passes.rewriting.written_sizes import parse_sizes

MOST_ROUNDS = 100
"""Each round makes a sum cheaper, so that a few are enough; more are a mistake."""

Extractions = Mapping[tix.ReductionOp, Extraction]


@dataclass(frozen=True)
class FactorSumsPass(ProgramPass):
    """`factor-sums{scans=true sizes="N=512"}`: for loops that carry the totals of scans, made best
    for these sizes."""

    name = "factor-sums"
    scans: bool = False
    sizes: tuple[str, ...] = ()

    def rewrite(self, program: tix.ProgramOp) -> tix.ProgramOp:
        return factor_sums(program, self.scans, parse_sizes(self.sizes))


def factor_sums(
    program: tix.ProgramOp, scans: bool = False, sizes: Mapping[str, int] | None = None
) -> tix.ProgramOp:
    """The program with partial sums as tensors; itself where none is worth it for these `sizes`.

    With `scans`, sums over all terms up to an index take one term for an element.
    """
    sizes = with_derived_sizes(program, sizes or {})
    given = program
    labels = {op.label.data for op in program.definitions}
    for _ in range(MOST_ROUNDS):
        found = _extractions(program, scans, sizes)
        if not found:
            return program if program is given else merge_equal_tensors(program, labels)
        program = _extracted(program, found)
    raise RuntimeError(f"partial sums of partial sums without end: {program}")


def _extractions(program: tix.ProgramOp, scans: bool, sizes: Mapping[str, int]) -> Extractions:
    """The next partial sum of each sum that gains by one."""
    fixed = must_round_identically(program)
    found: dict[tix.ReductionOp, Extraction] = {}
    for definition in program.definitions:
        for op in definition.walk():
            if isinstance(op, tix.SumOp) and op not in fixed:
                extraction = find_extraction(op, definition, scans, sizes)
                if extraction is not None:
                    found[op] = extraction
    return found


def _extracted(program: tix.ProgramOp, found: Extractions) -> tix.ProgramOp:
    taken = {op.label.data for op in program.definitions}

    def define(program: ProgramBuilder, tensors: Cloner, op: tix.DefineOp) -> SSAValue:
        """Append a copy of `op`, behind the partial sums of its sums."""
        program.labels |= taken  # those of later definitions, too
        return copy_definition(program, _Factorer(program, tensors, op, found), op)

    return copy_program(program, define=define)


class _Factorer(Cloner):
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
        tensor = self._define(extraction, op)
        part = self._factored(extraction, tensor, op)
        others = terms_of(tix.yielded(op.body), op.body.block)
        negative = others.pop(extraction.position).negative
        e = self.builder
        if not others:
            return e.neg(part) if negative else part
        total = _sum(self, op.indices, op.constraints, lambda inner: add_terms(inner, others))
        return e.sub(total, part) if negative else e.add(total, part)

    def _define(self, partial: Extraction, op: tix.ReductionOp) -> SSAValue:
        """The definition of the tensor that a partial sum is."""

        def body(e: BodyBuilder, own: list[SSAValue]) -> SSAValue:
            inner = Cloner(self.tensors.builder, self.tensors.values).inner(e)
            inner.indices.update(partial.image.point(own))
            return e.guard(partial.guards, lambda e, _: partial_sum(inner.inner(e)))

        def partial_sum(inner: Cloner) -> SSAValue:
            term = partial.inside
            if not partial.indices:
                return multiply(inner, term)
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

        return self.builder.guard(partial.terms, whole)


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
