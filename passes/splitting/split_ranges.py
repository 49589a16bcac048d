"""`split-ranges`: a result that is another sum in another range of an index is computed by ranges.

    dx[i, k] = sum[o](dy[i, o] * w[o, k]) if k < 64 else sum[o](dz[i, o] * v[o, k - 64])

becomes

    dx_0[i, q] = sum[o](dy[i, o] * w[o, q])                 q in range(64)
    dx_1[i, q] = sum[o](dz[i, o] * v[o, q])                 q in range(K - 64)
    dx[i, k] = dx_0[i, k] if k < 64 else dx_1[i, k - 64]

by k = a + q for the values a at which ranges begin. Gradients by a tensor of which several parts
are read, as gates, heads or halves of channels, are like this, and so is what puts tensors one
behind the other. No two elements of a block can be told to have the same sum while a choice stands
around it; in a part it is decided, and each part has the loops of a definition like any other.

Ranges begin where choices turn that compare one index of the definition with sizes, and that are
around a long reduction. They are `min(K, b) - a` long: a derived size, where that is no affine
form. What has no long reductions has no part, and stays in the choice. So do sums of most elements
beside 0, as a bound of the sum leaves blocks whole.

Every element is the same reduction in the same order. Definitions with operations that must round
identically stay as they are, and so do those in which nothing tells which range comes first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from xdsl.dialects.builtin import ArrayAttr
from xdsl.ir import Operation, SSAValue

from tadc.dialects import tix
from tadc.dialects.tix import Affine, Constraint, TensorType
from tadc.dialects.tix.affine import SizeValues, factors_of
from tadc.passes.analysis.properties import sums_bounded
from tadc.passes.analysis.rounding import must_round_identically
from tadc.passes.index_sets.paths import Path
from tadc.passes.rewriting.builder import Body, BodyBuilder
from tadc.passes.rewriting.cloner import Cloner
from tadc.passes.rewriting.part_sizes import PartSizes, is_never_negative, with_derived_sizes
from tadc.passes.rewriting.program_pass import ProgramPass
from tadc.passes.rewriting.programs import ProgramBuilder, copy_definition, start_copy
from tadc.passes.rewriting.written_sizes import parse_sizes
from tadc.passes.splitting.split_residues import FEWEST_TERMS, MOST_PARTS, count_terms, rounds

MOST_OF_ALL = 0.75
"""The share of all reductions of all elements that are needed, at most, where bounds could do."""


@dataclass(frozen=True)
class SplitRangesPass(ProgramPass):
    """`split-ranges{sizes="N=512"}`: made best for these, right for all; derived sizes have other
    names."""

    name = "split-ranges"
    requires = leaves = (sums_bounded,)
    sizes: tuple[str, ...] = ()

    def rewrite(self, program: tix.ProgramOp) -> tix.ProgramOp:
        return split_ranges(program, parse_sizes(self.sizes))


def split_ranges(program: tix.ProgramOp, example: Mapping[str, int] | None = None) -> tix.ProgramOp:
    """The program with some definitions in parts; itself where there are no ranges.

    Derived sizes have other names than those in the `example`.
    """
    known = with_derived_sizes(program, example or {})
    found = {d: r for d in program.definitions if (r := ranges_of(d)) and r.are_worth_parts(known)}
    fixed = must_round_identically(program) if found else frozenset[Operation]()
    ranges = {d: r for d, r in found.items() if not any(o in fixed and rounds(o) for o in d.walk())}
    if not ranges:
        return program
    sizes = PartSizes(program, known)
    builder, tensors = start_copy(Cloner, program)
    for op in program.definitions:
        if op in ranges:
            tensor = _Split(op, ranges[op], sizes).define(builder, tensors)
        else:
            tensor = copy_definition(builder, tensors, op)
        tensors.values[op.result] = tensor
    made = builder.finish(program, [tensors.value(v) for v in program.returned])
    made.derived = ArrayAttr([*program.derived, *sizes.derived])
    return made


# --- ranges ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Ranges:
    """The ranges of an index of a definition, in each of which some choices are decided."""

    index: SSAValue
    begins: Sequence[Affine]
    """The first values of the ranges, in order; that of the first one is 0."""
    size: Affine
    """The number of values of the index."""
    choices: Mapping[tix.IfOp, Sequence[Sequence[Constraint]]]
    """The tests that each choice makes of the index."""
    long: Sequence[Path]
    """The ways to the long reductions."""

    def end(self, number: int) -> Affine:
        """The value behind the last one of a range, unless the index has fewer values."""
        return [*self.begins, self.size][number + 1]

    def decided(self, number: int) -> dict[tix.IfOp, bool]:
        """For each choice, True if it takes its first body in a range."""
        first, last, ends = self.begins[number], self.end(number) - 1, (self.end(number), self.size)

        def holds(constraint: Constraint) -> bool:
            def at(place: Affine) -> Affine:
                return constraint.form.substitute({self.index: place})

            if constraint.equality:
                return at(first) == at(last) == Affine()
            if constraint.form[self.index] > 0:
                return is_never_negative(at(first))
            return any(is_never_negative(at(end - 1)) for end in ends)

        return {op: any(all(map(holds, d)) for d in tests) for op, tests in self.choices.items()}

    def needed(self, number: int) -> int:
        """The long reductions that an element of a range needs."""
        decided = self.decided(number)
        ways = (path.branches for path in self.long)
        return sum(all(decided.get(op, first) is first for op, first in way) for way in ways)

    def are_worth_parts(self, sizes: Mapping[str, int]) -> bool:
        """False where choices are only between a sum and 0, and leave few sums out: as bounds of
        sums they leave blocks whole, and all takes less time than a copy of the result."""
        if not all(_is_bound(choice) for choice in self.choices):
            return True
        forms = [*self.begins, self.size]
        if not {f for form in forms for n in form.sizes for f in factors_of(n)} <= sizes.keys():
            return True
        *begins, size = (form.evaluate(SizeValues(sizes)) for form in forms)
        ends = [min(end, size) for end in (*begins[1:], size)]
        lengths = (max(0, end - begin) for begin, end in zip(begins, ends, strict=True))
        needed = sum(length * self.needed(n) for n, length in enumerate(lengths))
        return needed <= MOST_OF_ALL * size * len(self.long)


def ranges_of(op: tix.DefineOp) -> Ranges | None:
    """The ranges of the first index by which long reductions are chosen; None without one. They are
    not too many, and come in the same order for all sizes."""
    has_choices = op.view is None and any(isinstance(o, tix.IfOp) for o in op.body.walk())
    long = _long_reductions(op) if has_choices else []
    around = dict.fromkeys(choice for path in long for choice, _ in path.branches)
    for index, size in zip(op.indices, op.shape, strict=True):
        choices = {choice: tests for choice in around if (tests := _tests_of(choice, index))}
        constraints = [c for tests in choices.values() for disjunct in tests for c in disjunct]
        turns = dict.fromkeys(at for c in constraints for at in _turns(c, index))
        begins = _in_order([Affine(), *(at for at in turns if _may_lie_inside(at, size))])
        if 1 < len(begins) <= MOST_PARTS:
            return Ranges(index, begins, size, choices, long)
    return None


def _is_bound(choice: tix.IfOp) -> bool:
    """True for a choice between a reduction and 0, which the bounds of the reduction can make."""
    return tix.constant_value(tix.yielded(choice.otherwise)) == 0 and isinstance(
        tix.yielded(choice.then).owner, tix.ReductionOp
    )


def _long_reductions(op: tix.DefineOp) -> list[Path]:
    """The ways to reductions that take much longer than a copy of the result, in no other ones."""
    reductions = [o for o in op.body.walk() if isinstance(o, tix.ReductionOp)]
    paths = [Path.to(o, op) for o in reductions if count_terms(o) >= FEWEST_TERMS]
    return [path for path in paths if not path.reductions]


def _tests_of(choice: tix.IfOp, index: SSAValue) -> Sequence[Sequence[Constraint]]:
    """The tests that a choice makes of an index, or of its quotients; none if it makes others."""
    tests = [[test for c in disjunct for test in _of_index(c)] for disjunct in choice.condition]
    forms = [c.form for disjunct in tests for c in disjunct]
    alone = all(form.indices == [index] and abs(form[index]) == 1 for form in forms)
    return tests if alone else []


def _of_index(constraint: Constraint) -> Sequence[Constraint]:
    """A constraint on a quotient as constraints on what it is a quotient of.

    e <= p // m is e m <= p, and p // m <= e is p <= e m + m - 1.
    """
    quotient = next(iter(constraint.form.indices), None)
    if not isinstance(quotient, SSAValue) or not isinstance(quotient.owner, tix.FloorDivOp):
        return [constraint]
    whole, divisor, sign = (
        quotient.owner.form,
        quotient.owner.divisor.data,
        constraint.form[quotient],
    )
    value = Affine.of(quotient) - constraint.form * sign  # of the quotient, where the form is 0
    if abs(sign) != 1 or value.indices:
        return [constraint]
    least, most = Constraint(whole - value * divisor), Constraint((value + 1) * divisor - 1 - whole)
    return [least] * (sign > 0 or constraint.equality) + [most] * (sign < 0 or constraint.equality)


def _turns(constraint: Constraint, index: SSAValue) -> list[Affine]:
    """The values of an index at which a constraint on it begins or ceases to hold."""
    value = Affine.of(index) - constraint.form * constraint.form[index]  # where the form is 0
    begins = constraint.equality or constraint.form[index] > 0
    ends = constraint.equality or constraint.form[index] < 0
    return [value] * begins + [value + 1] * ends


def _may_lie_inside(value: Affine, size: Affine) -> bool:
    """True unless a value of an index is its first one, or none, for all sizes."""
    return not is_never_negative(-value) and not is_never_negative(value - size)


def _in_order(values: Sequence[Affine]) -> list[Affine]:
    """Values from the least to the greatest; none where that depends on sizes."""
    ordered = sorted(values, key=lambda v: sum(is_never_negative(v - other) for other in values))
    return ordered if all(is_never_negative(b - a) for a, b in pairwise(ordered)) else []


# --- parts ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Split:
    """A definition that becomes parts, and one that puts their elements one behind the other."""

    op: tix.DefineOp
    ranges: Ranges
    sizes: PartSizes

    def define(self, builder: ProgramBuilder, tensors: Cloner) -> SSAValue:
        """Append the parts, and the definition with the label of `op`, which reads them."""
        numbers = range(len(self.ranges.begins))
        parts = {n: self._part(n, builder, tensors) for n in numbers if self.ranges.needed(n)}

        def joined(e: BodyBuilder, own: list[SSAValue]) -> SSAValue:
            return self._from(0, parts, tensors)(e, own)

        return builder.define_like(self.op.result, self.op.label.data, joined)

    def _part(self, number: int, builder: ProgramBuilder, tensors: Cloner) -> SSAValue:
        """The elements of a range."""
        index, begins = self.ranges.index, self.ranges.begins
        shape = dict(zip(self.op.indices, self.op.shape, strict=True))
        ends = [self.ranges.end(number), shape[index]]
        name = (index.name_hint or "p").upper()
        shape[index] = self.sizes.between(begins[number], ends, name)
        label = builder.fresh_label(f"{self.op.label.data}_{number}")
        type = TensorType.of([*shape.values()], tix.ELEMENT_TYPES[self.op.type.dtype])
        names = [v.name_hint for v in self.op.indices]

        def body(e: BodyBuilder, own: list[SSAValue]) -> SSAValue:
            return self._element(number, tensors, e, own, begins[number])

        return builder.define(label, type, names, self.op.location, body)

    def _element(
        self, number: int, tensors: Cloner, e: BodyBuilder, own: Sequence[SSAValue], begin: Affine
    ) -> SSAValue:
        """An element of a range, whose index counts from `begin`."""
        cloner = _Decided(e, tensors.values.new_child())
        cloner.decided = self.ranges.decided(number)
        for old, new in zip(self.op.indices, own, strict=True):
            cloner.indices[old] = Affine.of(new) + (begin if old is self.ranges.index else 0)
        return cloner.copy_body(self.op.body)

    def _from(self, number: int, parts: Mapping[int, SSAValue], tensors: Cloner) -> Body:
        """The element of the range that an index is in: of this one, or of a later one."""
        begins, place = self.ranges.begins, self.op.indices.index(self.ranges.index)

        def here(e: BodyBuilder, own: list[SSAValue]) -> SSAValue:
            if number not in parts:
                return self._element(number, tensors, e, own, Affine())
            forms = [Affine.of(v) for v in own]
            forms[place] -= begins[number]
            return e.read(parts[number], forms)

        def element(e: BodyBuilder, own: list[SSAValue]) -> SSAValue:
            if number == len(begins) - 1:
                return here(e, own)
            is_here = Constraint(begins[number + 1] - 1 - Affine.of(own[place]))
            later = self._from(number + 1, parts, tensors)
            return e.choose([[is_here]], lambda e, _: here(e, own), lambda e, _: later(e, own))

        return element


class _Decided(Cloner):
    """Copies the bodies that choices take where it is known which."""

    decided: Mapping[tix.IfOp, bool]

    def copy_if(self, op: tix.IfOp) -> SSAValue:
        if op not in self.decided:
            return super().copy_if(op)
        return self.copy_body(op.then if self.decided[op] else op.otherwise)
