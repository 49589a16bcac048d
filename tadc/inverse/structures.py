"""The sentences that say how a matrix is made, for lumps of a program and for linear systems.

Both say the same of the same structure; `new` and `old` are their words for an element of what a
lump computes, and for those of what it takes the place of.
"""

from __future__ import annotations

DENSE = "dense: each new element may depend on every old one"
PERMUTATION = "permutation: each new element depends on one old one, no two on the same"


def diagonal(new: str, old: str) -> str:
    return f"diagonal: {new} depends on {old} alone"


def diagonal_plus_nilpotent(new: str, old: str, depth: int) -> str:
    return (
        f"substitution: {new} depends on {old} and on others, in chains of at most {depth} elements"
    )


def banded(new: str, old: str, lower: int, upper: int) -> str:
    return f"banded: {new} depends on {old} at most {lower} before and {upper} behind it"


def triangular(new: str, old: str, lower: bool) -> str:
    return f"triangular: {new} depends on {old} {'before' if lower else 'behind'} it alone"


def blocks(batch: str) -> str:
    return f"blocks: elements depend on those with the same {batch} alone, one A for each"
