"""`split-axes`: an index that counts by its quotient and its remainder becomes two.

    dx[p] = sum[o](dy[p // 16, o] * w[o, p % 16])        p in range(P)
    dw[t] = sum[j](dy[j] * x[j // 2 + t] * w[j % 2])

become

    dx_split[q, r] = sum[o](dy[q, o] * w[o, r]) if 16*q + r < P else 0
    dx[p] = dx_split[p // 16, p % 16]
    dw[t] = sum[j, r in range(2), 2*j + r < J](dy[2*j + r] * x[j + t] * w[r])

by p = m q + r with 0 <= r < m, a change of variables: q and r run in the order of p, so terms are
added in the order that they had. Patches of images and what repeats elements is like this, and the
gradients of both. Reads then have indices that other passes know: neighbours along r lie side by
side, a sum over r and t is one over the values of `j + t`.

So does an index that windows with a stride move over (`passes/analysis/window_strides.py`),

    y[p] = sum[f, i, 0 <= p - 16*i < K](x[f, i] * w[f, p - 16*i])
    y_split[q, r] = sum[f, i, 0 <= 16*(q - i) + r < K](x[f, i] * w[f, 16*(q - i) + r])

which is a convolution for each r, as `shift-sums` finds with q - i for i.

An index of a sum is split by the first divisor of a quotient of it. An index of a definition is
split where its body has long sums, and where `split-residues` does not make a part of each residue:
of few residues, some of which have other terms than others. Where its quotients begin at several
places, as `p // 192` and `(p + 64) // 192` in gradients by three parts of each head, it is split by
what divides all of these numbers: both are quotients of q then. Where sums are short it is split if
it counts by whole quotients, and remainders fill a vector: `y[t, k] = x[k // 64, t, k % 64]`. There
are ⌈P / m⌉ quotients: a derived size, where that is no affine form. What lies behind the last
element is 0, and nobody reads it.

Definitions with values that must round identically stay as they are.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from math import gcd, prod

from xdsl.dialects.builtin import ArrayAttr
from xdsl.ir import Operation, SSAValue

from tadc.dialects import tix
from tadc.dialects.tix import Affine, Constraint, TensorType, Variable, between
from tadc.passes.analysis.properties import sums_bounded
from tadc.passes.analysis.quotient_splits import (
    Split,
    Splits,
    decide_places_alone,
    has_whole_runs,
    indices_of_rows,
    split_by,
)
from tadc.passes.analysis.rounding import is_free, must_round_identically
from tadc.passes.analysis.window_strides import window_strides
from tadc.passes.derive.absorb_conditions import bounded_without_conditions
from tadc.passes.derive.infer_ranges import infer_ranges
from tadc.passes.index_sets.sets import within
from tadc.passes.index_sets.space import implied_by
from tadc.passes.rewriting.builder import BodyBuilder, whole_part
from tadc.passes.rewriting.cloner import Cloner
from tadc.passes.rewriting.guards import is_guard
from tadc.passes.rewriting.part_sizes import PartSizes
from tadc.passes.rewriting.program_pass import ProgramPass
from tadc.passes.rewriting.programs import ProgramBuilder, start_copy
from tadc.passes.rewriting.written_sizes import parse_sizes
from tadc.passes.simplify.simplify_sums import simplify_sums
from tadc.passes.splitting.split_residues import (
    FEWEST_TERMS,
    MOST_RESIDUES,
    best_moduli,
    count_terms,
    has_multiples,
)

MOST_PARTS_OF_WINDOWS = 4
"""Residues of windows with strides that are parts of their own: more are quicker as rows."""

FEWEST_REMAINDERS = 16
"""Neighbours of the same quotient that are worth a loop of their own: a vector of f32."""


@dataclass(frozen=True)
class SplitAxesPass(ProgramPass):
    """`split-axes{sizes="N=512"}`: best for these sizes; derived ones have other names."""

    name = "split-axes"
    requires = leaves = (sums_bounded,)
    sizes: tuple[str, ...] = ()

    def rewrite(self, program: tix.ProgramOp) -> tix.ProgramOp:
        return split_axes(program, parse_sizes(self.sizes))


def split_axes(program: tix.ProgramOp, sizes: Mapping[str, int] | None = None) -> tix.ProgramOp:
    """The program with some indices split, best for these `sizes`; itself where none is.

    Derived sizes have other names.
    """
    if not any(map(has_multiples, program.definitions)):
        return program
    narrow = bounded_without_conditions(program)
    fixed = must_round_identically(narrow)
    free = [op for op in narrow.definitions if is_free(op, fixed)]
    around = {op: _of_definition(op, sizes or {}) for op in free}
    inside = {v: s for op in free for v, s in _of_sums(op)}
    if not inside and not any(around.values()):
        return program
    parts = PartSizes(program, sizes or {})
    builder, tensors = start_copy(Cloner, narrow)
    for op in narrow.definitions:
        own = around.get(op, {})
        splitter = _Splitter(tensors, {**inside, **own})
        tensors.values[op.result] = splitter.define(builder, op, own, parts)
    made = builder.finish(narrow, [tensors.value(v) for v in narrow.returned])
    made.derived = ArrayAttr([*program.derived, *parts.derived])
    return simplify_sums(infer_ranges(made))


# --- the choice -----------------------------------------------------------------------------------


def _of_sums(definition: tix.DefineOp) -> list[tuple[SSAValue, Split]]:
    """The indices of reductions to split."""
    found: dict[SSAValue, Split] = {}
    for op in definition.walk():
        if isinstance(op, tix.FloorDivOp):
            for index in op.form.indices:
                if isinstance(index.owner.parent_op(), tix.ReductionOp):
                    split = split_by(op, index)
                    if split:
                        found.setdefault(index, split)
    return list(found.items())


def _of_definition(definition: tix.DefineOp, sizes: Mapping[str, int]) -> Splits:
    """The indices of a definition to split: by the divisor of their quotients, or by strides."""
    inside = list(definition.body.walk())
    terms = [count_terms(o) for o in inside if isinstance(o, tix.SumOp)]
    if definition.view is not None:
        return {}
    found: dict[SSAValue, set[Split | None]] = {v: set() for v in definition.indices}
    for op in inside:
        if isinstance(op, tix.FloorDivOp):
            for index in found.keys() & set(op.form.indices):
                found[index].add(split_by(op, index))
    common = {v: _common(splits) for v, splits in found.items()}
    split = {v: s for v, s in common.items() if s and s.offset == 0}
    if max(terms, default=0) < FEWEST_TERMS:
        lengths = dict(zip(definition.indices, definition.shape, strict=True))
        whole = {v: s for v, s in split.items() if has_whole_runs(lengths[v], s.divisor)}
        shared = indices_of_rows(definition)
        return {v: s for v, s in whole.items() if v in shared or s.divisor >= FEWEST_REMAINDERS}
    many = prod(s.divisor for s in split.values()) > MOST_RESIDUES
    if many or decide_places_alone(split, inside):
        return split
    strides = window_strides(definition, sizes)
    few = prod(strides.values()) <= MOST_PARTS_OF_WINDOWS
    in_parts = few and strides.keys() <= best_moduli(definition).keys()
    return {} if in_parts else {v: Split(m, 0) for v, m in strides.items()}


def _common(splits: Collection[Split | None]) -> Split | None:
    """The split of an index that makes all of its quotients ones of the first part alone: their
    only one, or, where they begin at other places, that by what all of these are multiples of."""
    if len(splits) == 1:
        return next(iter(splits))
    known = [s for s in splits if s]
    divisor = gcd(*(n for s in known for n in s))
    return Split(divisor, 0) if len(known) == len(splits) and divisor >= FEWEST_REMAINDERS else None


# --- the change -----------------------------------------------------------------------------------


class _Splitter(Cloner):
    """Copies; some indices become two."""

    def __init__(self, tensors: Cloner, splits: Splits):
        super().__init__(tensors.builder, tensors.values)
        self.splits = splits
        self.remainders: dict[Variable, int] = {}
        """The divisors below which indices run that are remainders."""

    def define(
        self, builder: ProgramBuilder, op: tix.DefineOp, splits: Splits, sizes: PartSizes
    ) -> SSAValue:
        """Append the definition; where its own indices are split, one that reads the elements."""
        label = op.label.data
        if not splits:
            return builder.define_like(op.result, label, lambda e, own: self._body(e, op, own))
        guard = _guard_of(op)
        conditions = [] if guard is None else list(guard.condition[0])
        shape = self._shape(op, conditions, sizes)
        type = TensorType.of(shape, tix.ELEMENT_TYPES[op.type.dtype])
        split = builder.define(
            builder.fresh_label(f"{label}_split"),
            type,
            self._names(op.indices),
            op.location,
            lambda e, own: self._part(e, op, own, shape),
        )

        def element(e: BodyBuilder, own: list[SSAValue]) -> SSAValue:
            cloner = Cloner(e, self.values, self.indices).inner(e, op.indices, own)
            for inner in op.body.block.ops:
                if isinstance(inner, tix.FloorDivOp):
                    cloner.copy(inner)
            tests = cloner.constraints(conditions)
            return e.guard(
                tests, lambda then, _: then.read(split, _pairs_of(then, op, own, splits))
            )

        return builder.define_like(op.result, label, element)

    def _shape(
        self, op: tix.DefineOp, conditions: Sequence[Constraint], sizes: PartSizes
    ) -> list[Affine]:
        """The shape with two dimensions for an index that is split.

        A condition `q < n` on its quotient tells how many of these there are.
        """
        shape: list[Affine] = []
        for v, size in zip(op.indices, op.shape, strict=True):
            if v not in self.splits:
                shape.append(size)
                continue
            divisor = self.splits[v].divisor
            ends = (_end(c.form, v, divisor) for c in conditions if not c.equality)
            name = (v.name_hint or "p").upper()
            count = next(filter(None, ends), None) or sizes.of(size, divisor, 0, name)
            shape += [count, Affine(constant=divisor)]
        return shape

    def _part(
        self, e: BodyBuilder, op: tix.DefineOp, own: list[SSAValue], shape: Sequence[Affine]
    ) -> SSAValue:
        """The body where the indices are in their ranges, which the last quotient may leave."""
        inner = self._inside(e, op.indices, own)
        guard = _guard_of(op)
        for o in op.body.block.ops if guard else ():
            if isinstance(o, tix.FloorDivOp):
                inner.copy(o)
        ends = [
            Constraint(size - Affine.of(v) - 1)
            for v, size in zip(op.indices, op.shape, strict=True)
            if v in self.splits
        ]
        tests = inner.constraints([*ends, *(guard.condition[0] if guard else ())])
        program = op.parent_op()
        assert isinstance(program, tix.ProgramOp)
        known = within(zip(map(Affine.of, own), shape, strict=True), program)
        region = guard.then if guard else op.body

        def body(then: BodyBuilder, _: list[SSAValue]) -> SSAValue:
            cloner = inner.inner(then)
            if guard:
                cloner.require(guard)
            return cloner.copy_body(region)

        return e.guard([c for c in tests if not implied_by(c, known)], body)

    def _body(self, e: BodyBuilder, op: tix.DefineOp, own: list[SSAValue]) -> SSAValue:
        return self._inside(e, op.indices, own).copy_body(op.body)

    def copy_reduction(self, op: tix.ReductionOp) -> SSAValue:
        """Copy a reduction; of its own indices, those to split become two each."""

        def domain(own: list[SSAValue]) -> list[Constraint]:
            ranges = [
                c
                for v, (_, rest) in self._pairs(op.indices, own)
                for c in between(0, Affine.of(rest), Affine(constant=self.splits[v].divisor))
            ]
            return self._inside(self.builder, op.indices, own).constraints(op.constraints) + ranges

        def body(e: BodyBuilder, own: list[SSAValue]) -> SSAValue:
            return self._inside(e, op.indices, own).copy_body(op.body)

        return self.builder.reduce(type(op), self._names(op.indices), domain, body)

    def copy(self, op: Operation) -> None:
        if isinstance(op, tix.FloorDivOp):
            form, divisor = self.form(op.form), op.divisor.data
            whole = whole_part(form, divisor)
            if self._is_remainder(form - whole * divisor, divisor):
                self.indices[op.result] = whole
                return
            step = gcd(divisor, *(c for v, c in form.terms.items() if v not in self.remainders))
            parts = whole_part(form, step)
            if step > 1 and self._is_remainder(form - parts * step, step):
                self.indices[op.result] = self.builder.floordiv(parts, divisor // step)
                return
        super().copy(op)

    def _is_remainder(self, form: Affine, divisor: int) -> bool:
        """True if a form is certainly below the divisor, and not negative."""
        largest = form.constant
        for v, c in form.terms.items():
            if c < 0 or v not in self.remainders:
                return False
            largest += c * (self.remainders[v] - 1)
        return form.constant >= 0 and largest < divisor

    def _names(self, indices: Sequence[SSAValue]) -> list[str | None]:
        names: list[str | None] = []
        for v in indices:
            names += [v.name_hint, v.name_hint] if v in self.splits else [v.name_hint]
        return names

    def _pairs(
        self, indices: Sequence[SSAValue], own: Sequence[SSAValue]
    ) -> list[tuple[SSAValue, tuple[SSAValue, SSAValue]]]:
        """The indices that are split, each with its quotient and its remainder."""
        rest = iter(own)
        found = [(v, [next(rest) for _ in range(1 + (v in self.splits))]) for v in indices]
        return [(v, (new[0], new[1])) for v, new in found if len(new) == 2]

    def _joined(
        self, indices: Sequence[SSAValue], own: Sequence[SSAValue]
    ) -> dict[Variable, Affine]:
        """The old indices as forms of the new ones."""
        pairs = dict(self._pairs(indices, own))
        rest = iter(own)
        forms: dict[Variable, Affine] = {}
        for v in indices:
            forms[v] = Affine.of(next(rest))
            if v in pairs:
                split = self.splits[v]
                forms[v] = forms[v] * split.divisor + Affine.of(next(rest)) - split.offset
        return forms

    def _inside(
        self, builder: BodyBuilder, indices: Sequence[SSAValue], own: Sequence[SSAValue]
    ) -> _Splitter:
        inner = self.inner(builder)
        inner.indices.update(self._joined(indices, own))
        for v, (_, rest) in self._pairs(indices, own):
            self.remainders[rest] = self.splits[v].divisor
        return inner


def _guard_of(op: tix.DefineOp) -> tix.IfOp | None:
    """The choice between a value and 0 that a body is, if it is one."""
    last = tix.yielded(op.body).owner
    return last if is_guard(last) else None


def _end(form: Affine, index: SSAValue, divisor: int) -> Affine | None:
    """The n of a condition `index // divisor < n`, given as a form that is not negative."""
    for v in form.indices:
        if form[v] == -1 and isinstance(op := v.owner, tix.FloorDivOp):
            n = form + Affine.of(v) + 1
            if op.form == Affine.of(index) and op.divisor.data == divisor and not n.indices:
                return n
    return None


def _pairs_of(
    e: BodyBuilder, op: tix.DefineOp, own: Sequence[SSAValue], splits: Splits
) -> list[Affine]:
    """The indices of an element as those of the definition with split axes."""
    forms: list[Affine] = []
    for old, new in zip(op.indices, map(Affine.of, own), strict=True):
        forms.append(new)
        if old in splits:
            forms[-1] = e.floordiv(new, splits[old].divisor)
            forms.append(new - forms[-1] * splits[old].divisor)
    return forms
