"""Which loops a machine with caches and vectors runs best: the choice behind `schedule{tile=true}`.

A definition is worth a *tile* where a sum reads the same elements for many elements of the result:

    y[i, j] = sum[k](x[i, k] * w[k, j])         4 reads of x and 64 of w serve 4 x 64 elements

Two of its indices become the rows `p` and the columns `q` of a register block: `q` runs along
vectors, so most reads should lie side by side along it, and what a row shares is read once per row.
An expression that depends on `q` but not on `p` is the same for all rows; where its elements lie
apart it is copied once into a *panel* in which they lie side by side.

All that is counted here, in vector operations per element and term: a read costs one per vector, or
one per element where its elements lie apart. The tile must win clearly against the plain nest,
whose innermost loop, the sum, has the same rules. `passes/scheduling/tile_loops.py` emits what is
chosen.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import prod

from xdsl.ir import Operation, Region, SSAValue

from dialects import tix
from passes.analysis.costs import FREE, weight
from passes.scheduling.tile_analysis import (
    Dependence,
    Saved,
    Tile,
    blocked_sums,
    chunk_of,
    constant_range,
    is_short,
    is_slow,
    lanes_of,
    saved_values,
    stride,
    term_count,
    tileable_sums,
    tree_of,
)

REGISTERS = 16
"""Vectors of sums in a block: half of what there are, the others hold what is read."""

WIDEST = 64
"""Columns of a block. LLVM unrolls much shorter loops before it looks for vectors in them."""

MOST_ROWS = 8

GROUP_ROWS = 256
"""Rows that share a panel: copying it costs as much as using it for some ten rows."""

UNKNOWN = 512
"""The length assumed of a range that depends on sizes."""

LATENCY = 8
"""Additions that must be under way at a time, or each waits for the one before."""

LOAD = 2
"""The cost of a vector that comes from a cache rather than from registers."""

FAR = 3
"""The cost of an element on a cache line of its own."""

CLEARLY = 0.85
"""Of the cost of the plain nest is what a tile may cost at most."""

# --- counting -------------------------------------------------------------------------------------


def operations(region: Region) -> Iterator[tuple[Operation, int]]:
    """The operations of a body, each with how often it runs; long sums inside count as such."""
    for op in region.block.ops:
        if isinstance(op, tix.SumOp):
            count = term_count(op) or UNKNOWN
            yield from ((inner, count * times) for inner, times in operations(op.body))
        elif isinstance(op, tix.IfOp):
            yield op, 1
            yield from operations(op.then)
            yield from operations(op.otherwise)
        elif not isinstance(op, FREE):
            yield op, 1


def terms_of(op: tix.SumOp) -> int:
    """How many terms, about."""
    return prod((r[1] if (r := constant_range(op, v)) else UNKNOWN) for v in op.indices)


def plain_cost(sums: Iterable[tix.SumOp], lanes: int, deps: Dependence) -> float:
    """Of the plain nest per element: the innermost sum runs along vectors where it can."""
    total = 0.0
    for op in sums:
        last = op.indices[-1]
        own = frozenset(op.indices)
        found = constant_range(op, last)
        length = found[1] if found else UNKNOWN
        vector = all(
            stride(read, last, deps) in (0, 1, -1)
            for read in op.walk()
            if isinstance(read, tix.ReadOp)
        )
        nested = any(isinstance(s, tix.SumOp) and not is_short(s) for s in op.body.walk())
        speed = lanes if vector and not nested and length >= lanes else 1
        cost = sum(
            (LOAD if isinstance(o, tix.ReadOp) else weight(o)) * n / speed
            for o, n in operations(op.body)
            if deps.operation(o) & own or nested
        )
        total += terms_of(op) * (cost + 1 / speed + 8 / length)
    return total


@dataclass
class Counter:
    """Counts the cost of a tile per element of the result, for one choice of p and q."""

    tile: Tile
    lanes: int
    deps: Dependence
    reuse: int
    """Blocks that share a panel."""

    def cost(self, sums: Iterable[tix.SumOp]) -> float:
        return sum(terms_of(op) * self._of_sum(op) for op in sums)

    def _of_sum(self, op: tix.SumOp) -> float:
        rows, columns = self.tile.rows, self.tile.columns
        sums = (rows if self._depends(op)[0] else 1) * columns / self.lanes
        cost = sums + max(0, LATENCY - sums)
        saved = saved_values(op, self.tile, self.deps)
        panels = [s.value for s in self.tile.panels.get(op, ())]
        loaded = {o for v in (*panels, *saved.block) for o in tree_of(v, op.body)}
        for inner, times in operations(op.body):
            if inner not in loaded:
                cost += times * self._of_operation(inner, op)
        for panel in panels:
            fill = sum(self._of_copying(o) for o in dict.fromkeys(tree_of(panel, op.body)))
            cost += LOAD * columns / self.lanes + fill / self.reuse
        cost += len(saved.block) * rows * columns / self.lanes / 2
        return cost / (rows * columns)

    def _of_copying(self, op: Operation) -> float:
        if isinstance(op, tix.ReadOp) and is_slow(stride(op, self.tile.q, self.deps)):
            return FAR * self.tile.columns
        return 0 if isinstance(op, FREE) else weight(op) * self.tile.columns / self.lanes

    def _depends(self, op: Operation) -> tuple[bool, bool]:
        found = self.deps.operation(op)
        return self.tile.p in found, self.tile.q in found

    def _of_operation(self, op: Operation, sum_: tix.SumOp) -> float:
        along_p, along_q = self._depends(op)
        rows = self.tile.rows if along_p else 1
        if not self.deps.operation(op) & set(sum_.indices):
            if not (along_p and along_q and isinstance(op, tix.ReadOp)):
                return 0  # it stays in registers
            slow = is_slow(stride(op, self.tile.q, self.deps))
            return rows * self.tile.columns * (1 if slow else 0.5 / self.lanes)
        if not along_q:
            return rows * weight(op)
        vectors = self.tile.columns / self.lanes
        if isinstance(op, tix.ReadOp):
            step = stride(op, self.tile.q, self.deps)
            far = FAR if step is None or abs(step) >= 64 else 1
            slow = is_slow(step)
            vectors = far * self.tile.columns if slow else vectors * max(LOAD, abs(step or 0))
        return rows * vectors * weight(op)


# --- the choice -----------------------------------------------------------------------------------


Sizes = Mapping[str, int]


def choose_tiles(op: tix.DefineOp, example: Sizes | None = None) -> list[Tile]:
    """The cheapest tile of a definition, or none where the plain nest is as good.

    Where sizes are known at run time only, they decide there whether there is room for it. So the
    cheapest tile for an `example` of these sizes follows; without an example, one along another
    axis, which may be the longer one.
    """
    found = _good_tiles(op, {})
    best = found[:1]
    if any(size.terms for size in op.type.shape):
        others = [t for t in found if t.q is not best[0].q] if example is None else []
        for other in (_good_tiles(op, example) if example else others)[:1]:
            best += [other] if _blocks(other) not in map(_blocks, best) else []
    return best


def _has_tiles(op: Operation) -> bool:
    """Other reductions than sums, and choices by values, are left to the plain nest."""
    return not isinstance(op, tix.WhereOp | tix.ReductionOp) or isinstance(op, tix.SumOp)


def _blocks(tile: Tile) -> tuple[SSAValue | None, SSAValue, int, int]:
    return tile.p, tile.q, tile.rows, tile.columns


def _good_tiles(op: tix.DefineOp, sizes: Sizes) -> list[Tile]:
    """The tiles that are clearly cheaper than the plain nest, the cheapest first."""
    deps = Dependence()
    if not blocked_sums(op.body) or not all(map(_has_tiles, op.walk())):
        return []
    lanes = lanes_of(op)
    found: list[tuple[float, Tile]] = []
    for tile in _candidates(op, lanes, sizes):
        sums = tileable_sums(op.body, tile, deps)
        if not sums:
            continue
        full = _with_panels(op, tile, sums, deps, sizes)
        counter = Counter(full, lanes, deps, full.group)
        cost = counter.cost(sums) + _store_cost(op, tile.q, lanes)
        cost *= _waste(op, tile, sizes)
        if cost < CLEARLY * (plain_cost(sums, lanes, deps) + 1 / lanes):
            found.append((cost, full))
    return [tile for _, tile in sorted(found, key=lambda pair: pair[0])]


def _candidates(op: tix.DefineOp, lanes: int, sizes: Sizes) -> Iterator[Tile]:
    """Every pair of indices and every single one, the last ones first: results lie along these."""
    for q in reversed(op.indices):
        columns = min(WIDEST, _power_of_two_below(_extent(op, q, sizes)))
        while columns >= max(lanes // 2, WIDEST // 4, 1):
            most = min(MOST_ROWS, REGISTERS * lanes // columns)
            for p in reversed(op.indices):
                if p is not q and _extent(op, p, sizes) > 1:
                    yield Tile(
                        p,
                        q,
                        _rows(_extent(op, p, sizes), most, _extent(op, p, sizes) != UNKNOWN),
                        columns,
                    )
            yield Tile(None, q, 1, columns)
            columns //= 2
        if _extent(op, q, sizes) >= LATENCY * lanes > WIDEST and not _is_heavy(op):
            yield Tile(None, q, 1, LATENCY * lanes)


def _is_heavy(op: tix.DefineOp) -> bool:
    """Do elementary functions need the registers?"""
    return any(weight(o) > 1 for s in blocked_sums(op.body) for o, _ in operations(s.body))


def _rows(extent: int, most: int, known: bool) -> int:
    """How many rows: as many as there are registers for, unless fewer leave less to do twice."""
    if not known:
        return most
    return min(range(min(extent, most), 0, -1), key=lambda r: -(-extent // r) * (r + 1.5))


def _waste(op: tix.DefineOp, tile: Tile, sizes: Sizes) -> float:
    """How much more is computed than there are elements; shorter loops count as slower, too."""
    waste = 1.0 if tile.columns >= WIDEST else 1.3
    for axis, width in ((tile.p, tile.rows), (tile.q, tile.columns)):
        if axis is not None:
            extent = _extent(op, axis, sizes)
            waste *= -(-extent // width) * width / extent
    return waste


def _extent(op: tix.DefineOp, index: SSAValue | None, sizes: Sizes) -> int:
    """The length of an axis, assumed where it depends on sizes that are not given."""
    if index is None:
        return 1
    size = op.type.shape[op.indices.index(index)]
    if any(name not in sizes for name in size.sizes):
        return UNKNOWN
    return max(0, size.evaluate({name: sizes[name] for name in size.sizes}))


def _power_of_two_below(n: int) -> int:
    return 1 << (n.bit_length() - 1) if n else 0


def _store_cost(op: tix.DefineOp, q: SSAValue, lanes: int) -> float:
    return 1 / lanes if q is op.indices[-1] else 1.0


def _with_panels(
    op: tix.DefineOp, tile: Tile, sums: list[tix.SumOp], deps: Dependence, sizes: Sizes
) -> Tile:
    """The tile with its panels, chunks and groups."""
    if tile.p is None:
        return tile
    blocks = -(-_extent(op, tile.p, sizes) // tile.rows)
    group = max(1, min(GROUP_ROWS // tile.rows, blocks))
    panels: dict[tix.SumOp, tuple[Saved, ...]] = {}
    chunks: dict[tix.SumOp, tuple[SSAValue, int]] = {}
    for s in sums if blocks > 3 else []:
        found = saved_values(s, tile, deps).panels
        if found:
            panels[s] = tuple(found)
            cut = chunk_of(s, tile.columns)
            if cut:
                chunks[s] = cut
    if not panels:
        group = min(group, 64 // tile.rows)
    return Tile(tile.p, tile.q, tile.rows, tile.columns, group, panels, chunks)
