"""Runs: terms of a panel that lie side by side in memory, while its columns lie apart.

    y[i, j] = sum[c, u, v](x[i, c, u, v] * w[j, c, u, v])      w: f32[J, C, 3, 3]

    for a column j, all 9 C terms are one run, and 333 those of a chunk of 37 values of c

A run is loaded along its terms, and transposed (`tile_panels`): w needs no copy in which columns
lie side by side. Runs in sum[j, u, v](y[i, j, u, v] * w[j, c, u, v]) have the nine terms of u, v.
"""

from __future__ import annotations

from collections.abc import Collection

from xdsl.ir import SSAValue

from tadc.dialects import tix
from tadc.passes.analysis.access import is_slow, stride
from tadc.passes.analysis.index_uses import IndexUses
from tadc.passes.scheduling.tiles.sum_lengths import constant_range
from tadc.passes.scheduling.tiles.tile import Hoisted

FEWEST_TERMS_OF_RUN = 4
"""Terms of a run at least: of fewer, elements are read one by one in the same time."""


def run_of(
    panel: Hoisted,
    op: tix.ReductionOp,
    column: SSAValue,
    uses: IndexUses,
    strided: Collection[SSAValue] = (),
) -> tuple[SSAValue, ...]:
    """The last indices of a panel that run through contiguous elements; none where its columns can
    be loaded as vectors.

    Of `strided` tensors rows may lie apart: runs end with their rows.
    """
    read = panel.value.owner
    if not isinstance(read, tix.ReadOp) or not is_slow(stride(read, column, uses)):
        return ()
    if any(isinstance(v.owner, tix.LocalIndexOp) for form in read.forms for v in form.indices):
        return ()
    run: list[SSAValue] = []
    terms: int | None = 1
    for index in reversed(panel.indices):
        if terms is None or stride(read, index, uses) != terms:
            break
        if read.tensor in strided and any(form[index] for form in read.forms[:-1]):
            break
        run.insert(0, index)
        found = constant_range(op, index)
        terms = terms * found[1] if found else None
    return tuple(run) if terms is None or terms >= FEWEST_TERMS_OF_RUN else ()
