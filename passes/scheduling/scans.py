"""Scans: reductions over all terms up to an element, or from it on, whose loops carry a total.

    y[i, j] = sum[k in range(j + 1)](x[i, k])           k <= j: forwards along j
    y[i, j] = max[k in range(j, J)](x[i, k])            k >= j: backwards

The terms do not depend on j, and the reduction has no other bound with j: so an element is the one
before it and one more term (Blelloch, Prefix sums and their applications, 1990). What else is known
of k holds for all j, and decides which terms are there: `k >= i` in windows that begin at i.

Vectors run along j (`row_scans`), or, where j is not the last index, along the last one, which then
has a total for each of its values (`column_scans`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue

from tadc.dialects import tix
from tadc.dialects.quick import operands_of
from tadc.dialects.tix import Affine, Constraint, between
from tadc.passes.analysis.access import stride
from tadc.passes.analysis.index_uses import IndexUses
from tadc.passes.index_sets.context import stays_inside
from tadc.passes.index_sets.sets import index_set
from tadc.passes.index_sets.space import implied_by
from tadc.passes.scheduling.rows.vectorized_rows import long_reductions, run_along
from tadc.passes.scheduling.tiles.tile_analysis import constant_extent, indices_of

FEWEST_ELEMENTS = 16
"""Elements from which on totals are carried: of fewer, all terms are written out."""


@dataclass(frozen=True)
class Scan:
    """A reduction up to an index of the definition, or from it on."""

    op: tix.ReductionOp
    index: SSAValue
    """The index j of the definition."""
    own: SSAValue
    """The index k of the reduction."""
    offset: Affine
    """The c of its bound, `k <= j + c` or `k >= j + c`."""
    is_forwards: bool
    """True for a reduction up to an element."""
    limit: Constraint
    """The bound of the reduction that moves with j."""

    @property
    def step(self) -> int:
        """The step from one element to the next: 1, or -1 backwards."""
        return 1 if self.is_forwards else -1

    @property
    def result(self) -> SSAValue:
        """The value of the reduction."""
        return self.op.results[0]

    @property
    def place(self) -> Affine:
        """The place `j + c` of the term that an element adds."""
        return Affine.of(self.index) + self.offset

    def before(self, size: Affine) -> Affine:
        """The value of j before the first iteration, for j below a size."""
        return Affine(constant=-1) if self.is_forwards else size

    @property
    def known(self) -> list[Constraint]:
        """The constraints on the indices of the reduction that hold for all j."""
        return [c for c in self.op.constraints if c != self.limit]

    def tests(self, size: Affine) -> list[Constraint]:
        """The constraints that decide whether the term `k = j + c` is there, for j below a size."""
        own = between(0, Affine.of(self.own) - self.offset, size)
        return [c for c in self.known if not implied_by(c, own)]

    def has_terms_ahead(self, size: Affine) -> bool:
        """True if there may be terms ahead of the first one that an element adds: `k <= j + 3`."""
        first = self.limit.substitute({self.index: self.before(size)})
        empty = Constraint(-first.form - 1)
        return not implied_by(empty, self.known)


def scan_along(op: tix.ReductionOp, index: SSAValue, uses: IndexUses) -> Scan | None:
    """The scan along an index that a reduction is; None if it is none."""
    scan = bounded_along(op, index, uses)
    return None if any(index in uses.of_operation(o) for o in op.body.walk()) else scan


def bounded_along(op: tix.ReductionOp, index: SSAValue, uses: IndexUses) -> Scan | None:
    """The scan along an index that a reduction is if its terms do not depend on that."""
    if not any(index in uses.of(v) for v in operands_of(op)):
        return None  # as mostly: no bound depends on it
    limits = [c for c in op.constraints if index in indices_of([c.form], uses)]
    if len(limits) != 1 or limits[0].equality:
        return None
    form = limits[0].form
    step, own = form[index], [v for v in form.indices if v in op.indices]
    if abs(step) != 1 or len(own) != 1 or form[own[0]] != -step:
        return None
    rest = form - Affine.of(index) * step + Affine.of(own[0]) * step
    if index in indices_of([rest], uses):
        return None
    return Scan(op, index, own[0], rest * step, step > 0, limits[0])


def row_scans(op: tix.DefineOp, uses: IndexUses) -> Sequence[Scan]:
    """The scans of a definition along its last index, if vectors run along rows with their totals.

    All its reductions are scans then, in one direction.
    """
    return _scans_along(op, op.indices[-1], uses) if op.indices else []


def column_scans(op: tix.DefineOp, uses: IndexUses) -> Sequence[Scan]:
    """The scans along another index, if vectors run along the last one, each lane a total."""
    for index in op.indices[:-1]:
        if scans := _scans_along(op, index, uses):
            return scans
    return []


def carried_scans(op: tix.DefineOp) -> Sequence[Scan]:
    """The scans whose totals the loops of a definition carry."""
    if not any(map(operands_of, long_reductions(op))):
        return []  # as mostly: no bound depends on an index
    uses = IndexUses()
    return row_scans(op, uses) or column_scans(op, uses)


def is_scanned(op: tix.DefineOp) -> bool:
    """True if the loops of a definition carry totals."""
    return bool(carried_scans(op))


def _scans_along(op: tix.DefineOp, index: SSAValue, uses: IndexUses) -> list[Scan]:
    """All long reductions of a definition, if each is a scan along this index in one direction, and
    all values have lanes along the last one."""
    extent = constant_extent(op.shape[op.indices.index(index)])
    if extent is not None and extent < FEWEST_ELEMENTS:
        return []
    scans: list[Scan] = []
    for reduction in uses.once((long_reductions, op), lambda: long_reductions(op)):
        scan = scan_along(reduction, index, uses)
        if scan is None or reduction.parent is not op.body.block:
            return []  # as mostly: what follows takes longer
        scans.append(scan)
    own = {scan.op for scan in scans}
    rest = (o for o in op.body.block.ops if o not in own)
    fits = (
        len({scan.is_forwards for scan in scans}) == 1
        and all(_has_lanes(scan, op, uses) for scan in scans)
        and run_along((inner for o in rest for inner in o.walk()), op.indices[-1], uses)
    )
    return scans if fits else []


def _has_lanes(scan: Scan, op: tix.DefineOp, uses: IndexUses) -> bool:
    """True if the terms of a scan are over one index, and have lanes that tests may leave out:
    those of an element are the same for all lanes, or as many places apart as these."""
    is_row = scan.index is op.indices[-1]
    if len(scan.op.indices) > 1:
        return False
    if not is_row and op.indices[-1] in indices_of([scan.offset], uses):
        return False
    lane = scan.own if is_row else op.indices[-1]
    inner = [o for o in scan.op.walk() if o is not scan.op]
    numbers = (o for o in inner if isinstance(o, tix.ReadOp) and not stride(o, lane, uses))
    known = index_set(op) if is_row else [*index_set(op), *scan.known]
    return (
        op.indices[-1] in uses.of(scan.result)
        and (is_row or not _differ_terms_ahead(scan, op, uses))
        and run_along(inner, lane, uses)
        and all(stays_inside(o, known) for o in numbers)
    )


def _differ_terms_ahead(scan: Scan, op: tix.DefineOp, uses: IndexUses) -> bool:
    """True if columns have other terms than their neighbours before all of those that elements add.

    sum[k in range(j - 1, i + 1)](x[k + 1])         k = -1 comes before row 0, for j = 0 alone
    """
    bounds = indices_of([c.form for c in scan.op.constraints], uses)
    size = op.shape[op.indices.index(scan.index)]
    return op.indices[-1] in bounds and scan.has_terms_ahead(size)
