"""Structures of lumps in which one tensor takes the place of one other."""

from __future__ import annotations

from collections.abc import Container, Sequence
from itertools import product

from xdsl.dialects.builtin import IndexType
from xdsl.ir import Block, SSAValue

from dialects import tix
from dialects.tix import Affine, Constraint
from passes.index_sets.dependence import Dependence, differentiable_reads
from passes.index_sets.space import feasible
from passes.inversion.signed_permutations import SignedPermutation
from passes.inversion.structures import Banded, Diagonal, DiagonalPlusNilpotent, Triangular
from passes.rewriting.programs import type_of

WIDEST_BAND = 32
"""How far from the diagonal a band may reach."""
DEEPEST = 4
"""How often a nilpotent part may be applied until nothing is left."""
CHAINS = 200
"""How many chains of dependences are followed to see that."""


class Pair:
    """One `out` that takes the place of one `in`, and the dependences between them.

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
        self.places = self._places()

    def _places(self) -> list[SignedPermutation]:
        """The identity, if the shapes agree, and what dependences give."""
        shape, other = self.definition.type.shape, type_of(self.tensor).shape
        found: dict[SignedPermutation, None] = {}
        if shape == other:
            found[SignedPermutation.identity(len(shape))] = None
        for chain in self.chains:
            place = _bijection(chain.element, self.indices)
            if place is not None and _is_onto(place, shape, other):
                found[place] = None
        return list(found)

    def _offsets(self, place: SignedPermutation, chain: Dependence) -> list[Affine]:
        """`α - γ`, where `β = place(γ)`."""
        there = place.preimage(chain.element)
        return [a - b for a, b in zip(self.here, there, strict=True)]

    def _on_diagonal(self, place: SignedPermutation, chain: Dependence) -> bool:
        return all(chain.is_zero(form) for form in self._offsets(place, chain))

    def diagonal(self) -> Diagonal | None:
        """All on the diagonal."""
        for place in self.places:
            if all(self._on_diagonal(place, chain) for chain in self.chains):
                return Diagonal(place)
        return None

    def diagonal_plus_nilpotent(self) -> DiagonalPlusNilpotent | None:
        """All on the diagonal by some reads, and never twice elsewhere by the others."""
        reads = differentiable_reads(self.definition)
        numbers = {read: n for n, read in enumerate(reads)}
        for place in self.places:
            aside = {c.reads[0] for c in self.chains if not self._on_diagonal(place, c)}
            aside |= {r for r in reads if r.tensor is not self.tensor and r.tensor not in self.pure}
            on = {c.reads[0] for c in self.chains} - aside
            rest = [c for c in self.chains if c.reads[0] in aside]
            depth = _depth(rest, place, self.indices) if on else None
            if depth is not None:
                return DiagonalPlusNilpotent(place, depth, tuple(sorted(numbers[r] for r in on)))
        return None

    def ordered(self) -> Banded | Triangular | None:
        """A band or a triangle, after the dimensions in which all is on the diagonal."""
        for place in self.places:
            offsets = [(chain, self._offsets(place, chain)) for chain in self.chains]
            dims = range(len(self.indices))
            batch = tuple(d for d in dims if all(c.is_zero(form[d]) for c, form in offsets))
            rest = tuple(d for d in dims if d not in batch)
            if len(rest) == 1:
                along = [(chain, form[rest[0]]) for chain, form in offsets]
                lower, upper = _reach(along), _reach([(c, -form) for c, form in along])
                if lower is not None and upper is not None:
                    band = Banded(place, batch, rest[0], lower, upper)
                    if self._is_narrow(band):
                        return band
            for lower in (True, False):
                if all(_is_ordered(c, [f[d] for d in rest], lower) for c, f in offsets):
                    return Triangular(place, batch, rest, lower)
        return None

    def _is_narrow(self, band: Banded) -> bool:
        """Is the band narrower than half the matrix, where its size is known?"""
        size = self.definition.type.shape[band.rest]
        return bool(size.terms) or 2 * (band.lower + band.upper + 1) <= size.constant


def _bijection(element: Sequence[Affine], indices: Sequence[SSAValue]) -> SignedPermutation | None:
    """The element as `± α_d + form of sizes` in each dimension, with all d different."""
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


def _is_onto(place: SignedPermutation, shape: Sequence[Affine], other: Sequence[Affine]) -> bool:
    """Does it map the index box of one shape onto that of the other?"""
    return all(
        shape[d] == size and offset == (Affine() if sign > 0 else size - 1)
        for d, sign, offset, size in zip(place.dims, place.signs, place.offsets, other, strict=True)
    )


def _is_ordered(chain: Dependence, offsets: Sequence[Affine], lower: bool) -> bool:
    """Are the offsets lexicographically at least 0, or at most 0 if not `lower`?"""
    known: list[Constraint] = []
    for form in offsets:
        outside = Constraint((-form if lower else form) - 1)
        if feasible([*chain.constraints, *known, outside]):
            return False
        known.append(Constraint(form, equality=True))
    return True


def _reach(offsets: Sequence[tuple[Dependence, Affine]]) -> int | None:
    """The least constant that all offsets stay below or equal; None if it is not small."""

    def below(limit: int) -> bool:
        return all(chain.always(Constraint(-form + limit)) for chain, form in offsets)

    if not below(WIDEST_BAND):
        return None
    low, high = -1, WIDEST_BAND  # holds for high, and not for low or does not matter
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if below(middle) else (middle, high)
    return high


# --- nilpotent parts ------------------------------------------------------------------------------


def _depth(
    chains: Sequence[Dependence], place: SignedPermutation, indices: Sequence[SSAValue]
) -> int | None:
    """The least power of the relation `α -> place⁻¹(β)` that is empty, at most `DEEPEST`."""
    ways: list[tuple[tuple[Affine, ...], tuple[Constraint, ...]]] = [
        (tuple(place.preimage(c.element)), c.constraints) for c in chains
    ]
    for depth in range(1, DEEPEST + 1):
        if not ways:
            return depth
        if depth == DEEPEST or len(ways) * len(chains) > CHAINS:
            return None
        fresh = [renamed(c, indices) for c in chains]
        ways = [
            (tuple(place.preimage(longer.element)), constraints)
            for (end, before), chain in product(ways, fresh)
            for longer in [chain.substitute(dict(zip(indices, end, strict=True)))]
            if feasible(constraints := (*before, *longer.constraints))
        ]
    return None


def renamed(chain: Dependence, indices: Sequence[SSAValue]) -> Dependence:
    """The chain with indices of its own, except for these."""
    forms = [*chain.element, *(c.form for c in chain.constraints)]
    others = list(dict.fromkeys(v for f in forms for v in f.indices if v not in indices))
    fresh = fresh_indices(len(others))
    return chain.substitute({a: Affine.of(b) for a, b in zip(others, fresh, strict=True)})


def fresh_indices(count: int) -> Sequence[SSAValue]:
    """Indices that occur nowhere else."""
    return Block(arg_types=[IndexType()] * count).args
