"""Strides of windows over an index: m in `y[p] = sum[i, 0 <= p - m*i < K](x[i] * w[p - m*i])`.

Each x[i] is read by the K neighbours of a window, and windows begin m elements apart. So transposed
convolutions are, and gradients of convolutions with strides. At `p = m*q + r` and `i = q - u`
windows are those of a convolution, `sum[u, 0 <= m*u + r < K](x[q - u] * w[m*u + r])`.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from math import inf
from typing import NamedTuple

from xdsl.ir import SSAValue

from tadc.dialects import tix
from tadc.dialects.tix import Affine

ASSUMED_LENGTH = 512
"""The value assumed of a size that is not known."""


def window_strides(op: tix.DefineOp, sizes: Mapping[str, int]) -> dict[SSAValue, int]:
    """The stride of the windows over each index of a definition that has windows of one stride.

    Windows are shorter than the index, and than the range of terms without them, for these `sizes`.
    Where no number bounds them, they are much shorter, and the sum has other indices, too: elements
    share its terms then.
    """
    lengths = _Lengths(sizes)
    around = {v: n.evaluate(lengths) for v, n in zip(op.indices, op.shape, strict=True)}
    found: dict[SSAValue, set[int]] = {}
    for inner in op.body.walk():
        if isinstance(inner, tix.SumOp):
            windows = [w for k in inner.indices for w in _windows(inner, k, around, lengths)]
            has_others = len({w.term for w in windows}) < len(inner.indices)
            for window in windows:
                if has_others or not window.width.terms:
                    found.setdefault(window.around, set()).add(window.stride)
    return {v: strides.pop() for v, strides in found.items() if len(strides) == 1}


class _Lengths(dict[str, int]):
    """Sizes, of which some are assumed."""

    def __missing__(self, name: str) -> int:
        return ASSUMED_LENGTH


class _Window(NamedTuple):
    """The values of `term` for which `around - stride * term` lies between two ends."""

    term: SSAValue
    around: SSAValue
    stride: int
    width: Affine
    """The distance of the ends."""

    def length(self, sizes: _Lengths) -> int:
        """The number of values, twice as many where no number bounds them."""
        return (self.width.evaluate(sizes) // self.stride + 1) * (2 if self.width.terms else 1)


def _windows(
    op: tix.SumOp, k: SSAValue, around: Mapping[SSAValue, int], sizes: _Lengths
) -> list[_Window]:
    """The windows that an index of a sum moves over the indices `around`, which are so long."""
    whole: float = inf
    windows: list[_Window] = []
    forms = [c.form for c in op.constraints if c.form[k] and not c.equality]
    for low, high in product(forms, forms):
        width, stride = low + high, low[k]
        if stride < 1 or width.indices:
            continue
        moving, distance = [v for v in low.indices if v is not k], width.evaluate(sizes)
        if not moving:
            whole = min(whole, distance // stride + 1)
        elif len(moving) == 1 and abs(low[v := moving[0]]) == 1 < stride:
            is_shorter = distance < around.get(v, 0) - 1
            windows += [_Window(k, v, stride, width)] if is_shorter else []
    return [w for w in windows if w.length(sizes) < whole]
