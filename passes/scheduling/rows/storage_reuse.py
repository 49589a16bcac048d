"""Places in memory of definitions that share rows, or strips.

A tensor that only members read needs no memory of its own: one element per row is a number, and a
row lies where that of a later member will, if it is read for the last time, element by element,
where that is written:

    e[i, j] = exp(x[i, j] - m[i])          stored in y[i, j]
    y[i, j] = e[i, j] / s[i]               takes its place
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from tadc.dialects import tix
from tadc.dialects.tix import Affine, Variable
from tadc.passes.analysis.index_uses import IndexUses
from tadc.passes.rewriting.programs import definition_around, reads_of
from tadc.passes.scheduling.scans import row_scans


def places_of(
    ops: Sequence[tix.DefineOp], numbers: int
) -> tuple[list[tix.DefineOp], dict[SSAValue, SSAValue]]:
    """The definitions with memory of their own, and the tensors that host the rows of others.

    Those of so many indices as `numbers` have one element in a row, the others have more.
    """
    written: dict[tix.DefineOp, list[tuple[int, int]]] = {}  # with what is there before
    hosts: dict[SSAValue, SSAValue] = {}
    for n, op in reversed(list(enumerate(ops))):
        if not _is_private(op, ops):
            written[op] = []
        elif len(op.indices) > numbers:
            last = _last_reader(op, ops)
            fits = (h for h in written if _may_hold(h, op, ops[last]) and ops.index(h) >= last)
            free = (h for h in fits if all(last < m or end < n for m, end in written[h]))
            host = next(free, None)
            if host is None:
                written[op] = []
            else:
                hosts[op.result] = host.result
                written[host].append((n, last))
    return [op for op in ops if op in written], hosts


def _is_private(op: tix.DefineOp, members: Sequence[tix.DefineOp]) -> bool:
    """True if all readers of a result are members, and there is one."""
    users = [use.operation for use in op.result.uses]
    return bool(users) and all(
        isinstance(u, tix.ReadOp) and definition_around(u) in members for u in users
    )


def _last_reader(op: tix.DefineOp, members: Sequence[tix.DefineOp]) -> int:
    return max(n for n, m in enumerate(members) if any(r.tensor is op.result for r in reads_of(m)))


def _may_hold(host: tix.DefineOp, op: tix.DefineOp, last: tix.DefineOp) -> bool:
    """True if the rows of `op`, last read by `last`, can be where those of `host` will be."""
    alike = host.type == op.type and tuple(host.shape) == tuple(op.shape)
    return alike and (host is not last or _reads_its_place(host, op))


def _reads_its_place(reader: tix.DefineOp, op: tix.DefineOp) -> bool:
    """True if each element reads of another tensor only the element at its own indices.

    A scan reads a vector of terms before it writes there.
    """
    own = [Affine.of(v) for v in reader.indices]
    scans = row_scans(reader, IndexUses())
    places: dict[Variable, Affine] = {
        scan.own: Affine.of(scan.index) for scan in scans if scan.offset == Affine()
    }
    return all(
        [form.substitute(places) for form in r.forms] == own
        for r in reads_of(reader)
        if r.tensor is op.result
    )
