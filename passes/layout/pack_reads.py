"""`pack-reads`: what neighbours in the result read is copied to where it lies side by side.

    y[n, o] = sum[c, k](x[n, c, k] * w[o, c, k])

becomes

    w_packed[c, k, o] = w[o, c, k]
    y[n, o] = sum[c, k](x[n, c, k] * w_packed[c, k, o])

A vector of elements y[n, o] takes one of w for each term; where these lie apart, loading them takes
longer than all that is done with them. The copy moves the axis that runs along the vector to the
end, once for all elements of the result. (A panel of `passes/lowering/blocks/tile_panels.py` is a
copy of a part, made again for each group of blocks.) Where results are few, vectors may run along
the terms of a sum, and then these are neighbours:

    dw[k, c, o] = sum[n, t](dy[n, t, o] * x[n, t + k, c])      x_packed[n, c, t + k]

What all columns share comes element by element, and each row has its own. Terms of rows that lie
far apart may push each other's lines out of a cache (`costs/strided_lines.py`); in a copy they lie
side by side:

    y[i, j] = sum[k](a[k, i] * b[k, j])                        a_packed[i, k]

So may the terms of what all rows read, where each row reads vectors of its own
(`costs/conflict_misses.py`); then the rows lie side by side:

    z[c, h, p] = sum[d](x[d, h, p - d] * f[c, h, p - d])       f_packed[h, c, p - d]

A definition reads copies where its best tile becomes clearly cheaper by it, copying included; where
it has none, as all its sums are short, if vectors along its last index are quick with copies only,
of which each element is read often. No copy pays of what sums read once, side by side, unless they
read as much across: `sum[i, j](a[i, j] * b[j, i])` has no order of loops for both. Copies of more
elements must be clearly faster than those of fewer, as they take memory; they are shared by all
definitions that read a tensor in the same order. What is asked is the form in which
it will run: sums over the indices that `shift-sums` chooses, short ones over boxes, and tests of
terms.
Definitions that must round identically stay as they are, so that they run alike.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from math import prod
from operator import itemgetter

from xdsl.ir import SSAValue

from tadc.dialects import tix
from tadc.dialects.tix import Affine
from tadc.passes.algebra.shift_sums import shift_sums
from tadc.passes.analysis.access import is_slow, stride
from tadc.passes.analysis.index_uses import IndexUses
from tadc.passes.analysis.properties import sums_bounded
from tadc.passes.analysis.rounding import is_free, must_round_identically
from tadc.passes.derive.absorb_conditions import bounded_without_conditions
from tadc.passes.lowering.set_precision import set_precision
from tadc.passes.lowering.shape_loops import in_boxes
from tadc.passes.rewriting.axis_copies import Copy, CopyReader, Order, Orders
from tadc.passes.rewriting.builder import BodyBuilder
from tadc.passes.rewriting.part_sizes import with_derived_sizes
from tadc.passes.rewriting.program_pass import ProgramPass
from tadc.passes.rewriting.programs import (
    ProgramBuilder,
    copy_definition,
    reads_of,
    start_copy,
    tensor_names,
    type_of,
)
from tadc.passes.rewriting.written_sizes import parse_sizes
from tadc.passes.scheduling.costs.cache_misses import COST_OF_FAR_LINE
from tadc.passes.scheduling.costs.line_reuse import is_large
from tadc.passes.scheduling.costs.price_cache import PricedTile
from tadc.passes.scheduling.costs.tile_cost import (
    ASSUMED_EXTENT,
    COST_OF_COPY,
    COST_OF_FAR_ELEMENT,
    COST_OF_STORE,
    COST_OF_TRANSPOSED,
    Sizes,
    plain_cost,
    terms_of,
)
from tadc.passes.scheduling.recurrences import is_recurrence
from tadc.passes.scheduling.scans import is_scanned
from tadc.passes.scheduling.streams.stream_choice import is_window, possible_stream
from tadc.passes.scheduling.tiles.copy_orders import order_along, orders_for
from tadc.passes.scheduling.tiles.sum_lengths import (
    MOST_TERMS_TO_UNROLL,
    blocked_sums,
    long_sums,
    term_count,
)
from tadc.passes.scheduling.tiles.tile_analysis import lanes_of, registers_for
from tadc.passes.scheduling.tiles.tile_choice import (
    least_cost_of_terms,
    may_have_tiles,
    priced_tiles,
    sizes_of_ranges,
)
from tadc.passes.splitting.cut_reductions import has_few_elements

COST_OF_DEFINITION = 10_000
"""The cost of a definition more, for all its elements: up to two microseconds until it runs."""

MOST_OF_UNPACKED_COST = 0.95
"""The highest cost of a tile that reads copies, as a share of the cost of the best without."""

FEWEST_COLUMNS = 8
"""The columns of a tile without copies at least. Where all are narrower, the definition has other
forms, as row by row, of which the prices of tiles say nothing."""

FEWEST_READS_OF_COPY = 16
"""Reads of an element of a copy at least where a definition has no tiles."""

FEWEST_ELEMENTS_OF_ROW = 32
"""The length of the last index for which such definitions read copies."""


@dataclass(frozen=True)
class PackReadsPass(ProgramPass):
    """`pack-reads{sizes="N=512" precision=f32}`: made best for these, right for all.

    The precision is that of tensors of type `real`.
    """

    name = "pack-reads"
    requires = leaves = (sums_bounded,)
    sizes: tuple[str, ...] = ()
    precision: str = "f64"

    def rewrite(self, program: tix.ProgramOp) -> tix.ProgramOp:
        return pack_reads(program, parse_sizes(self.sizes), self.precision)


def pack_reads(program: tix.ProgramOp, sizes: Sizes, precision: str = "f64") -> tix.ProgramOp:
    """The program with copies where they pay; itself where none does."""
    if not any(_may_pack(op) for op in program.definitions):
        return program
    shaped = in_boxes(shift_sums(bounded_without_conditions(program)))
    orders = _all_orders(shaped, with_derived_sizes(shaped, sizes), precision)
    if not orders:
        return program
    builder, cloner = start_copy(CopyReader, program, shaped)
    cloner.orders, cloner.copies = orders, {}
    names = {tensor: f"{name}_packed" for tensor, name in tensor_names(shaped).items()}
    for given, op in zip(program.definitions, shaped.definitions, strict=True):
        packed = [r for r in reads_of(op) if r in orders]
        cloner.make_copies(builder, packed, names)
        tensor = copy_definition(builder, cloner, op if packed else given)
        cloner.values.update({given.result: tensor, op.result: tensor})
    return builder.finish(program, [cloner.value(v) for v in program.returned])


# --- the choice -----------------------------------------------------------------------------------


def _all_orders(program: tix.ProgramOp, sizes: Sizes, precision: str) -> Orders:
    """The reads of a program that should read copies, each with the order of its axes.

    A copy that one definition needs costs others nothing: these are asked again.
    """
    fixed = must_round_identically(program)
    found: dict[tix.ReadOp, Order] = {}
    made: set[Copy] = set()
    typed = set_precision(program, precision).definitions  # vectors have lanes of a type
    left = [
        (op, own)
        for op, own in zip(program.definitions, typed, strict=True)
        if _may_pack(own) and is_free(op, fixed)
    ]
    asked = list(left)
    while asked:
        new: set[Copy] = set()
        for op, own in asked:
            if orders := best_orders(own, sizes, made | new):
                new |= {(read.tensor, order) for read, order in orders.items()}
                reads = zip(reads_of(op), reads_of(own), strict=True)
                found |= {given: orders[read] for given, read in reads if read in orders}
                left.remove((op, own))
        new -= made
        made |= new
        tensors = {tensor for tensor, _ in new}
        asked = [pair for pair in left if any(r.tensor in tensors for r in reads_of(pair[1]))]
    return found


def best_orders(op: tix.DefineOp, sizes: Sizes, made: Collection[Copy]) -> Orders:
    """The reads of a definition that should read copies; none where that is of no use.

    Copies that are `made` anyway cost nothing.
    """
    if is_window(op, sizes):
        return {}
    registers, lengths = registers_for(op), sizes_of_ranges(op, sizes)
    priced = priced_tiles(op, sizes, registers) if _has_many_terms(op, lengths) else []
    columns = op.indices if any(p.tile.columns >= FEWEST_COLUMNS for p in priced) else ()
    if not columns and not may_have_tiles(op):
        return _orders_of_vectors(op, sizes) if op.indices else {}
    best: Orders = {}
    least, elements = _cost_as_it_is(op, priced, lengths), 0
    last_terms = _last_terms(op, lengths, MOST_OF_UNPACKED_COST * least)
    tried = [
        (_elements_of_copies(orders, sizes), column, orders)
        for column in (*columns, *last_terms)
        for orders in orders_for(op, column, sizes)
        if orders
    ]
    # few elements first: a copy of more must be clearly faster
    for copied, column, orders in sorted(tried, key=itemgetter(0)):
        most = least * (MOST_OF_UNPACKED_COST if copied > elements else 1)
        copies = _cost_of_copies(op, orders, sizes, made)
        if copies >= most or _are_read_once(op, orders, sizes):
            continue
        packed = _alone(op, orders)
        own = packed.indices[op.indices.index(column)] if column in op.indices else None
        found = priced_tiles(packed, sizes, registers, own)
        # pieces of a reduction to few elements may run without tiles, each beside its copy
        as_it_is = own is None and has_few_elements(op)
        cost = copies + (
            _cost_as_it_is(packed, found, lengths)
            if as_it_is
            else min((p.cost for p in found), default=most)
        )
        if cost < most:
            best, least, elements = orders, cost, copied
    return best


def _last_terms(op: tix.DefineOp, sizes: Sizes, most: float) -> Sequence[SSAValue]:
    """The innermost index of the only long sum, if vectors that run along it may cost less."""
    sums = blocked_sums(op.body)
    is_long = len(sums) == 1 and _has_many_terms(op, sizes)
    lanes = registers_for(op).lanes(lanes_of(op))
    may_cost_less = is_long and least_cost_of_terms(sums[0], lanes, sizes) < most
    return sums[0].indices[-1:] if may_cost_less else ()


def _cost_as_it_is(op: tix.DefineOp, priced: Sequence[PricedTile], sizes: Sizes) -> float:
    """The cost of the nest that a definition has: of its best tile, or plain, whichever is less."""
    if not priced:
        lanes = registers_for(op).lanes(lanes_of(op))
        return plain_cost(list(long_sums(op.body)), lanes, IndexUses(), sizes) + 1 / lanes
    return min(min(p.cost, p.plain) for p in priced)


def _orders_of_vectors(op: tix.DefineOp, sizes: Sizes) -> Orders:
    """The reads that should read copies so that vectors run along the last index quickly: three or
    four elements apart they are possible, but take longer than all that is done with them.

    Elements of the copies are read by many elements of the result: the copies cost little.
    """
    if _length(op.shape[-1], sizes) < FEWEST_ELEMENTS_OF_ROW:
        return {}
    column, elements = op.indices[-1], _elements(op.shape, sizes)
    orders = {r: last for r in reads_of(op) if (last := order_along(r, column)) is not None}
    often = all(
        elements * _times(r) >= FEWEST_READS_OF_COPY * _elements(r.shape, sizes) for r in orders
    )
    uses = IndexUses()
    apart = any(is_slow(stride(r, column, uses, sizes)) for r in orders)
    return orders if apart and often and possible_stream(_alone(op, orders)) else {}


def _are_read_once(op: tix.DefineOp, orders: Orders, sizes: Sizes) -> bool:
    """True if a sum reads elements of something to copy once, as they lie side by side: what memory
    gives anyway.

    Where it reads as many elements along another axis, loops have one order for both.
    """
    reads = [r for r in reads_of(op) if _is_read_once(r, op, sizes)]
    apart = [r for r in reads if r in orders]
    most = max((_elements(r.shape, sizes) for r in reads if r not in orders), default=0)
    return any(most < _elements(r.shape, sizes) for r in apart)


def _is_read_once(read: tix.ReadOp, op: tix.DefineOp, sizes: Sizes) -> bool:
    """True if a sum reads no element twice, along an axis by which they lie side by side."""
    around = read.parent_op()
    if not isinstance(around, tix.ReductionOp) or around.parent_op() is not op:
        return False
    times = _elements(op.shape, sizes) * terms_of(around, sizes_of_ranges(op, sizes))
    along = any(form[v] for form in read.forms[-1:] for v in around.indices)
    return along and times <= _elements(read.shape, sizes)


def _times(read: tix.ReadOp) -> int:
    """The number of times that an element of the result reads."""
    times, around = 1, read.parent_op()
    while around is not None and not isinstance(around, tix.DefineOp):
        times *= (term_count(around) or 1) if isinstance(around, tix.ReductionOp) else 1
        around = around.parent_op()
    return times


def _has_many_terms(op: tix.DefineOp, sizes: Sizes) -> bool:
    """True if a sum is too long to be unrolled where it stands, whatever its bounds become."""
    return any(terms_of(s, sizes) > MOST_TERMS_TO_UNROLL for s in blocked_sums(op.body))


def _may_pack(op: tix.DefineOp) -> bool:
    """True if another axis could be the last one in a read of a definition.

    Loops that carry totals go by the order of what they read.
    """
    if op.view is not None or is_scanned(op) or is_recurrence(op):
        return False
    indices = *op.indices, *(s.indices[-1] for s in blocked_sums(op.body))
    return any(order_along(r, v) is not None for r in reads_of(op) for v in indices)


def _elements_of_copies(orders: Orders, sizes: Sizes) -> int:
    """The elements of all copies together."""
    copied = {(read.tensor, order) for read, order in orders.items()}
    return sum(_elements(type_of(tensor).shape, sizes) for tensor, _ in copied)


def _cost_of_copies(
    op: tix.DefineOp, orders: Orders, sizes: Sizes, made: Collection[Copy]
) -> float:
    """The cost of all copies that are not made yet, per element of the result."""
    copied = {
        (r.tensor, order): _cost_of_copy(r.shape, order, op, sizes) for r, order in orders.items()
    }
    new = (cost for copy, cost in copied.items() if copy not in made)
    return sum(new) / _elements(op.shape, sizes)


def _cost_of_copy(shape: Sequence[Affine], order: Order, op: tix.DefineOp, sizes: Sizes) -> float:
    """The cost of a copy of a tensor of this shape for a definition. With another axis at the end
    it is made in squares where there is room for these (`squares`), else element by element."""
    lanes, registers, axis = lanes_of(op), registers_for(op), order.last
    rows, columns = (_elements(s, sizes) for s in (shape[axis + 1 :], shape[axis : axis + 1]))
    is_moved = axis != len(shape) - 1
    cost = COST_OF_FAR_ELEMENT + COST_OF_STORE
    if not is_moved or min(rows, columns) >= lanes:
        far = 2 * COST_OF_FAR_LINE if is_large(shape, lanes, sizes) else 0  # it is read, and stored
        turned = COST_OF_TRANSPOSED if is_moved else 0
        cost = (turned + COST_OF_COPY + far) / registers.lanes(lanes)
    return COST_OF_DEFINITION + cost * _elements(shape, sizes)


def _elements(shape: Sequence[Affine], sizes: Sizes) -> int:
    return max(1, prod(_length(size, sizes) for size in shape))


def _length(size: Affine, sizes: Sizes) -> int:
    """A size as a number, assumed where it is not known."""
    if any(name not in sizes for name in size.sizes):
        return ASSUMED_EXTENT
    return size.evaluate({name: sizes[name] for name in size.sizes})


def _alone(op: tix.DefineOp, orders: Orders) -> tix.DefineOp:
    """The definition as it would be with copies, in a program of its own."""
    tensors = {(r.tensor, order): type_of(r.tensor) for r, order in orders.items()}
    types = [order.type_of_copy(type) for (_, order), type in tensors.items()]
    place = op.location
    builder = ProgramBuilder([(f"t{n}", type, place) for n, type in enumerate(types)])
    reader = CopyReader(BodyBuilder(builder.block, place))
    reader.orders, reader.copies = orders, dict(zip(tensors, builder.block.args, strict=True))
    copy_definition(builder, reader, op)
    program = op.parent_op()
    assert isinstance(program, tix.ProgramOp)
    return builder.finish(program, [], []).definitions[0]
