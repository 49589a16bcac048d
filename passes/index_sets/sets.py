"""The index sets of definitions and boxes of reductions; the constraints of quotients in forms."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from xdsl.ir import SSAValue

from tadc.dialects import tix
from tadc.dialects.tix import Affine, Constraint, between


def index_set(op: tix.DefineOp) -> list[Constraint]:
    """Every index within its dimension, and what that says where the size is a derived one.

    `0 <= i < R` with `R = min((N - 2) floordiv 3, ...)` gives `3 * (i + 1) <= N - 2`.
    """
    program = op.parent_op()
    assert isinstance(program, tix.ProgramOp)
    pairs = zip(op.indices, op.shape, strict=True)
    return within([(Affine.of(index), size) for index, size in pairs], program)


def within(dimensions: Iterable[tuple[Affine, Affine]], program: tix.ProgramOp) -> list[Constraint]:
    """Each form from 0 to the size beside it, with what follows where that is a derived one."""
    dimensions = list(dimensions)
    bounds = {Affine.of(size.data.name): size.bounds for size in program.derived}
    return [
        *(c for form, size in dimensions for c in between(0, form, size)),
        *(
            Constraint(bound - (form + 1) * divisor)
            for form, size in dimensions
            for bound, divisor in bounds.get(size, ())
        ),
    ]


def boxed_indices(op: tix.ReductionOp) -> dict[SSAValue, Affine]:
    """The sizes of own indices that are constrained by `0 <= k < size` alone."""
    constraints = {v: [c for c in op.constraints if c.form[v]] for v in op.indices}
    return {v: size for v in op.indices if (size := _box(v, constraints[v])) is not None}


def boxes_before(op: tix.ReductionOp) -> dict[SSAValue, Affine]:
    """The sizes of own indices that are constrained by `0 <= k < size` alone, and by what bounds
    the indices behind them: they may have fewer values."""
    found: dict[SSAValue, Affine] = {}
    for n, v in enumerate(op.indices):
        behind = op.indices[n + 1 :]
        own = [c for c in op.constraints if c.form[v] and not any(c.form[b] for b in behind)]
        if (size := _box(v, own)) is not None:
            found[v] = size
    return found


def _box(index: SSAValue, around: Sequence[Constraint]) -> Affine | None:
    """The size of an index with two constraints that are `0 <= k < size`."""
    own = Affine.of(index)
    if len(around) != 2 or Constraint(own) not in around:
        return None
    upper = [c.form + own + 1 for c in around if c.form[index] == -1 and not c.equality]
    return upper[0] if len(upper) == 1 and not upper[0].indices else None


def quotient_constraints(op: tix.FloorDivOp) -> list[Constraint]:
    """`0 <= e - m q < m` for `q = e // m`."""
    divisor = op.divisor.data
    return between(0, op.form - Affine.of(op.result) * divisor, divisor)


LARGEST_INTEGER = 2**31
"""Elements of `int` are from minus this to below this: calls refuse others."""


def element_constraints(op: tix.AtOp) -> list[Constraint]:
    """`0 <= a < N` for an element below N; an element of any integers is in a very long range."""
    low, high = (-LARGEST_INTEGER, LARGEST_INTEGER) if op.end is None else (0, op.end)
    return between(low, Affine.of(op.result), high)


def elements_of(forms: Iterable[Affine]) -> list[tix.AtOp]:
    """The elements of index tensors that forms use, those that others need first."""
    return [op for op in local_indices(forms) if isinstance(op, tix.AtOp)]


def elements_of_quotients(forms: Iterable[Affine]) -> list[tix.AtOp]:
    """The elements of index tensors that forms use by way of quotients."""
    return elements_of(form for q in quotients_of(forms) for form in q.forms)


def local_indices(forms: Iterable[Affine]) -> list[tix.LocalIndexOp]:
    """The local indices that forms use, and those that these use: needed ones come first."""
    found: dict[tix.LocalIndexOp, None] = {}

    def visit(form: Affine) -> None:
        for v in form.indices:
            op = v.owner
            if isinstance(op, tix.LocalIndexOp) and op not in found:
                for inner in op.forms:
                    visit(inner)
                found[op] = None

    for form in forms:
        visit(form)
    return list(found)


def local_constraints(forms: Iterable[Affine]) -> list[Constraint]:
    """The constraints that local indices of these forms keep: of quotients, and of elements."""
    found: list[Constraint] = []
    for op in local_indices(forms):
        if isinstance(op, tix.FloorDivOp):
            found += quotient_constraints(op)
        elif isinstance(op, tix.AtOp):
            found += element_constraints(op)
    return found


def quotients_of(forms: Iterable[Affine]) -> list[tix.FloorDivOp]:
    """The quotients `e // m` that forms use, and those that these use."""
    pending = [v for form in forms for v in form.indices]
    found: dict[tix.FloorDivOp, None] = {}
    while pending:
        op = pending.pop().owner
        if isinstance(op, tix.FloorDivOp) and op not in found:
            found[op] = None
            pending += op.form.indices
        elif isinstance(op, tix.AtOp):
            pending += [v for form in op.forms for v in form.indices]
    return list(found)
