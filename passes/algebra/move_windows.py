"""`move-windows`: shifts an index of a sum, so that it reads the same window as other sums do.

    dx[i, j] = sum[s, t](a[s] * b[t] * dy[i - s, j - t])      gradients of a separable filter
    db[t] = sum[i, j, s](a[s] * dy[i, j] * z[i + s, j + t])

become

    dx[i, j] = sum[s, t](a[s] * b[t] * dy[i - s, j - t])
    db[t] = sum[i, j, s](a[s] * dy[i - s, j] * z[i, j + t])

by the change of variables `i := i - s`, under which the terms are the same. Now both hold the sum
of `a[s] * dy[i - s, j]` over s, which `factor-sums` computes once, as a tensor. Of

    sum[i, s](a[s] * u[i] * v[i + s])

either factor may have the windows: that is so where s is read nowhere else, and i is read in these
two alone. Bounds move with windows, so that they are moved only where partial sums take fewer
operations then. Only the order changes in which terms are added. Sums that must round identically
stay as they are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import prod
from typing import NamedTuple

from xdsl.ir import Operation, SSAValue

from tadc.dialects import tix
from tadc.dialects.tix import Affine
from tadc.passes.algebra.factor_sums import factor_sums
from tadc.passes.algebra.factoring.sum_places import SumPlace
from tadc.passes.algebra.shift_sums import Indices, with_indices
from tadc.passes.analysis.costs import FREE
from tadc.passes.analysis.properties import sums_bounded
from tadc.passes.analysis.rounding import in_extremum, must_round_identically
from tadc.passes.rewriting.part_sizes import with_derived_sizes
from tadc.passes.rewriting.products import Product
from tadc.passes.rewriting.program_pass import ProgramPass
from tadc.passes.rewriting.programs import forms_of
from tadc.passes.rewriting.written_sizes import parse_sizes


@dataclass(frozen=True)
class MoveWindowsPass(ProgramPass):
    """`move-windows{sizes="N=512"}`: made best for these sizes."""

    name = "move-windows"
    requires = leaves = (sums_bounded,)
    sizes: tuple[str, ...] = ()

    def rewrite(self, program: tix.ProgramOp) -> tix.ProgramOp:
        return move_windows(program, parse_sizes(self.sizes))


def move_windows(program: tix.ProgramOp, sizes: Mapping[str, int]) -> tix.ProgramOp:
    """The program with windows where several sums have them; itself if that is so, or if it would
    take no fewer operations."""
    changes = _changes(program)
    if not changes:
        return program
    moved = with_indices(program, changes)
    before, after = (_operations(factor_sums(p, True, sizes), sizes) for p in (program, moved))
    return moved if after < before else program


def _operations(program: tix.ProgramOp, sizes: Mapping[str, int]) -> int:
    """The operations of all terms of sums."""
    total, known = 0, with_derived_sizes(program, sizes)
    for definition in program.definitions:
        for op in definition.walk():
            if isinstance(op, tix.SumOp):
                place = SumPlace(op, definition, known)
                each = sum(not isinstance(o, FREE) for o in op.body.block.ops)
                total += place.outer * prod(place.lengths[v] for v in op.indices) * each
    return total


def _changes(program: tix.ProgramOp) -> dict[Operation, Indices]:
    """The indices of sums whose windows are to be where other sums have them."""
    fixed = must_round_identically(program)
    sums = [
        op
        for op in program.walk()
        if isinstance(op, tix.SumOp) and op not in fixed and not in_extremum(op)
    ]
    windows = {op: {*_windows(op)} for op in sums}
    counts = Counter(window for found in windows.values() for window in found)
    changes: dict[Operation, Indices] = {}
    for op in sums:
        for index, moved, window in _moves(op):
            if counts[window] and window not in windows[op] and op not in changes:
                changes[op] = {index: moved}
    return changes


class _Window(NamedTuple):
    """Terms that are products of weights with a window of a tensor."""

    weights: SSAValue
    tensor: SSAValue
    dimension: int
    step: int
    """1 where later terms are of later elements, or -1."""


def _factors(op: tix.SumOp) -> list[tix.ReadOp]:
    """The reads that are factors of the only value of a sum; none where others are, too."""
    if len(op.results) > 1:
        return []
    product = Product.of(tix.yielded(op.body), op.body.block)
    owners = [v.owner for v in product.factors]
    reads = [o for o in owners if isinstance(o, tix.ReadOp) and o.view is None]
    inside = sum(isinstance(o, tix.ReadOp) for o in op.body.walk())
    return reads if len(reads) == inside and not product.divisors else []


def _weights(op: tix.SumOp) -> Iterator[tuple[SSAValue, SSAValue]]:
    """The tensors of one dimension among factors, with the indices of the sum that run over
    them."""
    for read in _factors(op):
        index = read.forms[0].single_index if len(read.forms) == 1 else None
        if index is not None and index in op.indices:
            yield read.tensor, index


def _windows(op: tix.SumOp) -> Iterator[_Window]:
    """The windows that a sum has, at a place by another index each."""
    for weights, s in _weights(op):
        for read in _factors(op):
            for n, form in enumerate(read.forms):
                others = [v for v in form.indices if v is not s]
                if abs(form[s]) == 1 and len(others) == 1 and form[others[0]] == 1:
                    yield _Window(weights, read.tensor, n, form[s])


def _moves(op: tix.SumOp) -> Iterator[tuple[SSAValue, Affine, _Window]]:
    """The windows that a sum could have instead: what an index of it becomes, for each."""
    for weights, s in _weights(op):
        if sum(bool(form[s]) for o in op.body.walk() for form in forms_of(o)) != 2:
            continue  # in the weights, and in one window
        for read in _factors(op):
            for n, i in enumerate(form.single_index for form in read.forms):
                if i is None or i is s or i not in op.indices:
                    continue
                forms = [f for o in op.body.walk() for f in forms_of(o) if f[i]]
                windows = [f for f in forms if abs(f[s]) == 1 and f[i] == 1]
                if len(forms) == 2 and len(windows) == 1:
                    step = -windows[0][s]
                    moved = Affine.of(i) + Affine.of(s) * step
                    yield i, moved, _Window(weights, read.tensor, n, step)
