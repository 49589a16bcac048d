"""The structures that the matrix of a lump may have, each a claim about which entries are 0.

The matrix A has a row for each element of `outs` and a column for each element of `ins`. With one
`out` and one `in`, α is an element of `out`, and `permutation` the signed permutation P between the
two, which numbers the columns. `passes/derive/inversion/classify.py` proves which structure a lump
has.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from tadc.passes.derive.inversion.signed_permutations import SignedPermutation


@dataclass(frozen=True)
class Dense:
    """Any element of `outs` may depend on any of `ins`."""


@dataclass(frozen=True)
class Blocks:
    """Elements depend on others only where all batch indices are equal.

    Batch index b is dimension `out_dims[k][b]` of `outs[k]` and `in_dims[k][b]` of `ins[k]`.
    """

    out_dims: tuple[tuple[int, ...], ...]
    in_dims: tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Triangular:
    """`out[α]` depends on `in[P(γ)]` only where γ <= α if `lower`, where γ >= α otherwise.

    In dimensions `batch` of `out`, γ and α are equal; in the others, `rest`, they are compared
    lexicographically, which is the order of elements in memory.
    """

    permutation: SignedPermutation
    batch: tuple[int, ...]
    rest: tuple[int, ...]
    lower: bool


@dataclass(frozen=True)
class Banded:
    """`out[α]` depends on `in[P(γ)]` only where `α_rest - lower <= γ_rest <= α_rest + upper`,
    and in all other dimensions, `batch`, γ and α are equal."""

    permutation: SignedPermutation
    batch: tuple[int, ...]
    rest: int
    lower: int
    upper: int


@dataclass(frozen=True)
class DiagonalPlusNilpotent:
    """A is a diagonal part, `out[α]` by `in[P(α)]`, plus a rest that is 0 to the power `depth`.

    The diagonal part is the derivative by the reads with these numbers in the order of
    `differentiable_reads` of the definition of `out`. They read `in`, or temporaries of the lump
    that depend on nothing else that is active, so that a tangent of 1 of `in` gives the diagonal.
    With D the diagonal part and O the rest, `x = D⁻¹ (y - O x)` reaches its fixed point from `x =
    D⁻¹ y` in `depth - 1` steps.
    """

    permutation: SignedPermutation
    depth: int
    reads: tuple[int, ...]


@dataclass(frozen=True)
class Monomial:
    """Each row and each column has one entry: a permutation of any kind, times a diagonal.

    So `a = A 1` has these entries by row, and no other form of the permutation is needed:
    `A x = y` has the solution `x = Aᵀ (y / a²)`, and `Aᵀ y = x` the solution `y = (A x) / a²`.
    """


@dataclass(frozen=True)
class Diagonal:
    """`out[α]` depends on `in[P(α)]` alone."""

    permutation: SignedPermutation


Structure: TypeAlias = (
    Diagonal | DiagonalPlusNilpotent | Banded | Triangular | Blocks | Monomial | Dense
)
