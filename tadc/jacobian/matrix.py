"""Matrices of other packages, made of a pattern and the entries at its places."""

from __future__ import annotations

from typing import Any

from tadc.jacobian.pattern import Array, Pattern
from tadc.support.packages import installed


def matrix(pattern: Pattern, entries: Array) -> Any:
    """The `scipy.sparse.csr_array` with these entries; it shares the arrays of the pattern."""
    sparse = installed("scipy.sparse", "a sparse Jacobian")
    made = sparse.csr_array(
        (entries, pattern.columns, pattern.row_starts), shape=pattern.shape, copy=False
    )
    made.has_canonical_format = True  # else scipy looks at all entries to find out
    return made
