"""`order-factors`: what is the same along rows or columns of a block is multiplied once for these.

    m[i, r] = sum[j, k](x[i, j, k] * b[j, r] * c[k, r])        blocks of rows i and columns r

becomes

    m[i, r] = sum[j, k](x[i, j, k] * (b[j, r] * c[k, r]))

A block of 8 rows and 2 vectors takes 16 products of `x * b` for a term, and 2 of `b * c`. The
product with the other factors costs nothing in either order: it is one operation with the sum.

Factors are sorted by the axes of a block that they differ along. Those of columns are multiplied
with each other, and with those that are the same for all elements; those of rows with each other;
then both; then what differs along rows and columns. Among equals, factors that the inner loops do
not change come first.

Each pair of axes may ask for another order. That of the cheapest blocks is taken
(`passes/scheduling/costs/tile_cost.py`), or the one that stands there, if others save nothing.
Products that several operations use stay as they are, and so do those that must round identically,
and those inside extrema. Only the order changes in which factors are multiplied.

On entry loops are shaped (`shape-loops`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from math import inf

from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import Rewriter

from tadc.dialects import tix
from tadc.dialects.tix import elementwise as ew
from tadc.passes.algebra.shift_sums import in_extremum
from tadc.passes.analysis.index_uses import IndexUses
from tadc.passes.analysis.properties import precisions_set, sums_bounded
from tadc.passes.analysis.rounding import must_round_identically
from tadc.passes.rewriting.program_pass import LocalPass
from tadc.passes.rewriting.written_sizes import parse_sizes
from tadc.passes.scheduling.costs.price_cache import PricedTile
from tadc.passes.scheduling.costs.tile_cost import Sizes
from tadc.passes.scheduling.tiles.sum_lengths import blocked_sums
from tadc.passes.scheduling.tiles.tile import Tile
from tadc.passes.scheduling.tiles.tile_choice import priced_for

FEWEST_FACTORS = 3
"""Factors of the shortest products whose order matters."""

Tree = SSAValue | tuple["Tree", "Tree"]
"""A factor, or the product of two trees."""


@dataclass(frozen=True)
class OrderFactorsPass(LocalPass):
    """`order-factors{tile=true sizes="N=512"}`: for code in tiles, made best for these sizes.

    The result is right for all other sizes too. Without tiles nothing changes.
    """

    name = "order-factors"
    requires = (sums_bounded, precisions_set)
    leaves = (sums_bounded,)
    tile: bool = False
    sizes: tuple[str, ...] = ()

    def rewrite(self, program: tix.ProgramOp) -> tix.ProgramOp:
        example = parse_sizes(self.sizes)
        return order_factors(program, example) if self.tile else program


def order_factors(program: tix.ProgramOp, example: Sizes) -> tix.ProgramOp:
    """The program, changed in place, with factors in the order that is best for its blocks."""
    fixed = must_round_identically(program)
    for op in program.definitions:
        products = [
            _Product(root)
            for s in blocked_sums(op.body)
            for root in list(s.walk())
            if isinstance(root, ew.MulOp) and _is_whole(root)
            if root not in fixed and not in_extremum(root)
        ]
        long = [product for product in products if len(product.factors) >= FEWEST_FACTORS]
        if long:
            _order(long, partial(priced_for, op, example, program.registers))
    return program


def _is_whole(op: ew.MulOp) -> bool:
    """True if a product is no factor of another one."""
    return not any(isinstance(use.operation, ew.MulOp) for use in op.result.uses)


class _Product:
    """A product in a sum, which is written in one order after the other."""

    def __init__(self, root: ew.MulOp):
        self._root = root
        self.tree = _tree(root.result, root)
        self.factors = [*_leaves(self.tree)]
        self.loops = _indices_around(root)
        """The indices of the reductions around it, the outermost ones first."""

    def write(self, tree: Tree) -> None:
        """Multiply in the order of a tree of the same factors."""
        if tree == self.tree:
            return
        old = [*_inner(self._root)]
        new: list[ew.MulOp] = []
        _multiply(tree, new)
        for op in new:
            op.location = self._root.location
        Rewriter.replace_op(self._root, new)
        for op in old:
            Rewriter.erase_op(op)
        self._root, self.tree = new[-1], tree


def _tree(value: SSAValue, root: ew.MulOp) -> Tree:
    """A value as a tree of factors, taken apart where it is used in this product alone."""
    op = value.owner
    if isinstance(op, ew.MulOp) and (op is root or _is_part(op, root)):
        return _tree(op.lhs, root), _tree(op.rhs, root)
    return value


def _is_part(op: ew.MulOp, root: ew.MulOp) -> bool:
    return op.parent is root.parent and op.result.has_one_use()


def _leaves(tree: Tree) -> Iterator[SSAValue]:
    if isinstance(tree, SSAValue):
        yield tree
    else:
        yield from (leaf for part in tree for leaf in _leaves(part))


def _inner(root: ew.MulOp) -> Iterator[ew.MulOp]:
    """The products that a product is made of, each before its own parts."""
    for v in root.operands:
        if isinstance(v.owner, ew.MulOp) and _is_part(v.owner, root):
            yield v.owner
            yield from _inner(v.owner)


def _multiply(tree: Tree, made: list[ew.MulOp]) -> SSAValue:
    """The value of a tree; appends the operations that compute it."""
    if isinstance(tree, SSAValue):
        return tree
    lhs, rhs = (_multiply(part, made) for part in tree)
    made.append(ew.MulOp(lhs, rhs))
    return made[-1].result


def _indices_around(op: Operation) -> list[SSAValue]:
    around = op.parent_op()
    if around is None or isinstance(around, tix.DefineOp):
        return []
    own = around.indices if isinstance(around, tix.ReductionOp) else ()
    return [*_indices_around(around), *own]


# --- the choice of an order -----------------------------------------------------------------------


def _order(products: Sequence[_Product], price: Callable[[], list[PricedTile]]) -> None:
    """Write products in the order that makes the cheapest blocks."""
    uses = IndexUses()
    standing = tuple(product.tree for product in products)
    tiles = price()
    ways = dict.fromkeys(tuple(_sorted(p, t.tile, uses) for p in products) for t in tiles)
    ways.pop(standing, None)
    best, least = standing, _cost(tiles)
    for way in ways:
        _write(products, way)
        cost = _cost(price())
        if cost < least:
            best, least = way, cost
    _write(products, best)


def _write(products: Sequence[_Product], trees: Sequence[Tree]) -> None:
    for product, tree in zip(products, trees, strict=True):
        product.write(tree)


def _cost(tiles: Sequence[PricedTile]) -> float:
    """The cost of the cheapest tile that is worth it."""
    return min((priced.cost for priced in tiles if priced.is_good), default=inf)


def _sorted(product: _Product, tile: Tile, uses: IndexUses) -> Tree:
    """A product in the best order for blocks of these rows and columns."""
    groups: dict[tuple[bool, bool], list[SSAValue]] = {}
    axes = {index for index, _ in tile.axes}
    for v in sorted(product.factors, key=partial(_innermost, product.loops, uses)):
        used = uses.of(v)
        groups.setdefault((bool(axes & used), tile.column_index in used), []).append(v)
    same, rows, columns, both = (
        groups.get(key, []) for key in ((False, False), (True, False), (False, True), (True, True))
    )
    parts = [_chained([*same, *columns]), _chained(rows)] if columns else [_chained([*same, *rows])]
    tree = _chained([part for part in [*parts, *both] if part is not None])
    assert tree is not None
    return tree


def _chained(factors: Sequence[Tree]) -> Tree | None:
    """The product of factors from left to right; None without factors."""
    return reduce(lambda product, factor: (product, factor), factors) if factors else None


def _innermost(loops: Sequence[SSAValue], uses: IndexUses, value: SSAValue) -> int:
    """The depth of the innermost loop that changes a value; -1 where none does."""
    return max((n for n, index in enumerate(loops) if index in uses.of(value)), default=-1)
