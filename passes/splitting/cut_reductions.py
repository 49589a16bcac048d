"""`cut-reductions`: a reduction of many terms to few elements is cut into pieces for threads.

    y = sum[i, j]((x[i, j] - t[i, j])**2)                        i in range(I)

becomes

    y_pieces[p] = sum[i in range(h*p, min(h*p + h, I)), j]((x[i, j] - t[i, j])**2)
    y = sum[p](y_pieces[p])                                      p in range(⌈I / h⌉)

by  {0, ..., I - 1} = ∪_p {h p, ..., min(h p + h, I) - 1},  for products and extrema as well.
Threads share the elements of a result: of a loss there is one. Results depend on sizes alone.

The index that is cut is not the one by which terms lie side by side, unless it is the only one.
Of several the first ones are cut that have enough values: those behind them stay whole, and may
become one (`merge-axes`), as for the mean of a channel, `m[c] = sum[n, h, w](x[n, h, w, c])`.

Where a result has more elements, but still few, each of them reads anew what others have read:

    w[o, c] = sum[n, h](y[n, o, h] * x[n, c, h])

If a cache near a core does not hold all of it, but all that one n, or some, reads, then all
elements are computed piece by piece: `w_pieces[p, o, c]`.

Where a reduction to few elements alone reads a large tensor of windows, pieces are boxes of all its
indices, for which these windows are computed right before
(`passes/scheduling/bands/band_pieces.py`):

    y[s] = sum[i, j](x[i, j] * z[i + s, j])                  y_pieces[s, p, p_1]

Other reductions over such boxes have pieces of the same sides.

Definitions that must round identically stay as they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import TypeVar

from xdsl.dialects.builtin import ArrayAttr
from xdsl.ir import Operation, SSAValue

from tadc.dialects import tix
from tadc.dialects.tix import Affine, TensorType, between
from tadc.dialects.tix.affine import SizeValues
from tadc.passes.analysis.access import moves_last
from tadc.passes.analysis.index_uses import IndexUses
from tadc.passes.analysis.properties import sums_bounded
from tadc.passes.analysis.rounding import is_free, must_round_identically
from tadc.passes.index_sets.sets import boxed_indices
from tadc.passes.rewriting.builder import BodyBuilder
from tadc.passes.rewriting.cloner import Cloner
from tadc.passes.rewriting.part_sizes import PartSizes, with_derived_sizes
from tadc.passes.rewriting.program_pass import ProgramPass
from tadc.passes.rewriting.programs import (
    ProgramBuilder,
    copy_definition,
    definition_around,
    reads_of,
    start_copy,
    type_of,
)
from tadc.passes.rewriting.written_sizes import parse_sizes
from tadc.passes.scheduling.bands.band_pieces import (
    Boxes,
    boxes_of,
    sides_of_pieces,
    stages_of_pieces,
)

T = TypeVar("T")

TERMS_OF_PIECE = 1 << 14
"""Terms of a piece at least: some microseconds, in which a thread can take it."""

MOST_PIECES = 1 << 12
"""Pieces of an index whose length is known at most: they are stored."""

FEWEST_TERMS = 1 << 17
"""Terms of a reduction at least, ..."""

LONG = 512
"""... or values of the index that is cut, which may be many more. So many count where bounds depend
on other indices."""

FEWEST_PIECES = 16
"""Values of that index at least."""

MOST_ELEMENTS = 32
"""Elements of a result at most: of more, threads take some each."""

ELEMENTS_OF_CORE = 1 << 19
"""Elements that the caches of a core keep: 2 MB of f32."""

MOST_ELEMENTS_AGAIN = 1 << 12
"""Elements of a result at most whose reduction is cut for what they read again, ..."""

FEWEST_USES = 8
"""... and how often all that is read is used, at least; as many of its elements there are for one
that is stored."""


@dataclass(frozen=True)
class CutReductionsPass(ProgramPass):
    """`cut-reductions{sizes="I=512"}`: reductions that are long for these sizes; right for all."""

    name = "cut-reductions"
    requires = leaves = (sums_bounded,)
    sizes: tuple[str, ...] = ()

    def rewrite(self, program: tix.ProgramOp) -> tix.ProgramOp:
        return cut_reductions(program, parse_sizes(self.sizes))


def cut_reductions(program: tix.ProgramOp, sizes: Mapping[str, int]) -> tix.ProgramOp:
    """The program with long reductions in pieces; itself where there are none."""
    fixed, known = must_round_identically(program), with_derived_sizes(program, sizes)
    free = [op for op in program.definitions if is_free(op, fixed)]
    bands = _cuts_for_bands(free, known)
    cuts: dict[Operation, _Cut] = {
        cut.op: cut for op in free for cut in bands.get(op) or _cuts_in(op, known)
    }
    if not cuts:
        return program
    builder, cloner = start_copy(_Cutter, program)
    cloner.pieces, cloner.cuts, lengths = {}, cuts, PartSizes(program, sizes)
    for op in _in_order(program, cuts.values()):
        for cut in filter(None, map(cuts.get, op.body.block.ops)):
            cloner.pieces[cut.op] = _pieces(builder, cloner, cut, op, lengths)
        cloner.values[op.result] = copy_definition(builder, cloner, op)
    made = builder.finish(program, [cloner.value(v) for v in program.returned])
    made.derived = ArrayAttr([*program.derived, *lengths.derived])
    return made


def _in_order(program: tix.ProgramOp, cuts: Iterable[_Cut]) -> Iterator[tix.DefineOp]:
    """The definitions, stages of pieces right before these."""
    stages = {definition_around(cut.op): cut.stages for cut in cuts}
    moved = {stage for own in stages.values() for stage in own}
    for op in program.definitions:
        if op not in moved:
            yield from stages.get(op, ())
            yield op


# --- which reductions -----------------------------------------------------------------------------


@dataclass(frozen=True)
class _Side:
    """An index of a reduction that is cut."""

    index: SSAValue
    length: Affine
    """The number of its values."""
    height: int
    """The values of a piece."""


@dataclass(frozen=True)
class _Cut:
    """A reduction to cut."""

    op: tix.ReductionOp
    sides: Sequence[_Side]
    outside: bool = False
    """True if all elements of a result are computed for one piece before the next one."""
    stages: Sequence[tix.DefineOp] = ()
    """The definitions that are computed for each piece."""

    def with_pieces(self, own: Sequence[T], pieces: Sequence[T]) -> list[T]:
        """Values for the indices of a result, with those for pieces."""
        return [*pieces, *own] if self.outside else [*own, *pieces]


def _cuts_in(op: tix.DefineOp, sizes: Mapping[str, int]) -> list[_Cut]:
    """The reductions of a definition that are worth pieces, beside those that are bands."""
    if op.view is not None:
        return []
    if has_few_elements(op):
        found = (_cut_of(o, sizes) for o in _reductions(op))
    else:
        found = (_cut_for_caches(op, o, sizes) for o in _reductions(op))
    return [cut for cut in found if cut is not None]


def _reductions(op: tix.DefineOp) -> list[tix.ReductionOp]:
    return [o for o in op.body.block.ops if isinstance(o, tix.ReductionOp)]


def has_few_elements(op: tix.DefineOp) -> bool:
    """True if threads share the elements of a definition, rather than take some each."""
    # sizes are examples, of which differences say nothing
    is_fixed = not any(size.terms for size in op.shape)
    return is_fixed and prod(size.constant for size in op.shape) <= MOST_ELEMENTS


def _cuts_for_bands(
    ops: Sequence[tix.DefineOp], sizes: Mapping[str, int]
) -> dict[tix.DefineOp, list[_Cut]]:
    """The cuts of reductions whose pieces are bands: of what each of them alone reads, and of what
    others over such boxes read, too."""
    alone: dict[tix.DefineOp, Boxes] = {}
    beside: dict[tix.DefineOp, Boxes] = {}
    for op in ops:
        if op.view is not None or not has_few_elements(op) or len(_reductions(op)) != 1:
            continue
        (reduction,) = _reductions(op)
        stages = [stage.result for stage in stages_of_pieces(op)]
        if stages and (boxes := boxes_of(reduction, stages, sizes)):
            alone[op] = boxes
        elif boxes := boxes_of(reduction, [r.tensor for r in reads_of(op)], sizes):
            beside[op] = boxes
    found: dict[tix.DefineOp, list[_Cut]] = {}
    for op, own in {**alone, **beside}.items():
        others = [b for o, b in alone.items() if o is not op and b.is_like(own)]
        if op in beside and not others:
            continue
        others += [b for o, b in beside.items() if o is not op and b.is_like(own)]
        (reduction,) = _reductions(op)
        heights = {reduction.indices[s.index]: s.least for s in sides_of_pieces(own, others)}
        lengths = boxed_indices(reduction)
        sides = [_Side(v, lengths[v], heights[v]) for v in reduction.indices if v in heights]
        if sides:
            stages = stages_of_pieces(op) if op in alone else []
            found[op] = [_Cut(reduction, sides, stages=stages)]
    return found


def _cut_for_caches(
    op: tix.DefineOp, inner: tix.ReductionOp, sizes: Mapping[str, int]
) -> _Cut | None:
    """The cut of a reduction of which elements read again what no cache of a core keeps."""
    shape, boxes = _known(op.shape, sizes), boxed_indices(inner)
    lengths = _known([*boxes.values()], sizes)
    if shape is None or lengths is None or len(boxes) < max(2, len(inner.indices)):
        return None
    reads = [o for o in inner.walk() if isinstance(o, tix.ReadOp)]
    tensors = [_known(r.shape, sizes) for r in reads]
    elements, read = prod(shape), sum(prod(tensor or []) for tensor in tensors)
    if elements > MOST_ELEMENTS_AGAIN or any(tensor is None for tensor in tensors):
        return None
    uses = IndexUses()
    used = [uses.of_operation(r) for r in reads]
    # along indices of all reads each element has a part of its own
    apart = [n for v, n in zip(op.indices, shape, strict=True) if all(v in own for own in used)]
    again = read // max(1, prod(apart))
    if again <= ELEMENTS_OF_CORE or elements * prod(lengths) < FEWEST_USES * read:
        return None
    for index, length in zip(boxes, lengths, strict=True):
        most = ELEMENTS_OF_CORE // 2 * length // again
        height = 1 << most.bit_length() >> 1
        pieces = -(-length // height) if height else 0
        is_outside = all(index in own for own in used) and not moves_last(inner, index)
        if is_outside and pieces > 1 and pieces * elements * FEWEST_USES <= read:
            return _Cut(inner, [_Side(index, boxes[index], height)], outside=True)
    return None


def _cut_of(op: tix.ReductionOp, sizes: Mapping[str, int]) -> _Cut | None:
    """The cut of a long reduction: by the first indices that have enough values, so that what is
    behind them stays whole, or by the longest one across rows, or else along these."""
    boxes = boxed_indices(op)
    values = _known([*boxes.values()], sizes)
    if not values:
        return None
    lengths = dict(zip(boxes, values, strict=True))
    terms = prod(lengths.get(v, LONG) for v in op.indices)
    inner = [v for v in boxes if moves_last(op, v)]
    outer = [v for v in boxes if v not in inner and lengths[v] >= FEWEST_PIECES]
    index = max(outer or boxes, key=lengths.__getitem__)
    if lengths[index] < LONG and (terms < FEWEST_TERMS or index in inner):
        return None
    *whole, last = _first_across(op, lengths) or [index]
    pieces = prod(lengths[v] for v in (*whole, last))
    least = -(-TERMS_OF_PIECE * pieces // max(1, terms))
    least = max(least, -(-pieces // MOST_PIECES))
    sides = [_Side(v, boxes[v], 1) for v in whole]
    return _Cut(op, [*sides, _Side(last, boxes[last], 1 << (least - 1).bit_length())])


def _first_across(op: tix.ReductionOp, lengths: Mapping[SSAValue, int]) -> Sequence[SSAValue]:
    """The first indices with so many values that pieces are enough, if no terms lie side by side
    along them."""
    found: list[SSAValue] = []
    for index in op.indices:
        if index not in lengths or moves_last(op, index):
            return []
        found.append(index)
        if prod(lengths[v] for v in found) >= FEWEST_PIECES:
            return found
    return []


def _known(sizes: Sequence[Affine], values: Mapping[str, int]) -> list[int] | None:
    """Sizes as numbers; None where one is not known."""
    if not {name for form in sizes for name in form.sizes} <= values.keys():
        return None
    known = SizeValues(values)
    return [form.evaluate(known) for form in sizes]


# --- the change -----------------------------------------------------------------------------------


class _Cutter(Cloner):
    """Copies; reductions whose pieces are there reduce these."""

    pieces: dict[tix.ReductionOp, SSAValue]
    cuts: Mapping[Operation, _Cut]

    def copy_reduction(self, op: tix.ReductionOp) -> SSAValue:
        """Copy a reduction, or reduce the pieces of one that has some."""
        if op not in self.pieces:
            return super().copy_reduction(op)
        pieces = self.pieces[op]
        cut = self.cuts[op]
        around = [self.form(Affine.of(v)) for v in definition_around(op).indices]
        number = len(cut.sides)
        shape = type_of(pieces).shape
        counts = shape[:number] if cut.outside else shape[-number:]

        def domain(own: list[SSAValue]) -> list[tix.Constraint]:
            pairs = zip(own, counts, strict=True)
            return [c for v, count in pairs for c in between(0, Affine.of(v), count)]

        def piece(e: BodyBuilder, own: list[SSAValue]) -> SSAValue:
            return e.read(pieces, cut.with_pieces(around, [*map(Affine.of, own)]))

        return self.builder.reduce(type(op), ["p"] * number, domain, piece)


def _pieces(
    builder: ProgramBuilder, cloner: Cloner, cut: _Cut, op: tix.DefineOp, lengths: PartSizes
) -> SSAValue:
    """Append the definition of the pieces of a reduction."""
    counts = [lengths.of(side.length, side.height, 0, "P") for side in cut.sides]

    def body(e: BodyBuilder, own: list[SSAValue]) -> SSAValue:
        """The reduction over the values that the indices `own` give a piece."""
        number = len(counts)
        places, around = (
            (own[:number], own[number:]) if cut.outside else (own[-number:], own[:-number])
        )
        inner = cloner.inner(e, op.indices, around)
        inner.require(cut.op)

        def domain(indices: list[SSAValue]) -> list[tix.Constraint]:
            terms = inner.inner(e, cut.op.indices, indices)
            pieces = [
                constraint
                for side, place in zip(cut.sides, places, strict=True)
                for constraint in _piece(side, indices[cut.op.indices.index(side.index)], place)
            ]
            return [*pieces, *terms.constraints(_without_starts(cut))]

        def term(e: BodyBuilder, indices: list[SSAValue]) -> SSAValue:
            return inner.inner(e, cut.op.indices, indices).copy_body(cut.op.body)

        names = [v.name_hint for v in cut.op.indices]
        return e.reduce(type(cut.op), names, domain, term)

    return builder.define(
        builder.fresh_label(f"{op.label.data}_pieces"),
        TensorType.of(cut.with_pieces(op.shape, counts), tix.ELEMENT_TYPES[op.type.dtype]),
        cut.with_pieces([v.name_hint for v in op.indices], ["p"] * len(counts)),
        op.location,
        body,
    )


def _piece(side: _Side, index: SSAValue, place: SSAValue) -> list[tix.Constraint]:
    """The constraints of an index to those values that a piece has."""
    first = Affine.of(index) - Affine.of(place) * side.height
    return between(0, first, Affine(constant=side.height))


def _without_starts(cut: _Cut) -> list[tix.Constraint]:
    """The constraints of a reduction but for `index >= 0`, which a piece implies."""
    starts = [tix.Constraint(Affine.of(side.index)) for side in cut.sides]
    return [c for c in cut.op.constraints if c not in starts]
