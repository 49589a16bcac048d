"""Loops that a machine with caches and vectors runs best: the choice behind `schedule{tile=true}`.

A definition is worth a *tile* where a sum, or another reduction, reads the same elements for many
elements of the result:

    y[i, j] = sum[k](x[i, k] * w[k, j])         4 reads of x and 64 of w serve 4 x 64 elements

Two of its indices become the rows and the columns of a register block: columns run along vectors,
so most reads should lie side by side along them, and what a row shares is read once per row. An
expression that depends on the column but not on the row is the same for all rows; where its
elements lie apart it is copied once into a *panel* in which they lie side by side.

All that is counted (`passes/scheduling/costs/tile_cost.py`), and the tile must win clearly against
the plain nest, whose innermost loop is the sum. `passes/lowering/blocks/tile_loops.py` emits what
is chosen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain

from xdsl.ir import Operation, SSAValue

from tadc.dialects import tix
from tadc.dialects.tix.affine import least_value
from tadc.once import cached_property
from tadc.passes.analysis.access import is_slow, stride
from tadc.passes.analysis.index_uses import IndexUses
from tadc.passes.rewriting.part_sizes import with_derived_sizes
from tadc.passes.rewriting.shallow_copy import changed
from tadc.passes.rewriting.written_sizes import parse_sizes
from tadc.passes.scheduling.cold_code import has_few_vectors, is_small_part
from tadc.passes.scheduling.costs.cache_misses import cost_of_far_lines
from tadc.passes.scheduling.costs.conflict_misses import cost_of_row_vectors
from tadc.passes.scheduling.costs.price_cache import KnownPrices, PricedTile
from tadc.passes.scheduling.costs.strided_lines import cost_of_row_lines
from tadc.passes.scheduling.costs.tile_cost import (
    COST_OF_FAR_ELEMENT,
    COST_OF_STORE,
    NO_SIZES,
    Sizes,
    TileCost,
    extent_of,
    length_of,
    plain_cost,
    terms_of,
)
from tadc.passes.scheduling.recurrences import is_recurrence
from tadc.passes.scheduling.scans import is_scanned
from tadc.passes.scheduling.streams.stream_tiles import stream_tile
from tadc.passes.scheduling.tiles.block_sizes import (
    Room,
    height,
    is_known,
    is_long,
    is_narrow,
    likely_extent,
    narrow_width,
    width_of_row,
    widths,
)
from tadc.passes.scheduling.tiles.dot_tiles import single_row, term_candidates
from tadc.passes.scheduling.tiles.packing import with_panels
from tadc.passes.scheduling.tiles.sum_lengths import blocked_sums, is_short, long_sums
from tadc.passes.scheduling.tiles.tile import Tile
from tadc.passes.scheduling.tiles.tile_analysis import lanes_of, sum_along, vectors_of_sums
from tadc.passes.scheduling.tiles.tileable_sums import tileable_sums
from tadc.passes.scheduling.tiles.transposed_reads import square_tile

COST_OF_TERMS = 2
"""The cost of vectors along terms as a multiple of others': they begin anywhere in memory."""

COST_OF_TOTAL = 16
"""The cost of adding up the lanes of a vector."""

MOST_VECTORS_OF_JOINED_SUMS = 16
"""The most vectors of accumulators in the loop of a joined sum: half of AVX-512's registers."""

MOST_OF_PLAIN_COST = 0.85
"""The highest cost of a tile that is chosen, as a share of the cost of the plain nest."""


ChooseTiles = Callable[[tix.DefineOp], Sequence[Tile]]
"""Gives the tiles of a definition, the best first; none where the plain nest is better."""


def tile_chooser(
    tile: bool,
    sizes: Sequence[str],
    least: Sequence[str] = (),
    registers: tix.Registers = tix.AVX_512,
) -> ChooseTiles | None:
    """`choose_tiles` for sizes written as `N=512`, for a pass that has these options.

    None without tiles. Raises `PassFailedException` where a text is not such a size.
    """
    example, bounds = parse_sizes(sizes) or None, parse_sizes(least)
    known = {"example": example, "least": bounds, "registers": registers}
    return partial(choose_tiles, **known) if tile else None


def choose_tiles(
    op: tix.DefineOp,
    example: Sizes | None = None,
    least: Sizes | None = None,
    registers: tix.Registers = tix.AVX_512,
) -> list[Tile]:
    """The cheapest tile of a definition, or none where the plain nest is as good.

    Where sizes are known at run time only, they decide there whether there is room for it. Without
    an `example` of these sizes, the cheapest one along another axis follows, which may be the
    longer one. The last one has room whatever sizes are, if there is one: the first for which there
    is room in all sizes that are the `least` of calls or more.

    Small parts of a program's work have blocks that are quickly compiled (`cold_code`).

    What is read across its rows has a tile without sums (`squares`), and so have streams whose rows
    share what they read, or compute (`stream_tiles`).
    """
    alone = tile_without_sums(op, example or {})
    if alone and _has_room(op, alone, example or {}):
        return _until_one_fits(op, [alone], least or {})
    priced = priced_for(op, example or {}, registers)
    found = [p.tile for p in priced if p.is_good]
    if found and is_small_part(op, example or {}):
        priced = [p for p in priced if has_few_vectors(p.tile)] or priced
        found = [p.tile for p in priced]
    best = found[:1]  # a cheaper one that is not good has columns: those along terms count twice
    if best and any(size.terms for size in op.shape):
        others = [t for t in found if t.column_index is not best[0].column_index]
        best += others[:1] if example is None else []
        always = single_row(op, registers)
        best += [always] if always else []
    has_masks = registers.of_vector == 1
    return _until_one_fits(op, [changed(t, has_masks=has_masks) for t in best], least or {})


def tile_without_sums(op: tix.DefineOp, sizes: Sizes) -> Tile | None:
    """The tile of a definition without long sums: transposed squares, or blocks of a stream."""
    return square_tile(op) or stream_tile(op, sizes)


def sizes_of_ranges(op: tix.DefineOp, example: Sizes) -> Sizes:
    """The sizes of an example if they tell how long ranges are: differences of long ones do not."""
    sums = (s for s in op.walk() if isinstance(s, tix.ReductionOp))
    forms = (*op.shape, *(c.form for s in sums for c in s.constraints))
    unknown = any(f[n] < 0 and is_long(example.get(n, 0)) for f in forms for n in f.sizes)
    return NO_SIZES if unknown else example


def _until_one_fits(op: tix.DefineOp, tiles: Sequence[Tile], least: Sizes) -> list[Tile]:
    """The tiles up to the first one for which the least sizes have room."""
    shape = zip(op.indices, op.shape, strict=True)
    extents = {v: least_value(size, least) or 0 for v, size in shape}
    found: list[Tile] = []
    for tile in tiles:
        axes = (tile.row_index, tile.rows), (tile.column_index, tile.columns)
        fits = all(v not in extents or extents[v] >= width for v, width in axes if v is not None)
        found.append(replace(tile, always=fits))
        if fits:
            break
    return found


def _has_tiles(op: Operation) -> bool:
    """False for a choice by values around a long reduction, which is left to the plain nest."""
    inner = op.walk() if isinstance(op, tix.WhereOp) else ()
    return not any(isinstance(o, tix.ReductionOp) and not is_short(o) for o in inner)


def may_have_tiles(op: tix.DefineOp) -> bool:
    """True if a definition has long sums, and nothing that is left to the plain nest."""
    return bool(blocked_sums(op.body)) and all(map(_has_tiles, op.walk()))


def priced_for(op: tix.DefineOp, example: Sizes, registers: tix.Registers) -> list[PricedTile]:
    """All tiles that are tried, the cheapest first, for calls of these sizes, or of any."""
    program = op.parent_op()
    if example and isinstance(program, tix.ProgramOp):
        example = with_derived_sizes(program, example)
    return priced_tiles(op, example, registers)


def priced_tiles(
    op: tix.DefineOp, example: Sizes, registers: tix.Registers, along: SSAValue | None = None
) -> list[PricedTile]:
    """All tiles that are tried, the cheapest first, or those with columns `along` an index; none
    for scans, whose loops carry totals."""
    if not may_have_tiles(op):
        return []
    prices, known = _Prices(op, example, registers), KnownPrices(op, example, registers)
    columns = [*reversed(op.indices), None] if along is None else [along]
    found = [known.of(column, partial(prices.along, column)) for column in columns]
    return sorted(chain.from_iterable(found), key=lambda priced: priced.cost)


class _Prices:
    """The tiles that are tried for a definition, and what they cost, in operations on registers."""

    def __init__(self, op: tix.DefineOp, example: Sizes, registers: tix.Registers):
        self.op = op
        self.example = example
        self.sizes = sizes_of_ranges(op, example)
        self.registers = registers
        self.lanes = registers.lanes(lanes_of(op))
        self.uses = IndexUses()

    @cached_property
    def _is_carried(self) -> bool:
        """True if loops carry totals: there are no tiles then."""
        return is_scanned(self.op) or is_recurrence(self.op)

    @cached_property
    def _joined(self) -> Sequence[tix.ReductionOp]:
        """Sums of several results (joined), which have no plain nest."""
        return [s for s in blocked_sums(self.op.body) if len(s.results) > 1]

    @cached_property
    def _sums(self) -> Sequence[tix.ReductionOp]:
        """All long sums of the definition; those that blocks do not hold run in each lane."""
        return list(long_sums(self.op.body))

    @cached_property
    def _plain(self) -> float:
        """The cost of the plain nest."""
        return plain_cost(self._sums, self.lanes, self.uses, self.sizes)

    def along(self, column: SSAValue | None) -> list[PricedTile]:
        """The tiles with these columns; without, those whose vectors hold terms of a sum."""
        if self._is_carried:
            return []
        tiles = _candidates(self.op, self.registers, self.sizes, self.uses, column)
        return [priced for tile in tiles if (priced := self._priced(tile))]

    def _priced(self, tile: Tile) -> PricedTile | None:
        op, lanes, sizes, uses = self.op, self.lanes, self.sizes, self.uses
        sums = sums_of_blocks(op, tile, uses)
        if not sums or not all(s in sums and _may_join(s, op, tile, uses) for s in self._joined):
            return None
        full = with_panels(op, tile, sums, uses, sizes, self.registers)
        cost = TileCost(full, lanes, uses, full.shared_blocks, sizes, self.registers).of(sums)
        if full.rest:
            few = TileCost(full.narrow, lanes, uses, full.shared_blocks, sizes, self.registers)
            narrow = few.of(sums)
            cost = _mean_cost(full, cost, narrow, likely_extent(op, tile.column_index, sizes))
        cost += cost_of_far_lines(sums, full, uses, sizes)
        cost += cost_of_row_lines(sums, full, uses, sizes) + _store_cost(op, tile, lanes)
        cost += cost_of_row_vectors(sums, full, uses, sizes, self.example)
        cost += _cost_beside(op, sums, tile, uses)
        cost *= _waste(op, tile, sizes, self.registers)
        others = [s for s in self._sums if s not in sums]
        cost += uses.once((plain_cost, *others), lambda: plain_cost(others, 1, uses, sizes))
        plain = self._plain + 1 / lanes
        is_good = bool(self._joined) or cost < MOST_OF_PLAIN_COST * plain
        cost *= 1 if tile.column_index in op.indices else COST_OF_TERMS
        return PricedTile(full, cost, plain, is_good)


def _may_join(s: tix.ReductionOp, op: tix.DefineOp, tile: Tile, uses: IndexUses) -> bool:
    """True if vectors run along the result, and registers hold the accumulators of a joined sum."""
    own = tile.column_index in op.indices
    return own and vectors_of_sums(s, tile, tile.lanes, uses) <= MOST_VECTORS_OF_JOINED_SUMS


def least_cost_of_terms(op: tix.ReductionOp, lanes: int, sizes: Sizes) -> float:
    """The least cost of vectors along the terms of a sum: each is added, and then all lanes."""
    return COST_OF_TERMS * (COST_OF_TOTAL + terms_of(op, sizes) / lanes)


def sums_of_blocks(op: tix.DefineOp, tile: Tile, uses: IndexUses) -> list[tix.ReductionOp]:
    """The sums that blocks compute."""
    if tile.column_index in op.indices:
        return tileable_sums(op.body, tile, uses)
    return [sum_along(op, tile.column_index)]


def _candidates(
    op: tix.DefineOp,
    registers: tix.Registers,
    sizes: Sizes,
    uses: IndexUses,
    column_index: SSAValue | None,
) -> Iterator[Tile]:
    """The candidate tiles with these columns: each other index as rows, the last ones first, and
    none. Without columns, vectors run along the terms of a sum."""
    lanes = lanes_of(op)
    if column_index is None:
        extent, length_in = partial(extent_of, op, sizes=sizes), partial(length_of, sizes=sizes)
        yield from term_candidates(op, registers, extent, length_in)
        return
    sums = blocked_sums(op.body)
    extents = {v: extent_of(op, v, sizes) for v in reversed(op.indices)}
    length = extents[column_index]
    others = [v for v in extents if v is not column_index and extents[v] > 1]
    rooms = {v: Room.of(sums, v, column_index, uses, registers) for v in others}
    for columns in widths(length, lanes):
        rest = narrow_width(op, column_index, columns, lanes, sizes)
        for row_index, room in rooms.items():
            most, extent = room.rows(-(-columns // lanes)), extents[row_index]
            rows = height(extent, most, is_known(op, row_index))
            yield Tile(row_index, column_index, rows, columns, min(lanes, columns), rest)
        yield Tile(None, column_index, 1, columns, min(lanes, columns), rest)
    if (wide := width_of_row(sums, lanes, registers)) <= length and wide:
        yield Tile(None, column_index, 1, wide, lanes)


def _waste(op: tix.DefineOp, tile: Tile, sizes: Sizes, registers: tix.Registers) -> float:
    """The ratio of computed elements to those of the result, higher for narrow blocks."""
    waste = 1.15 if is_narrow(tile.columns, registers) and tile.column_index in op.indices else 1.0
    if tile.row_index is not None:
        extent = extent_of(op, tile.row_index, sizes)
        waste *= -(-extent // tile.rows) * tile.rows / extent
    extent = likely_extent(op, tile.column_index, sizes)
    if tile.column_index in op.indices:
        return waste * tile.columns_for(extent) / extent
    return waste * -(-extent // tile.lanes) * tile.lanes / extent


def _mean_cost(tile: Tile, cost: float, narrow: float, extent: int) -> float:
    """The mean of the costs of elements in whole and in narrower blocks."""
    few = tile.narrow_blocks(extent % tile.columns) * tile.rest / tile.columns_for(extent)
    return (1 - few) * cost + few * narrow


def _has_room(op: tix.DefineOp, tile: Tile, sizes: Sizes) -> bool:
    """True if the result has a whole block."""
    axes = (tile.row_index, tile.rows), (tile.column_index, tile.columns)
    return all(extent_of(op, axis, sizes) >= width for axis, width in axes)


def _store_cost(op: tix.DefineOp, tile: Tile, lanes: int) -> float:
    """The cost of storing an element; where lanes are terms, that of adding them up, too.

    Lanes that lie apart have a cache line each, which rows may share.
    """
    if tile.column_index not in op.indices:
        return COST_OF_TOTAL
    if tile.column_index is op.indices[-1]:
        return 1 / lanes
    rows = min(tile.rows, 3) if tile.row_index is op.indices[-1] else 1
    return COST_OF_FAR_ELEMENT / rows + COST_OF_STORE


def _cost_beside(
    op: tix.DefineOp, sums: Sequence[tix.ReductionOp], tile: Tile, uses: IndexUses
) -> float:
    """The cost per element of strided reads along the columns, outside of all sums."""
    column = tile.column_index
    slow = uses.once((_cost_beside, column, *sums), lambda: _slow_beside(op, sums, column, uses))
    if not slow:
        return 0.0
    shared = [r for r in slow if tile.row_index and r.forms[-1][tile.row_index]]
    return COST_OF_FAR_ELEMENT * (len(slow) - len(shared) + len(shared) / min(tile.rows, 3))


def _slow_beside(
    op: tix.DefineOp, sums: Sequence[tix.ReductionOp], column: SSAValue, uses: IndexUses
) -> list[tix.ReadOp]:
    """The reads of a definition, outside of sums, that are strided along the columns."""
    inside = {inner for s in sums for inner in s.walk()}
    reads = [o for o in op.walk() if isinstance(o, tix.ReadOp) and o not in inside]
    return [r for r in reads if is_slow(stride(r, column, uses))]
