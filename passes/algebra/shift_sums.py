"""`shift-sums`: chooses the indices of a sum, for ranges that do not move and reads side by side.

    dx[i] = sum[p in range(2*i, 2*i + 4)](dy[p] * w[p - 2*i])

becomes

    dx[i] = sum[p in range(4)](dy[2*i + p] * w[p])

An index k of a sum becomes `h + k` or `h - k`, where h has integer coefficients of the indices and
sizes around the sum and of the sum's other indices. Such a change of variables is unimodular: the
points are the same, and so are the terms. What is tried makes a form of a read or a bound simple:
`c k + g` becomes `|c| k + (g mod |c|)`, here with `c = 1` and `g = -2 i`.

`solve-index-kernels` decides by which index the solutions of a read's equations are numbered, when
nothing is known of sizes and loops. Here a change is better that leaves, in this order,

1. fewer bounds of short ranges that move by more than 1 from element to element, which would be
   masks of elements that lie apart, unless vectors may run along another index or all ranges are
   short;
2. fewer indices without a short range of numbers, over which loops are unrolled;
3. fewer points in the box of the short ranges, all of which a loop over it would test;
4. fewer bounds and conditions that move with the indices around the sum;
5. fewer reads that lie apart for neighbours in the result.

The best change is made as long as one is better, and bounds are inferred for what comes out. Only
the order changes in which terms are added. Sums that must round identically stay as they are, and
so do those inside extrema.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from math import prod
from typing import TypeAlias, TypeGuard

from xdsl.ir import Operation, SSAValue

from tadc.dialects import tix
from tadc.dialects.tix import Affine, Constraint, Variable
from tadc.once import cached_property
from tadc.passes.analysis.access import is_slow
from tadc.passes.analysis.index_uses import IndexUses
from tadc.passes.analysis.properties import sums_bounded
from tadc.passes.analysis.rounding import in_extremum, must_round_identically
from tadc.passes.derive.infer_ranges import infer_ranges
from tadc.passes.rewriting.builder import BodyBuilder, whole_part
from tadc.passes.rewriting.cloner import Cloner
from tadc.passes.rewriting.program_pass import LocalPass
from tadc.passes.rewriting.programs import (
    ProgramBuilder,
    copy_definition,
    copy_program,
    definition_around,
)
from tadc.passes.scheduling.rows.rfactored_sums import piece_sum_of, residue_sum_of
from tadc.passes.scheduling.tiles.sum_lengths import MOST_TERMS_OF_WINDOW
from tadc.passes.simplify.simplify_sums import simplify_sums

MOST_FORMS = 64
"""The number of forms of a sum up to which changes are tried: it takes time as their square."""

Indices: TypeAlias = Mapping[Variable, Affine]
"""Forms in the place of indices."""


@dataclass(frozen=True)
class ShiftSumsPass(LocalPass):
    """`shift-sums`: no options."""

    name = "shift-sums"
    requires = leaves = (sums_bounded,)

    def rewrite(self, program: tix.ProgramOp) -> tix.ProgramOp:
        return shift_sums(program)


def shift_sums(program: tix.ProgramOp) -> tix.ProgramOp:
    """The program with each sum over its best indices; the same where these are the given ones."""
    # rows, and pairs, add to these
    free = (d for d in program.definitions if not (piece_sum_of(d) or residue_sum_of(d)))
    moving = [op for d in free for op in d.walk() if _moves(op)]
    if not moving:
        return program
    fixed = must_round_identically(program)
    found = {op: best_indices(op) for op in moving if op not in fixed and not in_extremum(op)}
    changes: dict[Operation, Indices] = {op: new for op, new in found.items() if new}
    return with_indices(program, changes) if changes else program


def with_indices(program: tix.ProgramOp, changes: Mapping[Operation, Indices]) -> tix.ProgramOp:
    """The program with sums over other indices, with bounds for these."""

    def define(builder: ProgramBuilder, tensors: Cloner, op: tix.DefineOp) -> SSAValue:
        return copy_definition(builder, _Shifter(tensors, changes), op)

    return simplify_sums(infer_ranges(copy_program(program, define=define)))


def _moves(op: Operation) -> TypeGuard[tix.SumOp]:
    """True for a sum whose bounds move with the indices around it, or that begins at a size."""
    return isinstance(op, tix.SumOp) and any(
        any(v not in op.indices for v in c.form.indices)
        or (c.form.sizes and any(c.form[v] > 0 for v in op.indices))
        for c in op.constraints
    )


class _Shifter(Cloner):
    """Copies; sums get other indices on the way."""

    def __init__(self, tensors: Cloner, changes: Mapping[Operation, Indices]):
        super().__init__(tensors.builder, tensors.values)
        self.changes = changes

    def copy_reduction(self, op: tix.ReductionOp) -> SSAValue:
        """Copy a reduction in its new indices, if it has any."""
        change = self.changes.get(op)
        if change is None:
            return super().copy_reduction(op)

        def domain(own: list[SSAValue]) -> list[Constraint]:
            cloner = self.inner(self.builder, op.indices, own)
            return cloner.constraints([c.substitute(change) for c in op.constraints])

        def body(e: BodyBuilder, own: list[SSAValue]) -> SSAValue:
            cloner = self.inner(e, op.indices, own)
            cloner.indices.update({k: cloner.form(form) for k, form in change.items()})
            return cloner.copy_body(op.body)

        return self.builder.sum([v.name_hint for v in op.indices], domain, body)


# --- the choice -----------------------------------------------------------------------------------


def best_indices(op: tix.SumOp) -> Indices | None:
    """Forms for the indices of a sum that make it better; None where it is best as it is."""
    view = SumView.of(op)
    best = view.best()
    return None if best is view else best.indices


@dataclass(frozen=True)
class SumView:
    """A sum in other indices; the values that stand for these are those of the given ones."""

    op: tix.SumOp
    indices: Indices
    """The given indices in the other ones."""
    bounds: Sequence[Affine]
    """The forms that are at least 0: bounded sums have no equations."""
    conditions: Sequence[Affine]
    """The forms of bounds and conditions inside."""
    reads: Sequence[Sequence[Affine]]
    uses: IndexUses

    @staticmethod
    def of(op: tix.SumOp) -> SumView:
        """The sum as it is."""
        inside = list(op.body.walk())
        sets = [o.constraints for o in inside if isinstance(o, tix.ReductionOp)]
        sets += [d for o in inside if isinstance(o, tix.IfOp) for d in o.condition]
        return SumView(
            op,
            {k: Affine.of(k) for k in op.indices},
            [c.form for c in op.constraints],
            [c.form for c in chain.from_iterable(sets)],
            [o.forms for o in inside if isinstance(o, tix.ReadOp)],
            IndexUses(),
        )

    def best(self) -> SumView:
        """The sum in its best indices; itself where these are the given ones."""
        view = self
        while True:
            tried = [view.changed(change) for change in view.changes()]
            best = min(tried, key=lambda v: v.cost, default=view)
            if best.cost >= view.cost:
                return view
            view = best

    def changed(self, change: Indices) -> SumView:
        """The sum after a change of indices, its own or those around it."""

        def forms(old: Iterable[Affine]) -> Sequence[Affine]:
            return [form.substitute(change) for form in old]

        return SumView(
            self.op,
            {k: form.substitute(change) for k, form in self.indices.items()},
            forms(self.bounds),
            forms(self.conditions),
            [forms(read) for read in self.reads],
            self.uses,
        )

    def changes(self) -> Iterable[Indices]:
        """The changes of one index that make a form simple.

        With the sign s of c, and `g = |c| q + r`, the form `c k + g` is `|c| k + r` at
        `k := s (k - q)`.
        """
        found: dict[tuple[SSAValue, Affine], Indices] = {}
        known = dict.fromkeys([*chain.from_iterable(self.reads), *self.bounds])
        forms = [f for f in known if not any(map(self._is_inside, f.indices))]
        for form in forms[:MOST_FORMS]:
            for k in self.op.indices:
                if c := form[k]:
                    q = whole_part(form - Affine.of(k) * c, abs(c))
                    new = Affine.of(k) - q
                    new = new if c > 0 else -new
                    found[k, new] = {k: new}
        return found.values()

    @cached_property
    def cost(self) -> tuple[int, ...]:
        """Counts of what is to become less, the most important first."""
        ranges = ranges_of_numbers(self.op.indices, self.bounds)
        short = {v: r for v, r in ranges.items() if len(r) <= MOST_TERMS_OF_WINDOW}
        limits = [*self.bounds, *self.conditions]
        moving = sum(any(map(self._is_outside, form.indices)) for form in limits)
        apart = sum(map(self._lies_apart, self.reads))
        box = prod(map(len, short.values()))
        return self._masks_apart(short), len(self.op.indices) - len(short), box, moving, apart

    def _masks_apart(self, short: Mapping[SSAValue, range]) -> int:
        """The number of bounds of short ranges that move by more than 1, and that are needed.

        None where vectors may run along another index, or the sum is a window, of which streams
        mask the borders alone.
        """
        op = definition_around(self.op)
        terms = prod(map(len, short.values()))
        is_window = len(short) == len(self.op.indices) and terms <= MOST_TERMS_OF_WINDOW
        if not op.indices or is_window or self._has_other_lanes(op):
            return 0
        sizes = zip(op.indices, op.shape, strict=True)
        known = {v: range(n.constant) for v, n in sizes if not n.terms} | dict(short)
        low: dict[Variable, int] = {v: r[0] for v, r in known.items() if r}
        high: dict[Variable, int] = {v: r[-1] for v, r in known.items() if r}

        def is_needed(form: Affine) -> bool:
            most = _largest(-form, low, high)
            return most is None or most > 0

        moving = (f for f in self.bounds if abs(f[op.indices[-1]]) > 1)
        return sum(any(v in short for v in f.indices) and is_needed(f) for f in moving)

    def _has_other_lanes(self, op: tix.DefineOp) -> bool:
        """True for products along another index than the last one of the result, none of whose
        bounds moves with it: o in y[o, j] = sum[k](w[o, k] * x[2*j + k])."""
        *others, last = op.indices
        used = [{v for form in read for v in form.indices} for read in self.reads]
        fixed = [v for v in others if not any(form[v] for form in self.bounds)]
        return any(
            any(v in read and last not in read for read in used)
            and any(last in read and v not in read for read in used)
            for v in fixed
        )

    def _is_inside(self, v: SSAValue) -> bool:
        """True for indices and quotients in the body."""
        return v not in self.op.indices and not self._is_outside(v)

    def _is_outside(self, v: SSAValue) -> bool:
        return not self.op.is_ancestor(v.owner)

    def _lies_apart(self, read: Sequence[Affine]) -> bool:
        """True if neighbours along the last index of the result do not read neighbours."""
        indices = definition_around(self.op).indices
        if not read or not indices:
            return False
        column = indices[-1]
        divided = (v for f in read for v in f.indices if v is not column)
        return (
            any(column in self.uses.of(v) for v in divided)
            or any(form[column] for form in read[:-1])
            or is_slow(read[-1][column])
        )


# --- ranges of numbers ----------------------------------------------------------------------------


def ranges_of_numbers(
    indices: Collection[SSAValue], bounds: Iterable[Affine]
) -> dict[SSAValue, range]:
    """The range of each index that numbers bound, where all `bounds` are at least 0.

    They do so directly, or through the ranges of other indices: each round knows more of them.
    """
    low: dict[Variable, int] = {}
    high: dict[Variable, int] = {}
    forms = [form for form in bounds if all(v in indices for v in form.terms)]
    for _ in indices:
        for form in forms:
            for k, c in form.terms.items():
                # c k >= -rest for some values of the other indices, so for the largest rest
                rest = _largest(form - Affine.of(k) * c, low, high)
                if rest is not None and c > 0:
                    low[k] = max(low.get(k, -(rest // c)), -(rest // c))
                elif rest is not None:
                    high[k] = min(high.get(k, rest // -c), rest // -c)
    return {k: range(low[k], high[k] + 1) for k in indices if k in low and k in high}


def _largest(form: Affine, low: Mapping[Variable, int], high: Mapping[Variable, int]) -> int | None:
    """The largest value of a form in indices with these bounds; None where one has none."""
    total = form.constant
    for v, c in form.terms.items():
        end = (high if c > 0 else low).get(v)
        if end is None:
            return None
        total += c * end
    return total
