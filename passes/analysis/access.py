"""Accesses: how elements that a read takes at neighbouring values of an index lie in memory.

y[i, j] = w[i] + x[i, j] + v[9 - j] + u[2*j] + x[j, i]        along j:

w[i]        invariant     one number for all lanes of a vector
x[i, j]     contiguous    one load
v[9 - j]    reversed      one load, and a shuffle
u[2*j]      strided       a few loads, and shuffles: masks can leave lanes out
x[j, i]     gathered      a load for each lane: at a distance that is large, or not known
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from functools import cache

from xdsl.ir import SSAValue

from tadc.dialects import tix
from tadc.dialects.tix import Affine
from tadc.passes.analysis.index_uses import IndexUses

MASKED_STEPS = (1, -1, 2, -2, 3, -3, 4, -4)
"""The distances of elements in neighbouring lanes of which a mask can leave some out."""

MOST_FAST = 2
"""The largest distance at which a vector of elements takes a few instructions."""

Access = Enum("Access", "INVARIANT CONTIGUOUS REVERSED STRIDED GATHERED")
"""The places of elements in memory, relative to each other."""

ADJACENT = Access.CONTIGUOUS, Access.REVERSED
IN_ORDER = Access.INVARIANT, *ADJACENT
MASKABLE = *ADJACENT, Access.STRIDED


def access(read: tix.ReadOp, index: SSAValue, uses: IndexUses) -> Access:
    """The access of a read along an index: where elements lie at neighbouring values of it."""
    step = stride(read, index, uses)
    match step:
        case 0:
            return Access.INVARIANT
        case 1:
            return Access.CONTIGUOUS
        case -1:
            return Access.REVERSED
        case _:
            return Access.STRIDED if step in MASKED_STEPS else Access.GATHERED


def moves_last(op: tix.ReductionOp, index: SSAValue) -> bool:
    """True if terms lie side by side along an index, in one of the tensors that are read."""
    reads = [o for o in op.walk() if isinstance(o, tix.ReadOp)]
    return any(read.forms and read.forms[-1][index] for read in reads)


def is_slow(step: int | None) -> bool:
    """True if vectors of elements at this distance take more than a few instructions."""
    return step is None or abs(step) > MOST_FAST


def stride(
    read: tix.ReadOp, index: SSAValue, uses: IndexUses, sizes: Mapping[str, int] | None = None
) -> int | None:
    """The distance of elements read at neighbouring values of an index, for these `sizes`.

    None where it is not known: far apart.
    """
    if sizes:
        shape = tuple(known_size(size, sizes) for size in read.shape)
        return _stride(read, shape, index, uses)
    return uses.once((stride, read, index), lambda: _stride(read, read.shape, index, uses))


def _stride(
    read: tix.ReadOp, shape: tuple[Affine, ...], index: SSAValue, uses: IndexUses
) -> int | None:
    total = 0
    for form, step in zip(read.forms, _strides(shape), strict=True):
        if any(index in uses.of(v) and v is not index for v in form.indices):
            return None  # through a division
        if form[index]:
            if step is None:
                return None
            total += form[index] * step
    return total


@cache
def _strides(shape: tuple[Affine, ...]) -> tuple[int | None, ...]:
    strides: list[int | None] = [1]
    for size in reversed(shape[1:]):
        last = strides[-1]
        strides.append(None if last is None or size.terms else last * max(0, size.constant))
    return tuple(strides[::-1][: len(shape)])


def known_size(size: Affine, sizes: Mapping[str, int]) -> Affine:
    """A size as a number, where these sizes tell."""
    if not size.terms or any(name not in sizes for name in size.sizes):
        return size
    return Affine(constant=size.evaluate({n: sizes[n] for n in size.sizes}))
