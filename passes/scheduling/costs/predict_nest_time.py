"""The time that a nest takes on one core, of one definition or of several that share loops.

Definitions that share rows or strips take the time of all of them, or that of the bytes of all
tensors, each once: what only they read is near. So do those that share bands, whose stages are
computed again where two bands need them. Of those that share blocks or walks, `predict`
counts what their joined body computes once.
"""

from __future__ import annotations

from collections.abc import Mapping

from tadc.passes.rewriting.programs import reads_of, type_of
from tadc.passes.scheduling.all_pairs import Pairs
from tadc.passes.scheduling.bands.band_stages import Bands
from tadc.passes.scheduling.blocking import Blocking, ChooseBlocking
from tadc.passes.scheduling.costs.frequencies import tensor_bytes
from tadc.passes.scheduling.costs.predict_time import (
    MACHINE,
    Machine,
    Prediction,
    predict,
    seconds_to_move,
)
from tadc.passes.scheduling.nest import Nest, Rows


def predict_nest(
    nest: Nest, choose: ChooseBlocking, sizes: Mapping[str, int], machine: Machine = MACHINE
) -> Prediction:
    """The work and the time of a nest, for all its sizes; `choose` gives the loops of definitions
    that have their own."""
    by_rows = isinstance(nest.loops, Rows)
    if nest.body not in nest.members or len(nest.members) == 1:
        own = choose(nest.body) if nest.body in nest.members else _blocks_of(nest)
        parts = [predict(nest.body, own, sizes, machine, by_rows)]
    else:
        parts = [predict(op, choose(op), sizes, machine, by_rows) for op in nest.members]
    if len(nest.members) == 1:
        return parts[0]
    made = {op.result for op in nest.members}
    written = {op.result for op in nest.written}
    read = {r.tensor for op in nest.members for r in reads_of(op)} - made
    moved = sum(tensor_bytes(type_of(t), sizes) for t in written | read)
    again = sum(tensor_bytes(type_of(t), sizes) for t in written)
    times = [1.0] * len(parts)
    if isinstance(nest.loops, Bands):
        again_in_bands = nest.loops.again
        times = [1.0 if s.buffer is None else again_in_bands for s in nest.loops.stages]
    busy = sum(n * part.busy for n, part in zip(times, parts, strict=True))
    seconds = max(busy, seconds_to_move(moved, again, machine)) + machine.step
    return Prediction(sum(part.operations for part in parts), moved, seconds, busy)


def _blocks_of(nest: Nest) -> Blocking:
    """The loops of a joined body."""
    return Blocking(tiles=[nest.loops.tile] if isinstance(nest.loops, Pairs) else nest.tiles)
