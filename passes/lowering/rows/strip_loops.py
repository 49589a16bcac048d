"""Emits definitions strip by strip: the loops of `passes/scheduling/rows/strips.py`.

    loops.parallel (%n, %strip) {
      scf.for %c { %m0 = max(%m0, x), ... }       m[n, p] = max[c](x[n, c, p]): four vectors of p
      scf.for %c { ... }                          e[n, c, p] = exp(x[n, c, p] - m[n, p])
      scf.for %c { %s0 = %s0 + e, ... }           s[n, p] = sum[c](e[n, c, p])
      scf.for %c { ... }                          y[n, c, p] = e[n, c, p] / s[n, p]
    }

The vectors of a strip advance side by side; where fewer columns are left, one at a time, under a
mask. What a strip has one element of for each column stays in registers for later members. Terms
are added in order, long sums in segments (`passes/lowering/scalars/segments.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeGuard

from xdsl.ir import Region, SSAValue

from tadc.dialects import tix
from tadc.dialects.loops import ParallelOp
from tadc.dialects.quick import INDEX, block_with
from tadc.passes.analysis.index_uses import IndexUses
from tadc.passes.analysis.size_bounds import ANY_SIZE
from tadc.passes.index_sets.context import stays_inside
from tadc.passes.index_sets.sets import index_set
from tadc.passes.lowering.emit import carrying_loop, loop, quotient, rounded_up, smaller
from tadc.passes.lowering.rows.lane_loops import Lanes, over_vectors, store_elements
from tadc.passes.lowering.rows.row_lanes import KnownNumbers, RowLanes
from tadc.passes.lowering.scalars.body_lowering import BodyLowering
from tadc.passes.lowering.scalars.segments import Segments, add_segment, whole_sum
from tadc.passes.rewriting.cloner import free_values
from tadc.passes.scheduling.nest import Rows
from tadc.passes.scheduling.tiles.sum_lengths import is_short
from tadc.passes.scheduling.tiles.tile import Tile
from tadc.passes.scheduling.tiles.tile_analysis import lanes_of

VECTORS_OF_STRIP = 4
"""Vectors side by side: an addition waits four cycles for the one before."""

Computed = dict[tuple[SSAValue, int], SSAValue]
"""The elements that a strip has of a tensor, in each of its vectors."""


def strip_loops(outer: KnownNumbers, members: Sequence[tix.DefineOp], rows: Rows) -> ParallelOp:
    """The loops of a nest: an iteration computes a strip of each member, one after the other."""
    first, uses = members[0], IndexUses()
    *others, column = rows.shared[first]
    body = block_with([INDEX] * (len(others) + 1))
    for new, old in zip(body.args, [*others, column], strict=True):
        new.name_hint = old.name_hint
    shape = dict(zip(first.indices, first.shape, strict=True))
    columns, lanes = outer.index.form(shape[column]), lanes_of(first)
    tile = Tile(None, column, 1, lanes * VECTORS_OF_STRIP, lanes)
    width = outer.index.constant(tile.columns)
    strips = quotient(outer, rounded_up(outer, columns, width), width)
    limits = [*(outer.index.form(shape[v]) for v in others), strips]
    at = outer.inside(body)
    for op in members:
        at.index.values.update(zip(rows.shared[op][:-1], body.args, strict=False))
    low = at.index.mul(body.args[-1], width)
    high = smaller(at, at.index.add(low, width), columns)

    def emit(inner: RowLanes, vectors: int, _: Lanes) -> Lanes:
        computed: Computed = {}
        for op in members:
            own = rows.shared[op][-1]
            inner.index.values[own] = inner.index.values[column]
            strip = Tile(None, own, 1, tile.columns, lanes)
            of_op = StripLanes(inner, op, strip, vectors, computed)
            inside = [v for v in op.indices if v not in rows.shared[op]]
            if inside:
                of_op.rows(inside)
            else:
                of_op.numbers_of_columns(is_stored=op in rows.written)
        return ()

    over_vectors(RowLanes(at, first, tile, uses), column, (low, high, ANY_SIZE), (), emit)
    return ParallelOp(limits, Region(body))


class StripLanes(RowLanes):
    """Emits the elements of a definition in a strip, at all of its vectors."""

    def __init__(
        self, at: RowLanes, op: tix.DefineOp, tile: Tile, vectors: int, computed: Computed
    ):
        super().__init__(at, op, tile, IndexUses())
        self.op = op
        self.mask = at.mask
        self.vectors = range(vectors)
        self.computed = computed

    def numbers_of_columns(self, is_stored: bool) -> None:
        """Compute the one element of each column, and keep it for later members."""
        for n in self.vectors:
            here = self.at(None, n)
            value = here.lanes_of(tix.yielded(self.op.body))
            self.computed[self.op.result, n] = value
            if is_stored:
                store_elements(here, self.op, value)

    def rows(self, own: Sequence[SSAValue]) -> None:
        """Compute the elements along these indices, and store them."""
        self._compute_ahead(own)
        self._along(own)

    def _along(self, own: Sequence[SSAValue]) -> None:
        if not own:
            for n in self.vectors:
                here = self.at(None, n)
                store_elements(here, self.op, here.lanes_of(tix.yielded(self.op.body)))
            return
        index, *rest = own

        def one(inner: BodyLowering, k: SSAValue) -> None:
            assert isinstance(inner, StripLanes)
            inner.index.values[index] = k
            inner._along(rest)

        size = self.op.shape[self.op.indices.index(index)]
        loop(self, self.index.constant(0), self.index.form(size), index.name_hint, one)

    def _compute_ahead(self, inside: Sequence[SSAValue]) -> None:
        """Compute what is the same for all values of the indices `inside`."""
        known = [c for c in index_set(self.op) if not any(c.form[v] for v in inside)]
        later = set[SSAValue]()
        for op in self.op.body.block.ops:
            needed = {*op.operands, *free_values(op)}
            if (
                isinstance(op, tix.YieldOp | tix.ReductionOp | tix.IfOp | tix.WhereOp)
                or self.uses.of_operation(op) & {*inside}
                or needed & later
                or not (self._is_computed(op) or stays_inside(op, known))
            ):
                later.update(op.results)
            elif not isinstance(op, tix.FloorDivOp):
                for n in self.vectors:
                    self.at(None, n).value(op.results[0])

    def _is_computed(self, op: object) -> TypeGuard[tix.ReadOp]:
        return isinstance(op, tix.ReadOp) and (op.tensor, 0) in self.computed

    # --- values ---

    def _emitted(self, value: SSAValue) -> SSAValue:
        op = value.owner
        if isinstance(op, tix.ReductionOp) and not is_short(op) and self.vector is not None:
            found = self.at(None, None).reduced(op)
            self.known.update(((value, None, n), lanes) for n, lanes in enumerate(found))
            return found[self.vector]
        if self.vector is not None and self._is_computed(op):
            return self.computed[op.tensor, self.vector]
        return super()._emitted(value)

    def reduced(self, op: tix.ReductionOp) -> Lanes:
        """A reduction in each lane of all vectors."""
        start = [self.splat(self.constant(op.IDENTITY))] * len(self.vectors)
        segments = Segments.of(self, op, op.indices)
        if segments is None:
            return self._add_terms(op, op.indices, start)

        def fill(at: BodyLowering, own: Lanes, carried: Lanes) -> Lanes:
            assert isinstance(at, StripLanes)
            totals, errors = carried[: len(start)], carried[len(start) :]
            parts = zip(totals, errors, at._add_terms(op, own, start), strict=True)
            pairs = [add_segment(at, *part) for part in parts]
            return [*(total for total, _ in pairs), *(errors for _, errors in pairs)]

        carried = segments.emit(self, [*start, *start], fill)
        pairs = zip(carried[: len(start)], carried[len(start) :], strict=True)
        return [whole_sum(self, total, errors) for total, errors in pairs]

    def _add_terms(self, op: tix.ReductionOp, own: Sequence[SSAValue], sums: Lanes) -> Lanes:
        """The loops of these indices of a reduction."""
        if not own:
            here = [self.at(None, n) for n in self.vectors]
            terms = [at.lanes_of(tix.yielded(op.body)) for at in here]
            return [self.add(a, b, op) for a, b in zip(sums, terms, strict=True)]
        index, *rest = own
        low, high = self.bounds(op, own)

        def one(inner: BodyLowering, k: SSAValue, carried: Lanes) -> Lanes:
            assert isinstance(inner, StripLanes)
            inner.index.values[index] = k
            return inner._add_terms(op, rest, carried)

        step = self.index.constant(1)
        return carrying_loop(self, low, high, step, index.name_hint, sums, one)
