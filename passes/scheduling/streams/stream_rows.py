"""Rows of a stream: the definitions whose vectors they have.

    y[i, j] = exp(a[i, j])                          one definition, as it is
    y[i, j] = a[i, j // 2] * x[i, j]                a phase for each residue of j, in turn
    y[i, j] = a[i, j] if j < 64 else b[i, j - 64]   a segment for j < 64, and one behind it

Phases and segments are copies of the definition, which exist while loops are emitted.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence, Set
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from xdsl.ir import Operation

from tadc.dialects import tix
from tadc.passes.scheduling.streams.stream_choice import Stream
from tadc.passes.scheduling.streams.stream_phases import Phase, phases_of
from tadc.passes.scheduling.streams.stream_segments import segments_of


@dataclass(frozen=True)
class StreamRow:
    """A row of a stream."""

    stream: Stream
    phases: Sequence[Phase]
    """The phases in turn, or the segments one behind the other."""
    segments: Sequence[tuple[int, int | None]] = ((0, None),)
    """The first column of each segment and the one behind its last; None: the end of the row."""

    @property
    def op(self) -> tix.DefineOp:
        """The definition of the whole row."""
        return self.stream.op

    @property
    def parts(self) -> Sequence[tix.DefineOp]:
        """The definitions of all phases or segments."""
        return [phase.op for phase in self.phases]


@contextmanager
def stream_rows(
    streams: Sequence[Stream], as_written: Set[Operation]
) -> Generator[Sequence[StreamRow]]:
    """The rows of streams, while they are needed; operations in `as_written` keep their order."""
    with ExitStack() as stack:
        yield [_row(stream, as_written, stack) for stream in streams]


def _row(stream: Stream, as_written: Set[Operation], stack: ExitStack) -> StreamRow:
    if not stream.in_segments:
        phases = stack.enter_context(phases_of(stream.op, stream.modulus, as_written))
        return StreamRow(stream, phases)
    segments = stack.enter_context(segments_of(stream.op, as_written))
    firsts = [segment.first for segment in segments]
    ends = zip(firsts, [*firsts[1:], None], strict=True)
    return StreamRow(stream, [segment.phase for segment in segments], [*ends])
