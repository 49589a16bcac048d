"""`transpose-reads`: a GPU reads transposes of tensors that a warp would read row by row.

    y[i, j] = sum[k](a[i, k] * b[j, k])

becomes

    b_turned[k, j] = b[j, k]
    y[i, j] = sum[k](a[i, k] * b_turned[k, j])

One thread computes one element, and the threads of a warp follow each other by the last index: here
by j, and each would read a row of b of its own. Of 32 bytes that come from memory it would use 4.
Of the copy they read what lies side by side, whichever k they are at. The axis that is read by the
last index is the last one of the copy; the others keep their order.

A copy pays where elements are read many times. Nothing is copied unless it is known how large sizes
are. On entry and on exit sums are bounded.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import TypeVar

from xdsl.dialects.builtin import LocationAttr
from xdsl.ir import SSAValue

from dialects import tix
from dialects.tix import Affine, TensorType
from passes.analysis.size_bounds import SizeBounds
from passes.index_sets.sets import boxed_indices
from passes.rewriting.builder import BodyBuilder
from passes.rewriting.cloner import Cloner
from passes.rewriting.program_pass import ProgramPass
from passes.rewriting.programs import (
    ProgramBuilder,
    copy_definition,
    index_names,
    start_copy,
    type_of,
)
from passes.rewriting.written_sizes import parse_sizes

FEWEST_READS = 16
"""Reads of an element of a tensor that is copied at least: the copy reads it badly, too."""

WARP = 32
"""Threads that read memory together."""

Turn = tuple[SSAValue, int]
"""A tensor, and which of its axes is to be the last one."""


@dataclass(frozen=True)
class TransposeReadsPass(ProgramPass):
    """`transpose-reads{least="I=512" most="I=1023"}`: for sizes between these; right for all."""

    name = "transpose-reads"
    least: tuple[str, ...] = ()
    most: tuple[str, ...] = ()

    def rewrite(self, program: tix.ProgramOp) -> tix.ProgramOp:
        return transpose_reads(program, parse_sizes(self.least), parse_sizes(self.most))


def transpose_reads(
    program: tix.ProgramOp, least: Mapping[str, int], most: Mapping[str, int]
) -> tix.ProgramOp:
    """The program with copies of tensors that are read across their rows; itself without any."""
    bounds = SizeBounds(program, least, most)
    turns = {read: turn for op in program.definitions for read, turn in _turns_in(op, bounds)}
    if not turns:
        return program
    builder, cloner = start_copy(_Turner, program)
    cloner.turns, cloner.copies = turns, {}
    names: dict[SSAValue, str] = {v: name for name, v in program.arguments.items()}
    names |= {d.result: d.label.data for d in program.definitions}
    for op in program.definitions:
        for read in op.walk():
            turn = turns.get(read) if isinstance(read, tix.ReadOp) else None
            if turn is not None and turn not in cloner.copies:
                label = names[turn[0]]
                cloner.copies[turn] = _transpose(builder, cloner, turn, label, op.location)
        cloner.values[op.result] = copy_definition(builder, cloner, op)
    made = builder.finish(program, [cloner.value(v) for v in program.returned])
    made.derived = program.derived
    return made


# --- which reads ----------------------------------------------------------------------------------


def _turns_in(op: tix.DefineOp, bounds: SizeBounds) -> Iterator[tuple[tix.ReadOp, Turn]]:
    """The reads of a definition that are to be from a copy."""
    if not op.indices or op.view is not None or bounds.of(op.shape[-1])[0] < WARP:
        return
    elements = prod(max(1, bounds.of(size)[0]) for size in op.shape)
    for reduction in op.body.block.ops:
        if not isinstance(reduction, tix.ReductionOp):
            continue
        boxes = boxed_indices(reduction)
        terms = prod(max(1, bounds.of(size)[0]) for size in boxes.values())
        for read in reduction.walk():
            if not isinstance(read, tix.ReadOp) or read.view is not None:
                continue
            axis, size = _axis_across(op, read), prod(bounds.of(n)[1] for n in read.shape)
            if axis is not None and elements * terms >= FEWEST_READS * size:
                yield read, (read.tensor, axis)


def _axis_across(op: tix.DefineOp, read: tix.ReadOp) -> int | None:
    """The axis along which a warp reads, unless that is the last one, or there are several."""
    axes = [axis for axis, form in enumerate(read.forms) if form[op.indices[-1]]]
    return axes[0] if len(axes) == 1 and axes[0] != len(read.forms) - 1 else None


# --- the change -----------------------------------------------------------------------------------


class _Turner(Cloner):
    """Copies; reads across rows are from the transposes."""

    turns: Mapping[tix.ReadOp, Turn]
    copies: dict[Turn, SSAValue]

    def copy_read(self, op: tix.ReadOp) -> SSAValue:
        """Copy a read, or read from the transpose if there is one for it."""
        turn = self.turns.get(op)
        if turn is None:
            return super().copy_read(op)
        return self.builder.read(self.copies[turn], _last([*map(self.form, op.forms)], turn[1]))


T = TypeVar("T")


def _last(items: Sequence[T], axis: int) -> list[T]:
    """The items of all axes, that of this axis at the end."""
    return [*items[:axis], *items[axis + 1 :], items[axis]]


def _transpose(
    builder: ProgramBuilder, cloner: _Turner, turn: Turn, label: str, location: LocationAttr
) -> SSAValue:
    """Append the definition of a transpose."""
    tensor, axis = turn
    type = type_of(tensor)

    def body(e: BodyBuilder, own: list[SSAValue]) -> SSAValue:
        forms = [Affine.of(v) for v in own]
        return e.read(cloner.value(tensor), [*forms[:axis], forms[-1], *forms[axis:-1]])

    return builder.define(
        builder.fresh_label(f"{label}_turned"),
        TensorType.of(_last(type.shape, axis), tix.ELEMENT_TYPES[type.dtype]),
        _last(index_names(tensor), axis),
        location,
        body,
    )
