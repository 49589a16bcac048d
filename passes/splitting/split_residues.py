"""`split-residues`: a result whose elements differ by their residue is computed residue by residue.

    y[p] = sum[k in range(N), 0 <= p - 2*k <= 3](x[k] * w[p - 2*k])

becomes

    y_0[q] = sum[k in range(N), 0 <= 2*q - 2*k <= 3](x[k] * w[2*q - 2*k])
    y_1[q] = sum[k in range(N), 0 <= 2*q + 1 - 2*k <= 3](x[k] * w[2*q + 1 - 2*k])
    y[p] = y_0[p // 2] if p % 2 == 0 else y_1[p // 2]

by p = m q + r for the residues r from 0 to m - 1. Transposes of operations with strides are like
this: transposed convolutions, and the gradients of strided ones. Neighbours y[p] and y[p + 1] take
different weights, and every second one the same, of neighbours x[q] and x[q + 1]: with k := q - k
the parts are convolutions (`shift-sums`),

    y_0[q] = sum[k in range(2), 0 <= q - k < N](x[q - k] * w[2*k])
    y_1[q] = sum[k in range(2), 0 <= q - k < N](x[q - k] * w[2*k + 1])

So are quotients and remainders of an index that are constant in a part: `p // 2` is q there.

An index is split by a coefficient that an index of a sum has beside it, or by a divisor, where that
makes the sums better as `shift-sums` counts, and where these are long enough to pay for a copy
of the result. There are at most `MOST_PARTS` parts, of ⌈(P - r) / m⌉ elements along an index that
runs below P: a derived size, where that is no affine form.

Every element is the same sum in the same order. Definitions with other reductions than sums, or
operations that must round identically, stay as they are.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

from xdsl.dialects.builtin import ArrayAttr
from xdsl.ir import Operation, SSAValue

from tadc.dialects import tix
from tadc.dialects.tix import Affine, Constraint, TensorType, Variable
from tadc.passes.algebra.shift_sums import SumView, ranges_of_numbers
from tadc.passes.analysis.properties import sums_bounded
from tadc.passes.analysis.rounding import must_round_identically
from tadc.passes.derive.absorb_conditions import bounded_without_conditions
from tadc.passes.rewriting.builder import Body, BodyBuilder, whole_part
from tadc.passes.rewriting.cloner import Cloner
from tadc.passes.rewriting.part_sizes import PartSizes
from tadc.passes.rewriting.program_pass import ProgramPass
from tadc.passes.rewriting.programs import ProgramBuilder, copy_definition, forms_of, start_copy
from tadc.passes.rewriting.written_sizes import parse_sizes

MOST_RESIDUES = 8
"""Parts along one index."""

MOST_PARTS = 16
"""Parts of a definition: each is compiled by itself."""

FEWEST_TERMS = 8
"""Terms of an element from which on a copy of the result takes much less time than the sums."""

ASSUMED_LENGTH = 512
"""The length assumed of a range that is not known."""

Moduli = Mapping[SSAValue, int]
"""By how much indices of a definition are split."""


@dataclass(frozen=True)
class SplitResiduesPass(ProgramPass):
    """`split-residues{sizes="N=512"}`: derived sizes have other names than these."""

    name = "split-residues"
    requires = leaves = (sums_bounded,)
    sizes: tuple[str, ...] = ()

    def rewrite(self, program: tix.ProgramOp) -> tix.ProgramOp:
        return split_residues(program, parse_sizes(self.sizes))


def split_residues(program: tix.ProgramOp, taken: Collection[str] = ()) -> tix.ProgramOp:
    """The program with some definitions in parts; itself where that makes none better.

    Derived sizes have names that are not `taken`.
    """
    if not any(map(has_multiples, program.definitions)):
        return program
    narrow = bounded_without_conditions(program)
    fixed = must_round_identically(narrow)
    free = [d for d in narrow.definitions if not any(o in fixed and rounds(o) for o in d.walk())]
    found = {d: moduli for d in free if (moduli := best_moduli(d))}
    if not found:
        return program
    sizes = PartSizes(program, taken)
    builder, tensors = start_copy(Cloner, program, narrow)
    for given, op in zip(program.definitions, narrow.definitions, strict=True):
        if op in found:
            tensor = _Split(op, found[op], sizes).define(builder, tensors)
        else:
            tensor = copy_definition(builder, tensors, given)
        tensors.values.update({given.result: tensor, op.result: tensor})
    made = builder.finish(program, [tensors.value(v) for v in program.returned])
    made.derived = ArrayAttr([*program.derived, *sizes.derived])
    return made


# --- the choice -----------------------------------------------------------------------------------


def best_moduli(op: tix.DefineOp) -> Moduli:
    """By how much to split which indices of a definition; nothing where that is of no use."""
    inside = list(op.body.walk())
    sums = [o for o in inside if isinstance(o, tix.SumOp)]
    others = any(isinstance(o, tix.ReductionOp) and o not in sums for o in inside)
    if others or op.view is not None or not any(count_terms(o) >= FEWEST_TERMS for o in sums):
        return {}
    quotients = [o for o in inside if isinstance(o, tix.FloorDivOp)]
    moduli: dict[SSAValue, int] = {}
    cost = _cost(sums, quotients, moduli)
    for index in op.indices:
        for modulus in _candidates(index, sums, quotients):
            tried = {**moduli, index: modulus}
            if prod(tried.values()) <= MOST_PARTS:
                new = _cost(sums, quotients, tried)
                if new < cost:
                    moduli, cost = tried, new
    return moduli


def has_multiples(op: tix.DefineOp) -> bool:
    """True if an index may be split: something has a coefficient beyond 1, or takes a quotient."""
    return any(
        isinstance(o, tix.FloorDivOp) or any(abs(f[v]) > 1 for f in forms_of(o) for v in f.indices)
        for o in op.body.walk()
    )


def rounds(op: Operation) -> bool:
    """False for what is exact wherever it is computed."""
    return isinstance(op, tix.UnaryOp | tix.BinaryOp | tix.ReductionOp)


def count_terms(op: tix.ReductionOp) -> int:
    """About how many terms a reduction has."""
    ranges = ranges_of_numbers(op.indices, [c.form for c in op.constraints])
    return prod(len(ranges[v]) if v in ranges else ASSUMED_LENGTH for v in op.indices)


def _candidates(
    index: SSAValue, sums: Iterable[tix.SumOp], quotients: Iterable[tix.FloorDivOp]
) -> Sequence[int]:
    """Coefficients of indices of sums beside `index`, and divisors of forms with it."""
    found = {q.divisor.data for q in quotients if q.form[index]}
    for op in sums:
        view = SumView.of(op)
        forms = [*view.bounds, *(form for read in view.reads for form in read)]
        found.update(abs(f[k]) for f in forms if f[index] for k in op.indices)
    return sorted(m for m in found if 1 < m <= MOST_RESIDUES)


def _cost(
    sums: Iterable[tix.SumOp], quotients: Iterable[tix.FloorDivOp], moduli: Moduli
) -> tuple[int, ...]:
    """The cost of the sums in their best indices, for residues 0: others differ by constants."""
    change: dict[Variable, Affine] = {v: Affine.of(v) * m for v, m in moduli.items()}
    for q in quotients:
        form = q.form.substitute(change)
        whole = whole_part(form, q.divisor.data)
        if not (form - whole * q.divisor.data).terms:
            change[q.result] = whole
    costs = [SumView.of(op).changed(change).best().cost for op in sums]
    return tuple(map(sum, zip(*costs, strict=True)))


# --- parts ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Split:
    """A definition that becomes parts, and one that puts their elements together."""

    op: tix.DefineOp
    moduli: Moduli
    sizes: PartSizes

    def define(self, builder: ProgramBuilder, tensors: Cloner) -> SSAValue:
        """Append the parts, and the definition with the label of `op`, which reads them."""
        residues = product(*(range(m) for m in self.moduli.values()))
        parts = {r: self._part(builder, tensors, r) for r in residues}
        label = self.op.label.data
        return builder.define_like(
            self.op.result, label, lambda e, own: self._joined(e, own, parts)
        )

    def _part(self, builder: ProgramBuilder, tensors: Cloner, residues: Sequence[int]) -> SSAValue:
        """The elements whose indices have these residues."""
        places = dict(zip(self.moduli, residues, strict=True))
        names = [v.name_hint for v in self.op.indices]

        def size(index: SSAValue, whole: Affine) -> Affine:
            if index not in places:
                return whole
            name = (index.name_hint or "p").upper()
            return self.sizes.of(whole, self.moduli[index], places[index], name)

        def body(e: BodyBuilder, own: list[SSAValue]) -> SSAValue:
            cloner = tensors.inner(e, self.op.indices, own)
            for index, r in places.items():
                cloner.indices[index] = cloner.form(Affine.of(index)) * self.moduli[index] + r
            return cloner.copy_body(self.op.body)

        shape = [size(v, n) for v, n in zip(self.op.indices, self.op.shape, strict=True)]
        label = builder.fresh_label("_".join([self.op.label.data, *map(str, residues)]))
        type = TensorType.of(shape, tix.ELEMENT_TYPES[self.op.type.dtype])
        return builder.define(label, type, names, self.op.location, body)

    def _joined(
        self, e: BodyBuilder, own: Sequence[SSAValue], parts: Mapping[tuple[int, ...], SSAValue]
    ) -> SSAValue:
        """The element of the part that the residues of the indices `own` select."""
        forms = [Affine.of(v) for v in own]
        rests: list[Affine] = []
        for n, index in enumerate(self.op.indices):
            if index in self.moduli:
                quotient = e.floordiv(forms[n], self.moduli[index])
                rests.append(forms[n] - quotient * self.moduli[index])
                forms[n] = quotient

        moduli = list(self.moduli.values())

        def select(residues: tuple[int, ...]) -> Body:
            """The element where these are the first residues."""
            n = len(residues)
            if n == len(rests):
                return lambda e, _: e.read(parts[residues], forms)

            def chain(r: int) -> Body:
                """The element where the next residue is `r` or more."""
                here = select((*residues, r))
                if r == moduli[n] - 1:
                    return here
                is_here = Constraint(rests[n] - r, equality=True)
                return lambda e, _: e.choose([[is_here]], here, chain(r + 1))

            return chain(0)

        return select(())(e, [])
