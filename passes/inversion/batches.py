"""Batch indices of a lump of several tensors: dimensions that are equal in all dependences."""

from __future__ import annotations

from collections.abc import Sequence

from dialects import tix
from dialects.tix import Affine
from passes.index_sets.dependence import Dependence
from passes.inversion.lumps import Lump
from passes.inversion.structures import Blocks
from passes.rewriting.programs import type_of

STEPS = 1000
"""How many dimensions are tried as parts of one batch index."""


def blocks(lump: Lump, pairs: Sequence[Sequence[Sequence[Dependence]]]) -> Blocks | None:
    """`pairs[k][j]` are the dependences of `outs[k]` on `ins[j]`; None where there is no batch.

    Dimension d of the first `out` is a batch index if every tensor has a dimension of its size
    which equals it; dimensions with the same number are tried first.
    """
    search = _Search(lump, pairs)
    for d in range(type_of(lump.outs[0]).rank):
        search.extend(d)
    if not search.batches:
        return None
    outs = len(lump.outs)
    dims = [tuple(batch[k] for batch in search.batches) for k in range(len(search.tensors))]
    return Blocks(tuple(dims[:outs]), tuple(dims[outs:]))


class _Search:
    """Batch indices found so far, each a dimension for each of `outs`, then for each of `ins`."""

    def __init__(self, lump: Lump, pairs: Sequence[Sequence[Sequence[Dependence]]]):
        self.tensors = [*lump.outs, *lump.ins]
        self.outs = len(lump.outs)
        self.pairs = pairs
        self.order = [0, *range(self.outs, len(self.tensors)), *range(1, self.outs)]
        """What depends on each other comes close to each other."""
        self.batches: list[list[int]] = []
        self.known: dict[tuple[int, int, int, int], bool] = {}
        self.steps = 0

    def extend(self, d: int) -> None:
        """Make dimension `d` of the first tensor part of a batch index, if there is one."""
        self.steps = 0
        found = self._complete({0: d})
        if found is not None:
            self.batches.append([found[k] for k in range(len(self.tensors))])

    def _complete(self, dims: dict[int, int]) -> dict[int, int] | None:
        """Dimensions for the tensors that have none yet, by trial."""
        if len(dims) == len(self.tensors):
            return dims
        k = self.order[len(dims)]
        for n in self._choices(k, dims[0]):
            self.steps += 1
            if self.steps > STEPS:
                return None
            if all(self._equal(k, n, other, m) for other, m in dims.items()):
                found = self._complete({**dims, k: n})
                if found is not None:
                    return found
        return None

    def _choices(self, k: int, d: int) -> list[int]:
        size = type_of(self.tensors[0]).shape[d]
        taken = {batch[k] for batch in self.batches}
        shape = type_of(self.tensors[k]).shape
        free = [n for n, other in enumerate(shape) if other == size and n not in taken]
        return sorted(free, key=lambda n: (n != d, n))

    def _equal(self, a: int, dim_a: int, b: int, dim_b: int) -> bool:
        """Are two dimensions equal wherever one of the tensors depends on the other?"""
        if (a < self.outs) == (b < self.outs):
            return True
        if a > b:
            a, dim_a, b, dim_b = b, dim_b, a, dim_a
        key = a, dim_a, b, dim_b
        if key not in self.known:
            owner = self.tensors[a].owner
            assert isinstance(owner, tix.DefineOp)
            index = Affine.of(owner.indices[dim_a])
            chains = self.pairs[a][b - self.outs]
            self.known[key] = all(c.is_zero(c.element[dim_b] - index) for c in chains)
        return self.known[key]
