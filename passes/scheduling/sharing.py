"""The nests of a program: which definitions share loops, and which have loops of their own.

    m[i] = max[j](x[i, j])                    row by row, in one function with s and y
    s[i] = sum[j](exp(x[i, j] - m[i]))
    y[i, j] = exp(x[i, j] - m[i]) / s[i]
    z[k] = sum[i](y[i, k])                    in tiles, alone

Definitions that sum over the same points share tiles where that is cheaper (`fusion`); of what is
in no tiles, neighbours share rows (`rows`), and of what gains nothing there, strips (`strips`). A
definition that others are equivalent to has a function of its own, which these call.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence, Set
from dataclasses import replace
from itertools import groupby

from xdsl.ir import Operation

from dialects import tix
from passes.analysis.equivalence import Member
from passes.scheduling.blocking import Blocking, ChooseBlocking
from passes.scheduling.fusion import nests
from passes.scheduling.nest import Nest
from passes.scheduling.piece_sums import rows_of_pieces
from passes.scheduling.row_forms import rounding_reductions
from passes.scheduling.rows import rows_shared
from passes.scheduling.strips import strips_shared
from passes.scheduling.tile import Tile


def nests_of(
    members: Sequence[Member], choose: ChooseBlocking | None, as_written: Set[Operation]
) -> Iterator[Nest]:
    """The nests of all definitions that are the first of their kind; without `choose`, plain ones.

    Operations in `as_written` keep their order.
    """
    counts = Counter(m.first for m in members)
    if choose is None:
        yield from map(Nest.of, counts)
        return
    repeated = {op for op, count in counts.items() if count > 1}
    alone = {op for op in counts if op in repeated or as_written & {*op.walk()}}
    alone |= _with_pieces(counts)
    plain = {op for op in counts if as_written & {*rounding_reductions(op)}}
    wide, far = repeated | plain, set[tix.DefineOp]()

    def in_order(op: tix.DefineOp) -> Blocking:
        found = choose(op)
        if found.alone:
            plain.add(op)
        if found.alone or not found.in_strips:
            wide.add(op)
        if not found.is_near:
            far.add(op)
        return replace(found, tiles=[t for t in found.tiles if _keeps_order(t, as_written)])

    for is_first, run in groupby(members, lambda m: m.op is m.first):
        if is_first:
            found = nests([m.op for m in run], alone, in_order)
            yield from strips_shared(rows_shared(found, repeated, plain, far), wide)


def _with_pieces(ops: Collection[tix.DefineOp]) -> set[tix.DefineOp]:
    """The sums over pieces among definitions, and those whose rows may add to these."""
    programs = {op.parent_op() for op in ops}
    rows = (rows_of_pieces(p) for p in programs if isinstance(p, tix.ProgramOp))
    return {op for found in rows for op in found}


def _keeps_order(tile: Tile, as_written: Set[Operation]) -> bool:
    """True unless vectors run along the terms of a sum that must be added one by one."""
    ordered = [s for s in as_written if isinstance(s, tix.SumOp | tix.ProdOp)]
    return not any(tile.column_index in s.indices for s in ordered)
