"""`split-elements`: elements along a short index that share dear terms become definitions.

    dx[i, d] = sum[j](a[i, j] * prod[e in range(d)](cos(x[i, e] * z[j, e]))
                              * prod[e in range(d + 1, 3)](cos(x[i, e] * z[j, e])) * z[j, d])

becomes

    dx_0[i] = sum[j](a[i, j] * (cos(x[i, 2] * z[j, 2]) * cos(x[i, 1] * z[j, 1])) * z[j, 0])
    dx_1[i] = sum[j](a[i, j] * cos(x[i, 0] * z[j, 0]) * cos(x[i, 2] * z[j, 2]) * z[j, 1])
    dx_2[i] = sum[j](a[i, j] * (cos(x[i, 0] * z[j, 0]) * cos(x[i, 1] * z[j, 1])) * z[j, 2])
    dx[i, d] = dx_0[i] if d < 1 else dx_1[i] if d < 2 else dx_2[i]

The gradient of a product of n factors has the product of the other factors for each of them: n of
n - 1 factors, of which only n differ. Which ones an element takes, bounds say that move with d. For
a d that is a number they are numbers, and products of few factors are written out; loops that
several definitions share compute equal values once (`fuse_sums`): n factors for
n elements. The products behind d begin with the last factor: those of all d are parts of one
product, as those before d are.

So becomes what has, in a long reduction, a sum or product whose bounds move with a short index, and
whose terms call a function or divide without that index. Definitions that must round identically
stay as they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from itertools import product
from math import prod

from xdsl.ir import Operation, SSAValue

from tadc.dialects import tix
from tadc.dialects.tix import Affine, Constraint, TensorType, Variable
from tadc.dialects.tix import elementwise as ew
from tadc.passes.algebra.shift_sums import ranges_of_numbers
from tadc.passes.analysis.costs import is_dear
from tadc.passes.analysis.index_uses import IndexUses
from tadc.passes.analysis.properties import sums_bounded
from tadc.passes.analysis.rounding import must_round_identically
from tadc.passes.index_sets.paths import Path
from tadc.passes.rewriting.builder import Body, BodyBuilder
from tadc.passes.rewriting.cloner import Cloner
from tadc.passes.rewriting.program_pass import ProgramPass
from tadc.passes.rewriting.programs import ProgramBuilder, copy_definition, copy_program
from tadc.passes.scheduling.tiles.sum_lengths import MOST_TERMS_TO_UNROLL
from tadc.passes.splitting.split_residues import FEWEST_TERMS, count_terms, rounds

COMBINED: Mapping[type[tix.ReductionOp], type[tix.BinaryOp]] = {
    tix.SumOp: ew.AddOp,
    tix.ProdOp: ew.MulOp,
}
"""The reductions that are written out, and what combines two terms."""

Point = Mapping[Variable, Affine]
"""The indices of a term."""

MOST_ELEMENTS = 8
"""Elements that become definitions: the code of n has the terms of n n."""


@dataclass(frozen=True)
class SplitElementsPass(ProgramPass):
    """`split-elements`: no options."""

    name = "split-elements"
    requires = leaves = (sums_bounded,)

    def rewrite(self, program: tix.ProgramOp) -> tix.ProgramOp:
        return split_elements(program)


def split_elements(program: tix.ProgramOp) -> tix.ProgramOp:
    """The program with some definitions in elements along an index; itself where there are none."""
    found = {op: v for op in program.definitions if (v := index_of_elements(op)) is not None}
    fixed = must_round_identically(program) if found else frozenset[Operation]()
    split = {d: v for d, v in found.items() if not any(o in fixed and rounds(o) for o in d.walk())}
    if not split:
        return program

    def define(builder: ProgramBuilder, tensors: Cloner, op: tix.DefineOp) -> SSAValue:
        if op not in split:
            return copy_definition(builder, tensors, op)
        return _Elements(op, split[op]).define(builder, tensors)

    return copy_program(program, define=define)


def index_of_elements(op: tix.DefineOp) -> SSAValue | None:
    """The first short index whose elements share dear terms that bounds choose; None without."""
    if op.view is not None or not any(map(is_dear, op.body.walk())):
        return None
    inner = (o for o in op.body.walk() if isinstance(o, tix.SumOp | tix.ProdOp))
    uses, reductions = IndexUses(), [o for o in inner if _is_in_long(o, op)]
    for index, size in zip(op.indices, op.shape, strict=True):
        few = range(0 if size.terms else size.constant)
        if 1 < len(few) <= MOST_ELEMENTS and any(
            _shares(o, index, uses) and all(points_at(o, index, n) is not None for n in few)
            for o in reductions
        ):
            return index
    return None


def _is_in_long(op: Operation, around: tix.DefineOp) -> bool:
    """True if a reduction is computed for each of many terms."""
    return any(count_terms(r) >= FEWEST_TERMS for r in Path.to(op, around).reductions)


def _shares(op: tix.ReductionOp, index: SSAValue, uses: IndexUses) -> bool:
    """True if the bounds of a reduction move with an index, but not what is dear in its terms."""
    moves = any(c.form[index] for c in op.constraints)
    return moves and any(is_dear(o) and index not in uses.of_operation(o) for o in op.body.walk())


def points_at(op: tix.ReductionOp, index: SSAValue, value: int) -> Sequence[Point] | None:
    """The terms of a reduction where an index has a value, those first that are there for other
    values; None where they are many, or no numbers."""
    constraints = [c.substitute({index: Affine(constant=value)}) for c in op.constraints]
    forms = [form for c in constraints for form in (c.form, -c.form)[: 1 + c.equality]]
    ranges = ranges_of_numbers(op.indices, forms)
    if len(ranges) < len(op.indices) or any(v not in ranges for f in forms for v in f.terms):
        return None
    if prod(map(len, ranges.values())) > MOST_TERMS_TO_UNROLL:
        return None
    points: list[Point] = [
        {v: Affine(constant=n) for v, n in zip(op.indices, point, strict=True)}
        for point in product(*(ranges[v] for v in op.indices))
    ]
    found = [at for at in points if all(c.substitute(at).decided for c in constraints)]
    begins_late = any(c.form[index] and c.form[v] > 0 for c in op.constraints for v in op.indices)
    return found[::-1] if begins_late else found


@dataclass(frozen=True)
class _Elements:
    """A definition whose elements along an index become definitions, and one that reads these."""

    op: tix.DefineOp
    index: SSAValue

    def define(self, builder: ProgramBuilder, tensors: Cloner) -> SSAValue:
        """Append all of them; the tensor of the last one."""
        place = self.op.indices.index(self.index)
        parts = [self._part(n, builder, tensors) for n in range(self.op.shape[place].constant)]

        def joined(e: BodyBuilder, own: list[SSAValue]) -> SSAValue:
            at, forms = Affine.of(own[place]), [Affine.of(v) for v in own]
            return self._from(0, parts, at, forms[:place] + forms[place + 1 :])(e, own)

        return builder.define_like(self.op.result, self.op.label.data, joined)

    def _part(self, number: int, builder: ProgramBuilder, tensors: Cloner) -> SSAValue:
        """The elements at one value of the index."""
        shape = dict(zip(self.op.indices, self.op.shape, strict=True))
        del shape[self.index]

        def body(e: BodyBuilder, own: list[SSAValue]) -> SSAValue:
            cloner = _Writer(e, tensors.values.new_child())
            cloner.index, cloner.number = self.index, number
            cloner.indices.update(zip(shape, map(Affine.of, own), strict=True))
            cloner.indices[self.index] = Affine(constant=number)
            return cloner.copy_body(self.op.body)

        return builder.define(
            builder.fresh_label(f"{self.op.label.data}_{number}"),
            TensorType.of([*shape.values()], tix.ELEMENT_TYPES[self.op.type.dtype]),
            [v.name_hint for v in shape],
            self.op.location,
            body,
        )

    def _from(
        self, number: int, parts: Sequence[SSAValue], at: Affine, forms: Sequence[Affine]
    ) -> Body:
        """The element of the part `at` an index, which is this one or a later one."""

        def here(e: BodyBuilder, _: list[SSAValue]) -> SSAValue:
            return e.read(parts[number], forms)

        def chosen(e: BodyBuilder, _: list[SSAValue]) -> SSAValue:
            later = self._from(number + 1, parts, at, forms)
            return e.choose([[Constraint(number - at)]], here, later)

        return here if number == len(parts) - 1 else chosen


class _Writer(Cloner):
    """Copies; reductions whose bounds move with an index, which is a number here, are written out
    where they are short."""

    index: SSAValue
    number: int

    def copy_reduction(self, op: tix.ReductionOp) -> SSAValue:
        """The terms, combined, of a reduction that is short; others are copied."""
        moves = type(op) in COMBINED and any(c.form[self.index] for c in op.constraints)
        points = points_at(op, self.index, self.number) if moves else None
        if points is None:
            return super().copy_reduction(op)
        terms = [self._term(op, at) for at in points]
        combine = partial(self.builder.binary, COMBINED[type(op)])
        return reduce(combine, terms) if terms else self.builder.constant(op.IDENTITY)

    def _term(self, op: tix.ReductionOp, at: Point) -> SSAValue:
        cloner = self.inner(self.builder)
        cloner.indices.update(at)
        return cloner.copy_body(op.body)
