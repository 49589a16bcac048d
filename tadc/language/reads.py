"""The element reads of a definition, each with the reductions and conditions that it stands under.

A read happens at the integer points of a system of constraints: the ranges of the indices around
it, the conditions on the way to it, and the floor divisions that its indices use.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from xdsl.ir import Block, Operation, Region, SSAValue

from tadc.dialects.tix import (
    Affine,
    AtOp,
    Constraint,
    FloorDivOp,
    IfOp,
    ReadOp,
    ReductionOp,
    Variable,
    WhereOp,
    between,
    yielded,
)
from tadc.passes.index_sets.disjuncts import Disjunct, complement
from tadc.passes.index_sets.paths import branches_around, reductions_around
from tadc.passes.index_sets.sets import local_constraints, local_indices
from tadc.passes.index_sets.space import Space, feasible
from tadc.passes.polyhedral.loop_nests import integer_point

Blocks = tuple[Block, ...]
"""The blocks of reductions and conditions that are entered on the way to a place, outermost first.
A path of the index sets starts at a definition; while a definition is read, there is none yet."""


@dataclass(frozen=True)
class Access:
    """One read and the blocks around it."""

    read: ReadOp | AtOp
    blocks: Blocks

    @property
    def name(self) -> str | None:
        return self.read.tensor.name_hint

    @property
    def reductions(self) -> list[ReductionOp]:
        """The reductions around the read."""
        return reductions_around(self.blocks)

    @property
    def branches(self) -> list[tuple[IfOp, bool]]:
        """The conditions on the way to the read, and whether it is in their first body."""
        return branches_around(self.blocks)


def used(region: Region) -> Iterator[tuple[Operation, Blocks]]:
    """The operations that the value of `region` needs, in the order of the text that says so.

    An operation that several paths use comes once for each of them, as it does in the text.
    """
    seen: set[tuple[Operation, Blocks]] = set()
    stack: list[tuple[SSAValue, Blocks]] = [(yielded(region), ())]
    while stack:
        value, around = stack.pop()
        op = value.owner
        if isinstance(op, Block) or (op, around) in seen:
            continue
        seen.add((op, around))
        yield op, around
        if isinstance(op, WhereOp):
            values = (yielded(op.then), op.lhs, op.rhs, yielded(op.otherwise))
            stack += [(v, around) for v in reversed(values)]
        elif op.regions:
            stack += [(yielded(r), (*around, r.block)) for r in reversed(op.regions)]
        elif not isinstance(op, ReadOp | AtOp):
            stack += [(operand, around) for operand in reversed(op.operands)]
        stack += [(op.result, _entered(op, around)) for op in _elements_in_indices(op)]


def _elements_in_indices(op: Operation) -> list[AtOp]:
    """The elements of index tensors that the indices of an operation are computed from."""
    pending, found = list(op.operands), list[AtOp]()
    while pending:
        owner = pending.pop().owner
        if isinstance(owner, AtOp):
            found.append(owner)
        elif isinstance(owner, FloorDivOp):
            pending += owner.operands
    return found


def _entered(op: Operation, around: Blocks) -> Blocks:
    """The blocks that are entered on the way to an operation, which stands in or around these."""
    return around[: around.index(op.parent) + 1] if op.parent in around else ()


def computed(region: Region, around: Blocks = ()) -> Iterator[tuple[Operation, Blocks]]:
    """All operations of `region` where they stand, as an evaluation meets them."""
    for op in region.block.ops:
        yield op, around
        for inner in op.regions:
            within = around if isinstance(op, WhereOp) else (*around, inner.block)
            yield from computed(inner, within)


def reads(operations: Iterable[tuple[Operation, Blocks]]) -> list[Access]:
    """The reads among these operations; clamped ones have an element everywhere."""
    return [
        Access(op, around)
        for op, around in operations
        if isinstance(op, ReadOp) or (isinstance(op, AtOp) and not op.is_clamped)
    ]


class Ranges:
    """Known ranges of indices: from 0 to the `sizes` of some, and the constraints of reductions."""

    def __init__(
        self,
        sizes: Mapping[SSAValue, Affine],
        resolve: Callable[[Affine], Affine],
        open_ranges: Mapping[ReductionOp, Sequence[Constraint]] | None = None,
    ):
        self.sizes = dict(sizes)
        self.resolve = resolve
        self._open_ranges = open_ranges or {}
        self._known: dict[ReductionOp, Sequence[Constraint]] = {}
        self._disjuncts: dict[tuple[tuple[IfOp, bool], ...], list[Disjunct]] = {(): [[]]}

    def constraints(self, op: ReductionOp) -> Sequence[Constraint]:
        """The index set of a reduction, as far as its ranges are given."""
        if op not in self._known:
            known = self._open_ranges.get(op)
            self._known[op] = op.constraints if known is None else known
        return self._known[op]

    def mentioned(self, access: Access) -> set[SSAValue]:
        """The indices that tell whether, and where, an access happens."""
        forms = list(access.read.forms)
        forms += [c.form for op in access.reductions for c in self.constraints(op)]
        forms += [c.form for op, _ in access.branches for p in op.condition for c in p]
        forms += [form for op in local_indices(forms) for form in op.forms]
        return {v for form in forms for v in form.indices}

    def systems(self, access: Access, *about: Affine) -> Iterator[list[Constraint]]:
        """Systems whose points together are those at which a read happens.

        Indices that only `about` uses, by floor divisions, are part of them.
        """
        common = [c for op in access.reductions for c in self.constraints(op)]
        # where one of these ranges is empty, nothing is read
        common += [c for v, size in self.sizes.items() for c in between(0, Affine.of(v), size)]
        for disjunct in self._where(tuple(access.branches)):
            system = self._resolved([*common, *disjunct])
            yield system + self._resolved(local_constraints([*about, *(c.form for c in system)]))

    def _resolved(self, system: Iterable[Constraint]) -> list[Constraint]:
        return [Constraint(self.resolve(c.form), c.equality) for c in system]

    def _where(self, branches: tuple[tuple[IfOp, bool], ...]) -> list[Disjunct]:
        """The set on which all of these branches are taken; kept for all prefixes of `branches`."""
        known = next(n for n in range(len(branches), -1, -1) if branches[:n] in self._disjuncts)
        for n in range(known, len(branches)):
            op, then = branches[n]
            choices = op.condition if then else complement(op.condition)
            both = ([*p, *c] for p in self._disjuncts[branches[:n]] for c in choices)
            self._disjuncts[branches[: n + 1]] = [p for p in both if feasible(p)]
        return self._disjuncts[branches]


def component(system: Sequence[Constraint], start: Affine) -> list[Constraint]:
    """The constraints that are connected to the indices of `start`."""
    reached = set(start.indices)
    rest = [(c, set(c.form.indices)) for c in system]
    found: list[Constraint] = []
    while near := [(c, indices) for c, indices in rest if indices & reached]:
        rest = [(c, indices) for c, indices in rest if not indices & reached]
        found += [c for c, _ in near]
        reached = reached.union(*(indices for _, indices in near))
    return found


def some_point(system: Sequence[Constraint]) -> dict[Variable, int] | None:
    """An integer point of the system; None where there is none, or a size in it is not known."""
    space = Space([], system)
    if any(isinstance(v, str) for v in space.variables):
        return None
    point = integer_point(space.rows(system), len(space.variables))
    return None if point is None else dict(zip(space.variables, point, strict=True))
