"""Values that several bodies of choices compute, and where one computation would serve all.

    if A { f(exp(x)) }                 exp(x) moves in front of the first choice,
    if B { g(exp(x)) }                 under the condition `A or B`

Only functions and reductions move: a condition costs as much as some operations. One that nobody
else needs moves along with the value that it is computed for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, combinations
from typing import TypeAlias

from xdsl.ir import Block, Operation, Region

from tadc.dialects import tix
from tadc.dialects.tix import Affine, Constraint
from tadc.passes.analysis.costs import COST_OF_FUNCTION, FREE, weight
from tadc.passes.analysis.value_numbers import ValueNumbers
from tadc.passes.index_sets.context import stays_inside
from tadc.passes.index_sets.disjuncts import Disjunct, complement, negate, tidied
from tadc.passes.index_sets.paths import Path
from tadc.passes.index_sets.sets import quotient_constraints
from tadc.passes.index_sets.space import feasible

MOST_CONVEX_SETS = 3
"""The number of convex sets up to which a condition is asked for a value that moves."""

MOST_BODIES = 16
"""The number of bodies up to which one condition for all of them is looked for."""


LEAST_LARGE_SIZE = 8
"""The size from which the last row or column of a tensor is a small part of it."""


@dataclass(frozen=True)
class Shared:
    """A value that several bodies compute, and the condition under which one of them does."""

    places: Sequence[Operation]
    """The operations that compute it, the first one in each body."""
    condition: Sequence[Disjunct]


Plan: TypeAlias = Mapping[Operation, Sequence[Shared]]
"""The values that move, by the operation that they move in front of, operands first."""


def sharing_plan(definition: tix.DefineOp, numbers: ValueNumbers) -> Plan:
    """The values of a definition that move in front of the choices whose bodies compute them."""
    if not any(isinstance(op, tix.IfOp) for op in definition.walk()):
        return {}
    groups: dict[tuple[int, Block], list[Operation]] = {}
    for op in _operations(definition.body):
        groups.setdefault((numbers[op.results[0]], _outside_choices(op)), []).append(op)
    planner = _Planner(definition)
    for group in reversed(groups.values()):  # users before their operands
        planner.place(group)
    return {op: shared[::-1] for op, shared in planner.plan.items()}


def _operations(region: Region) -> Iterator[Operation]:
    """The operations of a body that have real values, those in their bodies before them."""
    for op in region.block.ops:
        for inner in op.regions:
            yield from _operations(inner)
        if not isinstance(op, tix.YieldOp | tix.LocalIndexOp):
            yield op


def _outside_choices(op: Operation) -> Block:
    """The block around all choices by indices in which an operation stands."""
    return _chain(op)[0]


def _chain(op: Operation) -> list[Block]:
    """The blocks that an operation stands in, from outside all choices by indices inwards."""
    blocks = [op.parent]
    while blocks[-1] is not None and isinstance(choice := blocks[-1].parent_op(), tix.IfOp):
        blocks.append(choice.parent)
    return [block for block in reversed(blocks) if block is not None]


@dataclass
class _Planner:
    definition: tix.DefineOp
    plan: dict[Operation, list[Shared]] = field(default_factory=dict[Operation, list[Shared]])
    gone: set[Operation] = field(default_factory=set[Operation])
    """Operations that are dead once the planned values have moved."""

    def place(self, group: Sequence[Operation]) -> None:
        """Plan for operations of equal values, in the order of the text."""
        unneeded = [op for op in group if self._is_unneeded(op)]
        first = _first(group)
        dear = not isinstance(group[0], FREE) and weight(group[0]) >= COST_OF_FUNCTION
        if not 2 <= len(first) <= MOST_BODIES or not dear or len(unneeded) == len(group):
            self.gone.update(unneeded)
            return
        common, chains = _split([_chain(op) for op in first])
        paths = [Path(self.definition, tuple(blocks)) for blocks in chains]
        parts = [path.disjuncts({}) for path in paths]
        around = Path.to(first[0], self.definition).ranges
        condition = union(list(chain(*parts)), around, _tree(first[0], chains[0]))
        if len(condition) == 1 or (len(condition) <= MOST_CONVEX_SETS and _overlap(parts, around)):
            shared = Shared(first, condition)
            self.plan.setdefault(_ancestor_in(common, first[0]), []).append(shared)
            self.gone.update(group)

    def _is_unneeded(self, op: Operation) -> bool:
        parent = op.parent_op()
        return parent in self.gone or all(u.operation in self.gone for u in op.results[0].uses)


def _first(ops: Sequence[Operation]) -> list[Operation]:
    """The operations, in the order of the text, that are in the scope of no earlier one."""
    found: list[Operation] = []
    for op in ops:
        blocks = _chain(op)
        if not any(earlier.parent in blocks for earlier in found):
            found.append(op)
    return found


def _split(chains: Sequence[Sequence[Block]]) -> tuple[Block, list[Sequence[Block]]]:
    """The innermost block that all chains hold, and what is left of each chain inside it."""
    length = next(
        (n for n, blocks in enumerate(zip(*chains, strict=False)) if len(set(blocks)) > 1),
        min(map(len, chains)),
    )
    return chains[0][length - 1], [blocks[length:] for blocks in chains]


def _ancestor_in(block: Block, op: Operation) -> Operation:
    """The operation of `block` that is `op` or holds it."""
    while op.parent is not block:
        parent = op.parent_op()
        assert parent is not None
        op = parent
    return op


def _tree(op: Operation, blocks: Sequence[Block]) -> list[Operation]:
    """The operations that compute a value, as far as they stand in `blocks`."""
    pending, found = [op], dict[Operation, None]()
    while pending:
        current = pending.pop()
        if current not in found and (current is op or current.parent in blocks):
            found[current] = None
            pending += [v.owner for v in current.operands if isinstance(v.owner, Operation)]
    return list(found)


def union(
    disjuncts: Sequence[Sequence[Constraint]],
    context: Sequence[Constraint],
    tree: Sequence[Operation],
) -> Sequence[Disjunct]:
    """The points of `context` in one of the disjuncts; `tree` is computed there.

    One convex set where that has few points more, and all elements that `tree` reads are there. The
    constraints that hold on all disjuncts are such a set, if no point of it is outside all of them
    as long as sizes are not small.
    """
    disjuncts = [tidied([*disjunct]) for disjunct in disjuncts]
    all_of_them = dict.fromkeys(c for disjunct in disjuncts for c in disjunct)
    hull = tidied([c for c in all_of_them if all(_holds(c, d, context) for d in disjuncts)])
    around = [*context, *hull]
    sizes = dict.fromkeys(s for c in around for s in c.form.sizes)
    large = [Constraint(Affine.of(size) - LEAST_LARGE_SIZE) for size in sizes]
    quotients = [
        q for op in tree if isinstance(op, tix.FloorDivOp) for q in quotient_constraints(op)
    ]
    if complement(disjuncts, [*around, *large]) or not all(
        stays_inside(op, [*around, *quotients]) for op in tree
    ):
        return disjuncts
    return [hull]


def _overlap(parts: Sequence[Sequence[Disjunct]], context: Sequence[Constraint]) -> bool:
    """True if a point may be in two parts, so that a value would be computed twice there."""
    pairs = ((a, b) for one, other in combinations(parts, 2) for a in one for b in other)
    return any(feasible([*context, *a, *b]) for a, b in pairs)


def _holds(c: Constraint, disjunct: Disjunct, context: Sequence[Constraint]) -> bool:
    """True if a constraint holds wherever all of a disjunct do."""
    if c in disjunct or tidied([c, *disjunct]) == disjunct:
        return True
    return not any(feasible([*context, *disjunct, outside]) for outside in negate(c))
