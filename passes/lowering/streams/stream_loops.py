"""Loops of streams: one iteration per row, or per piece of a single row, past the caches or not."""

from __future__ import annotations

from collections.abc import Generator, Sequence, Set
from contextlib import contextmanager
from dataclasses import replace
from functools import reduce

from xdsl.dialects import arith
from xdsl.ir import Operation, SSAValue

from tadc.dialects.loops import ParallelOp, SharedCacheOp
from tadc.dialects.tix import Affine
from tadc.passes.lowering.emit import either, quotient_up
from tadc.passes.lowering.parallel import parallel, piece_of
from tadc.passes.lowering.scalars.body_lowering import BodyLowering
from tadc.passes.lowering.streams.rows_side_by_side import rows_side_by_side
from tadc.passes.lowering.streams.stream_rows import Row, origin_of
from tadc.passes.scheduling.streams.stream_phases import phases_of
from tadc.passes.scheduling.streams.stream_segments import segments_of
from tadc.passes.scheduling.streams.stream_tiles import shared_rows
from tadc.passes.scheduling.streams.streams import (
    FEWEST_BYTES,
    MOST_BYTES,
    Shape,
    Stream,
    constant_bytes,
    shapes_of,
)

ELEMENTS_OF_PIECE = 1 << 14
"""The elements that an iteration writes where the result has only one index."""

ELEMENTS_OF_PIECE_TOGETHER = 1 << 10
"""The elements of each result where several streams run together: what one of them has read is then
in the nearest cache for the next."""


def streamed(outer: BodyLowering, streams: Sequence[Stream]) -> ParallelOp:
    """The nest of a stream, or of several over the same elements: one iteration per row of each, or
    per piece of a single row."""
    first = streams[0]
    *limits, extent = [outer.index.form(size) for size in first.op.shape]
    if first.modulus > 1:
        extent = outer.index.floordiv(first.op.shape[-1] + (first.modulus - 1), first.modulus)
    # vectors of phases do not lie where lines do
    is_near = first.modulus > 1 or any(stream.is_near for stream in streams)
    large = not is_near and _goes_past_caches(outer, shapes_of(*(s.op for s in streams)))
    start = outer.index.constant(0)
    whole = [Row(s.op, (), s.lanes, origin_of(outer, s.op), start, extent) for s in streams]

    shared = shared_rows(first.op) if large is not False and len(streams) == 1 else None
    if shared is not None:

        def emit(at: BodyLowering, row: Row, nontemporal: bool) -> None:
            _emit(at, first, row, outer.as_written, nontemporal)

        return rows_side_by_side(outer, whole[0], shared, large, emit)
    elements = ELEMENTS_OF_PIECE if len(streams) == 1 else ELEMENTS_OF_PIECE_TOGETHER
    width = outer.index.constant(elements)

    def several(at: BodyLowering, places: Sequence[SSAValue]) -> None:
        low, high = (start, extent) if limits else piece_of(at, places[0], width, extent)
        for stream, row in zip(streams, whole, strict=True):
            at.index.values.update(zip(stream.op.indices[:-1], places, strict=False))
            _emit(at, stream, replace(row, low=low, high=high), outer.as_written, large)

    if not limits:
        return parallel(outer, [quotient_up(outer, extent, width)], ["piece"], several)
    return parallel(outer, limits, first.op.indices[:-1], several)


def _emit(
    at: BodyLowering,
    stream: Stream,
    whole: Row,
    as_written: Set[Operation],
    large: SSAValue | bool,
) -> None:
    """The vectors of a row, past the caches where a call is large."""

    def parts(at: BodyLowering, nontemporal: bool) -> None:
        for row in rows:
            row.emit(at, nontemporal)

    with _rows_of(at, stream, whole, as_written) as rows:
        for own in (phase.op for row in rows for phase in row.phases):
            given = (at.index.values[v] for v in stream.op.indices[:-1])
            at.index.values.update(zip(own.indices, given, strict=False))
        if isinstance(large, bool):
            parts(at, large)
        else:
            either(at, large, lambda inner: parts(inner, True), lambda inner: parts(inner, False))


@contextmanager
def _rows_of(
    at: BodyLowering, stream: Stream, whole: Row, as_written: Set[Operation]
) -> Generator[Sequence[Row]]:
    """The whole row in its phases, or the segments of a row."""
    if not stream.in_segments:
        with phases_of(stream.op, stream.modulus, as_written) as phases:
            yield [replace(whole, phases=phases)]
        return
    with segments_of(stream.op, as_written) as segments:
        firsts = [at.index.constant(segment.first) for segment in segments]
        lows = [whole.low, *(at.index.max(whole.low, first) for first in firsts[1:])]
        highs = [*(at.index.min(whole.high, first) for first in firsts[1:]), whole.high]
        parts = zip(segments, lows, highs, strict=True)
        yield [replace(whole, phases=[s.phase], low=low, high=high) for s, low, high in parts]


def _goes_past_caches(at: BodyLowering, shapes: Sequence[Shape]) -> SSAValue | bool:
    """True if so many bytes are read and written; a test of that where numbers do not tell."""
    known = constant_bytes(shapes)
    if known is not None and not FEWEST_BYTES <= known < MOST_BYTES:
        return known >= MOST_BYTES
    cache = at.insert(SharedCacheOp()).result
    counts = [_count(at, shape) for _, shape in shapes]
    total = at.index.constant(0)
    for (bytes_, _), count in zip(shapes, counts, strict=True):
        elements = count if count is counts[0] else at.index.min(count, counts[0])
        total = at.index.add(total, at.index.mul(elements, at.index.constant(bytes_)))
    return at.insert(arith.CmpiOp(total, cache, "sge")).result


def _count(at: BodyLowering, shape: Sequence[Affine]) -> SSAValue:
    """The number of elements of a shape."""
    factors = (at.index.form(size) for size in shape)
    return reduce(at.index.mul, factors, at.index.constant(1))
