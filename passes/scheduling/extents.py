"""Extents: how many elements and terms a definition has at the sizes that loops are chosen for.

    y[i] = sum[j](x[i, j])        x: f32[64, 512]        64 elements, 64 in a row, 512 terms each

What shares rows, strips or bands asks them whether caches have room for what lies between two uses.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, prod

from tadc.dialects import tix
from tadc.dialects.tix.affine import SizeValues
from tadc.passes.scheduling.costs.tile_cost import Sizes, length_of


@dataclass(frozen=True)
class Extents:
    """Numbers of elements and terms of a definition; of one whose sizes nobody knows, none."""

    elements: int | None = None
    """The elements of the result; None where sizes do not tell."""
    row: int | None = None
    """The elements of a row of the result; None where sizes do not tell."""
    terms: float = inf
    """The terms of the longest reduction."""


UNKNOWN = Extents()


def extents_of(op: tix.DefineOp, example: Sizes) -> Extents:
    """The extents of a definition for these sizes."""
    shape = [_extent(size, example) for size in op.type.shape]
    known = [n for n in shape if n is not None]
    return Extents(
        elements=prod(known) if len(known) == len(shape) else None,
        row=shape[-1] if shape else None,
        terms=_most_terms(op, example),
    )


def _extent(size: tix.Affine, example: Sizes) -> int | None:
    known = SizeValues(example)
    return max(0, size.evaluate(known)) if all(n in known for n in size.sizes) else None


def _most_terms(op: tix.DefineOp, example: Sizes) -> float:
    """The number of terms of the longest reduction."""
    reductions = (o for o in op.walk() if isinstance(o, tix.ReductionOp))
    counts = (prod(length_of(o, v, example) for v in o.indices) for o in reductions)
    return max(counts, default=0)
