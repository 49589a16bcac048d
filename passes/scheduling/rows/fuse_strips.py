"""Definitions that share strips: rows of several columns side by side, one for each lane.

    m[n, p] = max[c](x[n, c, p])                   for n and each strip of p:
    e[n, c, p] = exp(x[n, c, p] - m[n, p])           m[n, strip] = ...: a maximum in each lane
    s[n, p] = sum[c](e[n, c, p])                     e[n, all c, strip] = ...
    y[n, c, p] = e[n, c, p] / s[n, p]                s[n, strip] = ...;  y[n, all c, strip] = ...

A softmax over channels: neighbours in memory belong to different sums. As with rows (`rows`), one
loop takes the place of a pass over memory for each definition, while a strip lies in a near cache.
Here the last index is among those that all have in common, and vectors run along it; what a member
reads of another one lies in the same strip.

Sums whose terms are read once by every element gain nothing in blocks, so that they may leave them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from itertools import combinations

from xdsl.ir import Operation, SSAValue

from tadc.dialects import tix
from tadc.passes.analysis.index_uses import IndexUses
from tadc.passes.index_sets.context import stays_inside
from tadc.passes.index_sets.sets import index_set
from tadc.passes.rewriting.programs import definition_around, reads_of, reductions_around
from tadc.passes.scheduling.blocking import ChooseBlocking
from tadc.passes.scheduling.nest import Nest, Strips
from tadc.passes.scheduling.rows.fuse_rows import MOST_MEMBERS, Shared, are_apart
from tadc.passes.scheduling.rows.storage_reuse import places_of
from tadc.passes.scheduling.rows.vectorized_rows import long_reductions, run_along
from tadc.passes.scheduling.scans import is_scanned

MOST_TERMS_OF_STRIP = 2048
"""Terms of the longest sums in strips: of four vectors of 64 bytes for each, a strip has 512 KB."""


def strips_shared(
    nests: Sequence[Nest], alone: Collection[tix.DefineOp], choose: ChooseBlocking
) -> list[Nest]:
    """The given nests in order, where neighbours share strips; those in `alone` share nothing.

    What `choose` gives tells how many terms a strip has.
    """
    found: list[Nest] = []
    group: list[Nest] = []
    for nest in nests:
        is_free = not {*nest.members} & {*alone} and _may_share(nest)
        is_free = is_free and choose(nest.body).extents.terms <= MOST_TERMS_OF_STRIP
        if is_free and group and _shared([*group, nest]):
            group.append(nest)
            continue
        found += _joined(group)
        group = [nest] if is_free else []
        found += [] if is_free else [nest]
    return found + _joined(group)


def _joined(group: Sequence[Nest]) -> list[Nest]:
    """The nest of a group, or the nests themselves where nothing is read twice."""
    shared = _shared(group) if len(group) > 1 else None
    if shared is None or not _reads_again(shared):
        return [*group]
    for nest in group:
        nest.forget()
    ops = [nest.members[0] for nest in group]
    numbers = min(len(op.indices) for op in ops)
    return [Nest.apart(ops, Strips(shared, *places_of(ops, numbers)))]


def _reads_again(shared: Shared) -> bool:
    """True if there is a reduction among the members, and some strip is used more than once."""
    strips = Counter[SSAValue]()
    for op, own in shared.items():
        strips.update({r.tensor for r in reads_of(op) if _reads_strip(r, own)})
        strips.update([op.result] if len(op.indices) > len(own) else [])
    reduced = any(long_reductions(op) for op in shared)
    return reduced and any(count > 1 for count in strips.values())


def _reads_strip(read: tix.ReadOp, shared: Sequence[SSAValue]) -> bool:
    used = IndexUses().of_operation(read)
    return {*shared} < used


# --- who may share --------------------------------------------------------------------------------


def _may_share(nest: Nest) -> bool:
    """True if a nest is of one definition that has a form in strips of its last index."""
    op, uses = nest.members[0], IndexUses()
    if not nest.is_free or not op.indices or is_scanned(op):
        return False
    column, reductions = op.indices[-1], long_reductions(op)
    others = [o for o in op.walk() if o is not op and o not in reductions]
    return run_along(others, column, uses) and all(
        _has_lanes(r, column) and _may_run_ahead(r) for r in reductions
    )


def _may_run_ahead(op: tix.ReductionOp) -> bool:
    """True if the reads of a reduction are in bounds even where choices around it leave it out."""
    if not any(isinstance(o, tix.IfOp) for o in _operations_around(op)):
        return True
    outer = (c for around in reductions_around(op) for c in around.constraints)
    return stays_inside(op, [*index_set(definition_around(op)), *outer])


def _operations_around(op: Operation) -> Iterator[Operation]:
    parent = op.parent_op()
    while parent is not None:
        yield parent
        parent = parent.parent_op()


def _has_lanes(op: tix.ReductionOp, column: SSAValue) -> bool:
    """True if bounds are the same in all lanes, and some read is without reuse: each term of each
    lane reads another element."""
    own = {*op.indices}
    places = ([form.single_index for form in read.forms] for read in _reads_in(op))
    once = any(own <= {*place} and column in place and None not in place for place in places)
    return once and all(column not in c.form.indices for c in op.constraints)


def _reads_in(op: tix.ReductionOp) -> Iterator[tix.ReadOp]:
    return (inner for inner in op.walk() if isinstance(inner, tix.ReadOp))


# --- what members have in common ------------------------------------------------------------------


def _shared(group: Sequence[Nest]) -> Shared | None:
    """The indices that definitions have in common; None where they share no strips.

    Those with reductions have no others. Of the others, rows, all have as many.
    """
    ops = [nest.members[0] for nest in group]
    low, high = (which(len(op.indices) for op in ops) for which in (min, max))
    reduced = {len(op.indices) for op in ops if long_reductions(op)}
    alike = len({op.type.element for op in ops}) == 1 and reduced <= {low}
    if not alike or len(ops) > MOST_MEMBERS or any(low < len(op.indices) < high for op in ops):
        return None
    for places in combinations(range(high), low):
        shared = {
            op: op.indices if len(op.indices) == low else [op.indices[n] for n in places]
            for op in ops
        }
        rows_alone = low == high and not reduced
        if places[-1] == high - 1 and (rows_alone or are_apart(shared)):
            return shared
    return None
