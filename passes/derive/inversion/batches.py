"""Batch indices of a lump of several tensors: dimensions that are equal in all dependences."""

from __future__ import annotations

from tadc.dialects.tix import Affine
from tadc.passes.derive.inversion.sparsity import SparsityPattern
from tadc.passes.derive.inversion.structures import Blocks
from tadc.passes.rewriting.programs import type_of

MOST_TRIALS = 1000
"""Dimensions that are tried as parts of one batch index: the search is exponential."""


def blocks(pattern: SparsityPattern) -> Blocks | None:
    """The batch indices of a lump's matrix, None where there is none.

    Dimension d of the first `out` is a batch index if every tensor has a dimension of its size
    which equals it; dimensions with the same number are tried first.
    """
    search = _Search(pattern)
    for d in range(pattern.outs[0].type.rank):
        search.extend(d)
    if not search.batches:
        return None
    dims = [tuple(batch[k] for batch in search.batches) for k in range(len(search.tensors))]
    return Blocks(tuple(dims[: search.outs]), tuple(dims[search.outs :]))


class _Search:
    """Batch indices found so far, each a dimension for each of `outs`, then for each of `ins`."""

    def __init__(self, pattern: SparsityPattern):
        self.pattern = pattern
        self.tensors = [*(op.result for op in pattern.outs), *pattern.ins]
        self.outs = len(pattern.outs)
        self.order = [0, *range(self.outs, len(self.tensors)), *range(1, self.outs)]
        """The first of `outs`, all of `ins`, the other `outs`: each comes soon after one that it is
        compared with."""
        self.batches: list[list[int]] = []
        self.known: dict[tuple[int, int, int, int], bool] = {}
        self.trials = 0

    def extend(self, d: int) -> None:
        """Make dimension `d` of the first tensor part of a batch index, if there is one."""
        self.trials = 0
        found = self._complete({0: d})
        if found is not None:
            self.batches.append([found[k] for k in range(len(self.tensors))])

    def _complete(self, dims: dict[int, int]) -> dict[int, int] | None:
        """Dimensions for the tensors that have none yet, by backtracking."""
        if len(dims) == len(self.tensors):
            return dims
        k = self.order[len(dims)]
        for n in self._choices(k, dims[0]):
            self.trials += 1
            if self.trials > MOST_TRIALS:
                return None
            if all(self._equal(k, n, other, m) for other, m in dims.items()):
                found = self._complete({**dims, k: n})
                if found is not None:
                    return found
        return None

    def _choices(self, k: int, d: int) -> list[int]:
        """The free dimensions of tensor `k` as large as `d` of the first one; `d` comes first."""
        size = type_of(self.tensors[0]).shape[d]
        taken = {batch[k] for batch in self.batches}
        shape = type_of(self.tensors[k]).shape
        free = [n for n, other in enumerate(shape) if other == size and n not in taken]
        return sorted(free, key=lambda n: (n != d, n))

    def _equal(self, a: int, dim_a: int, b: int, dim_b: int) -> bool:
        """True if two dimensions are equal wherever one of the tensors depends on the other."""
        if (a < self.outs) == (b < self.outs):
            return True
        if a > b:
            a, dim_a, b, dim_b = b, dim_b, a, dim_a
        key = a, dim_a, b, dim_b
        if key not in self.known:
            index = Affine.of(self.pattern.outs[a].indices[dim_a])
            chains = self.pattern.blocks[a][b - self.outs]
            self.known[key] = all(c.is_zero(c.element[dim_b] - index) for c in chains)
        return self.known[key]
