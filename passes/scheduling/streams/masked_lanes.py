"""Operations and reads that vectors compute under masks, in which lanes may be left out."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping

from xdsl.ir import Operation, SSAValue

from tadc.dialects import tix
from tadc.dialects.tix import Affine, Constraint, Variable, between
from tadc.passes.index_sets.context import stays_inside
from tadc.passes.index_sets.sets import index_set, quotient_constraints, quotients_of
from tadc.passes.index_sets.space import implied_by
from tadc.passes.rewriting.programs import definition_around, reductions_around
from tadc.passes.scheduling.tiles.sum_lengths import is_short

UNDER_MASKS = (
    tix.UnaryOp,
    tix.BinaryOp,
    tix.ConstantOp,
    tix.YieldOp,
    tix.WhereOp,
    tix.IfOp,
)
"""Operations that are computed for all lanes under a mask; choices among them have their own."""


def is_there(op: tix.ReadOp) -> bool:
    """True if a read is in bounds at all points of its definition, whatever conditions are around
    it.

    Each subscript is an index whose range is the dimension, or a number that is below its size
    wherever the definition has elements.
    """
    around = definition_around(op)
    sizes: dict[Variable | None, Affine] = dict(zip(around.indices, around.shape, strict=True))
    pairs = zip(op.forms, op.shape, strict=True)
    other = [(form, size) for form, size in pairs if sizes.get(form.single_index) != size]
    if any(form.indices for form, _ in other):
        return False
    known = around.constraints if other else ()
    return all(implied_by(c, known) for form, size in other for c in between(0, form, size))


def reads_ahead(op: tix.IfOp, known: Container[SSAValue] = ()) -> Iterator[tix.ReadOp]:
    """The reads ahead of a choice that its branches need, but for `known` values.

    Values that several choices need are ahead of all of them, and are computed under their masks.

    A choice ahead may be decided by the condition of this one, so that its reads have no other
    mask. Long sums are computed before.
    """
    inside = [inner for region in op.regions for inner in region.walk()]
    seen: set[Operation] = {op, *inside}
    pending = [v for inner in inside for v in inner.operands]
    while pending:
        value = pending.pop()
        owner = value.owner
        if (
            value in known
            or not isinstance(owner, Operation)
            or owner in seen
            or isinstance(owner, tix.DefineOp)
        ):
            continue
        seen.add(owner)
        if isinstance(owner, tix.ReadOp):
            yield owner
        pending += owner.operands
        if not isinstance(owner, tix.ReductionOp) or is_short(owner):
            pending += [tix.yielded(region) for region in owner.regions]


def is_there_ahead(op: tix.ReadOp) -> bool:
    """True if a read ahead of a choice is in bounds without the condition of the choice."""
    return is_there(op) or stays_inside(op, _ranges_around(op))


def is_there_at(
    op: tix.ReadOp, places: Mapping[Variable, Affine], tests: Iterable[Constraint]
) -> bool:
    """True if a read is in bounds where these tests hold, with `places` put in for its indices."""
    known = [c.substitute(places) for c in _ranges_around(op)] + list(tests)
    limits = zip(op.forms, op.shape, strict=True)
    inside = (c.substitute(places) for form, size in limits for c in between(0, form, size))
    return all(implied_by(c, known) for c in inside)


def _ranges_around(op: tix.ReadOp) -> list[Constraint]:
    """The ranges of all indices that a read can depend on, quotients among them."""
    around = definition_around(op)
    known = [c for q in quotients_of(op.forms) for c in quotient_constraints(q)]
    known += [c for reduction in reductions_around(op) for c in reduction.constraints]
    # the phases of a stream stand alone, in no program that knows of derived sizes
    in_program = isinstance(around.parent_op(), tix.ProgramOp)
    return [*known, *(index_set(around) if in_program else around.constraints)]
