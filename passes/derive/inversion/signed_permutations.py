"""Signed permutations of dimensions: maps between index boxes that permute and reflect axes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tadc.dialects.tix import Affine


@dataclass(frozen=True)
class SignedPermutation:
    """`β_b = offsets[b] + signs[b] α_dims[b]` between the index boxes of two tensors.

    Offsets are forms of sizes: 0 for a sign of 1, the size less 1 for a sign of -1.
    """

    dims: tuple[int, ...]
    signs: tuple[int, ...]
    offsets: tuple[Affine, ...]

    @staticmethod
    def identity(rank: int) -> SignedPermutation:
        return SignedPermutation(tuple(range(rank)), (1,) * rank, (Affine(),) * rank)

    @property
    def is_identity(self) -> bool:
        return self == SignedPermutation.identity(len(self.dims))

    def image(self, element: Sequence[Affine]) -> list[Affine]:
        """β for α."""
        return [
            offset + element[d] * sign
            for d, sign, offset in zip(self.dims, self.signs, self.offsets, strict=True)
        ]

    def preimage(self, element: Sequence[Affine]) -> list[Affine]:
        """α for β."""
        found = [Affine()] * len(element)
        parts = zip(element, self.dims, self.signs, self.offsets, strict=True)
        for form, d, sign, offset in parts:
            found[d] = (form - offset) * sign
        return found
