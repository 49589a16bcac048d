"""The element reads of a definition, each with the reductions and conditions that it stands under.

A read happens at the integer points of a system of constraints: the ranges of the indices around
it, the conditions on the way to it, and the floor divisions that its indices use.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from xdsl.ir import Block, Operation, Region, SSAValue

from dialects.tix import (
    Affine,
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
from passes.polyhedral.diophantine import solve
from passes.polyhedral.inequalities import rows_feasible, tidy

Condition = list[list[Constraint]]
"""A condition: it holds where all constraints of at least one disjunct hold."""

Row = tuple[int, ...]


@dataclass(frozen=True)
class Path:
    """What stands around a place: reductions, and branches of conditions (True for the first)."""

    reductions: tuple[ReductionOp, ...] = ()
    branches: tuple[tuple[IfOp, bool], ...] = ()

    def within(self, op: ReductionOp | tuple[IfOp, bool]) -> Path:
        if isinstance(op, ReductionOp):
            return Path((*self.reductions, op), self.branches)
        return Path(self.reductions, (*self.branches, op))


@dataclass(frozen=True)
class Access:
    """One read and where it stands."""

    read: ReadOp
    path: Path

    @property
    def name(self) -> str | None:
        return self.read.tensor.name_hint


def used(region: Region) -> Iterator[tuple[Operation, Path]]:
    """The operations that the value of `region` needs, in the order of the text that says so.

    An operation that several paths use comes once for each of them, as it does in the text.
    """
    seen: set[tuple[Operation, Path]] = set()
    stack = [(yielded(region), Path())]
    while stack:
        value, path = stack.pop()
        op = value.owner
        if isinstance(op, Block) or (op, path) in seen:
            continue
        seen.add((op, path))
        yield op, path
        if isinstance(op, ReductionOp):
            stack.append((yielded(op.body), path.within(op)))
        elif isinstance(op, IfOp):
            stack.append((yielded(op.otherwise), path.within((op, False))))
            stack.append((yielded(op.then), path.within((op, True))))
        elif isinstance(op, WhereOp):
            values = (yielded(op.then), op.lhs, op.rhs, yielded(op.otherwise))
            stack += [(v, path) for v in reversed(values)]
        elif not isinstance(op, ReadOp):
            stack += [(operand, path) for operand in reversed(op.operands)]


def computed(region: Region, path: Path = Path()) -> Iterator[tuple[Operation, Path]]:
    """All operations of `region` where they stand, as an evaluation meets them."""
    for op in region.block.ops:
        yield op, path
        if isinstance(op, ReductionOp):
            yield from computed(op.body, path.within(op))
        elif isinstance(op, IfOp):
            yield from computed(op.then, path.within((op, True)))
            yield from computed(op.otherwise, path.within((op, False)))
        elif isinstance(op, WhereOp):
            yield from computed(op.then, path)
            yield from computed(op.otherwise, path)


def reads(operations: Iterable[tuple[Operation, Path]]) -> list[Access]:
    return [Access(op, path) for op, path in operations if isinstance(op, ReadOp)]


class Ranges:
    """What is known of indices: ranges from 0 of some, and the constraints of reductions."""

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
        self._regions: dict[tuple[tuple[IfOp, bool], ...], Condition] = {(): [[]]}

    def constraints(self, op: ReductionOp) -> Sequence[Constraint]:
        if op not in self._known:
            known = self._open_ranges.get(op)
            self._known[op] = op.constraints if known is None else known
        return self._known[op]

    def mentioned(self, access: Access) -> set[SSAValue]:
        """The indices that tell whether, and where, an access happens."""
        path = access.path
        forms = list(access.read.forms)
        forms += [c.form for op in path.reductions for c in self.constraints(op)]
        forms += [c.form for op, _ in path.branches for disjunct in op.condition for c in disjunct]
        pending = [v for form in forms for v in form.indices]
        found: set[SSAValue] = set()
        while pending:
            index = pending.pop()
            if index not in found:
                found.add(index)
                pending += index.owner.form.indices if isinstance(index.owner, FloorDivOp) else ()
        return found

    def systems(self, path: Path, *about: Affine) -> Iterator[list[Constraint]]:
        """Systems whose points together are those where a place is reached.

        Indices that only `about` uses, by floor divisions, are part of them.
        """
        common = [c for op in path.reductions for c in self.constraints(op)]
        for region in self._where(path.branches):
            yield self._closed(self._resolved([*common, *region]), about)

    def _resolved(self, system: Iterable[Constraint]) -> list[Constraint]:
        return [Constraint(self.resolve(c.form), c.equality) for c in system]

    def _where(self, branches: tuple[tuple[IfOp, bool], ...]) -> Condition:
        """Where all of these branches are taken; those that are the first ones of others too."""
        known = next(n for n in range(len(branches), -1, -1) if branches[:n] in self._regions)
        for n in range(known, len(branches)):
            op, then = branches[n]
            choices = op.condition if then else negation(op.condition)
            both = [[*r, *c] for r in self._regions[branches[:n]] for c in choices]
            self._regions[branches[: n + 1]] = [region for region in both if _feasible(region)]
        return self._regions[branches]

    def _closed(self, system: list[Constraint], about: Iterable[Affine]) -> list[Constraint]:
        """With the ranges and divisions of all indices of the system."""
        pending = list(self.sizes)  # where one of them is empty, nothing is reached
        pending += [v for form in [*about, *(c.form for c in system)] for v in form.indices]
        seen: set[SSAValue] = set()
        while pending:
            index = pending.pop()
            if index in seen:
                continue
            seen.add(index)
            if index in self.sizes:
                system += between(0, Affine.of(index), self.resolve(self.sizes[index]))
            elif isinstance(index.owner, FloorDivOp):
                system += self._resolved(division(index.owner))
                pending += index.owner.form.indices
        return system


def division(op: FloorDivOp) -> list[Constraint]:
    """`0 <= form - divisor * q < divisor`."""
    divisor = op.divisor.data
    return between(0, op.form - Affine.of(op.result) * divisor, divisor)


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


def negation(disjuncts: Condition) -> Condition:
    """Where none of `disjuncts` holds, as disjoint regions."""
    regions: Condition = [[]]
    for disjunct in disjuncts:
        regions = [rest for region in regions for rest in _difference(region, disjunct)]
    return regions


def _difference(region: list[Constraint], disjunct: list[Constraint]) -> Iterator[list[Constraint]]:
    """`region` without `disjunct`: cut along one constraint of the disjunct after the other."""
    if not _feasible([*region, *disjunct]):
        yield region
        return
    for constraint in disjunct:
        for opposite in _opposites(constraint):
            if _feasible(outside := [*region, opposite]):
                yield outside
        region = [*region, constraint]


def _feasible(system: list[Constraint]) -> bool:
    return rows_feasible(rows(system, keys_of(system)))


def possible(system: Sequence[Constraint]) -> bool:
    """Whether the system may have integer points; False where it surely has none.

    Sizes are 0 or more, and the equations among the constraints must have an integer solution.
    """
    keys = keys_of(system)
    found = rows(system, keys)
    sizes = [n for n, key in enumerate(keys) if isinstance(key, str)]
    found += [tuple(int(m == n) for m in range(len(keys) + 1)) for n in sizes]
    return rows_feasible(found) and not _conflicting(found, len(keys))


def _conflicting(system: list[Row], variables: int) -> bool:
    """Whether the equations, which are rows with their negatives, exclude each other."""
    tidied = set(tidy(system) or ())
    equations = [row for row in tidied if tuple(-x for x in row) in tidied]
    if len(equations) < 4:  # a single equation is normalized: it has solutions
        return False
    matrix, right = tuple(e[:-1] for e in equations), tuple((-e[-1],) for e in equations)
    return solve(matrix, right, variables, 0, range(variables)).empty


def _opposites(constraint: Constraint) -> list[Constraint]:
    below = Constraint(-constraint.form - 1)
    return [below, Constraint(constraint.form - 1)] if constraint.equality else [below]


def keys_of(system: Iterable[Constraint]) -> list[Variable]:
    """The indices and then the sizes of a system, in order of appearance."""
    found = dict.fromkeys(key for c in system for key in c.form.terms)
    return sorted(found, key=lambda key: isinstance(key, str))


def rows(system: Iterable[Constraint], keys: Sequence[Variable]) -> list[Row]:
    """The system as rows of coefficients of `keys` and a constant; an equation is two rows."""
    found: list[Row] = []
    for c in system:
        row = (*(c.form[key] for key in keys), c.form.constant)
        found.append(row)
        if c.equality:
            found.append(tuple(-x for x in row))
    return found
