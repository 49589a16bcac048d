"""Which loops a machine with caches and vectors runs best: the choice behind `schedule{tile=true}`.

A definition is worth a *tile* where a sum reads the same elements for many elements of the result:

    y[i, j] = sum[k](x[i, k] * w[k, j])         16 reads of x and 32 of w serve 8 x 32 elements

Two of its indices become the rows `p` and the columns `q` of a register block: `q` runs along
vectors, so most reads should lie side by side along it, and what a row shares is read once per row.
An expression that depends on `q` but not on `p` is the same for all rows; where its elements lie
apart it is copied once into a *panel* in which they lie side by side.

All that is counted here, in vector operations per element and term: a read costs one per vector,
or one per element where its elements lie apart. The tile must win clearly against the plain nest,
whose innermost loop, the sum, has the same rules. `passes/tiled_loops.py` emits what is chosen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from math import prod

from xdsl.dialects.builtin import Float32Type
from xdsl.ir import BlockArgument, Operation, Region, SSAValue

from dialects import tix
from dialects.tix import Affine
from dialects.tix import elementwise as ew
from passes.programs import type_of

VECTOR_BYTES = 64
"""The width of vectors to count with; narrower ones only make a block more vectors."""

REGISTERS = 16
"""Vectors of sums in a block: half of what there are, the others hold what is read."""

WIDEST = 64
"""Columns of a block. LLVM unrolls much shorter loops before it looks for vectors in them."""

MOST_ROWS = 8

SHORT_SUM = 16
"""Sums of at most so many terms are unrolled where they stand."""

PANEL = 1 << 14
"""Elements of a panel at most: 64 KB of f32, which a second-level cache keeps."""

GROUP_ROWS = 256
"""Rows that share a panel: copying it costs as much as using it for some ten rows."""

UNKNOWN = 512
"""The length assumed of a range that depends on sizes."""

LATENCY = 8
"""Additions that must be under way at a time, or each waits for the one before."""

LOAD = 2
"""The cost of a vector that comes from a cache rather than from registers."""

FAR = 3
"""The cost of copying an element that lies apart from the others, with the store."""

CLEARLY = 0.85
"""Of the cost of the plain nest is what a tile may cost at most."""

ELEMENTARY = 12
"""The cost of an elementary function in additions."""

CHEAP = (
    ew.AddOp,
    ew.SubOp,
    ew.MulOp,
    ew.NegOp,
    ew.AbsOp,
    ew.MaximumOp,
    ew.MinimumOp,
    ew.PowOp,
    ew.SignOp,
    ew.ReluOp,
)
FREE = (tix.ConstantOp, tix.FloorDivOp, tix.YieldOp, ew.NegOp)


@dataclass(frozen=True)
class Saved:
    """An expression of a sum that is computed ahead, per column, for the sum's indices `own`."""

    value: SSAValue
    own: tuple[SSAValue, ...]


@dataclass(frozen=True)
class Tile:
    """`rows` x `columns` elements along `p` and `q` at a time, in groups of such blocks."""

    p: SSAValue | None
    q: SSAValue
    rows: int
    columns: int
    group: int = 1
    """Blocks along p that one iteration computes, one after the other."""
    panels: dict[tix.SumOp, tuple[Saved, ...]] = field(
        default_factory=dict["tix.SumOp", tuple[Saved, ...]]
    )
    chunks: dict[tix.SumOp, tuple[SSAValue, int]] = field(
        default_factory=dict["tix.SumOp", "tuple[SSAValue, int]"]
    )
    """Where a panel cannot hold all of a sum: the index that is cut, and into what lengths."""


class Dependence:
    """The indices of definitions and sums that values depend on."""

    def __init__(self) -> None:
        self._of: dict[SSAValue, frozenset[SSAValue]] = {}

    def of(self, value: SSAValue) -> frozenset[SSAValue]:
        if value not in self._of:
            owner = value.owner
            if isinstance(owner, Operation):
                self._of[value] = self.operation(owner)
            else:
                self._of[value] = frozenset([value])
        return self._of[value]

    def operation(self, op: Operation) -> frozenset[SSAValue]:
        """Of an operation with all that is inside, less the indices it binds."""
        if isinstance(op, tix.DefineOp):
            return frozenset()
        found: set[SSAValue] = set()
        bound: set[SSAValue] = set()
        for inner in op.walk():
            for region in inner.regions:
                bound.update(region.block.args)
            for v in inner.operands:
                if not (isinstance(v.owner, Operation) and v.owner is not op and inside(v, op)):
                    found |= self.of(v)
        return frozenset(v for v in found - bound if isinstance(v, BlockArgument) and is_index(v))


def is_index(value: SSAValue) -> bool:
    return not isinstance(value.type, tix.TensorType)


def inside(value: SSAValue, op: Operation) -> bool:
    return isinstance(value.owner, Operation) and op.is_ancestor(value.owner)


def constant_extent(size: Affine) -> int | None:
    return None if size.terms else max(0, size.constant)


def constant_range(op: tix.SumOp, index: SSAValue) -> tuple[int, int] | None:
    """First value and length of an index whose bounds are numbers."""
    low: list[int] = []
    high: list[int] = []
    for constraint in op.constraints:
        c = constraint.form[index]
        rest = constraint.form - Affine.of(index) * c
        if c and (rest.terms or abs(c) != 1 or constraint.equality):
            return None
        if c:
            (low if c > 0 else high).append(rest.constant)
    if not low or not high:
        return None
    first = max(-x for x in low)
    return first, max(0, min(high) - first + 1)


def term_count(op: tix.SumOp) -> int | None:
    """The number of terms of a sum over a box of numbers."""
    ranges = [constant_range(op, v) for v in op.own]
    return None if None in ranges else prod(r[1] for r in ranges if r)


def is_short(op: tix.SumOp) -> bool:
    count = term_count(op)
    return count is not None and count <= SHORT_SUM


def blocked_sums(region: Region) -> list[tix.SumOp]:
    """The sums of a body, not of bodies inside, that are long enough for a block."""
    return [op for op in region.block.ops if isinstance(op, tix.SumOp) and not is_short(op)]


def rectangular(op: tix.SumOp, indices: Iterable[SSAValue], deps: Dependence) -> bool:
    """Do the bounds of the sum, and of those inside it, stay the same along these indices?"""
    indices = set(indices)
    inner = [s for s in op.walk() if isinstance(s, tix.SumOp)]
    return not any(deps.of(v) & indices for s in inner for v in s.outer)


def tileable_sums(region: Region, tile: Tile, deps: Dependence) -> list[tix.SumOp]:
    """The sums of a body that get accumulators: long, and with the same terms for a whole block."""
    axes = [v for v in (tile.p, tile.q) if v is not None]
    return [
        s
        for s in blocked_sums(region)
        if tile.q in deps.operation(s) and rectangular(s, axes, deps)
    ]


@cache
def _strides(type: tix.TensorType) -> tuple[int | None, ...]:
    strides: list[int | None] = [1]
    for size in reversed(type.shape[1:]):
        last, extent = strides[-1], constant_extent(size)
        strides.append(None if last is None or extent is None else last * extent)
    return tuple(strides[::-1][: type.rank])


def stride(read: tix.ReadOp, index: SSAValue, deps: Dependence) -> int | None:
    """The distance of elements read at neighbouring values of an index; None: far apart."""
    total = 0
    for form, step in zip(read.forms, _strides(type_of(read.tensor)), strict=True):
        if any(index in deps.of(v) and v is not index for v in form.indices):
            return None  # through a division
        if form[index]:
            if step is None:
                return None
            total += form[index] * step
    return total


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


def weight(op: Operation) -> int:
    return 1 if isinstance(op, (tix.ReadOp, tix.IfOp, *CHEAP)) else ELEMENTARY


def terms_of(op: tix.SumOp) -> int:
    """How many terms, about."""
    return prod((r[1] if (r := constant_range(op, v)) else UNKNOWN) for v in op.own)


def plain_cost(sums: Iterable[tix.SumOp], lanes: int, deps: Dependence) -> float:
    """Of the plain nest per element: the innermost sum runs along vectors where it can."""
    total = 0.0
    for op in sums:
        last = op.own[-1]
        own = frozenset(op.own)
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
        if isinstance(op, tix.ReadOp) and _is_slow(stride(op, self.tile.q, self.deps)):
            return FAR * self.tile.columns
        return 0 if isinstance(op, FREE) else weight(op) * self.tile.columns / self.lanes

    def _depends(self, op: Operation) -> tuple[bool, bool]:
        found = self.deps.operation(op)
        return self.tile.p in found, self.tile.q in found

    def _of_operation(self, op: Operation, sum_: tix.SumOp) -> float:
        along_p, along_q = self._depends(op)
        rows = self.tile.rows if along_p else 1
        if not self.deps.operation(op) & set(sum_.own):
            if not (along_p and along_q and isinstance(op, tix.ReadOp)):
                return 0  # it stays in registers
            slow = _is_slow(stride(op, self.tile.q, self.deps))
            return rows * self.tile.columns * (1 if slow else 0.5 / self.lanes)
        if not along_q:
            return rows * weight(op)
        vectors = self.tile.columns / self.lanes
        if isinstance(op, tix.ReadOp):
            step = stride(op, self.tile.q, self.deps)
            slow = _is_slow(step)
            vectors = self.tile.columns if slow else vectors * max(LOAD, abs(step or 0))
        return rows * vectors * weight(op)


def tree_of(value: SSAValue, region: Region) -> Iterator[Operation]:
    """The operations of a body that compute a value."""
    owner = value.owner
    if isinstance(owner, Operation) and owner.parent is region.block:
        yield from owner.walk()
        for v in owner.operands:
            yield from tree_of(v, region)


# --- panels ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SavedValues:
    """What a sum computes ahead: once for a block, for all rows of a strip, for one term."""

    block: list[SSAValue]
    panels: list[Saved]
    term: list[SSAValue]


def saved_values(op: tix.SumOp, tile: Tile, deps: Dependence) -> SavedValues:
    """What depends on q and is better computed once.

    Panels hold what is the same for all rows and lies apart along q, or apart along the sum.
    What is the same for all terms is read once per block if it lies apart or is expensive, where
    the sum certainly has a term; and what is the same for all rows once per term if expensive.
    """
    found = SavedValues([], [], [])
    own = frozenset(op.own)
    for value in _largest(op, lambda v: _same_for_terms(v, tile, own, deps)):
        if _is_dear(value, op, tile, deps) and (term_count(op) or 0) > 0:
            found.block.append(value)
    for value in _largest(op, lambda v: _same_for_rows(v, tile, deps)):
        ops = list(tree_of(value, op.body))
        if value in found.block or any(isinstance(o, tix.SumOp) and not is_short(o) for o in ops):
            continue
        used = tuple(v for v in op.own if v in deps.of(value))
        reads = [o for o in ops if isinstance(o, tix.ReadOp)]
        if used and any(_lies_apart(read, tile.q, own, deps) for read in reads):
            found.panels.append(Saved(value, used))
        elif tile.p is not None and _is_dear(value, op, tile, deps):
            found.term.append(value)
    return found


def _same_for_terms(
    value: SSAValue, tile: Tile, own: frozenset[SSAValue], deps: Dependence
) -> bool:
    return tile.q in deps.of(value) and not deps.of(value) & own


def _same_for_rows(value: SSAValue, tile: Tile, deps: Dependence) -> bool:
    return tile.q in deps.of(value) and tile.p not in deps.of(value)


def _is_dear(value: SSAValue, op: tix.SumOp, tile: Tile, deps: Dependence) -> bool:
    """Does it take an elementary function, a sum, or reads that lie apart along q?"""
    ops = [o for o in tree_of(value, op.body) if not isinstance(o, FREE)]
    return any(
        weight(o) > 1
        or isinstance(o, tix.SumOp)
        or (isinstance(o, tix.ReadOp) and _is_slow(stride(o, tile.q, deps)))
        for o in ops
    )


def _is_slow(step: int | None) -> bool:
    """Do vectors of elements at this distance take more than a few instructions?"""
    return step is None or abs(step) > 2


def _largest(op: tix.SumOp, fits: Callable[[SSAValue], bool]) -> list[SSAValue]:
    """The largest values of the sum's body that fit."""
    found: dict[SSAValue, None] = {}

    def visit(value: SSAValue) -> None:
        owner = value.owner
        if not isinstance(owner, Operation) or owner.parent is not op.body.block:
            return
        if is_real(value) and fits(value):
            found[value] = None
        elif not isinstance(owner, tix.IfOp):
            for v in owner.operands:
                visit(v)

    visit(tix.yielded(op.body))
    return list(found)


def is_real(value: SSAValue) -> bool:
    return isinstance(value.type, tix.RealType)


def _lies_apart(read: tix.ReadOp, q: SSAValue, own: frozenset[SSAValue], deps: Dependence) -> bool:
    """Would a block read many cache lines or pages for few elements?"""
    if _is_slow(stride(read, q, deps)):
        return True
    return any(
        (along := stride(read, v, deps)) is None or abs(along) >= VECTOR_BYTES * 8
        for v in own & deps.operation(read)
    )


def chunk_of(op: tix.SumOp, columns: int) -> tuple[SSAValue, int] | None:
    """The index of a sum to cut so that a panel holds what is inside; None where all fits.

    All indices inside it have numbers for bounds. It is the outermost one for which that fits.
    """
    limit = PANEL // columns
    count = term_count(op)
    if count is not None and count <= limit:
        return None
    inside = 1
    best = op.own[-1], limit
    for index in reversed(op.own):
        best = index, max(1, limit // max(inside, 1))
        found = constant_range(op, index)
        if found is None or inside * found[1] > limit:
            break
        inside *= found[1]
    return best


# --- the choice -----------------------------------------------------------------------------------


def choose_tiles(op: tix.DefineOp) -> list[Tile]:
    """The cheapest tile of a definition, or none where the plain nest is as good.

    Where sizes decide at run time whether there is room for it, others follow that need less.
    """
    found = sorted(_good_tiles(op), key=lambda pair: pair[0])
    if not found:
        return []
    best = found[0][1]
    tiles = [best]
    if not _known(op, best.q):
        tiles += [t for _, t in found if t.q is not best.q][:1]
    if best.p is not None and not _known(op, best.p):
        tiles += [t for _, t in found if t.q is best.q and t.p is None][:1]
    return tiles


def _good_tiles(op: tix.DefineOp) -> Iterator[tuple[float, Tile]]:
    """The tiles that are clearly cheaper than the plain nest, with their costs."""
    deps = Dependence()
    if not blocked_sums(op.body):
        return
    lanes = VECTOR_BYTES // (4 if isinstance(op.type.element, Float32Type) else 8)
    for tile in _candidates(op, lanes):
        sums = tileable_sums(op.body, tile, deps)
        if not sums:
            continue
        full = _with_panels(op, tile, sums, deps)
        counter = Counter(full, lanes, deps, full.group)
        cost = (counter.cost(sums) + _store_cost(op, tile.q, lanes)) * _waste(op, tile)
        if cost < CLEARLY * (plain_cost(sums, lanes, deps) + 1 / lanes):
            yield cost, full


def _candidates(op: tix.DefineOp, lanes: int) -> Iterator[Tile]:
    """Every pair of indices and every single one, the last ones first: results lie along these."""
    for q in reversed(op.indices):
        columns = min(WIDEST, _power_of_two_below(_extent(op, q)))
        while columns >= max(lanes // 2, WIDEST // 4):
            most = min(MOST_ROWS, REGISTERS * lanes // columns)
            for p in reversed(op.indices):
                if p is not q and _extent(op, p) > 1:
                    yield Tile(p, q, _rows(_extent(op, p), most, _known(op, p)), columns)
            yield Tile(None, q, 1, columns)
            columns //= 2
        if _extent(op, q) >= LATENCY * lanes > WIDEST and not _is_heavy(op):
            yield Tile(None, q, 1, LATENCY * lanes)


def _is_heavy(op: tix.DefineOp) -> bool:
    """Do elementary functions need the registers?"""
    return any(weight(o) > 1 for s in blocked_sums(op.body) for o, _ in operations(s.body))


def _rows(extent: int, most: int, known: bool) -> int:
    """How many rows: as many as there are registers for, unless fewer leave less to do twice."""
    if not known:
        return most
    return min(range(min(extent, most), 0, -1), key=lambda r: -(-extent // r) * (r + 1.5))


def _waste(op: tix.DefineOp, tile: Tile) -> float:
    """How much more is computed than there are elements; shorter loops count as slower, too."""
    waste = 1.0 if tile.columns >= WIDEST else 1.3
    for axis, width in ((tile.p, tile.rows), (tile.q, tile.columns)):
        if axis is not None:
            extent = _extent(op, axis)
            waste *= -(-extent // width) * width / extent
    return waste


def _known(op: tix.DefineOp, index: SSAValue) -> bool:
    return not op.type.shape[op.indices.index(index)].terms


def _extent(op: tix.DefineOp, index: SSAValue | None) -> int:
    if index is None:
        return 1
    extent = constant_extent(op.type.shape[op.indices.index(index)])
    return UNKNOWN if extent is None else extent


def _power_of_two_below(n: int) -> int:
    return 1 << (n.bit_length() - 1) if n else 0


def _store_cost(op: tix.DefineOp, q: SSAValue, lanes: int) -> float:
    return 1 / lanes if q is op.indices[-1] else 1.0


def _with_panels(op: tix.DefineOp, tile: Tile, sums: list[tix.SumOp], deps: Dependence) -> Tile:
    """The tile with its panels, chunks and groups."""
    if tile.p is None:
        return tile
    blocks = -(-_extent(op, tile.p) // tile.rows)
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
