"""Stages of bands: definitions of the elements that a band has, and reads of each other.

    z[i, j] = x[i, j + 1]                        of a band that begins with `z from 0`:
    y[i, j] = z[i, j] + z[i + 1, j]

    z[i in range(z count 0), j] = x[i + z from 0, j + 1]
    y[i in range(y count 0), j] = z[i + y from 0 - z from 0, j] + z[i + y from 0 - z from 0 + 1, j]

What a band begins with, and how many values it has, are sizes of their own, which the loops over
bands know. All analyses of definitions hold for these, too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue

from tadc.dialects import tix
from tadc.dialects.tix import Affine, TensorType
from tadc.passes.rewriting.builder import BodyBuilder
from tadc.passes.rewriting.cloner import Cloner
from tadc.passes.scheduling.blocking import Blocking, ChooseBlocking
from tadc.passes.scheduling.streams.interior import set_whole


@dataclass(frozen=True)
class Axis:
    """The range of a dimension in a band: `step * first + low` to `step * last + high`, for the
    first and the last value that the band has of an index."""

    index: int
    """The index of the root, by its number."""
    step: int
    low: int
    high: int


@dataclass(frozen=True)
class Side:
    """A side of a band: for n values of the root, stages have `step * n + reach` at most."""

    index: int
    """The index of the root, by its number."""
    step: int
    reach: int
    least: int = 1
    """The number of values that a band has at least, unless the root has fewer."""
    planes: int = 0
    """The most planes that a circular buffer holds, where bands slide along this side; else 0."""

    @staticmethod
    def of(axes: Sequence[Axis]) -> Side:
        """The side along an index of the root that covers these ranges of stages."""
        step = max(axis.step for axis in axes)
        reach = max(0, *(axis.high + 1 - axis.low - axis.step for axis in axes))
        return Side(axes[0].index, step, reach)

    def elements(self, values: int) -> int:
        """The most elements of a stage along this side, for so many values of the root."""
        return self.planes or self.step * values + self.reach

    def values(self, elements: int) -> int:
        """The most values of the root for which a stage has no more than so many elements."""
        return (elements - self.reach) // self.step


@dataclass(frozen=True)
class Stage:
    """The elements of a definition in a band."""

    op: tix.DefineOp
    of: tix.DefineOp
    """The definition of the program, of which `op` computes the elements in a band."""
    axes: Sequence[Axis | None]
    blocking: Blocking
    buffer: int | None
    """The number of the stage's buffer; None for a root, which is stored in a tensor."""
    planes: int = 0
    """The planes that the circular buffer holds, where bands slide along the first dimension."""

    def has_vectors_along(self, index: int) -> bool:
        """True if loops have explicit vectors, and none along another index of the root than this.

        LLVM makes no vectors beside explicit ones, and of other indices a band has few values.
        """
        axes = zip(self.op.indices, self.axes, strict=True)
        across = {v for v, axis in axes if axis and axis.index != index}
        columns = [tile.column_index for tile in self.blocking.tiles]
        if self.blocking.stream:
            columns.append(self.op.indices[-1])
        return bool(columns) and across.isdisjoint(columns)

    @property
    def has_whole_planes(self) -> bool:
        """True if blocks have no rows along the first dimension, and vectors along the last."""
        first, *_, last = self.op.indices
        return all(t.row_index is not first and t.column_index is last for t in self.blocking.tiles)


@dataclass(frozen=True)
class Roll:
    """A stage that rolls along the columns with the root (`rolls`)."""

    row: int
    """The dimension of the rows that advance together."""
    rows: int
    low: int
    """The first column of the stage that an element of the root reads, relative to its own."""
    high: int
    """The last such column."""


@dataclass(frozen=True)
class Bands:
    """Stages, which are kept in buffers, and the roots that read them, computed band by band."""

    stages: Sequence[Stage]
    """The members in the order in which they run, roots among them; the last one is a root."""
    sides: Sequence[Side]
    elements: int
    """The elements of each buffer."""
    again: float
    """The mean number of times, at most, that an element of a stage is computed."""
    roll: Roll | None = None
    """The roll of the only stage before the root, along with it: then there are no bands."""

    @property
    def slides(self) -> bool:
        """True if a band slides along the first dimension, plane by plane."""
        return any(side.planes for side in self.sides)

    @property
    def roots(self) -> Sequence[Stage]:
        """The elements of bands that are stored in tensors."""
        return [stage for stage in self.stages if stage.buffer is None]


def first_of(op: tix.DefineOp, dimension: int) -> str:
    """The name of the size that is the first value of a dimension in a band."""
    return f"{op.label.data} from {dimension}"


def count_of(op: tix.DefineOp, dimension: int) -> str:
    """The name of the size that is the number of values of a dimension in a band."""
    return f"{op.label.data} count {dimension}"


def stages_of(
    whole: Mapping[tix.DefineOp, tix.DefineOp],
    axes: Mapping[tix.DefineOp, Sequence[Axis | None]],
    buffers: Mapping[tix.DefineOp, int],
    planes: Mapping[tix.DefineOp, int],
    choose: ChooseBlocking,
) -> list[Stage]:
    """The stages of the definitions in `whole`, which maps each to its unmerged form.

    They are added to the program, in front of the first definition.
    """
    first = next(iter(whole))
    made: dict[SSAValue, tuple[SSAValue, list[Affine]]] = {}
    stages: list[Stage] = []
    for op, like in whole.items():
        stage = _stage(like, axes[op], made)
        assert first.parent is not None
        first.parent.insert_op_before(stage, first)
        made[op.result] = stage.result, _begins(op, axes[op])
        own = buffers.get(op), planes.get(op, 0)
        stages.append(Stage(stage, op, axes[op], choose(stage), *own))
    return stages


def _begins(op: tix.DefineOp, axes: Sequence[Axis | None]) -> list[Affine]:
    """The first values of the dimensions of a stage."""
    return [Affine.of(first_of(op, n)) if axis else Affine() for n, axis in enumerate(axes)]


def _stage(
    op: tix.DefineOp,
    axes: Sequence[Axis | None],
    made: Mapping[SSAValue, tuple[SSAValue, list[Affine]]],
) -> tix.DefineOp:
    begins = _begins(op, axes)

    def body(e: BodyBuilder, own: list[SSAValue]) -> SSAValue:
        cloner = _InBand(e)
        cloner.made = made
        for old, new, begin in zip(op.indices, own, begins, strict=True):
            cloner.indices[old] = Affine.of(new) + begin
        return cloner.copy_body(op.body)

    shape = [
        Affine.of(count_of(op, n)) if axis else size
        for n, (size, axis) in enumerate(zip(op.shape, axes, strict=True))
    ]
    assert op.parent is not None
    names = [v.name_hint for v in op.indices]
    region = BodyBuilder(op.parent, op.location).region(names, body)
    stage = tix.DefineOp(
        op.label.data, TensorType.of(shape, tix.ELEMENT_TYPES[op.type.dtype]), region
    )
    stage.location = op.location
    set_whole(stage, begins, op.shape)
    return stage


class _InBand(Cloner):
    """Copies reads of other stages, shifted by the values at which their boxes begin."""

    made: Mapping[SSAValue, tuple[SSAValue, list[Affine]]]

    def copy_read(self, op: tix.ReadOp) -> SSAValue:
        if op.tensor not in self.made:
            return super().copy_read(op)
        tensor, begins = self.made[op.tensor]
        forms = [self.form(f) - begin for f, begin in zip(op.forms, begins, strict=True)]
        return self.builder.read(tensor, forms)
