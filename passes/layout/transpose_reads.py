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
are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import prod

from tadc.dialects import tix
from tadc.passes.analysis.properties import sums_bounded
from tadc.passes.analysis.size_bounds import SizeBounds
from tadc.passes.index_sets.sets import boxed_indices
from tadc.passes.rewriting.axis_copies import CopyReader, Order
from tadc.passes.rewriting.program_pass import ProgramPass
from tadc.passes.rewriting.programs import copy_definition, reads_of, start_copy, tensor_names
from tadc.passes.rewriting.written_sizes import parse_sizes

FEWEST_READS = 16
"""Reads of an element of a tensor that is copied at least: the copy reads it badly, too."""

WARP = 32
"""Threads that read memory together."""


@dataclass(frozen=True)
class TransposeReadsPass(ProgramPass):
    """`transpose-reads{least="I=512" most="I=1023"}`: for sizes between these; right for all."""

    name = "transpose-reads"
    requires = leaves = (sums_bounded,)
    least: tuple[str, ...] = ()
    most: tuple[str, ...] = ()

    def rewrite(self, program: tix.ProgramOp) -> tix.ProgramOp:
        return transpose_reads(program, parse_sizes(self.least), parse_sizes(self.most))


def transpose_reads(
    program: tix.ProgramOp, least: Mapping[str, int], most: Mapping[str, int]
) -> tix.ProgramOp:
    """The program with copies of tensors that are read across their rows; itself without any."""
    bounds = SizeBounds(program, least, most)
    orders = dict(found for op in program.definitions for found in _orders_in(op, bounds))
    if not orders:
        return program
    builder, cloner = start_copy(CopyReader, program)
    cloner.orders, cloner.copies = orders, {}
    names = {tensor: f"{name}_turned" for tensor, name in tensor_names(program).items()}
    for op in program.definitions:
        cloner.make_copies(builder, [read for read in reads_of(op) if read in orders], names)
        cloner.values[op.result] = copy_definition(builder, cloner, op)
    return builder.finish(program, [cloner.value(v) for v in program.returned])


# --- which reads ----------------------------------------------------------------------------------


def _orders_in(op: tix.DefineOp, bounds: SizeBounds) -> Iterator[tuple[tix.ReadOp, Order]]:
    """The reads of a definition that are to be from a copy, each with the order of its axes."""
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
                yield read, Order.with_last(axis, len(read.forms))


def _axis_across(op: tix.DefineOp, read: tix.ReadOp) -> int | None:
    """The axis along which a warp reads, unless that is the last one, or there are several."""
    axes = [axis for axis, form in enumerate(read.forms) if form[op.indices[-1]]]
    return axes[0] if len(axes) == 1 and axes[0] != len(read.forms) - 1 else None
