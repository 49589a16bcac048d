"""The nests of a program: which definitions share loops, and which have loops of their own.

    m[i] = max[j](x[i, j])                    row by row, in one function with s and y
    s[i] = sum[j](exp(x[i, j] - m[i]))
    y[i, j] = exp(x[i, j] - m[i]) / s[i]
    z[k] = sum[i](y[i, k])                    in tiles, alone

Sums along both indices of pairs share one walk (`pairs`). Definitions that sum over the same points
share tiles where that is cheaper (`fusion`); of what is
in no tiles, neighbours share rows (`rows`), and of what gains nothing there, strips (`strips`).
Stages of a stencil share bands (`bands`), and streams that read the same tensors run together
(`fuse_streams`). A definition that others are equivalent to has a function of its own, which
these call.

Each of these keeps its list in an order of evaluation: what joins a nest in front moves ahead of
what it reads nothing of. The steps of a program come in the order of their first definitions, as
far as what they read is there (`step_order`), and are checked (`plan_checks`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence, Set
from dataclasses import replace
from functools import cache
from itertools import groupby

from xdsl.ir import Operation

from tadc.dialects import tix
from tadc.passes.analysis.equivalence import Member
from tadc.passes.rewriting.programs import reads_of
from tadc.passes.scheduling.all_pairs import walk_of
from tadc.passes.scheduling.bands.bands import bands_shared
from tadc.passes.scheduling.blocking import Blocking, ChooseBlocking
from tadc.passes.scheduling.fuse_streams import streams_together
from tadc.passes.scheduling.fuse_sums import nests
from tadc.passes.scheduling.nest import Nest, carrying
from tadc.passes.scheduling.plan_checks import require_computed
from tadc.passes.scheduling.rows.fuse_rows import rows_shared
from tadc.passes.scheduling.rows.fuse_strips import strips_shared
from tadc.passes.scheduling.rows.rfactored_sums import residue_sum_of, rows_of_pieces
from tadc.passes.scheduling.rows.vectorized_rows import rounding_reductions
from tadc.passes.scheduling.step_order import Step, in_order
from tadc.passes.scheduling.tiles.tile import Tile


def nests_of(
    members: Sequence[Member], choose: ChooseBlocking | None, as_written: Set[Operation]
) -> list[Nest]:
    """The nests of all definitions that are the first of their kind, in the order of their steps.

    Takes what `steps_of` takes.
    """
    return [step for step in steps_of(members, choose, as_written) if isinstance(step, Nest)]


def steps_of(
    members: Sequence[Member], choose: ChooseBlocking | None, as_written: Set[Operation]
) -> list[Step]:
    """The nests of the first of equivalent definitions, and calls for the others, in order.

    Each step stands behind all that it reads. Without `choose`, nests are plain ones.

    Operations in `as_written` keep their order.
    """
    calls = {m.op: m for m in members if m.op is not m.first}
    nests = _nests(members, choose, as_written) if choose else [Nest.of(m.op) for m in members]
    steps = in_order([calls.get(nest.members[0], nest) for nest in nests], members)
    require_computed(steps)
    return steps


def _nests(
    members: Sequence[Member], choose: ChooseBlocking, as_written: Set[Operation]
) -> list[Nest]:
    """The nests in an order of evaluation; each definition that becomes a call has its own."""
    counts = Counter(m.first for m in members)
    called = {m.op for m in members if m.op is not m.first}
    repeated = {op for op, count in counts.items() if count > 1}
    exact = {op for op in counts if as_written & {*op.walk()}}
    blocking = _in_order_of_terms(choose, as_written)
    given = {op for op in counts if blocking(op).tree}
    fixed = repeated | exact | called | given
    alone = fixed | _with_pieces(counts)
    plain = {op for op in counts if as_written & {*rounding_reductions(op)} or blocking(op).alone}
    plain |= given
    runs: list[list[Nest]] = []
    for is_first, run in groupby(members, lambda m: m.op is m.first):
        ops = [m.op for m in run]
        if not is_first:
            runs.append([Nest.of(op) for op in ops])
            continue
        walks = _walks(ops, fixed, choose)
        found = nests(ops, alone, blocking, walks, exact)
        found = rows_shared(found, repeated, plain, blocking)
        found = strips_shared(found, repeated | plain, blocking)
        runs.append(found)
    found = streams_together(bands_shared(runs, fixed, blocking), fixed | plain)
    return [nest if as_written & {*nest.body.walk()} else carrying(nest) for nest in found]


def _in_order_of_terms(choose: ChooseBlocking, as_written: Set[Operation]) -> ChooseBlocking:
    """The blockings that `choose` gives, without tiles that reorder terms that are `as_written`."""

    @cache
    def blocking(op: tix.DefineOp) -> Blocking:
        found = choose(op)
        return replace(found, tiles=[t for t in found.tiles if _keeps_order(t, as_written)])

    return blocking


def _walks(
    ops: Sequence[tix.DefineOp], fixed: Collection[tix.DefineOp], choose: ChooseBlocking
) -> list[Nest]:
    """The nests of definitions that walk over pairs; those in `fixed` do not, nor those that a plan
    by hand has."""
    found: list[Nest] = []
    pieces = [p for p in map(residue_sum_of, ops) if p and p.op not in fixed]
    for place, op in enumerate(ops if pieces else ()):
        later = ops[place:]
        there = [p for p in pieces if p.op in later and not _reads_any(p.op, later)]
        walk = walk_of(op, there) if there and op not in fixed else None
        if walk is None:
            continue
        body, pairs = walk
        members = [op, *(p.op for p in pairs.pieces)]
        nest = Nest(body, members, [body.indices] * len(members), pairs)
        if any(choose(member).alone for member in members):
            nest.forget()
        else:
            found.append(nest)
            pieces = [p for p in pieces if p.op not in members]
    return found


def _reads_any(op: tix.DefineOp, others: Collection[tix.DefineOp]) -> bool:
    return not {o.result for o in others}.isdisjoint(r.tensor for r in reads_of(op))


def _with_pieces(ops: Collection[tix.DefineOp]) -> set[tix.DefineOp]:
    """The sums over pieces among definitions, and those whose rows may add to these."""
    programs = {op.parent_op() for op in ops}
    rows = (rows_of_pieces(p) for p in programs if isinstance(p, tix.ProgramOp))
    return {op for found in rows for op in found}


def _keeps_order(tile: Tile, as_written: Set[Operation]) -> bool:
    """True unless vectors run along the terms of a sum that must be added one by one."""
    ordered = [s for s in as_written if isinstance(s, tix.SumOp | tix.ProdOp)]
    return not any(tile.column_index in s.indices for s in ordered)
