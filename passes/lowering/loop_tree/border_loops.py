"""Loops over vectors along which choices change sides: whole vectors inside, masks at borders.

    for j by 16 border              scf.for %j = ... step 16
      store y                         if all lanes are elements for which no choice changes sides
                                        vector.store f(...)
                                      else
                                        vector.maskedstore f(...) where lanes are elements

Past the caches (`align`), vectors begin where lines of memory do, wherever the row begins. Without
choices on the way, the last vector ends with the row, and has elements of the one before (`shift`).
All places compute the same operations on vectors, so that bits do not depend on addresses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from itertools import islice

from xdsl.dialects import arith, memref
from xdsl.ir import SSAValue

from tadc.dialects import tix
from tadc.dialects.tix import Affine, Constraint
from tadc.passes.lowering.loop_builders import all_of, either, select
from tadc.passes.lowering.loop_tree.border_points import BorderPoints, InsidePoints
from tadc.passes.lowering.loop_tree.intervals import Interval, holds, size_of
from tadc.passes.lowering.loop_tree.points import Guards, Points
from tadc.passes.lowering.loop_tree.scope import EmitScope
from tadc.passes.lowering.scalars.body_lowering import BodyLowering
from tadc.passes.lowering.tails import lanes_before
from tadc.passes.scheduling.loop_tree.nodes import Axis, For, Tail, nodes_in
from tadc.passes.scheduling.streams.stream_guards import for_all_terms
from tadc.passes.scheduling.streams.stream_phases import Phase
from tadc.passes.scheduling.tiles.tile_analysis import bytes_of_element, lanes_of

FillScope = Callable[[EmitScope], None]

Loaded = dict[object, SSAValue]
"""Elements that are loaded, as `LaneReads` keeps them."""

MOST_SPLATS = 8
"""The number of broadcast elements in registers along a row: half of 16, the fewest there are."""


def bordered(scope: EmitScope, node: For, fill: FillScope) -> None:
    """Emit a loop over vectors, one at a time: whole ones inside, masked ones at borders."""
    span = _span(scope, node)
    begin, end = _inside(scope.at, node, span)
    loop = _BorderLoop(scope, node, fill, span, _splats(scope, node))
    last = scope.at.index.sub(end, scope.at.index.constant(loop.lanes))
    if node.tail is Tail.SHIFT:
        loop.shifted(last)
    else:
        loop.bordered(begin, last)


def aligned_parts(scope: EmitScope, node: For, fill: FillScope) -> None:
    """Emit a loop over parts of a row that end at cache lines, wherever the row begins.

    The last part ends up to a vector behind the row.
    """
    index = scope.at.index
    span = scope.interval(node.axis)
    bordered = next(n for n in nodes_in(node) if isinstance(n, For) and n.phases)
    lanes = lanes_of(bordered.phases[0].op)
    most, step = index.add(span.high, index.constant(lanes - 1)), index.constant(node.step)
    if node.undivided:
        step = select(scope.at, holds(scope.at, node.undivided), most, step)

    def one(inner: EmitScope, k: SSAValue) -> None:
        part = Interval(k, inner.at.index.add(k, step), from_line=True)
        inner.parts = {**inner.parts, node.axis: part}
        fill(inner)

    scope.loop(Interval(span.low, most), step, node, one)


@dataclass(frozen=True)
class _BorderLoop:
    """The vectors of a segment of a row."""

    scope: EmitScope
    node: For
    fill: FillScope
    span: Interval
    loaded: Loaded

    @property
    def lanes(self) -> int:
        assert self.scope.vector is not None
        return self.scope.vector.lanes

    def shifted(self, last: SSAValue) -> None:
        """Emit whole vectors, of which the last is shifted inwards to begin at `last`.

        A range that is shorter than a vector has a masked one.
        """

        def one(inner: EmitScope, k: SSAValue) -> None:
            inner.fix(self.node.axis.indices, inner.at.index.min(k, last))
            self._whole(inner)

        def short(inner: EmitScope) -> None:
            inner.fix(self.node.axis.indices, self.span.low)
            self._masked(inner, self.span.low)

        scope = self.scope
        either(
            scope.at,
            _compare(scope.at, "sle", self.span.low, last),
            lambda at: self._loop(scope.inside(at), self.span.low, one),
            lambda at: short(scope.inside(at)),
        )

    def bordered(self, begin: SSAValue, last: SSAValue) -> None:
        """Emit vectors that are whole if they begin from `begin` to `last`, else masked."""
        start = self.span.low
        if self._is_aligned:
            first = self.node.phases[0].op
            before = _columns_before(self.scope.at, first, start)
            start = self.scope.at.index.sub(start, before)

        def one(inner: EmitScope, k: SSAValue) -> None:
            inner.fix(self.node.axis.indices, k)
            tests = [] if begin is start else [_compare(inner.at, "sge", k, begin)]
            tests.append(_compare(inner.at, "sle", k, last))
            either(
                inner.at,
                all_of(inner.at, tests),
                lambda at: self._whole(inner.inside(at)),
                lambda at: self._masked(inner.inside(at), k),
            )

        self._loop(self.scope, start, one)

    @property
    def _is_aligned(self) -> bool:
        return self.node.tail is Tail.ALIGN

    def _loop(
        self, scope: EmitScope, start: SSAValue, one: Callable[[EmitScope, SSAValue], None]
    ) -> None:
        step = scope.at.index.constant(self.lanes)
        scope.loop(Interval(start, self.span.high), step, self.node, one)

    def _whole(self, scope: EmitScope) -> None:
        self._begin(scope, Guards(self.node.phases, InsidePoints))
        self.fill(scope)

    def _masked(self, scope: EmitScope, first: SSAValue) -> None:
        self._begin(scope, Guards(self.node.phases, BorderPoints))
        points = [scope.points_of(phase.op, phase.op.indices) for phase in self.node.phases]
        masks = [self._mask(*pair, first) for pair in zip(points, self.node.phases, strict=True)]
        for own, mask in zip(points, masks, strict=True):
            own.mask = mask
        self.fill(scope)

    def _begin(self, scope: EmitScope, guards: Guards) -> None:
        scope.begin_vectors(1, None)
        scope.vectors.loaded, scope.guards = dict(self.loaded), guards

    def _mask(self, at: Points, phase: Phase, first: SSAValue) -> SSAValue:
        """The mask of the lanes that are elements of the row, in one phase."""
        axis = self.node.axis
        if axis.divisor > 1:
            rest = _size(axis) - phase.residue + (axis.divisor - 1)
            return lanes_before(at, at.index.floordiv(rest, axis.divisor), first)
        there = lanes_before(at, self.span.high, first)
        if not self._is_aligned:
            return there
        return all_of(at, [there, at.others(lanes_before(at, self.span.low, first))])


def _span(scope: EmitScope, node: For) -> Interval:
    """The bounds of a loop: its segment, within the part of the range that outer loops give it."""
    index, span = scope.at.index, scope.interval(node.axis)
    if span.from_line:
        zero, size = index.constant(0), size_of(scope.at, node.axis)
        before = _columns_before(scope.at, node.phases[0].op, zero)
        low, high = index.sub(span.low, before), index.sub(span.high, before)
        span = Interval(index.max(zero, low), index.min(size, high))
    if node.first:
        span = replace(span, low=index.max(span.low, index.constant(node.first)))
    if node.end is not None:
        span = replace(span, high=index.min(span.high, index.constant(node.end)))
    return span


def _columns_before(at: BodyLowering, op: tix.DefineOp, column: SSAValue) -> SSAValue:
    """The number of elements in a cache line before the element of a row in this column."""
    outermost, target = at.index.outermost(()), at.buffers[op.result]
    address = outermost.once(
        ("address", target), lambda: memref.ExtractAlignedPointerAsIndexOp.get(target)
    )
    origin = outermost.quotient(address, outermost.constant(bytes_of_element(op.type)))
    at.index.values[column] = column
    forms = [*(Affine.of(v) for v in op.indices[:-1]), Affine.of(column)]
    place = at.index.add(origin, at.index.linear(forms, at.strides[op.result, op.shape]))
    return at.insert(arith.RemSIOp(place, at.index.constant(lanes_of(op)))).result


def _size(axis: Axis) -> Affine:
    assert isinstance(axis.range, Affine)
    return axis.range


def _splats(scope: EmitScope, node: For) -> Loaded:
    """Load and broadcast the first few elements that are invariant in the loop."""
    inner = scope.inside(scope.at)
    inner.begin_vectors(1, None)
    inner.guards = Guards(node.phases, InsidePoints)
    for phase in node.phases:
        points = inner.points_of(phase.op, phase.op.indices)
        for read, places in islice(phase.splats(), MOST_SPLATS // len(node.phases)):
            at = points.placed(places)
            at.splat(at.number(read))
    return inner.vectors.loaded


# --- the inside -----------------------------------------------------------------------------------


def _inside(at: BodyLowering, node: For, span: Interval) -> tuple[SSAValue, SSAValue]:
    """The interior of the range: no choice of any phase changes sides in it."""
    begin, end, axis = span.low, span.high, node.axis
    if axis.divisor > 1:
        end = at.index.min(end, at.index.floordiv(_size(axis), axis.divisor))
    others: list[Constraint] = []
    for phase in node.phases:
        parts = (part for c in phase.inside.tests for part in _inequalities(c))
        for constraint in _hardest(map(for_all_terms, parts)):
            _provide_quotients(at, constraint.form)
            step = constraint.form[phase.column]
            if not step:
                others.append(constraint)
                continue
            bound = at.index.bound(phase.column, constraint)
            begin = at.insert(arith.MaxSIOp(begin, bound)).result if step > 0 else begin
            end = end if step > 0 else at.index.min(end, bound)
    return begin, select(at, at.index.holds([others]), end, begin) if others else end


def _provide_quotients(at: BodyLowering, form: Affine) -> None:
    """Compute the floor divisions in a form that are the same for all columns."""
    for v in form.indices:
        op = v.owner
        if isinstance(op, tix.FloorDivOp) and v not in at.index.values:
            _provide_quotients(at, op.form)
            at.index.values[v] = at.index.floordiv(op.form, op.divisor.data)


def _compare(at: BodyLowering, predicate: str, a: SSAValue, b: SSAValue) -> SSAValue:
    return at.insert(arith.CmpiOp(a, b, predicate)).result


def _inequalities(constraint: Constraint) -> list[Constraint]:
    """A constraint as inequalities: `e = 0` is `e >= 0` and `-e >= 0`."""
    both = [constraint.form, -constraint.form] if constraint.equality else [constraint.form]
    return [Constraint(form) for form in both]


def _hardest(constraints: Iterable[Constraint]) -> Iterable[Constraint]:
    """The strongest of all inequalities that differ by constants: it implies the others."""
    found: dict[Affine, Constraint] = {}
    for constraint in constraints:
        rest = constraint.form - constraint.form.constant
        if rest not in found or constraint.form.constant < found[rest].form.constant:
            found[rest] = constraint
    return found.values()
