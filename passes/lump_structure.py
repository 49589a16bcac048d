"""The structure of the matrix A of a lump: how to solve with it without forming it, where possible.

A has a row for each element of `outs` and a column for each element of `ins`. Which entries may
differ from 0 is known exactly from the reads (`passes/dependence.py`), with symbolic sizes. From
the most special structure on, with α an element of the only `out`, β one of the only `in`, and a
bijection P between the two, the identity if there is no other:

    p[i] -= q[i]**3 * p[i]                   Diagonal       β = P(α) always
    p[i, j] = 2 * p[j, N - 1 - i]              P(i, j) = (j, N - 1 - i)
    z[i] *= exp(z[i - 1]) if i % 2 else 1    Substitution   A = D P + O with O nilpotent
    z[i] += 0.1 * z[i - 1] if i > 0 else 0   Banded         -upper <= α - P⁻¹(β) <= lower
    z[i] += sum[j in range(i)](z[j])         Triangular     α >= P⁻¹(β)
    z[b, i] = sum[j](w[i, j] * z[b, j])      Blocks         one small matrix for each b
    z[i] = sum[j](w[i, j] * z[j])            Dense

All claims are proved, for all sizes; what cannot be proved is not claimed, so that a more special
structure may exist than the one that is found.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import TypeAlias

from xdsl.dialects.builtin import IndexType
from xdsl.ir import Block, SSAValue

from dialects import tix
from dialects.tix import Affine, Constraint
from passes.bijections import Bijection
from passes.dependence import Dependence, carrying_reads, dependences
from passes.lumps import Lump
from passes.programs import type_of
from passes.space import possible

WIDEST_BAND = 32
"""How far from the diagonal a band may reach."""
DEEPEST = 4
"""How often a nilpotent part may be applied until nothing is left."""
CHAINS = 200
"""How many chains of dependences are followed to see that."""


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
    """`out[α]` depends on `in[place(γ)]` only where γ <= α if `lower`, where γ >= α otherwise.

    In dimensions `batch` of `out`, γ and α are equal; in the others, `rest`, they are compared
    lexicographically, which is the order of elements in memory.
    """

    place: Bijection
    batch: tuple[int, ...]
    rest: tuple[int, ...]
    lower: bool


@dataclass(frozen=True)
class Banded:
    """`out[α]` depends on `in[place(γ)]` only where `α_rest - lower <= γ_rest <= α_rest + upper`,
    and in all other dimensions, `batch`, γ and α are equal."""

    place: Bijection
    batch: tuple[int, ...]
    rest: int
    lower: int
    upper: int


@dataclass(frozen=True)
class Substitution:
    """A is a diagonal part, `out[α]` by `in[place(α)]`, plus a rest that is 0 to the power `depth`.

    The diagonal part is the derivative by the reads with these numbers in the order of
    `carrying_reads` of the definition of `out`; it is 0 nowhere that this analysis could see.
    With D the diagonal part and O the rest, `x = D⁻¹ (y - O x)` reaches its fixed point from
    `x = D⁻¹ y` in `depth - 1` steps.
    """

    place: Bijection
    depth: int
    reads: tuple[int, ...]


@dataclass(frozen=True)
class Diagonal:
    """`out[α]` depends on `in[place(α)]` alone."""

    place: Bijection


Structure: TypeAlias = Diagonal | Substitution | Banded | Triangular | Blocks | Dense


def structure(lump: Lump) -> Structure:
    """The most special structure of the matrix of `lump.outs` by `lump.ins` that is proved."""
    found = dependences(lump.definitions, lump.ins)
    pairs = [[found[out].get(tensor, []) for tensor in lump.ins] for out in lump.outs]
    known: list[list[list[Dependence]]] = []
    for row in pairs:
        if None in row:
            return Dense()
        known.append([chains for chains in row if chains is not None])
    if len(lump.ins) == len(lump.outs) == 1:
        pair = _Pair(lump.outs[0], lump.ins[0], known[0][0])
        special = pair.diagonal() or pair.substitution() or pair.ordered()
        if special is not None:
            return special
    return _blocks(lump, known) or Dense()


class _Pair:
    """One `out` that takes the place of one `in`."""

    def __init__(self, out: SSAValue, tensor: SSAValue, chains: Sequence[Dependence]):
        assert isinstance(out.owner, tix.DefineOp)
        self.definition = out.owner
        self.tensor = tensor
        self.chains = chains
        self.indices = self.definition.indices
        self.here = [Affine.of(v) for v in self.indices]
        self.places = self._places()

    def _places(self) -> list[Bijection]:
        """The identity, if the shapes agree, and what dependences give."""
        shape, other = self.definition.type.shape, type_of(self.tensor).shape
        found: dict[Bijection, None] = {}
        if shape == other:
            found[Bijection.identity(len(shape))] = None
        for chain in self.chains:
            place = _bijection(chain.element, self.indices)
            if place is not None and _is_onto(place, shape, other):
                found[place] = None
        return list(found)

    def _offsets(self, place: Bijection, chain: Dependence) -> list[Affine]:
        """`α - γ`, where `β = place(γ)`."""
        there = place.preimage(chain.element)
        return [a - b for a, b in zip(self.here, there, strict=True)]

    def _on_diagonal(self, place: Bijection, chain: Dependence) -> bool:
        return all(chain.is_zero(form) for form in self._offsets(place, chain))

    def diagonal(self) -> Diagonal | None:
        for place in self.places:
            if all(self._on_diagonal(place, chain) for chain in self.chains):
                return Diagonal(place)
        return None

    def substitution(self) -> Substitution | None:
        numbers = {read: n for n, read in enumerate(carrying_reads(self.definition))}
        for place in self.places:
            aside = {c.reads[0] for c in self.chains if not self._on_diagonal(place, c)}
            aside |= {c.reads[0] for c in self.chains if not c.is_direct}
            direct = {c.reads[0] for c in self.chains} - aside
            rest = [c for c in self.chains if c.reads[0] in aside]
            depth = _depth(rest, place, self.indices) if direct else None
            if depth is not None:
                return Substitution(place, depth, tuple(sorted(numbers[r] for r in direct)))
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


def _bijection(element: Sequence[Affine], indices: Sequence[SSAValue]) -> Bijection | None:
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
    return Bijection(tuple(dims), tuple(signs), tuple(offsets))


def _is_onto(place: Bijection, shape: Sequence[Affine], other: Sequence[Affine]) -> bool:
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
        if possible([*chain.constraints, *known, outside]):
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
    chains: Sequence[Dependence], place: Bijection, indices: Sequence[SSAValue]
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
        fresh = [_renamed(c, indices) for c in chains]
        ways = [
            (tuple(place.preimage(longer.element)), constraints)
            for (end, before), chain in product(ways, fresh)
            for longer in [chain.substitute(dict(zip(indices, end, strict=True)))]
            if possible(constraints := (*before, *longer.constraints))
        ]
    return None


def _renamed(chain: Dependence, indices: Sequence[SSAValue]) -> Dependence:
    """The chain with further indices of its own, besides those of the definition."""
    forms = [*chain.element, *(c.form for c in chain.constraints)]
    others = list(dict.fromkeys(v for f in forms for v in f.indices if v not in indices))
    fresh = Block(arg_types=[IndexType()] * len(others)).args
    return chain.substitute({a: Affine.of(b) for a, b in zip(others, fresh, strict=True)})


# --- batches --------------------------------------------------------------------------------------


def _blocks(lump: Lump, pairs: Sequence[Sequence[Sequence[Dependence]]]) -> Blocks | None:
    """The batch indices of several tensors: dimensions that are equal in all dependences.

    Dimension d of the first `out` belongs to a batch if every tensor has a dimension of that size
    which equals it; dimensions with the same number are tried first.
    """
    tensors = [*lump.outs, *lump.ins]
    equal = _Equal(lump, pairs)
    taken: list[set[int]] = [set() for _ in tensors]
    batch: list[list[int]] = [[] for _ in tensors]
    for d, size in enumerate(type_of(lump.outs[0]).shape):
        choices = [
            sorted(
                (
                    n
                    for n, other in enumerate(type_of(tensor).shape)
                    if other == size and n not in taken[k]
                ),
                key=lambda n: (n != d, n),
            )
            for k, tensor in enumerate(tensors)
        ]
        choices[0] = [d]
        found = next((dims for dims in product(*choices) if equal.holds(dims)), None)
        if found is not None:
            for k, n in enumerate(found):
                taken[k].add(n)
                batch[k].append(n)
    if not batch[0]:
        return None
    outs = len(lump.outs)
    return Blocks(tuple(map(tuple, batch[:outs])), tuple(map(tuple, batch[outs:])))


class _Equal:
    """Which dimensions of `outs` and `ins` are equal in all dependences."""

    def __init__(self, lump: Lump, pairs: Sequence[Sequence[Sequence[Dependence]]]):
        self.outs = lump.outs
        self.pairs = pairs
        self.known: dict[tuple[int, int, int, int], bool] = {}

    def holds(self, dims: Sequence[int]) -> bool:
        """`dims` has one dimension for each of `outs`, then for each of `ins`."""
        outs, ins = dims[: len(self.outs)], dims[len(self.outs) :]
        return all(
            self._pair(k, j, out_dim, in_dim)
            for (k, out_dim), (j, in_dim) in product(enumerate(outs), enumerate(ins))
        )

    def _pair(self, k: int, j: int, out_dim: int, in_dim: int) -> bool:
        key = k, j, out_dim, in_dim
        if key not in self.known:
            owner = self.outs[k].owner
            assert isinstance(owner, tix.DefineOp)
            index = Affine.of(owner.indices[out_dim])
            self.known[key] = all(c.is_zero(c.element[in_dim] - index) for c in self.pairs[k][j])
        return self.known[key]
