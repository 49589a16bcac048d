"""Values of a stream in the lanes of vectors: inside, where no guard changes sides, and at borders.

    y[i, j] = z[i, j] + (a[i] * x[i, j - 1] if j > 0 else 0)

Which vectors are inside depends on where rows begin in memory, and bits must not: both places
compute the same operations. At borders a mask stands between a product and the addition behind it,
so that processors cannot do both at once: then they do not inside either. The terms of a window
are masked behind the addition, which is one operation with the product in both places; a branch
leaves out those that a whole row lacks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import i32
from xdsl.ir import Block, Operation, SSAValue

from tadc.dialects import tix
from tadc.dialects.loops import CompareLanesOp
from tadc.dialects.tix import Affine, Constraint
from tadc.passes.lowering import operations
from tadc.passes.lowering.lanes.lane_choices import LaneChoices

FURTHEST_COLUMN = 1 << 19
"""The largest number that columns are compared with in 32 bits.

Code with a number above twice this checks in each call whether its indices exceed 64 bits.
"""


class BorderLowering(LaneChoices):
    """Emits vectors at borders under masks, with the same operations as interior vectors."""

    def with_term(self, total: SSAValue, op: tix.ReductionOp) -> SSAValue:
        tested = any(isinstance(o, tix.IfOp) for o in op.body.walk())
        if not isinstance(op, tix.SumOp) or not tested:
            return super().with_term(total, op)
        return self.plus(self.splat(total), tix.yielded(op.body), op)

    def plus(self, sum_: SSAValue, term: SSAValue, op: tix.ReductionOp) -> SSAValue:
        """Add a term to a partial sum; a branch skips the term in rows that have none."""
        tests = self._tests_of_rows(term)
        if not tests:
            return super().plus(sum_, term, op)
        taken, around = Block(), Block()
        inner = self.inside(taken)
        inner.assume(*tests)
        taken.add_op(operations.end(inner.plus(sum_, term, op)))
        around.add_op(operations.end(sum_))
        holds = self.index.holds([tests])
        return self.insert(operations.branch(holds, taken, around, [sum_.type])).results[0]

    def _tests_of_rows(self, term: SSAValue) -> list[Constraint]:
        """The undecided tests of a guarded term that are the same for all columns."""
        choice = term.owner
        if not isinstance(choice, tix.IfOp):
            return []
        if tix.constant_value(tix.yielded(choice.otherwise)) != 0.0:
            return []
        return [c for c in self.left(choice) or () if not self.is_of_columns(c)]

    def is_of_columns(self, test: Constraint) -> bool:
        """True if a test may hold in some lanes alone."""
        return bool(test.form[self.tile.column_index])

    def depends_on_lanes(self, tests: Sequence[Constraint]) -> bool:
        return bool(tests)  # a branch would hide a product from the addition behind it

    def compared_at_end(self, form: Affine) -> Operation:
        """Compare a vector of columns with a number, once for each neighbour that a window reads.

        The vector is computed once for all these numbers, and clamped where it is beyond all of
        them.
        """
        step = form[self.tile.column_index]
        if abs(step) != 1 or abs(form.constant) >= FURTHEST_COLUMN:
            return super().compared_at_end(form)
        columns = self._columns((form - form.constant) * step)
        predicate, limit = ("sge", -form.constant) if step > 0 else ("slt", form.constant + 1)
        return CompareLanesOp(predicate, columns, self.lane_integers([limit], i32))

    def _columns(self, form: Affine) -> SSAValue:
        """A vector of a form that grows by one from lane to lane, clamped to fit 32 bits."""

        def found() -> Operation:
            far = 2 * FURTHEST_COLUMN
            least, most = self.index.constant(-far), self.index.constant(far)
            first = operations.binary(arith.MaxSIOp, self.index.form(form), least)
            first = operations.binary(arith.MinSIOp, self.insert(first).result, most)
            first = self.insert(arith.IndexCastOp(self.insert(first).result, i32)).result
            numbers = self.lane_integers(range(self.lanes), i32)
            return operations.binary(arith.AddiOp, self.splat(first), numbers)

        return self.index.once(("columns", form.substitute(self.index.places)), found)


class InsideLowering(BorderLowering):
    """Emits interior vectors, where the side that each guard takes is known."""

    def plus(self, sum_: SSAValue, term: SSAValue, op: tix.ReductionOp) -> SSAValue:
        return self.add(sum_, self.lanes_of(term), op)


def not_fused(guards: Iterable[tix.IfOp]) -> Iterator[Operation]:
    """The operations under guards that must not be fused with an addition that uses their value."""
    for guard in guards:
        if not _is_term(guard):
            yield from guard.walk()


def _is_term(guard: tix.IfOp) -> bool:
    """True for a guard that is a term of a sum, with 0 where the term is absent."""
    window = guard.parent_op()
    return (
        isinstance(window, tix.SumOp)
        and tix.yielded(window.body) is guard.results[0]
        and tix.constant_value(tix.yielded(guard.otherwise)) == 0.0
    )
