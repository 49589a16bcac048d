"""Emits walks over pairs (`pairs`), superstep by superstep, strip by strip of their columns.

    loops.parallel (%w) to (128) in 8 {             16 units (p, u), for each of 8 supersteps s
      for each strip of the columns of part u + s:  so few that sums of a strip stay in a near cache
        sums[all k, columns] = 0
        scf.for %i = ... step 8 {                   four rows of piece p and part u, every other one
          %sums:12 = scf.for %j = ... step 16 {     a vector of pairs in each
            %e0 = exp(...), ..., %e3 = exp(...)
            %s0 + %e0 * ..., ..., %s11 + %e3 * ...
            sums[0, j] = sums[0, j] + %e0 * ... + %e3 * ...;  ...
          }
          dx[i, 0] = dx[i, 0] + the lanes of %s0 added up; ...
        }
        scf.for %i = ... step 2 { one row }         rows that are left, one by one
        dz_pieces[p, all k, columns] = dz_pieces[p, all k, columns] + sums
    }

Each element has its terms in one order, whatever the number of threads, and those of a strip are
added up before others: sums of many terms err less so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import prod

from xdsl.dialects import arith
from xdsl.dialects.builtin import Float64Type
from xdsl.ir import SSAValue

from tadc.dialects.loops import ParallelOp
from tadc.passes.lowering.all_pairs_blocks import Strip, counts
from tadc.passes.lowering.loop_builders import (
    all_of,
    at_least_one,
    buffer,
    digits,
    divided,
    loop,
    quotient_up,
    rounded_up,
)
from tadc.passes.lowering.parallel import parallel
from tadc.passes.lowering.scalars.body_lowering import BodyLowering
from tadc.passes.lowering.tails import end_of_whole
from tadc.passes.scheduling.all_pairs import Pairs
from tadc.passes.scheduling.nest import Nest

BYTES_OF_STRIP = 16 << 10
"""The largest size of the sums along rows of a strip: half of the L1 cache."""

MOST_COLUMNS_OF_STRIP = 512

COLUMNS_OF_LINES = 64
"""The multiple at which parts of the columns begin: no two threads write into one cache line."""


def pair_loops(outer: BodyLowering, nest: Nest, pairs: Pairs) -> ParallelOp:
    """The loops of a nest: an iteration is one superstep of a unit."""
    counts = pairs.parts, pairs.tile.step, pairs.parts
    number = outer.index.constant

    def unit(at: BodyLowering, places: Sequence[SSAValue]) -> None:
        part, piece, superstep = digits(at, places[0], [number(n) for n in counts])
        _Unit(nest, pairs, superstep, piece, part).emit(at)

    return parallel(outer, [number(prod(counts))], ["w"], unit, pairs.parts)


@dataclass(frozen=True)
class _Unit:
    """The work of one iteration: a part of the rows of a piece, with a part of the columns."""

    nest: Nest
    pairs: Pairs
    superstep: SSAValue
    piece: SSAValue
    part: SSAValue

    def emit(self, at: BodyLowering) -> None:
        """Emit the loop over the strips of the columns."""
        constant, parts = at.index.constant, self.pairs.parts
        low, high = self._columns(at)
        rows = self._rows(at)
        lines: dict[SSAValue, int] = {
            piece.op.result: prod(counts(piece)) for piece in self.pairs.pieces
        }
        width = _width_of_strip(at, sum(lines.values()))
        sums = {tensor: buffer(at, own * width, "sums") for tensor, own in lines.items()}
        # one at least: sums of rows are complete with the last one
        strips = at_least_one(at, quotient_up(at, at.index.sub(high, low), constant(width)))
        last = at.index.sub(strips, constant(1))
        begins = _are_equal(at, self.superstep, constant(0))
        ends = _are_equal(at, self.superstep, constant(parts - 1))

        def strip(inner: BodyLowering, number: SSAValue) -> None:
            """Emit the strip with this number."""
            first = inner.index.add(low, inner.index.mul(number, constant(width)))
            made = Strip(
                self.nest,
                self.pairs,
                self.piece,
                low=first,
                high=inner.index.min(high, inner.index.add(first, constant(width))),
                width=width,
                sums=sums,
                is_first=all_of(inner, [begins, _are_equal(inner, number, constant(0))]),
                is_last=all_of(inner, [ends, _are_equal(inner, number, last)]),
                begins=begins if parts > 1 else None,
            )
            self._emit_strip(inner, made, rows)

        loop(at, constant(0), strips, "strip", strip)

    def _emit_strip(self, at: BodyLowering, strip: Strip, rows: _Rows) -> None:
        """Emit the blocks of a strip, and then its remaining rows one by one."""
        tile, hint = self.pairs.tile, self.pairs.row.name_hint
        single = replace(tile, rows=1)
        strip.clear(at)
        for own, low, high in (tile, rows.first, rows.end_of_blocks), (single, *rows.left):
            loop(at, low, high, hint, partial(strip.rows, own), own.rows * tile.step)
        strip.add_to_pieces(at)

    def _columns(self, at: BodyLowering) -> tuple[SSAValue, SSAValue]:
        """The columns of this superstep, from the first to the one behind the last."""
        parts, width = self.pairs.parts, self.pairs.width
        _, part = divided(at, at.index.add(self.part, self.superstep), at.index.constant(parts))
        each = at.index.floordiv(width + (parts - 1), parts)
        length = rounded_up(at, each, at.index.constant(COLUMNS_OF_LINES))
        low = at.index.min(at.index.form(width), at.index.mul(part, length))
        return low, at.index.min(at.index.form(width), at.index.add(low, length))

    def _rows(self, at: BodyLowering) -> _Rows:
        """The rows of this unit."""
        constant, step, rows = at.index.constant, self.pairs.tile.step, self.pairs.tile.rows
        units = step * self.pairs.parts
        each = at.index.floordiv(self.pairs.length + (units - 1), units)
        height = at.index.mul(rounded_up(at, each, constant(rows)), constant(step))
        begin = at.index.mul(self.part, height)
        end = at.index.min(at.index.form(self.pairs.length), at.index.add(begin, height))
        first = at.index.add(begin, self.piece)
        behind = at.index.add(end, constant(step - 1))
        end_of_blocks = end_of_whole(at, first, behind, constant(rows * step))
        return _Rows(first, at.index.max(first, end_of_blocks), end)


@dataclass(frozen=True)
class _Rows:
    """The rows of a unit, at a stride of the number of pieces."""

    first: SSAValue
    end_of_blocks: SSAValue
    """The end of whole blocks: the first row of the remainder, if there is one."""
    end: SSAValue

    @property
    def left(self) -> tuple[SSAValue, SSAValue]:
        """The bounds of the rows that remain after whole blocks."""
        return self.end_of_blocks, self.end


def _width_of_strip(at: BodyLowering, lines: int) -> int:
    """The width of a strip whose columns have `lines` sums along rows each."""
    bytes_of_column = lines * (8 if isinstance(at.element, Float64Type) else 4)
    most = min(MOST_COLUMNS_OF_STRIP, BYTES_OF_STRIP // bytes_of_column)
    return max(COLUMNS_OF_LINES, most - most % COLUMNS_OF_LINES)


def _are_equal(at: BodyLowering, a: SSAValue, b: SSAValue) -> SSAValue:
    return at.index.once(("eq", a, b), lambda: arith.CmpiOp(a, b, "eq"))
