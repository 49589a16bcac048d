"""Structures of lumps in which one tensor takes the place of one other."""

from __future__ import annotations

from collections.abc import Container, Sequence
from itertools import product

from xdsl.ir import SSAValue

from tadc.dialects import tix
from tadc.dialects.quick import INDEX, block_with
from tadc.dialects.tix import Affine, Constraint
from tadc.passes.derive.inversion.signed_permutations import SignedPermutation
from tadc.passes.derive.inversion.structures import (
    Banded,
    Diagonal,
    DiagonalPlusNilpotent,
    Triangular,
)
from tadc.passes.index_sets.dependence import Dependence, differentiable_reads
from tadc.passes.index_sets.space import feasible
from tadc.passes.rewriting.programs import type_of

WIDEST_REACH = 32
"""Elements before or behind the diagonal that a band may reach."""
HIGHEST_POWER = 4
"""The power to which a nilpotent part must be 0: each one costs another sweep through the lump."""
MOST_CHAINS_TO_A_ZERO_POWER = 200
"""Chains of dependences that are followed to see that a power is 0."""


class Pair:
    """One `out` that takes the place of one `in`, and the dependences between them.

    α is an element of `out`, β = P(γ) one of `in`, with a signed permutation P that is to be found.
    `pure` are the temporaries in between that depend on nothing else that is active.
    """

    def __init__(
        self,
        out: tix.DefineOp,
        tensor: SSAValue,
        chains: Sequence[Dependence],
        pure: Container[SSAValue] = (),
    ):
        self.definition = out
        self.tensor = tensor
        self.chains = chains
        self.pure = pure
        self.indices = self.definition.indices
        self.here = [Affine.of(v) for v in self.indices]
        self.permutations = self._permutations()

    def _permutations(self) -> list[SignedPermutation]:
        """Candidates for P: the identity, if the shapes agree, and the maps of dependences."""
        shape, other = self.definition.type.shape, type_of(self.tensor).shape
        found: dict[SignedPermutation, None] = {}
        if shape == other:
            found[SignedPermutation.identity(len(shape))] = None
        for chain in self.chains:
            permutation = _signed_permutation(chain.element, self.indices)
            if permutation is not None and _is_onto(permutation, shape, other):
                found[permutation] = None
        return list(found)

    def _offsets(self, permutation: SignedPermutation, chain: Dependence) -> list[Affine]:
        """`α - γ`, where `β = P(γ)` with the signed permutation P."""
        there = permutation.preimage(chain.element)
        return [a - b for a, b in zip(self.here, there, strict=True)]

    def _on_diagonal(self, permutation: SignedPermutation, chain: Dependence) -> bool:
        return all(chain.is_zero(form) for form in self._offsets(permutation, chain))

    def diagonal(self) -> Diagonal | None:
        """`Diagonal`, if every dependence is on the diagonal."""
        for permutation in self.permutations:
            if all(self._on_diagonal(permutation, chain) for chain in self.chains):
                return Diagonal(permutation)
        return None

    def diagonal_plus_nilpotent(self) -> DiagonalPlusNilpotent | None:
        """`DiagonalPlusNilpotent`, if chains of dependences beside the diagonal come to an end."""
        reads = differentiable_reads(self.definition)
        numbers = {read: n for n, read in enumerate(reads)}
        for permutation in self.permutations:
            # reads are the smallest parts that a sweep can tell apart: one with any dependence
            # beside the diagonal, or on what else is active, belongs to the rest O
            aside = {c.reads[0] for c in self.chains if not self._on_diagonal(permutation, c)}
            aside |= {r for r in reads if r.tensor is not self.tensor and r.tensor not in self.pure}
            on = {c.reads[0] for c in self.chains} - aside
            rest = [c for c in self.chains if c.reads[0] in aside]
            depth = _depth(rest, permutation, self.indices) if on else None
            if depth is not None:
                return DiagonalPlusNilpotent(
                    permutation, depth, tuple(sorted(numbers[r] for r in on))
                )
        return None

    def ordered(self) -> Banded | Triangular | None:
        """`Banded` or `Triangular`, in the dimensions in which not all is on the diagonal."""
        for permutation in self.permutations:
            offsets = [(chain, self._offsets(permutation, chain)) for chain in self.chains]
            dims = range(len(self.indices))
            # dimensions with α = γ in every dependence number independent matrices
            batch = tuple(d for d in dims if all(c.is_zero(form[d]) for c, form in offsets))
            rest = tuple(d for d in dims if d not in batch)
            if len(rest) == 1:
                # -upper <= α - γ <= lower, with the least bounds that hold for all dependences
                along = [(chain, form[rest[0]]) for chain, form in offsets]
                lower, upper = _reach(along), _reach([(c, -form) for c, form in along])
                if lower is not None and upper is not None:
                    band = Banded(permutation, batch, rest[0], lower, upper)
                    if self._is_narrow(band):
                        return band
            for lower in (True, False):
                if all(_is_ordered(c, [f[d] for d in rest], lower) for c, f in offsets):
                    return Triangular(permutation, batch, rest, lower)
        return None

    def _is_narrow(self, band: Banded) -> bool:
        """True if the band is narrower than half the matrix, or the size of that is not known."""
        size = self.definition.type.shape[band.rest]
        return bool(size.terms) or 2 * (band.lower + band.upper + 1) <= size.constant


def _signed_permutation(
    element: Sequence[Affine], indices: Sequence[SSAValue]
) -> SignedPermutation | None:
    """The map from α to the element, if that is one: `± α_d + form of sizes`, all d different."""
    dims: list[int] = []
    signs: list[int] = []
    offsets: list[Affine] = []
    for form in element:
        if len(form.indices) != 1 or form.indices[0] not in indices:
            return None
        index = form.indices[0]
        if abs(form[index]) != 1:
            return None
        dims.append(indices.index(index))
        signs.append(form[index])
        offsets.append(form - Affine.of(index) * form[index])
    if len(set(dims)) < len(indices) or len(dims) != len(indices):
        return None
    return SignedPermutation(tuple(dims), tuple(signs), tuple(offsets))


def _is_onto(
    permutation: SignedPermutation, shape: Sequence[Affine], other: Sequence[Affine]
) -> bool:
    """True if the permutation maps the index box of one shape onto that of the other."""
    return all(
        shape[d] == size and offset == (Affine() if sign > 0 else size - 1)
        for d, sign, offset, size in zip(
            permutation.dims, permutation.signs, permutation.offsets, other, strict=True
        )
    )


def _is_ordered(chain: Dependence, offsets: Sequence[Affine], lower: bool) -> bool:
    """True if the offsets are lexicographically at least 0, or at most 0 if not `lower`."""
    # dimension by dimension: with 0 in all before, none may be on the wrong side
    known: list[Constraint] = []
    for form in offsets:
        outside = Constraint((-form if lower else form) - 1)
        if feasible([*chain.constraints, *known, outside]):
            return False
        known.append(Constraint(form, equality=True))
    return True


def _reach(offsets: Sequence[tuple[Dependence, Affine]]) -> int | None:
    """The least constant >= 0 that no offset exceeds; None if it is above `WIDEST_REACH`."""

    def below(limit: int) -> bool:
        return all(chain.always(Constraint(-form + limit)) for chain, form in offsets)

    if not below(WIDEST_REACH):
        return None
    low, high = -1, WIDEST_REACH  # bisection: below(high) holds, below(low) does not matter
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if below(middle) else (middle, high)
    return high


# --- nilpotent parts ------------------------------------------------------------------------------


def _depth(
    chains: Sequence[Dependence], permutation: SignedPermutation, indices: Sequence[SSAValue]
) -> int | None:
    """The least power of the relation `α -> P⁻¹(β)` that is empty, at most `HIGHEST_POWER`."""
    # the power as a list of ways (end, constraints): α leads to the element P(end) of `in`
    ways: list[tuple[tuple[Affine, ...], tuple[Constraint, ...]]] = [
        (tuple(permutation.preimage(c.element)), c.constraints) for c in chains
    ]
    for depth in range(1, HIGHEST_POWER + 1):
        if not ways:
            return depth
        if depth == HIGHEST_POWER or len(ways) * len(chains) > MOST_CHAINS_TO_A_ZERO_POWER:
            return None
        # the next power: go on from the end of each way by each chain, whose inner indices must
        # not be those of an earlier step; what is infeasible leads nowhere
        fresh = [renamed(c, indices) for c in chains]
        ways = [
            (tuple(permutation.preimage(longer.element)), constraints)
            for (end, before), chain in product(ways, fresh)
            for longer in [chain.substitute(dict(zip(indices, end, strict=True)))]
            if feasible(constraints := (*before, *longer.constraints))
        ]
    return None


def renamed(chain: Dependence, indices: Sequence[SSAValue]) -> Dependence:
    """The chain with new indices in place of all but these."""
    forms = [*chain.element, *(c.form for c in chain.constraints)]
    others = list(dict.fromkeys(v for f in forms for v in f.indices if v not in indices))
    fresh = fresh_indices(len(others))
    return chain.substitute({a: Affine.of(b) for a, b in zip(others, fresh, strict=True)})


def fresh_indices(count: int) -> Sequence[SSAValue]:
    """Indices that occur nowhere else."""
    return block_with([INDEX] * count).args
