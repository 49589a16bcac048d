"""The cost of tiles and of the plain nest, in vector operations per element and term.

A read costs one per vector, or one per element where its elements lie apart. What rows share counts
once for all of them, what is copied into panels once for all blocks that share it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod

from xdsl.ir import Operation, Region, SSAValue

from tadc.dialects import tix
from tadc.dialects.quick import arguments_in
from tadc.passes.analysis.access import IN_ORDER, access, is_slow, known_size, stride
from tadc.passes.analysis.costs import FREE, weight
from tadc.passes.analysis.index_uses import IndexUses
from tadc.passes.scheduling.tiles.bounding_boxes import box_around
from tadc.passes.scheduling.tiles.packed_runs import run_of
from tadc.passes.scheduling.tiles.row_terms import vectors_of_rows
from tadc.passes.scheduling.tiles.sum_lengths import (
    constant_range,
    is_short,
    most_values,
    term_count,
)
from tadc.passes.scheduling.tiles.tile import Hoisted, Tile
from tadc.passes.scheduling.tiles.tile_analysis import (
    constant_extent,
    hoisted_values,
    is_lane_by_lane,
    sum_along,
    tree_of,
    vectors_of_sums,
)

ASSUMED_EXTENT = 512
"""The length assumed of a range that depends on sizes."""

ADDITIONS_UNDER_WAY = 8
"""Additions that must be under way at a time, or each waits for the one before."""

SHARE_OF_SUMS = 0.75
"""The share of the registers that sums of a block may take: the others hold elements that are read.
Each other sum is loaded and stored."""

COST_OF_SPILL = 2
"""The cost of loading and storing a sum for a term."""

COST_OF_LOAD = 2
"""The cost of a vector that comes from a cache rather than from registers."""

COST_OF_COPY = 4
"""The cost of a vector that comes from a far cache and is stored in a panel."""

COST_OF_TRANSPOSED = 14
"""The cost of a vector that is stored in a panel, and whose elements are transposed in registers:
its share of loads, of four rounds of shuffles, and of stores."""

COST_OF_FAR_ELEMENT = 3
"""The cost of an element on a cache line of its own."""

COST_OF_STORE = 1
"""The cost of storing one element by itself."""

ELEMENTS_OF_LINE = 16
"""Elements of a cache line."""

MOST_TERMS_WRITTEN_OUT = 8
"""Terms of the innermost indices of a sum that are written out one after the other."""

COST_OF_LOOP = 8
"""The cost of beginning and ending a loop."""

COST_OF_REST = 40
"""The cost of the remainder of a vectorized range that begins and ends anywhere."""

COST_OF_BOUND = 1
"""The cost of the mask of the columns for which a bound admits a term."""

COST_OF_LANE = 20
"""The cost of a lane that is computed by itself, in a loop over memory."""

Sizes = Mapping[str, int]

Price = Callable[[Tile], float]
"""The cost of an operation per term, as a function of tiles that have the same axes."""

NO_SIZES: Sizes = {}


def operations(region: Region) -> Iterator[tuple[Operation, int]]:
    """The operations of a body, each with how often it runs; long sums inside count as such."""
    for op in region.block.ops:
        if isinstance(op, tix.ReductionOp):
            count = term_count(op) or ASSUMED_EXTENT
            yield from ((inner, count * times) for inner, times in operations(op.body))
        elif isinstance(op, tix.IfOp | tix.WhereOp):
            yield op, 1
            yield from operations(op.then)
            yield from operations(op.otherwise)
        elif not isinstance(op, FREE):
            yield op, 1


def terms_of(op: tix.ReductionOp, sizes: Sizes) -> int:
    """About how many terms a sum has."""
    return prod(length_of(op, v, sizes) for v in op.indices)


def terms_once(op: tix.ReductionOp, uses: IndexUses, sizes: Sizes) -> int:
    """`terms_of`, found once: all tiles of a definition are priced for the same sizes."""
    return uses.once((terms_of, op), lambda: terms_of(op, sizes))


def length_of(op: tix.ReductionOp, index: SSAValue, sizes: Sizes) -> int:
    """The length of a range at most, assumed where it depends on sizes that are not given."""
    found = constant_range(op, index, sizes)
    if found:
        return found[1]
    most = most_values(op, op.indices[op.indices.index(index) :])
    return min(_places(op, index, sizes) if most is None else most, ASSUMED_EXTENT)


def _places(op: tix.ReductionOp, index: SSAValue, sizes: Sizes) -> int:
    """The shortest dimension that an index alone subscripts, in which it stays in bounds."""
    reads = (o for o in op.body.walk() if isinstance(o, tix.ReadOp))
    places = (place for read in reads for place in zip(read.forms, read.shape, strict=True))
    alone = (known_size(size, sizes) for form, size in places if form.single_index is index)
    return min((n for n in map(constant_extent, alone) if n is not None), default=ASSUMED_EXTENT)


def extent_of(op: tix.DefineOp, index: SSAValue | None, sizes: Sizes) -> int:
    """The length of an axis, assumed where it depends on sizes that are not given; 1 of one that is
    empty, so that it divides."""
    if index is None:
        return 1
    own = arguments_in(op.body)
    if index not in own:
        return max(1, length_of(sum_along(op, index), index, sizes))
    extent = constant_extent(known_size(op.shape[own.index(index)], sizes))
    return ASSUMED_EXTENT if extent is None else max(1, extent)


def terms_of_squares(
    panel: Hoisted, op: tix.ReductionOp, tile: Tile, uses: IndexUses, sizes: Sizes
) -> float:
    """The terms that are transposed for a term of a panel: the last square of a run is partial. 0
    for panels without runs (`packed_runs`)."""
    run = run_of(panel, op, tile.column_index, uses)
    if not run:
        return 0
    cut, chunk = tile.chunks.get(op, (None, 0))
    inside = run[run.index(cut) :] if cut in run else run
    lengths = {v: length_of(op, v, sizes) for v in inside}
    terms = max(1, prod(min(n, chunk) if v is cut else n for v, n in lengths.items()))
    return -(-terms // tile.lanes) * tile.lanes / terms


def plain_cost(sums: Iterable[tix.ReductionOp], lanes: int, uses: IndexUses, sizes: Sizes) -> float:
    """The cost of the plain nest per element: its innermost sum runs along vectors where it can."""
    total = 0.0
    for op in sums:
        last = op.indices[-1]
        indices = frozenset(op.indices)
        length = length_of(op, last, sizes)
        vector = all(
            access(read, last, uses) in IN_ORDER
            for read in op.walk()
            if isinstance(read, tix.ReadOp)
        )
        nested = any(isinstance(s, tix.ReductionOp) and not is_short(s) for s in op.body.walk())
        speed = lanes if vector and not nested and length >= lanes else 1
        cost = sum(
            (COST_OF_LOAD if isinstance(o, tix.ReadOp) else weight(o)) * n / speed
            for o, n in operations(op.body)
            if uses.of_operation(o) & indices or nested
        )
        moves = any(c.form[last] and len(c.form.indices) > 1 for c in op.constraints)
        around = COST_OF_LOOP + (COST_OF_REST if moves and speed > 1 else 0)
        total += terms_of(op, sizes) * (cost + 1 / speed + around / max(length, 1))
    return total


def indices_of_loops(op: tix.ReductionOp, uses: IndexUses) -> frozenset[SSAValue]:
    """The indices of a sum, and of long ones inside, which are loops in each of its terms."""

    def found() -> frozenset[SSAValue]:
        inner = (o for o in op.body.walk() if isinstance(o, tix.ReductionOp))
        loops = [op, *(o for o in inner if not is_short(o))]
        return frozenset(v for o in loops for v in o.indices)

    return uses.once((indices_of_loops, op), found)


@dataclass
class TileCost:
    """The cost of a tile per element of the result."""

    tile: Tile
    lanes: int
    """The elements in a register."""
    uses: IndexUses
    reuse: int
    """Blocks that share a panel."""
    sizes: Sizes
    """The sizes for which the cost is asked."""
    registers: tix.Registers

    def of(self, sums: Iterable[tix.ReductionOp]) -> float:
        return sum(map(self._of_terms, sums))

    def _of_terms(self, op: tix.ReductionOp) -> float:
        """The cost of all terms of a sum; sloped bounds add terms that some columns lack.

        sum[k](x[k] * w[j - k]),  j - 9 <= k <= j      ten terms, 25 of a block of 16 columns
        """
        terms = terms_once(op, self.uses, self.sizes)
        slopes = self._slopes(op)
        if not slopes or not terms:
            return terms * self._of_sum(op)
        length = length_of(op, op.indices[-1], self.sizes)
        lacking = sum(slopes) * (self.tile.columns - 1)
        walked = length + lacking / 2
        tests = COST_OF_BOUND * len(slopes) / (self.tile.height * self.lanes)
        return terms / length * (walked * self._of_sum(op) + min(walked, lacking) * tests)

    def _slopes(self, op: tix.ReductionOp) -> Sequence[int]:
        """The steps, from column to column, of the bounds of the last index that move; those of
        short boxes are tests of terms (`shape-loops`)."""
        index, column = op.indices[-1], self.tile.column_index

        def find() -> Sequence[int]:
            if column in op.indices:
                return ()
            box = box_around(op, long=False, bands=True)
            return [
                abs(c.form[column])
                for c in box or op.constraints
                if c.form[index] and c.form[column]
            ]

        return self.uses.once((box_around, op, column), find)

    def _of_sum(self, op: tix.ReductionOp) -> float:
        rows, columns = self.tile.height, self.tile.columns
        sums = vectors_of_sums(op, self.tile, self.lanes, self.uses)
        cost = sums + max(0, ADDITIONS_UNDER_WAY - sums)
        cost += COST_OF_SPILL * max(0, sums - SHARE_OF_SUMS * self.registers.count)
        hoisted = hoisted_values(op, self.tile, self.uses)
        panels = self.tile.panels.get(op, ())
        values = [*(panel.value for panel in panels), *hoisted.per_block]
        loaded = {o for v in values for o in tree_of(v, op.body)}
        for inner, times, price in self._prices(op):
            if inner not in loaded:
                cost += times * price(self.tile)
        for panel in panels:
            cost += COST_OF_LOAD * columns / self.lanes + self._of_filling(panel, op) / self.reuse
        cost += len(hoisted.per_block) * rows * columns / self.lanes / 2
        return cost / (rows * columns)

    def _of_filling(self, panel: Hoisted, op: tix.ReductionOp) -> float:
        """The cost of copying a term into a panel."""
        if squares := terms_of_squares(panel, op, self.tile, self.uses, self.sizes):
            return squares * COST_OF_TRANSPOSED * self.tile.columns / self.lanes
        return sum(self._of_copying(o) for o in dict.fromkeys(tree_of(panel.value, op.body)))

    def _of_copying(self, op: Operation) -> float:
        if isinstance(op, tix.IfOp) and is_lane_by_lane(op, self.tile.column_index, self.uses):
            return COST_OF_LANE * self.tile.columns
        step = stride(op, self.tile.column_index, self.uses) if isinstance(op, tix.ReadOp) else 0
        if is_slow(step):
            return (COST_OF_FAR_ELEMENT + COST_OF_STORE) * self.tile.columns
        cost = COST_OF_COPY * abs(step or 1) if isinstance(op, tix.ReadOp) else weight(op)
        return 0 if isinstance(op, FREE) else cost * self.tile.columns / self.lanes

    def _prices(self, op: tix.ReductionOp) -> Sequence[tuple[Operation, int, Price]]:
        """The operations of a term that have a cost, how often each runs, and what it costs."""
        axes = tuple(index for index, _ in self.tile.axes)  # not how wide a tile is
        return self.uses.once(
            (TileCost, op, axes, self.tile.row_index, self.tile.column_index),
            lambda: [
                (inner, times, price)
                for inner, times in operations(op.body)
                if (price := self._price(inner, op))
            ],
        )

    def _price(self, op: Operation, sum_: tix.ReductionOp) -> Price | None:
        """The cost of an operation for all rows of a block; None where that is nothing."""
        used, column, lanes = self.uses.of_operation(op), self.tile.column_index, self.lanes
        if isinstance(op, tix.IfOp):
            if is_lane_by_lane(op, column, self.uses):
                return lambda tile: tile.count_in(used) * tile.columns * COST_OF_LANE
            return self._price_of_tests(op)
        if used.isdisjoint(indices_of_loops(sum_, self.uses)):
            return self._price_of_registers(op)
        cost = weight(op)
        if column not in used:
            terms = self._terms_like_rows(op, sum_)
            return lambda tile: (tile.count_in(used) + terms - 1) / terms * cost
        if isinstance(op, tix.ReadOp):
            return self._price_of_vectors(op, sum_)
        return lambda tile: tile.count_in(used) * (tile.columns / lanes) * cost

    def _price_of_registers(self, op: Operation) -> Price | None:
        """The cost of a value that does not vary with the terms: registers hold that of one row."""
        used, column = self.uses.of_operation(op), self.tile.column_index
        if column not in used or not isinstance(op, tix.ReadOp):
            return None
        each = 1 if is_slow(stride(op, column, self.uses)) else 0.5 / self.lanes

        def price(tile: Tile) -> float:
            rows = tile.count_in(used)
            return rows * tile.columns * each if rows > 1 else 0

        return price

    def _price_of_vectors(self, op: tix.ReadOp, sum_: tix.ReductionOp) -> Price:
        """The cost of a read that moves with the column and with the terms."""
        step, lanes, cost = stride(op, self.tile.column_index, self.uses), self.lanes, weight(op)
        far = COST_OF_FAR_ELEMENT if step is None or abs(step) >= ELEMENTS_OF_LINE else 1
        near = max(COST_OF_LOAD, abs(step or 0))
        slow, uses = is_slow(step), self.uses

        def price(tile: Tile) -> float:
            vectors = far * tile.columns if slow else tile.columns / lanes * near
            return vectors_of_rows(op, sum_, tile, uses) * vectors * cost

        return price

    def _price_of_tests(self, op: tix.IfOp) -> Price:
        """The cost of a choice's tests per term; those of rows alone hold but in border blocks."""
        axes, column, lanes = {v for v, _ in self.tile.axes}, self.tile.column_index, self.lanes
        forms = (c.form for disjunct in op.condition for c in disjunct)
        used = [{v for index in f.indices for v in self.uses.of(index)} for f in forms]
        once = sum(1 for indices in used if column not in indices and not axes & indices)
        by_column = [indices for indices in used if column in indices]
        return lambda tile: once + sum(map(tile.count_in, by_column)) * (tile.columns / lanes)

    def _terms_like_rows(self, op: Operation, sum_: tix.ReductionOp) -> int:
        """The number of terms that share one load of a value, which all columns share, too.

        Terms that are written out share elements with other rows: three rows read x[i + k], with
        k in range(3), at five places.
        """
        row = self.tile.row_index
        is_read = isinstance(op, tix.ReadOp)
        return terms_like_rows(op, sum_, row, self.sizes) if is_read and row is not None else 1


def terms_like_rows(
    op: tix.ReadOp, sum_: tix.ReductionOp, row: SSAValue, sizes: Sizes = NO_SIZES
) -> int:
    """The number of unrolled terms that read, one after the other, what the next rows read."""
    index = sum_.indices[-1]
    found = constant_range(sum_, index, sizes)
    if not found or found[1] > MOST_TERMS_WRITTEN_OUT:
        return 1
    steps = [(form[row], form[index]) for form in op.forms if form[row] or form[index]]
    alike = len(steps) == 1 and abs(steps[0][0]) == abs(steps[0][1])
    return max(1, found[1]) if alike else 1
