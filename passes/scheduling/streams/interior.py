"""The inside of a definition: most of its elements, for which no choice by indices changes sides.

    y[j] = x[0] if j < 1 else (x[j - 1] if j < N else x[N - 1])       inside: 1 <= j < N, x[j - 1]
    y[j] = x[j] if j < 5 else (0 if j < 8 else x[j - 3])              inside: j >= 8, x[j - 3]

Choices may be written either way round. Along an index that has a number of values, the inside is
the longest run of these in which no choice changes; along others, it is what is far from both ends.
A test of which neither tells anything is to hold, as it stands.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from xdsl.ir import Operation, Region, SSAValue

from tadc.dialects import tix
from tadc.dialects.tix import Affine, Constraint
from tadc.passes.scheduling.streams.stream_guards import owner_of
from tadc.passes.scheduling.tiles.sum_lengths import constant_range

WHOLE = "_ranges_in_whole"
"""The name under which a box of another definition keeps its ranges in the whole one."""


class Range(NamedTuple):
    """The values `first <= v + offset < end` of an index v."""

    first: int
    end: Affine
    offset: Affine = Affine()

    def of_whole(self, form: Affine, index: SSAValue) -> Affine:
        """A form of v as one of v + offset."""
        return form - self.offset * form[index]


Ranges = Mapping[SSAValue, Range]


def ranges_of(op: tix.DefineOp) -> dict[SSAValue, Range]:
    """The ranges of a definition's indices, in the whole definition if it is a box of one."""
    own = {v: Range(0, n) for v, n in zip(op.indices, op.shape, strict=True)}
    return {**own, **vars(op).get(WHOLE, {})}


def set_whole(op: tix.DefineOp, begins: Sequence[Affine], shape: Sequence[Affine]) -> None:
    """Mark a definition as a box of one with this shape, which begins at these indices."""
    ends = zip(op.indices, begins, shape, strict=True)
    vars(op)[WHOLE] = {v: Range(0, size, begin) for v, begin, size in ends}


class Inside(NamedTuple):
    """The sides that choices take in the interior, and the tests for it."""

    sides: Mapping[tix.IfOp, Region]
    """The side that each choice takes."""
    tests: Sequence[Constraint]
    """The tests under which choices take these sides, for all terms of windows."""


def inside_of(op: tix.DefineOp, choices: Collection[Operation], ranges: Ranges) -> Inside:
    """The inside of a definition whose indices have these ranges, for some of its choices."""
    found = [o for o in op.body.walk() if isinstance(o, tix.IfOp) and o in choices]
    tests = [c for o in found for disjunct in o.condition for c in disjunct]
    signs = _Signs(ranges, {v: _inner_value(v, r, tests) for v, r in ranges.items()})
    sides: dict[tix.IfOp, Region] = {}
    needed: dict[Constraint, None] = {}
    pending = [op.body]
    while pending:
        for o in pending.pop().block.ops:
            if isinstance(o, tix.IfOp) and o in choices:
                holds, tests = signs.decided(o)
                sides[o] = o.then if holds else o.otherwise
                needed.update(dict.fromkeys(tests))
                pending.append(sides[o])
            else:
                pending += o.regions
    return Inside(sides, list(needed))


class _Signs(NamedTuple):
    """Says which tests hold inside: by the signs of their forms."""

    ranges: Ranges
    values: Mapping[SSAValue, int | None]
    """A value inside of each index, where that is a number."""

    def decided(self, op: tix.IfOp) -> tuple[bool, Sequence[Constraint]]:
        """True if a choice takes its first side inside, with the tests that decide it."""
        failing = [[c for c in disjunct if self._fails(c)] for disjunct in op.condition]
        if all(failing):
            # what fails along the last index does so in a part of each row
            last = [max(own, key=lambda c: self._place(c)) for own in failing]
            return False, [self._negated(c) for c in last]
        live = [d for d, fails in zip(op.condition, failing, strict=True) if not fails]
        certain = [d for d in live if all(self._sign(c) for c in d)]
        return True, (certain or live)[0]

    def _fails(self, test: Constraint) -> bool:
        """True if a test does not hold inside; an equation holds for one value alone."""
        sign = self._sign(test)
        return sign is not None and (test.equality or sign < 0)

    def _negated(self, test: Constraint) -> Constraint:
        """The negation of a test that fails inside."""
        return Constraint(test.form * (self._sign(test) or 1) - 1)

    def _place(self, test: Constraint) -> int:
        """The position of the last index that a test depends on."""
        return max(n for n, v in enumerate(self.ranges) if test.form[v])

    def _sign(self, test: Constraint) -> int | None:
        """1 if the form of a test is 0 or more inside, -1 if it is less; None if nothing tells."""
        own = [v for v in self.ranges if test.form[v]]
        found = {self._sign_along(v, form) for v in own for form in _at_ends(test.form)}
        return found.pop() if len(own) == len(found) == 1 else None

    def _sign_along(self, index: SSAValue, form: Affine) -> int | None:
        whole = self.ranges[index].of_whole(form, index)
        step, value = whole[index], self.values[index]
        low = whole - Affine.of(index) * step
        if value is not None and not low.terms:
            return 1 if step * value + low.constant >= 0 else -1
        if not low.terms:  # far from the first value
            return 1 if step > 0 else -1
        if not (low + self.ranges[index].end * step).terms:  # far from the last one
            return 1 if step < 0 else -1
        return None


def _at_ends(form: Affine) -> Iterator[Affine]:
    """A form at the first and the last term of each window whose index it has."""
    forms = [form]
    for v in form.indices:
        if isinstance(window := owner_of(v), tix.ReductionOp):
            first, length = constant_range(window, v) or (0, 1)
            ends = dict.fromkeys([first, first + length - 1])
            forms = [f.substitute({v: Affine(constant=end)}) for f in forms for end in ends]
    yield from forms


def _inner_value(index: SSAValue, within: Range, tests: Iterable[Constraint]) -> int | None:
    """The first value of the longest run in which no test changes; None if no extent is known."""
    low, end = within.first, within.end.constant
    if within.end.terms or low >= end:
        return None
    cuts = {low, end}
    for test in tests:
        forms = (within.of_whole(form, index) for form in _at_ends(test.form))
        cuts |= {cut for form in forms for cut in _changes(form, index, test.equality)}
    inner = sorted(cut for cut in cuts if low <= cut <= end)
    return max(pairwise(inner), key=lambda run: run[1] - run[0])[0]


def _changes(form: Affine, index: SSAValue, is_equation: bool) -> Iterator[int]:
    """The values of an index at which `c v + r >= 0` begins or ceases to hold, or `= 0` does."""
    c, r = form[index], form.constant
    if c and len(form.terms) == 1:
        least, most = -(r // c), r // -c
        yield least if c > 0 else most + 1
        if is_equation:
            yield most + 1 if c > 0 else least
