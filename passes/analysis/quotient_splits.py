"""Indices that count by quotients and remainders: k as `divisor * q + r - offset`.

Of `sum[o](a[p // 16, o] * w[o, p % 16])` residues of p decide places alone, and all elements of a
quotient have the same terms.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple

from xdsl.ir import Operation, SSAValue

from tadc.dialects import tix
from tadc.dialects.tix import Affine
from tadc.passes.analysis.index_uses import IndexUses
from tadc.passes.rewriting.programs import forms_of, reads_of


class Split(NamedTuple):
    """An index k as `divisor * q + r - offset`: `(k + offset) // divisor` is q."""

    divisor: int
    offset: int


Splits = Mapping[SSAValue, Split]
"""The indices to split."""


def has_whole_runs(size: Affine, divisor: int) -> bool:
    """True if an index from 0 to a size counts by whole quotients."""
    return all(n % divisor == 0 for n in (size.constant, *size.terms.values()))


def indices_of_rows(definition: tix.DefineOp) -> set[SSAValue]:
    """The indices but the last one by whose quotients a definition reads numbers of other ones.

    The elements of a quotient may be a row that it shares with these.
    """
    uses, found = IndexUses(), set[SSAValue]()
    for read in reads_of(definition):
        if isinstance(read.tensor.owner, tix.DefineOp):
            used = uses.of_operation(read)
            quotients = (v.owner for form in read.forms for v in form.indices)
            split = {v for q in quotients if isinstance(q, tix.FloorDivOp) for v in q.form.indices}
            found |= split if used.isdisjoint(definition.indices[-1:]) else set()
    return found & {*definition.indices}


def decide_places_alone(splits: Splits, inside: Collection[Operation]) -> bool:
    """True if residues decide which elements are read, and neither terms nor branches.

    Terms may be those of a quotient, which all of its residues have, if they begin with it.
    """
    conditions = [op for op in inside if isinstance(op, tix.ReductionOp | tix.IfOp)]
    return bool(splits) and not any(
        splits.keys() & _dividends(form, splits if _begins_with_quotient(op) else {})
        for op in conditions
        for form in forms_of(op)
    )


def _begins_with_quotient(op: tix.ReductionOp | tix.IfOp) -> bool:
    """True for a sum that has a lower bound by a quotient, `k >= 8*(p // 8)`."""
    return isinstance(op, tix.ReductionOp) and any(
        c.form[k] > 0 and isinstance(v.owner, tix.FloorDivOp)
        for c in op.constraints
        for k in op.indices
        for v in c.form.indices
    )


def _dividends(form: Affine, splits: Splits) -> set[SSAValue]:
    """The indices of a form, and those of which it has quotients that are none of these splits."""
    found: set[SSAValue] = set()
    for v in form.indices:
        if not isinstance(op := v.owner, tix.FloorDivOp):
            found.add(v)
        elif not any(u in splits and split_by(op, u) == splits[u] for u in op.form.indices):
            found |= _dividends(op.form, splits)
    return found


def split_by(op: tix.FloorDivOp, index: SSAValue) -> Split | None:
    """The split of an index that makes this quotient of it an index."""
    if op.form.terms != {index: 1}:
        return None
    return Split(op.divisor.data, op.form.constant)
