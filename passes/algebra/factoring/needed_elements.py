"""The elements of a reduction that a definition needs, where the reduction is to be a tensor.

    exp(x[i, j] - max[k in range(i + 1)](x[i, k])) if j <= i else 0

needs the maximum of row i if there is a j with 0 <= j <= i, so for every i: the tensor has the
index i alone. Conditions on the way to a reduction that depend on further indices than it does are
projected along these (Fourier-Motzkin); where that is not exact, the tensor has them, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from xdsl.ir import BlockArgument, Operation, SSAValue

from tadc.dialects import tix
from tadc.dialects.tix import Affine, Constraint, between
from tadc.passes.index_sets.context import stays_inside
from tadc.passes.index_sets.disjuncts import complement, disjoint
from tadc.passes.index_sets.half_boxes import boxes_around, half_boxes_around
from tadc.passes.index_sets.paths import Path
from tadc.passes.index_sets.sets import index_set, quotient_constraints
from tadc.passes.index_sets.space import conditions_of_a_point, implied_by
from tadc.passes.rewriting.cloner import free_values

Branches: TypeAlias = Sequence[tuple[tix.IfOp, bool]]
"""Conditions, and True for each whose first body is meant."""


@dataclass(frozen=True)
class NeededElements:
    """The elements of a tensor that stands for a reduction; others are 0."""

    indices: Sequence[SSAValue]
    """The indices around the reduction that the tensor has."""
    sizes: Sequence[Affine]
    guards: Sequence[Constraint]
    """Conditions under which an element is needed, and all that it reads is there."""
    branches: Branches
    """Further ones, on the way to the reduction."""


def needed_elements(op: tix.ReductionOp, path: Path) -> NeededElements | None:
    """The elements of a reduction that the definition around it needs; None where the ranges of
    its indices are no boxes."""
    branches, shadow = _conditions(op, path)
    indices = _used_indices(op, path, branches)
    sizes = _sizes(indices, path)
    guards = None if sizes is None else _guards(op, path, indices)
    if sizes is None or guards is None:
        return None
    return NeededElements(indices, sizes, list(dict.fromkeys([*guards, *shadow])), branches)


def _conditions(op: tix.ReductionOp, path: Path) -> tuple[Branches, list[Constraint]]:
    """The conditions under which `op` is needed: those on the way, or others in their place."""
    own = _used_indices(op, path, ())
    further = [v for v in path.indices if v not in own]
    moved = [b for b in path.branches if not {*_used_in(b[0].indices)} <= {*own}]
    if not moved:
        return path.branches, []
    sides = [branch.condition if first else complement(branch.condition) for branch, first in moved]
    if any(len(disjuncts) != 1 for disjuncts in sides):
        return path.branches, []
    known = [*index_set(path.definition), *(c for r in path.reductions for c in r.constraints)]
    ranges = [c for c in known if any(c.form[v] for v in further)]
    taken = [bound for (side,) in sides for c in side for bound in _bounds(c)]
    found = conditions_of_a_point(further, [*ranges, *taken])
    if found is None or any(v not in own for c in found for v in c.form.indices):
        return path.branches, []
    box = [c for c in known if c not in ranges]
    return (
        [b for b in path.branches if b not in moved],
        [c for c in found if not implied_by(c, box)],
    )


def _bounds(constraint: Constraint) -> list[Constraint]:
    """A constraint as inequalities."""
    form = constraint.form
    return [Constraint(form), Constraint(-form)] if constraint.equality else [constraint]


def _used_indices(op: tix.ReductionOp, path: Path, branches: Branches) -> list[SSAValue]:
    """The indices around `op` that it or conditions depend on, directly or through a quotient."""
    used = _used_in([*free_values(op), *(v for branch, _ in branches for v in branch.indices)])
    return [v for v in path.indices if v in used]


def _used_in(values: Sequence[SSAValue]) -> set[SSAValue]:
    """The indices that values depend on."""
    used: set[SSAValue] = set()
    pending = [*values]
    seen: set[SSAValue] = set()
    while pending:
        v = pending.pop()
        if v in seen:
            continue
        seen.add(v)
        if isinstance(v, BlockArgument):
            used.add(v)
        elif not isinstance(v.owner, tix.DefineOp):
            assert isinstance(v.owner, Operation)
            pending += free_values(v.owner)
    return used


def _sizes(indices: Sequence[SSAValue], path: Path) -> list[Affine] | None:
    """The size of each index if all run over a box from 0, or at least half of one; else None."""
    shape = half_boxes_around(path)
    sizes = [shape.get(v) for v in indices]
    return None if None in sizes else [s for s in sizes if s is not None]


def _guards(
    op: tix.ReductionOp, path: Path, indices: Sequence[SSAValue]
) -> list[Constraint] | None:
    """Conditions under which `op` may be computed for all values of `indices`.

    The program computes it for all of them unless another index around it has an empty range, or
    they run over a part of their box, and it may be computed anyway where all that it reads is
    provably there. None where the other ranges are not boxes, so that sizes do not tell.
    """
    shape = boxes_around(path)
    others = [shape.get(v) for v in path.indices if v not in indices]
    guards = [Constraint(size - 1) for size in others if size is not None]
    open_guards = [c for c in guards if c.form.terms or c.form.constant < 0]
    partly = [v for v in indices if v not in shape]
    if len(guards) == len(others) and not open_guards and not partly:
        return []
    if _stays_inside(op, path, indices):
        return []
    box = _box(indices, path)
    moving = (c for r in path.reductions for c in r.constraints if any(c.form[v] for v in partly))
    bounds = [c for c in moving if not implied_by(c, box)]
    known = len(guards) == len(others) and all(v in indices for c in bounds for v in c.form.indices)
    return [*open_guards, *bounds] if known else None


def _stays_inside(op: tix.ReductionOp, path: Path, indices: Sequence[SSAValue]) -> bool:
    """True if all that `op` reads is provably there for all values of `indices` in their boxes."""
    known = _box(indices, path)
    used = [*free_values(op), *(v for branch, _ in path.branches for v in branch.indices)]
    owners = dict.fromkeys(v.owner for v in used)
    quotients = [q for q in owners if isinstance(q, tix.FloorDivOp)]
    known += [c for q in quotients for c in quotient_constraints(q)]
    for branch, first in path.branches:
        disjuncts = (
            disjoint(branch.condition, known) if first else complement(branch.condition, known)
        )
        if len(disjuncts) == 1:
            known += disjuncts[0]
    return stays_inside(op, known)


def _box(indices: Sequence[SSAValue], path: Path) -> list[Constraint]:
    """The constraints that hold of all values of `indices` in their boxes."""
    shape = half_boxes_around(path)
    known = [*index_set(path.definition)]
    known += [c for v in indices for c in between(0, Affine.of(v), shape[v])]
    return [c for c in known if all(v in indices for v in c.form.indices)]
