"""Streams that run together: maps over one space that read the same tensors, a row of each in turn.

    da[i, j] = dy[i, j] * s[i, j]               for i:   da[i, all j] = ...
    db[i, j] = dy[i, j] * a[i, j] * t[i, j]              db[i, all j] = ...

The gradients of a product are like this, and of most formulas of several arguments. Memory reads
`dy` once: the second row finds it in a near cache. Definitions without indices around a row have
pieces of it in turn.

A definition may join those in front of it that stand behind all that it reads.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from xdsl.ir import SSAValue

from tadc.dialects import tix
from tadc.passes.analysis.index_uses import IndexUses
from tadc.passes.rewriting.programs import reads_of
from tadc.passes.scheduling.nest import Nest, Streams
from tadc.passes.scheduling.recurrences import is_recurrence
from tadc.passes.scheduling.streams.stream_choice import (
    FEWEST_ELEMENTS_OF_ROW,
    Stream,
    has_long_rows,
    possible_stream,
)
from tadc.passes.scheduling.streams.stream_tiles import shared_rows

MOST_STREAMS = 8
"""The most streams that are fused: the code of their function grows with each."""


@dataclass
class _Group:
    """Nests whose streams are fused, or one that stays alone."""

    nests: list[Nest]
    streams: list[Stream]
    """The stream of each nest; empty for a nest that cannot be fused."""
    read: set[SSAValue]
    """The tensors that the streams read element by element, without reuse."""


def streams_together(nests: Iterable[Nest], alone: Collection[tix.DefineOp]) -> list[Nest]:
    """The given nests in order, where some run together; those in `alone` do not."""
    groups: list[_Group] = []
    for nest in nests:
        stream = _stream_of(nest) if not {*nest.members} & {*alone} else None
        if stream is None:
            groups.append(_Group([nest], [], set()))
            continue
        read = _read_in_rows(stream.op)
        group = _group_for(stream, read, groups)
        if group is None:
            groups.append(_Group([nest], [stream], read))
        else:
            group.nests.append(nest)
            group.streams.append(stream)
            group.read |= read
    return [_joined(group) for group in groups]


def _joined(group: _Group) -> Nest:
    first, *others = group.nests
    if not others:
        return first
    members = [nest.body for nest in group.nests]
    places = [op.indices for op in members]
    return replace(first, members=members, places=places, loops=Streams(group.streams))


def _group_for(
    stream: Stream, read: Collection[SSAValue], groups: Sequence[_Group]
) -> _Group | None:
    """The first group that a stream may join: neither this nor a later one computes its input."""
    needed = {r.tensor for r in reads_of(stream.op)}
    found: _Group | None = None
    for group in reversed(groups):
        if not needed.isdisjoint(op.result for nest in group.nests for op in nest.members):
            break
        if not 0 < len(group.streams) < MOST_STREAMS or group.read.isdisjoint(read):
            continue
        first = group.streams[0].op
        if first.shape == stream.op.shape and first.type.element == stream.op.type.element:
            found = group
    return found


def _stream_of(nest: Nest) -> Stream | None:
    """The stream of a nest that may be fused: of whole rows that reuse nothing of other rows."""
    op = nest.body
    if not nest.is_free or nest.tiles or is_recurrence(op):
        return None
    stream = nest.loops.streams[0] if isinstance(nest.loops, Streams) else _map_of(op)
    if stream is None or stream.modulus > 1 or stream.in_segments or shared_rows(op) is not None:
        return None
    return stream


def _map_of(op: tix.DefineOp) -> Stream | None:
    """The stream of an elementwise definition; None if it has reductions or short rows."""
    if any(isinstance(o, tix.ReductionOp) for o in op.walk()):
        return None
    return possible_stream(op) if has_long_rows(op, {}, FEWEST_ELEMENTS_OF_ROW) else None


def _read_in_rows(op: tix.DefineOp) -> set[SSAValue]:
    """The tensors that a definition reads without reuse: subscripts move with all its indices."""
    uses, own = IndexUses(), {*op.indices}
    return {read.tensor for read in reads_of(op) if own <= uses.of_operation(read)}
