"""Analyses behind tiles: how long sums are, how far apart reads lie, what is computed ahead.

Expressions in a sum are sorted by what they depend on. With y[i, j] in blocks of rows i, columns j,

    sum[k](exp(x[j]) * x[i, k] * w[j, k])

`exp(x[j])` is the same for all terms, and `w[j, k]` for all rows: the one is computed once per
block, the other is copied into a panel if neighbours along j lie apart.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from xdsl.dialects.builtin import Float32Type
from xdsl.ir import BlockArgument, Operation, Region, SSAValue

from tadc.dialects import tix
from tadc.dialects.quick import operands_of
from tadc.dialects.tix import Affine
from tadc.passes.analysis.access import ADJACENT, MASKABLE, access, is_slow, stride
from tadc.passes.analysis.costs import FREE, weight
from tadc.passes.analysis.index_uses import IndexUses
from tadc.passes.analysis.size_bounds import SizeBounds
from tadc.passes.index_sets.context import stays_inside
from tadc.passes.index_sets.sets import index_set
from tadc.passes.rewriting.cloner import free_values
from tadc.passes.rewriting.programs import definition_around
from tadc.passes.scheduling.tiles.sum_lengths import (
    blocked_sums,
    constant_range,
    is_short,
    most_values,
    term_count,
)
from tadc.passes.scheduling.tiles.tile import Hoisted, Tile

VECTOR_BYTES = 64
"""The width of vectors to count with; narrower ones only make a block more vectors."""

PANEL_ELEMENTS = 1 << 14
"""Elements of a panel at most: 64 KB of f32, which a second-level cache keeps."""

TERMS_OF_SQUARE = 16
"""Terms that are transposed at a time at most: longer chunks are multiples of it."""


def lanes_of(op: tix.DefineOp) -> int:
    """Elements of a vector."""
    return VECTOR_BYTES // bytes_of_element(op.type)


def registers_for(op: tix.DefineOp) -> tix.Registers:
    """The registers for which the program of a definition is made."""
    program = op.parent_op()
    assert isinstance(program, tix.ProgramOp)
    return program.registers


def bytes_of_element(type_: tix.TensorType) -> int:
    """The bytes of a number of a tensor."""
    return 4 if isinstance(type_.element, Float32Type) else 8


def constant_extent(size: Affine) -> int | None:
    """A size as a number; None where it is known at run time only."""
    return None if size.terms else max(0, size.constant)


def is_lane_by_lane(op: tix.IfOp, column: SSAValue, uses: IndexUses) -> bool:
    """True if a choice differs along the column, and its branches do not read neighbours alone."""

    def find() -> bool:
        conditions = [c.form for disjunct in op.condition for c in disjunct]
        return column in indices_of(conditions, uses) and any(
            isinstance(o, tix.ReadOp) and access(o, column, uses) not in MASKABLE for o in op.walk()
        )

    return uses.once((is_lane_by_lane, op, column), find)


def sum_along(op: tix.DefineOp, index: SSAValue) -> tix.ReductionOp:
    """The sum of a body over this index."""
    return next(s for s in blocked_sums(op.body) if index in s.indices)


def is_rectangular(op: tix.ReductionOp, indices: Iterable[SSAValue], uses: IndexUses) -> bool:
    """True if the bounds of the sum, and of those inside it, are the same along these indices."""

    def of_bounds() -> frozenset[SSAValue]:
        inner = [s for s in op.walk() if isinstance(s, tix.ReductionOp)]
        return frozenset(used for s in inner for v in operands_of(s) for used in uses.of(v))

    return uses.once((is_rectangular, op), of_bounds).isdisjoint(indices)


def rows_share(op: tix.DefineOp, tile: Tile) -> bool:
    """True if the rows of a block, of columns side by side, read elements that all of them need."""
    uses, rows = IndexUses(), {v for v, _ in tile.axes}
    reads = [uses.of_operation(r) for r in op.walk() if isinstance(r, tix.ReadOp)]
    return tile.column_index is op.indices[-1] and any(rows.isdisjoint(used) for used in reads)


def vectors_of_sums(op: tix.ReductionOp, tile: Tile, lanes: int, uses: IndexUses) -> float:
    """The number of vectors, of so many lanes, that hold the accumulators of a sum in a block."""
    rows = sum(tile.count_in(uses.of(total)) for total in op.results)
    return rows * tile.columns / lanes


def indices_of(forms: Iterable[Affine], uses: IndexUses) -> set[SSAValue]:
    """The indices on which forms depend, by themselves or through quotients."""
    return {used for form in forms for v in form.indices for used in uses.of(v)}


# --- what is better computed once ---------------------------------------------------------------


def tree_of(value: SSAValue, region: Region) -> Iterator[Operation]:
    """The operations of a body that compute a value."""
    owner = value.owner
    if isinstance(owner, Operation) and owner.parent is region.block:
        yield from owner.walk()
        for v in owner.operands:
            yield from tree_of(v, region)


@dataclass(frozen=True)
class HoistedValues:
    """Parts of a sum that are computed ahead of it, by where."""

    per_block: list[SSAValue]
    """Once for a block, ahead of all terms."""
    panels: list[Hoisted]
    """Once for a strip, for all of its blocks of rows."""


def hoisted_values(op: tix.ReductionOp, tile: Tile, uses: IndexUses) -> HoistedValues:
    """The largest parts of a sum that depend on the column and are better computed once.

    Panels hold what is the same for all rows and lies apart along the columns, or apart along the
    sum: a tile that has no panel for it reads it once per term. What is the same for all terms is
    read once per block if it lies apart or is expensive, where it is certainly there, if only as
    the sum has a term.
    """
    axes = tuple(index for index, _ in tile.axes)  # not how wide a tile is
    key = hoisted_values, op, axes, tile.column_index
    return uses.once(key, lambda: _hoisted_values(op, tile, uses))


def _hoisted_values(op: tix.ReductionOp, tile: Tile, uses: IndexUses) -> HoistedValues:
    found = HoistedValues([], [])
    indices = frozenset(op.indices)
    for value in _largest(op, lambda v: _same_for_terms(v, tile, indices, uses)):
        if _is_dear(value, op, tile, uses) and (term_count(op) or _is_there(value, op)):
            found.per_block.append(value)
    if not tile.axes:
        return found
    for value in _largest(op, lambda v: _same_for_rows(v, tile, uses)):
        ops = list(tree_of(value, op.body))
        if value in found.per_block or any(
            isinstance(o, tix.ReductionOp) and not is_short(o) for o in ops
        ):
            continue
        used = tuple(v for v in op.indices if v in uses.of(value))
        reads = [o for o in ops if isinstance(o, tix.ReadOp)]
        if used and any(_lies_apart(read, tile.column_index, indices, uses) for read in reads):
            found.panels.append(Hoisted(value, used))
    return found


def far_reads(op: tix.ReductionOp, tile: Tile, uses: IndexUses) -> list[tix.ReadOp]:
    """The reads that are contiguous along the rows, and strided far along the terms.

        sum[k](x[k, i] * w[k, j])          x[k, i0], x[k, i0 + 1], ... for rows i0, i0 + 1, ...

    A block then takes a few of the elements of a cache line for each term. The next block takes the
    next ones, and should find the lines of all its terms in the cache.
    """
    row, column, last = tile.row_index, tile.column_index, op.indices[-1]
    return uses.once(
        (far_reads, op, row, column),
        lambda: [
            read
            for read in op.body.walk()
            if isinstance(read, tix.ReadOp)
            and column not in uses.of_operation(read)
            and row is not None
            and access(read, row, uses) in ADJACENT
            and _is_far(stride(read, last, uses))
        ],
    )


def reads_outside_terms(
    op: tix.ReductionOp, uses: IndexUses
) -> Iterator[tuple[tix.ReadOp, dict[tix.Variable, Affine]]]:
    """Reads in short sums inside a sum that are the same for all its terms.

    Each comes with the indices of the short sum, for each of its terms. They are certainly there.
    """
    own = frozenset(op.indices)
    for inner in op.body.block.ops:
        if not isinstance(inner, tix.ReductionOp) or not is_short(inner):
            continue
        known = [*index_set(definition_around(op)), *inner.constraints]
        for read in inner.body.block.ops:
            if (
                isinstance(read, tix.ReadOp)
                and not uses.of(read.result) & own
                and all(isinstance(v, BlockArgument) for form in read.forms for v in form.indices)
                and stays_inside(read, known)
            ):
                yield from ((read, places) for places in points_of(inner))


def points_of(op: tix.ReductionOp) -> list[dict[tix.Variable, Affine]]:
    """The indices of all terms of a sum over a box of numbers, in order."""
    found: list[dict[tix.Variable, Affine]] = [{}]
    for index in op.indices:
        first, length = constant_range(op, index) or (0, 0)
        values = [Affine(constant=n) for n in range(first, first + length)]
        found = [{**places, index: n} for places in found for n in values]
    return found


def _is_there(value: SSAValue, op: tix.ReductionOp) -> bool:
    """True if all reads of a value are in bounds for all elements, even where the sum is empty."""
    known = index_set(definition_around(op))
    return all(stays_inside(o, known) for o in tree_of(value, op.body))


def _same_for_terms(
    value: SSAValue, tile: Tile, indices: frozenset[SSAValue], uses: IndexUses
) -> bool:
    return tile.column_index in uses.of(value) and not uses.of(value) & indices


def _same_for_rows(value: SSAValue, tile: Tile, uses: IndexUses) -> bool:
    return tile.column_index in uses.of(value) and not any(
        v in uses.of(value) for v, _ in tile.axes
    )


def _is_dear(value: SSAValue, op: tix.ReductionOp, tile: Tile, uses: IndexUses) -> bool:
    """True if a value takes an elementary function, a sum, or strided reads along the columns."""
    ops = [o for o in tree_of(value, op.body) if not isinstance(o, FREE)]
    return any(
        weight(o) > 1
        or isinstance(o, tix.ReductionOp)
        or (isinstance(o, tix.ReadOp) and is_slow(stride(o, tile.column_index, uses)))
        for o in ops
    )


def _largest(op: tix.ReductionOp, fits: Callable[[SSAValue], bool]) -> list[SSAValue]:
    """The largest values of the sum's body that fit; none of them stands inside a choice."""
    found: list[SSAValue] = []
    seen: set[SSAValue] = set()
    pending = [*reversed(tix.all_yielded(op.body))]
    while pending:
        value = pending.pop()
        owner = value.owner
        if value in seen or not isinstance(owner, Operation) or owner.parent is not op.body.block:
            continue
        seen.add(value)
        if _is_real(value) and fits(value):
            found.append(value)
        else:
            pending += reversed(free_values(owner))
    return found


def _is_real(value: SSAValue) -> bool:
    return isinstance(value.type, tix.RealType)


def _lies_apart(
    read: tix.ReadOp, column_index: SSAValue, indices: frozenset[SSAValue], uses: IndexUses
) -> bool:
    """True if a block would read many cache lines or pages for few elements."""
    if is_slow(stride(read, column_index, uses)):
        return True
    return any(_is_far(stride(read, v, uses)) for v in indices & uses.of_operation(read))


def _is_far(step: int | None) -> bool:
    """True if elements at this distance lie in other cache lines, and soon in other pages."""
    return step is None or abs(step) >= VECTOR_BYTES * 8


def has_one_chunk(op: tix.ReductionOp, tile: Tile, sizes: SizeBounds) -> bool:
    """True if a sum that is cut certainly has no more terms than one chunk holds."""
    index, length = tile.chunks.get(op, (None, 0))
    if index is not op.indices[0]:
        return False
    most = most_values(op, op.indices, sizes)
    return most is not None and most <= length


def chunk_of(op: tix.ReductionOp, columns: int) -> tuple[SSAValue, int] | None:
    """The index of a sum to cut so that a panel holds what is inside; None where all fits.

    All indices inside it have numbers for bounds. It is the outermost one for which that fits.
    """
    limit = PANEL_ELEMENTS // columns
    limit -= limit % TERMS_OF_SQUARE if limit > TERMS_OF_SQUARE else 0
    count = term_count(op)
    if count is not None and count <= limit:
        return None
    inside = 1
    best = op.indices[-1], limit
    for index in reversed(op.indices):
        best = index, max(1, limit // max(inside, 1))
        found = constant_range(op, index)
        if found is None or inside * found[1] > limit:
            break
        inside *= found[1]
    return best
