"""The boxes of roots: of the definitions that share bands, those that are stored.

What a band is, the last root says: a box of a value for each of its indices, or of several where
those of another root have a part of one. Boxes of other roots are found by what both read, or by
what is between, so that these parts lie side by side:

    y[s, p] = sum[i in range(8*p, min(8*p + 8, I)), j](v[i, j] * x[i + s, j])       p
    d[i, j] = sum[s in range(5)](a[s] * v[i - s, j])                                8 p .. 8 p + 7

Where v moves by r values for each one of p, and by m for each one of i, then i moves by r / m, its
*rate*. That decides where a band reads; boxes of a root cover it once, whatever the rates are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import lcm

from xdsl.ir import SSAValue

from tadc.dialects import tix
from tadc.passes.rewriting.programs import reads_of, type_of
from tadc.passes.scheduling.bands.band_stages import Axis
from tadc.passes.scheduling.bands.band_windows import windows_of

Whole = Mapping[tix.DefineOp, tix.DefineOp]
"""Definitions, each with its form without merged indices (`band_axes`)."""

Rate = tuple[int, Fraction]
"""An index of the last root, by its number, and the distance that its step moves a dimension."""

Rates = list[Rate | None]
"""The rates of all indices of a definition, or of all dimensions of a tensor."""


def axes_of_roots(
    whole: Whole, roots: Sequence[tix.DefineOp], ops: Sequence[tix.DefineOp]
) -> dict[tix.DefineOp, list[Axis | None]] | None:
    """The boxes of the `roots` in a band; None if a root moves with no index of the last root, or
    two of its dimensions move with the same one."""
    rates = _rates(whole, ops)
    if not all(any(rates[op]) and _are_apart(rates[op]) for op in roots):
        return None
    scale: dict[int, int] = {}
    for index, rate in (found for op in roots for found in rates[op] if found):
        scale[index] = lcm(scale.get(index, 1), rate.denominator)
    return {op: [rate and _box(rate, scale) for rate in rates[op]] for op in roots}


def _are_apart(rates: Sequence[Rate | None]) -> bool:
    """True if no two dimensions move with the same index of the last root."""
    indices = [rate[0] for rate in rates if rate]
    return len({*indices}) == len(indices)


def _box(rate: Rate, scale: Mapping[int, int]) -> Axis:
    """The range of a dimension in a band with `scale` values of each index of the last root."""
    index, each = rate
    values = int(each * scale[index])
    return Axis(index, values, 0, values - 1)


def _rates(whole: Whole, ops: Sequence[tix.DefineOp]) -> dict[tix.DefineOp, Rates]:
    """The rates of the indices of all definitions, propagated through reads from the last root."""
    last = ops[-1]
    found = {last: Rates((n, Fraction(1)) for n in range(len(whole[last].indices)))}
    tensors: dict[SSAValue, Rates] = {}
    _add_rates(tensors, whole[last], last, found[last])
    left = [*reversed(ops[:-1])]
    while left:
        rates = {op: _rates_of(op, whole[op], tensors) for op in left}
        op = max(left, key=lambda op: sum(map(bool, rates[op])))
        found[op] = rates[op]
        _add_rates(tensors, whole[op], op, found[op])
        left.remove(op)
    return found


def _rates_of(
    op: tix.DefineOp, like: tix.DefineOp, tensors: Mapping[SSAValue, Sequence[Rate | None]]
) -> Rates:
    """The rates of a definition's indices, derived from its readers, or else from its own reads."""
    own = [*tensors.get(op.result, ())]
    return own if any(own) else _rates_by_reads(like, tensors)


def _add_rates(
    tensors: dict[SSAValue, Rates],
    op: tix.DefineOp,
    of: tix.DefineOp,
    own: Sequence[Rate | None],
) -> None:
    """Record the rates of a definition's result, and of the tensors that it reads."""
    tensors.setdefault(of.result, [*own])
    rates = dict(zip(op.indices, own, strict=True))
    for read in _reads_as_they_are(op):
        windows = windows_of(read, op)
        moved = [(w, rate) if w and (rate := rates[w.index]) else None for w in windows]
        tensors.setdefault(read.tensor, [m and (m[1][0], m[1][1] * m[0].step) for m in moved])


def _rates_by_reads(op: tix.DefineOp, tensors: Mapping[SSAValue, Sequence[Rate | None]]) -> Rates:
    """The rates of indices, derived from the tensors read: no two with the same index of the
    root."""
    found: dict[SSAValue, Rate] = {}
    for read in _reads_as_they_are(op):
        for window, rate in zip(windows_of(read, op), tensors.get(read.tensor, ()), strict=False):
            if window and rate and rate[0] not in {index for index, _ in found.values()}:
                found.setdefault(window.index, (rate[0], rate[1] / window.step))
    return [found.get(v) for v in op.indices]


def _reads_as_they_are(op: tix.DefineOp) -> list[tix.ReadOp]:
    """The reads that see a tensor in its own shape."""
    return [r for r in reads_of(op) if tuple(r.shape) == tuple(type_of(r.tensor).shape)]
