"""The sparsity pattern of a lump's matrix: which of its entries may differ from 0.

The matrix A has a row for each element of `outs` and a column for each element of `ins`. An entry
is 0 unless a chain of reads leads from the one element to the other, so the pattern is a list of
dependences for each block of A (`passes/index_sets/dependence.py`): exact, with symbolic sizes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import LocationAttr
from xdsl.ir import SSAValue

from tadc.dialects import tix
from tadc.passes.index_sets.dependence import Dependence, dependences


@dataclass(frozen=True)
class SparsityPattern:
    """The entries of a lump's matrix that may differ from 0."""

    outs: tuple[tix.DefineOp, ...]
    ins: tuple[SSAValue, ...]
    blocks: tuple[tuple[tuple[Dependence, ...], ...], ...]
    """`blocks[k][j]`: how elements of `outs[k]` depend on those of `ins[j]`."""
    location: LocationAttr
    """The place of the lump."""


def sparsity_pattern(
    definitions: Sequence[tix.DefineOp], outs: Sequence[tix.DefineOp], ins: Sequence[SSAValue]
) -> SparsityPattern | None:
    """The pattern of `outs` by `ins`, through all `definitions` of a lump, which are in order.

    None where there are too many chains of reads to follow: then any entry may differ from 0.
    """
    found = dependences(definitions, ins)
    blocks: list[tuple[tuple[Dependence, ...], ...]] = []
    for out in outs:
        row = [found[out.result].get(tensor, []) for tensor in ins]
        known = [tuple(chains) for chains in row if chains is not None]
        if len(known) < len(row):
            return None
        blocks.append(tuple(known))
    return SparsityPattern(tuple(outs), tuple(ins), tuple(blocks), definitions[-1].location)
