"""Checks of bands: what stages read of each other is in the band, and still in its buffer.

    z[i, j] = sum[t in range(5)](b[t] * x[i, j + t])       a band of y[i .. i + 7, ..] reads
    y[i, j] = sum[s in range(5)](a[s] * z[i + s, j])       z[i .. i + 11, ..]: has it these?

`plan_checks` asks, of a plan that is made: the layout of bands is read here, and not decided.
"""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.ir import SSAValue

from tadc.dialects import tix
from tadc.dialects.tix import Affine
from tadc.passes.rewriting.programs import reads_of
from tadc.passes.scheduling.bands.band_layout import all_axes
from tadc.passes.scheduling.bands.band_stages import Axis, Bands, Roll, Stage
from tadc.passes.scheduling.bands.band_windows import Window, windows_of


def mistakes_of_bands(bands: Bands) -> Iterator[str]:
    """Yield each read of a stage that its band, or its buffer, does not hold."""
    with all_axes([stage.of for stage in bands.stages]) as whole:
        made = dict[SSAValue, Stage]()
        held = dict[int, SSAValue]()  # what is in each buffer
        members = {stage.of.result for stage in bands.stages}
        for stage in bands.stages:
            like = whole[stage.of]
            if stage.buffer is not None:
                held[stage.buffer] = stage.of.result
            for read in (r for r in reads_of(like) if r.tensor in members):
                found = _mistake(bands, stage, like, read, made.get(read.tensor), held)
                yield from [f"{stage.of.label.data} reads {found}"] if found else []
            made[stage.of.result] = stage


def _mistake(
    bands: Bands,
    reader: Stage,
    like: tix.DefineOp,
    read: tix.ReadOp,
    stage: Stage | None,
    held: dict[int, SSAValue],
) -> str | None:
    """Find what is wrong about a read of a stage in a band; None if nothing is."""
    if stage is None:
        return "a stage before it is computed"
    name, windows = stage.of.label.data, windows_of(read, like)
    if stage.buffer is not None and held[stage.buffer] is not read.tensor:
        return f"{name}, whose buffer another stage has taken"
    if bands.roll:
        return None if _rolls(bands.roll, like, read, windows) else f"columns of {name} not at hand"
    own = dict(zip(like.indices, reader.axes, strict=True))
    for axis, window in zip(stage.axes, windows, strict=True):
        if axis and not (window and _covers(axis, own[window.index], window)):
            return f"elements of {name} beside the band"
    if bands.slides and stage.buffer is not None and not _keeps(stage, reader, windows[0]):
        return f"planes of {name} that are gone"
    return None


def _rolls(roll: Roll, op: tix.DefineOp, read: tix.ReadOp, windows: list[Window | None]) -> bool:
    """True if a read stays in its own row, within the columns that registers hold."""
    *others, columns = windows
    same = [*read.forms[:-1]] == [Affine.of(v) for v in op.indices[:-1]]
    one = columns is not None and (columns.index, columns.step) == (op.indices[-1], 1)
    return one and same and None not in others and _is_within(columns, roll)


def _is_within(columns: Window | None, roll: Roll) -> bool:
    return columns is not None and roll.low <= columns.low and columns.high <= roll.high


def _covers(axis: Axis, reader: Axis | None, window: Window) -> bool:
    """True if the box of a stage contains the windows that the box of a reader reads."""
    if reader is None or (axis.index, axis.step) != (reader.index, window.step * reader.step):
        return False
    low, high = (window.step * end for end in (reader.low, reader.high))
    return axis.low <= low + window.low and high + window.high <= axis.high


def _keeps(stage: Stage, reader: Stage, window: Window | None) -> bool:
    """True if a stage's circular buffer still holds the oldest plane that the reader reads.

    The stage is ahead of the root by `axis.high` planes.
    """
    ahead, own = stage.axes[0], reader.axes[0]
    if ahead is None or own is None or window is None:
        return False
    return ahead.high - (own.high + window.low) < stage.planes
