"""`spread-reductions`: long reductions of few elements are spread over the threads of a GPU.

    dw[k] = sum[n, i](dy[n, i] * x[n, i + k])            k in range(K)

becomes

    dw_pieces[k, p, r] = sum[q, s](dy[P*q + p, R*s + r] * x[P*q + p, R*s + r + k])
    dw[k] = sum[p, r](dw_pieces[k, p, r])                p in range(P), r in range(R)

by  n = P q + p,  0 <= p < P,  i = R s + r,  0 <= r < R:  each term has one quotient and one
remainder by each number, so the sum over all remainders of the sums over all quotients is the
whole, and of extrema and products likewise. One thread computes one element, so without pieces K
threads would work, and a GPU has room for a quarter of a million.

Threads that follow each other read elements that follow each other: remainders by the index along
which terms lie side by side are the last index of pieces. Where elements themselves lie so, as in
y[j] = sum[i](x[i, j]), the remainders come first, and other indices are parted.

The reduction of many pieces is spread again, until none is long. Definitions that must round
identically stay as they are. Nothing is spread unless it is known how large sizes are: pieces take
memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf, prod
from typing import TypeVar

from xdsl.ir import Operation, SSAValue

from tadc.dialects import tix
from tadc.dialects.tix import Affine, TensorType, between
from tadc.passes.analysis.access import moves_last
from tadc.passes.analysis.properties import sums_bounded
from tadc.passes.analysis.rounding import is_free, must_round_identically
from tadc.passes.analysis.size_bounds import Bounds, SizeBounds
from tadc.passes.index_sets.sets import boxed_indices
from tadc.passes.rewriting.builder import BodyBuilder
from tadc.passes.rewriting.cloner import Cloner
from tadc.passes.rewriting.program_pass import ProgramPass
from tadc.passes.rewriting.programs import (
    ProgramBuilder,
    copy_definition,
    definition_around,
    start_copy,
)
from tadc.passes.rewriting.written_sizes import parse_sizes

THREADS = 1 << 18
"""Threads that a GPU of 2023 keeps busy: as many as its multiprocessors hold at a time."""

TERMS_OF_PIECE = 32
"""Terms of a piece: they take about as long as a kernel takes to start."""

FEWEST_TERMS = 4 * TERMS_OF_PIECE
"""Terms of a reduction that is spread at least."""

FEWEST_PIECES = 4
"""Pieces at least: with fewer a reduction is not much shorter."""

LANES = 32
"""Threads of a warp, which read memory together."""

SHORT = range(8, 129)
"""Lengths of indices of which each value gets a piece, if other indices are left: no remainders."""


@dataclass(frozen=True)
class SpreadReductionsPass(ProgramPass):
    """`spread-reductions{least="I=512" most="I=1023"}`: for sizes between these; right for all."""

    name = "spread-reductions"
    requires = leaves = (sums_bounded,)
    least: tuple[str, ...] = ()
    most: tuple[str, ...] = ()

    def rewrite(self, program: tix.ProgramOp) -> tix.ProgramOp:
        return spread_reductions(program, parse_sizes(self.least), parse_sizes(self.most))


def spread_reductions(
    program: tix.ProgramOp, least: Mapping[str, int], most: Mapping[str, int]
) -> tix.ProgramOp:
    """The program with long reductions in pieces; itself where there are none."""
    fixed = must_round_identically(program)
    keep = {op.label.data for op in program.definitions if not is_free(op, fixed)}
    while spreads := _spreads_in(program, SizeBounds(program, least, most), keep):
        program = _spread(program, spreads)
    return program


# --- which reductions -----------------------------------------------------------------------------


@dataclass(frozen=True)
class _Part:
    """An index of a reduction in parts."""

    index: SSAValue
    count: Affine
    """The number by which it is divided."""
    is_whole: bool = False
    """True if that is its length: each value is a remainder, and no quotient is left."""


@dataclass(frozen=True)
class _Spread:
    """A reduction to spread."""

    op: tix.ReductionOp
    parts: Sequence[_Part]
    """The last one is of an index along which terms lie side by side, if one of these has parts."""
    is_first: bool
    """True if the remainders are the first indices of pieces, and not the last ones."""

    @property
    def rest(self) -> list[SSAValue]:
        """The indices that the reduction of a piece has."""
        whole = [part.index for part in self.parts if part.is_whole]
        return [v for v in self.op.indices if v not in whole]


def _spreads_in(
    program: tix.ProgramOp, bounds: SizeBounds, keep: set[str]
) -> dict[Operation, _Spread]:
    """The long reductions of few elements."""
    free = [d for d in program.definitions if d.label.data not in keep and d.view is None]
    found = (spread for op in free for spread in _spreads_of(op, bounds))
    return {spread.op: spread for spread in found}


def _spreads_of(op: tix.DefineOp, bounds: SizeBounds) -> Iterator[_Spread]:
    elements = prod(max(1, bounds.of(size)[1]) for size in op.shape)
    for reduction in op.body.block.ops:
        if elements < THREADS and isinstance(reduction, tix.ReductionOp):
            spread = _spread_of(op, reduction, int(THREADS / elements), bounds)
            if spread is not None:
                yield spread


def _spread_of(
    op: tix.DefineOp, reduction: tix.ReductionOp, most: int, bounds: SizeBounds
) -> _Spread | None:
    """The parts of a reduction of a definition, `most` in all, if it is long."""
    lengths = _lengths(op, reduction, bounds)
    if not isinstance(reduction, tix.SumOp):  # of no terms there is no extremum
        lengths = {v: lengths[v] for v in boxed_indices(reduction)}
    terms = prod(lengths.values())
    wanted = _power_of_two(min(most, terms / TERMS_OF_PIECE))
    if terms < FEWEST_TERMS or wanted < FEWEST_PIECES:
        return None
    is_first = _is_side_by_side(op, reduction, bounds)
    inner, others = _sorted(reduction, lengths)
    parts: list[_Part] = []
    if inner is not None and not (is_first and others):
        # a warp for each row where other indices can be parted, too
        last = _lanes(reduction, inner, bounds) if others else None
        count = min(LANES if others else max(wanted, LANES), _power_of_two(lengths[inner]))
        parts = [last or _Part(inner, Affine(constant=count))]
        wanted = int(wanted // bounds.of(parts[0].count)[1])
    for index in others:
        count = min(wanted, _power_of_two(lengths[index]))
        if count > 1:
            parts, wanted = [_Part(index, Affine(constant=count)), *parts], wanted // count
    is_parted = inner is not None and parts and parts[-1].index is inner
    if inner is not None and is_parted and wanted > 1 and not parts[-1].is_whole:
        count = min(parts[-1].count.constant * wanted, _power_of_two(lengths[inner]))
        parts[-1] = _Part(inner, Affine(constant=count))
    return _Spread(reduction, parts, is_first) if parts else None


def _sorted(
    reduction: tix.ReductionOp, lengths: Mapping[SSAValue, float]
) -> tuple[SSAValue | None, list[SSAValue]]:
    """The longest index along which terms lie side by side, and the others, longest first."""
    along = [v for v in lengths if moves_last(reduction, v)]
    others = sorted((v for v in lengths if v not in along), key=lengths.__getitem__, reverse=True)
    return max(along, key=lengths.__getitem__, default=None), others


def _lanes(reduction: tix.ReductionOp, index: SSAValue, bounds: SizeBounds) -> _Part | None:
    """A part for each value of an index that is short."""
    length = boxed_indices(reduction).get(index)
    low, high = bounds.of(length) if length is not None else (0, inf)
    is_short = low in SHORT and high in SHORT
    return _Part(index, length, True) if length is not None and is_short else None


def _power_of_two(number: float) -> int:
    """The largest power of two that a number reaches; 1 for smaller ones."""
    return 1 << (int(number).bit_length() - 1) if number >= 1 else 1


def _lengths(
    op: tix.DefineOp, reduction: tix.ReductionOp, bounds: SizeBounds
) -> dict[SSAValue, float]:
    """The number of values of each index of a reduction: at least, where it is a size."""
    shape = zip(op.indices, op.shape, strict=True)
    ranges: dict[SSAValue, Bounds] = {v: (0, bounds.of(n)[1] - 1) for v, n in shape}
    boxes, lengths = boxed_indices(reduction), dict[SSAValue, float]()
    for v in reduction.indices:
        if v in boxes:
            low, high = bounds.of(boxes[v])
            ranges[v], lengths[v] = (0, high - 1), max(1, low)
    for v in reduction.indices:
        if v not in boxes:
            low, high = _limits(reduction, v, bounds, ranges)
            length = high - low + 1
            lengths[v] = max(1, length) if abs(length) < inf else 1
    return lengths


def _limits(
    reduction: tix.ReductionOp,
    index: SSAValue,
    bounds: SizeBounds,
    ranges: Mapping[SSAValue, Bounds],
) -> Bounds:
    """The least and the largest value that an index may have."""
    low, high = -inf, inf
    for constraint in reduction.constraints:
        factor = constraint.form[index]
        if not factor or constraint.equality:
            continue
        end = bounds.of(constraint.form - Affine.of(index) * factor, ranges)[1] / abs(factor)
        low, high = (max(low, -end), high) if factor > 0 else (low, min(high, end))
    return low, high


def _reads_in(op: tix.ReductionOp) -> Iterator[tix.ReadOp]:
    return (o for o in op.walk() if isinstance(o, tix.ReadOp))


def _is_side_by_side(op: tix.DefineOp, reduction: tix.ReductionOp, bounds: SizeBounds) -> bool:
    """True if a warp reads terms of neighbouring elements that lie side by side."""
    if not op.indices or bounds.of(op.shape[-1])[1] < LANES:
        return False
    last = op.indices[-1]
    reads = [read for read in _reads_in(reduction) if any(form[last] for form in read.forms)]
    return bool(reads) and all(read.forms[-1][last] for read in reads)


# --- the change -----------------------------------------------------------------------------------


class _Spreader(Cloner):
    """Copies; reductions whose pieces are there reduce these."""

    pieces: dict[Operation, tuple[SSAValue, _Spread]]

    def copy_reduction(self, op: tix.ReductionOp) -> SSAValue:
        """Copy a reduction, or reduce the pieces of one that has some."""
        if op not in self.pieces:
            return super().copy_reduction(op)
        pieces, spread = self.pieces[op]
        around = [self.form(Affine.of(v)) for v in definition_around(op).indices]

        def domain(own: list[SSAValue]) -> list[tix.Constraint]:
            ranges = zip(own, spread.parts, strict=True)
            return [c for p, part in ranges for c in between(0, Affine.of(p), part.count)]

        def piece(e: BodyBuilder, own: list[SSAValue]) -> SSAValue:
            return e.read(pieces, _placed(spread, [*map(Affine.of, own)], around))

        return self.builder.reduce(type(op), ["p"] * len(spread.parts), domain, piece)


T = TypeVar("T")


def _placed(spread: _Spread, remainders: Sequence[T], around: Sequence[T]) -> list[T]:
    """The items of all indices of pieces, in the order of these."""
    return [*remainders, *around] if spread.is_first else [*around, *remainders]


def _spread(program: tix.ProgramOp, spreads: Mapping[Operation, _Spread]) -> tix.ProgramOp:
    """The program with these reductions in pieces."""
    builder, cloner = start_copy(_Spreader, program)
    cloner.pieces = {}
    for op in program.definitions:
        for spread in filter(None, map(spreads.get, op.body.block.ops)):
            cloner.pieces[spread.op] = _pieces(builder, cloner, spread, op), spread
        cloner.values[op.result] = copy_definition(builder, cloner, op)
    made = builder.finish(program, [cloner.value(v) for v in program.returned])
    made.derived = program.derived
    return made


def _pieces(builder: ProgramBuilder, cloner: Cloner, spread: _Spread, op: tix.DefineOp) -> SSAValue:
    """Append the definition of the pieces of a reduction."""
    total, count = spread.op, len(spread.parts)

    def body(e: BodyBuilder, own: list[SSAValue]) -> SSAValue:
        """The terms whose indices leave the remainders that a piece stands for."""
        around = own[count:] if spread.is_first else own[: len(op.indices)]
        remainders = own[:count] if spread.is_first else own[len(op.indices) :]
        inner = cloner.inner(e, op.indices, around)
        inner.require(total)

        def terms(e: BodyBuilder, quotients: list[SSAValue]) -> Cloner:
            made = inner.inner(e, spread.rest, quotients)
            for part, p in zip(spread.parts, remainders, strict=True):
                scaled = Affine() if part.is_whole else made.indices[part.index]
                made.indices[part.index] = scaled * part.count.constant + Affine.of(p)
            return made

        def domain(quotients: list[SSAValue]) -> list[tix.Constraint]:
            new = dict(zip(spread.rest, quotients, strict=True))
            implied = [c for part in spread.parts for c in _implied(part, total)]
            starts = [p.index for p in spread.parts if p.index in new and _from_zero(p) in implied]
            rest = [c for c in total.constraints if c not in implied]
            own_starts = [tix.Constraint(Affine.of(new[v])) for v in starts]
            return [*own_starts, *terms(e, quotients).constraints(rest)]

        def term(e: BodyBuilder, quotients: list[SSAValue]) -> SSAValue:
            return terms(e, quotients).copy_body(total.body)

        return e.reduce(type(total), [v.name_hint for v in spread.rest], domain, term)

    names = _placed(spread, ["p"] * count, [v.name_hint for v in op.indices])
    shape = _placed(spread, [part.count for part in spread.parts], [*op.shape])
    return builder.define(
        builder.fresh_label(f"{op.label.data}_pieces"),
        TensorType.of(shape, tix.ELEMENT_TYPES[op.type.dtype]),
        names,
        op.location,
        body,
    )


def _from_zero(part: _Part) -> tix.Constraint:
    return tix.Constraint(Affine.of(part.index))


def _implied(part: _Part, total: tix.ReductionOp) -> list[tix.Constraint]:
    """The constraints of a reduction on an index that hold for all quotients and remainders.

    With `n = P q + p` and `0 <= p < P`, `n >= 0` is `q >= 0`.
    """
    around = [c for c in total.constraints if c.form[part.index]]
    return around if part.is_whole else [c for c in around if c == _from_zero(part)]
