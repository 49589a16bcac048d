"""Scans down columns: each lane of a vector has a total of its own.

    y[i, j] = sum[k in range(i + 1)](x[k, j])

    parallel j by 512
      buffer y.1[j]                   512 totals: they lie in the nearest cache
        begin sum y.1[k]
        for i
          vector j by 64 in 16
            for j by 64 mask
              carry y.1               total[j] = total[j] + x[i, j]: one addition for an element
              store y

Sums from an element on go the other way round. Long ones go in segments, whose totals are added
with their rounding errors.
"""

from __future__ import annotations

from collections.abc import Sequence

from tadc.dialects import tix
from tadc.dialects.tix import Affine, Constraint
from tadc.passes.analysis.index_uses import IndexUses
from tadc.passes.scheduling.loop_tree.nodes import (
    Add,
    Ahead,
    Axis,
    Begin,
    Buffer,
    Carry,
    For,
    If,
    Join,
    Mark,
    Node,
    Seq,
    Store,
    Tail,
    nested,
)
from tadc.passes.scheduling.scans import Scan
from tadc.passes.scheduling.tiles.sum_lengths import SEGMENT_TERMS
from tadc.passes.scheduling.tiles.tile_analysis import constant_extent, indices_of, lanes_of

COLUMNS_OF_STRIP = 512
"""Columns that have totals at the same time: their buffers take 8 KB of the nearest cache."""

VECTORS_AT_ONCE = 4
"""Vectors that are jammed."""


def column_scan(op: tix.DefineOp, scans: Sequence[Scan]) -> Node:
    """The tree of a definition with scans along one of its indices but the last one."""
    axes = {v: Axis([v], size) for v, size in zip(op.indices, op.shape, strict=True)}
    along, columns = axes[scans[0].index], axes[op.indices[-1]]
    extent = constant_extent(_size(op, scans[0]))
    in_segments = extent is None or extent > SEGMENT_TERMS
    sums = [scan for scan in scans if in_segments and isinstance(scan.op, tix.SumOp)]
    body: Node = Seq(
        [
            *(Begin(scan.op) for scan in scans),
            *_terms_ahead(op, columns, scans),
            _rows(op, along, columns, scans, sums, in_segments),
        ]
    )
    for scan in reversed(scans):
        tests = _tests(op, scan, by_column=True)
        body = Buffer(scan.op, columns, COLUMNS_OF_STRIP, body, tests, scan in sums)
    others = [axis for axis in axes.values() if axis not in (along, columns)]
    body = For(columns, body, Mark.PARALLEL, COLUMNS_OF_STRIP)
    return nested(others, body, Mark.PARALLEL)


def _terms_ahead(op: tix.DefineOp, columns: Axis, scans: Sequence[Scan]) -> list[Node]:
    """The loops over the terms that come before those of the first element."""
    ahead = [s for s in scans if s.has_terms_ahead(_size(op, s))]
    return [For(Axis([s.own], Ahead(s)), _vectors(op, columns, [Add(s.op)])) for s in ahead]


def _rows(
    op: tix.DefineOp,
    along: Axis,
    columns: Axis,
    scans: Sequence[Scan],
    sums: Sequence[Scan],
    in_segments: bool,
) -> Node:
    """The loop over the elements of a column: a term for each total, and what is made of them.

    A term under tests that are the same for all columns has a loop over these to itself.
    """
    backwards = not scans[0].is_forwards
    tests = [(scan, _tests(op, scan, by_column=False)) for scan in scans]
    tested = [
        If(
            [c.substitute({scan.own: scan.place}) for c in found],
            _vectors(op, columns, [Carry(scan)]),
        )
        for scan, found in tests
        if found
    ]
    always = [Carry(scan) for scan, found in tests if not found]
    row = Seq([*tested, _vectors(op, columns, [*always, Store(op)])])
    rows = For(along, row, backwards=backwards)
    if not in_segments:
        return rows
    segment = Seq([rows, *(Join(scan.op) for scan in sums)])
    return For(along, segment, step=SEGMENT_TERMS, backwards=backwards)


def _tests(op: tix.DefineOp, scan: Scan, by_column: bool) -> list[Constraint]:
    """The tests of a term that differ by column, or those that are the same for all."""
    column, uses = op.indices[-1], IndexUses()
    tests = scan.tests(_size(op, scan))
    return [c for c in tests if (column in indices_of([c.form], uses)) == by_column]


def _size(op: tix.DefineOp, scan: Scan) -> Affine:
    """The number of elements along the index of a scan."""
    return op.shape[op.indices.index(scan.index)]


def _vectors(op: tix.DefineOp, columns: Axis, statements: Sequence[Node]) -> Node:
    """A loop over the vectors of a strip."""
    lanes = lanes_of(op)
    step = lanes * VECTORS_AT_ONCE
    body = For(columns, Seq(statements), Mark.SERIAL, step, Tail.MASK)
    return For(columns, body, Mark.VECTOR, step, lanes=lanes)
