"""Tests of choices at a point of a block: which hold anyway, and which are left to be made.

    y[i, j] = sum[k in range(3)](x[i + k - 1] * w[k, j] if 1 <= i + k <= N else 0)

In rows i0 + r of a block, with the terms k written out, `i0 + r + k - 1 >= 0` holds unless r and k
are 0, as i0 >= 0; and as i0 + rows <= N, `i0 + r + k <= N` does unless they are the last. A test
that was made around a choice is not made again inside.
"""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.ir import Block, Region, SSAValue

from tadc.dialects import tix
from tadc.dialects.tix import Affine, Constraint
from tadc.passes.lowering.lanes.lane_reads import LaneReads
from tadc.passes.scheduling.streams.masked_lanes import is_there_at
from tadc.passes.scheduling.tiles.sum_lengths import constant_range
from tadc.passes.scheduling.tiles.tile import Tile

Limits = Mapping[SSAValue, tuple[Affine, Affine]]
"""The least and the largest value of indices, in terms of sizes."""


class LaneTests(LaneReads):
    """Sorts tests into those that hold at a point and those that are left."""

    limits: Limits
    """The limits of a block's first row and first column, and of all other indices."""
    assumed: frozenset[Constraint] = frozenset()
    """Tests that hold in all lanes that the mask has."""
    sides: Mapping[tix.IfOp, Region] = {}
    """The sides that choices take wherever this code runs."""
    branches: frozenset[Constraint] = frozenset()
    """The assumed tests that enclosing branches have made: they hold wherever this code runs."""

    def left(self, op: tix.IfOp) -> list[Constraint] | None:
        """The undecided tests of a choice; None for several cases, or quotients that vary by
        lane."""
        if len(op.condition) != 1 or self.is_divided([c.form for c in op.condition[0]]):
            return None
        self.provide_quotients([c.form for c in op.condition[0]])
        return [c for c in op.condition[0] if not self._holds(c)]

    def decided(self, op: tix.IfOp) -> Region | None:
        """The side that a choice certainly takes, if any."""
        side = self.sides.get(op)
        return op.then if side is None and self.left(op) == [] else side

    def assume(self, *tests: Constraint) -> None:
        """Assume that tests hold, at this point of the block."""
        self.assumed |= {self.here(c) for c in tests}

    def enter(self, *tests: Constraint) -> None:
        """Assume the tests of an enclosing branch, in terms of the block's first row and column."""
        self.assumed |= {*tests}
        self.branches |= {*tests}

    def is_there_anyway(self, op: tix.ReadOp) -> bool:
        """True if a load of one number needs no test: the branches around it and the bounds of
        blocks imply that it is inside of its tensor."""
        places = self.index.places
        tests = self.branches | {
            Constraint(form)
            for v, (least, most) in self.limits.items()
            if v in self.uses.of_operation(op)
            for form in (Affine.of(v) - least, most - Affine.of(v))
        }
        key = is_there_at, op, frozenset(places.items()), tests
        return self.uses.once(key, lambda: is_there_at(op, places, tests))

    def here(self, test: Constraint) -> Constraint:
        """A test in terms of the first row and column of the block."""
        return test.substitute(self.index.places)

    def _holds(self, test: Constraint) -> bool:
        here = self.here(test)
        if here.decided or here in self.assumed:
            return True
        if test.equality:
            return False
        least = self.least(test.form)
        if least is not None and _is_positive(least):
            return True
        return any(self._follows(here, other) for other in self.assumed)

    def _follows(self, here: Constraint, other: Constraint) -> bool:
        """True if `other` implies a test: the difference of their forms is certainly not negative.

        Both are in terms of the first row. A test that varies by lane implies nothing, as a branch
        makes it for the first lane alone.
        """
        more = here.form - other.form
        placed = not self.index.places.keys().isdisjoint(more.indices)
        if placed or other.form[self.tile.column_index]:
            return False
        least = self.least(more)
        return least is not None and _is_positive(least)

    def least(self, form: Affine) -> Affine | None:
        """The least value of a form in all lanes; None where it is not known."""
        rows = {v: place for v, place in self.index.places.items() if not _is_quotient(v)}
        form = form.substitute(rows)
        places: dict[tix.Variable, Affine] = {}
        for v in form.indices:
            limits = self.limits.get(v) or self._limits_of_quotient(v) or _limits_of_term(v)
            if limits is None:
                return None
            places[v] = limits[form[v] < 0]
        across = min(form[self.tile.column_index], 0) * (self.lanes - 1)
        return form.substitute(places) + across

    def _limits_of_quotient(self, v: SSAValue) -> tuple[Affine, Affine] | None:
        """The limits of `form // d`, at most the form, where that is certainly not negative."""
        if not isinstance(v.owner, tix.FloorDivOp):
            return None
        form, by = v.owner.form, v.owner.divisor.data
        least, negated = self.least(form), self.least(-form)
        if least is None or negated is None or not _is_positive(least):
            return None
        most = -negated
        return Affine(), most if most.terms else Affine(constant=most.constant // by)


def block_limits(op: tix.DefineOp, tile: Tile) -> Limits:
    """The least and the largest first row and column of blocks, and of all other indices."""
    widths = {**dict(tile.axes), tile.column_index: tile.columns}
    sizes = zip(op.indices, op.shape, strict=True)
    return {v: (Affine(), size - widths.get(v, 1)) for v, size in sizes}


def _is_quotient(v: tix.Variable) -> bool:
    return isinstance(v, SSAValue) and isinstance(v.owner, tix.FloorDivOp)


def _is_positive(form: Affine) -> bool:
    """True if a form of sizes, which are not negative, is certainly not negative."""
    return min(form.constant, *form.terms.values(), 0) >= 0


def _limits_of_term(index: SSAValue) -> tuple[Affine, Affine] | None:
    """The limits of an index of a sum, where its bounds are numbers."""
    around = index.owner.parent_op() if isinstance(index.owner, Block) else None
    found = constant_range(around, index) if isinstance(around, tix.ReductionOp) else None
    if found is None:
        return None
    first, length = found
    return Affine(constant=first), Affine(constant=first + length - 1)
