"""Signs of permutations of elements, for symbolic sizes: 1 where they are even, -1 where odd.

A permutation is even or odd as the number of exchanges that make it up. Those numbers are products
of sizes, so a product is odd where all its factors are:

- to reverse a dimension of size n takes n // 2 exchanges for each element of the others;
- to exchange two neighbouring dimensions of sizes m and n, where an element of both stands for
  `post` elements and all happens `pre` times, takes n (n - 1) / 2 · m (m - 1) / 2 · pre · post;
  and n (n - 1) / 2 is odd where n // 2 is;
- to move m elements past n takes m n.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue

from tadc.dialects import tix
from tadc.dialects.tix import Affine, Constraint
from tadc.passes.derive.inversion.signed_permutations import SignedPermutation
from tadc.passes.rewriting.builder import BodyBuilder


@dataclass(frozen=True)
class Factor:
    """A size, or half of it rounded down."""

    size: Affine
    halved: bool = False


def swap_factors(first: Sequence[Affine], second: Sequence[Affine]) -> list[Factor]:
    """Exchanges that move the elements of one shape past those of another."""
    return [Factor(size) for size in (*first, *second)]


def permutation_factors(
    permutation: SignedPermutation, shape: Sequence[Affine]
) -> list[list[Factor]]:
    """Exchanges between the order of elements of a tensor and that of their images under P.

    Gives the factors of each of several numbers of exchanges: the sign of P is the product of the
    signs for each of them.
    """
    # first let the dimensions change places: bubble sort, by exchanges of neighbours
    order, products = list(range(len(shape))), list[list[Factor]]()
    wanted = {d: n for n, d in enumerate(permutation.dims)}
    for end in range(len(order) - 1, 0, -1):
        for n in range(end):
            if wanted[order[n]] > wanted[order[n + 1]]:
                products.append(_exchange(n, [shape[d] for d in order]))
                order[n], order[n + 1] = order[n + 1], order[n]
    # then reverse those with a negative sign, one after the other: each is an exchange of pairs
    for n, d in enumerate(permutation.dims):
        if permutation.signs[n] < 0:
            others = [Factor(shape[o]) for o in range(len(shape)) if o != d]
            products.append([Factor(shape[d], halved=True), *others])
    return products


def _exchange(n: int, sizes: Sequence[Affine]) -> list[Factor]:
    """Exchanges of elements that exchange dimensions `n` and `n + 1` of these sizes."""
    pair = [Factor(sizes[n], halved=True), Factor(sizes[n + 1], halved=True)]
    return pair + [Factor(size) for k, size in enumerate(sizes) if k not in (n, n + 1)]


def sign(e: BodyBuilder, factors: Sequence[Factor]) -> SSAValue:
    """-1 where the product of all factors is odd, else 1.

    A product is odd where all factors are: with s = -1 for an odd factor and 1 for an even one,
    (1 - s) / 2 is 1 or 0, the product t of these is 1 where all are odd, and 1 - 2 t is the sign.
    """
    # a known factor decides the sign if it is even, and makes no difference if it is odd
    signs: list[SSAValue] = []
    for factor in factors:
        if factor.size.terms:
            signs.append(_power(e, factor))
        elif max(0, factor.size.constant) // (2 if factor.halved else 1) % 2 == 0:
            return e.constant(1)
    if not signs:
        return e.constant(-1)
    all_odd = e.constant(2)
    for s in signs:
        all_odd = e.mul(all_odd, e.mul(e.constant(0.5), e.sub(e.constant(1), s)))
    return e.sub(e.constant(1), all_odd)


def _power(e: BodyBuilder, factor: Factor) -> SSAValue:
    """-1 to the power of a factor, as a product over that many points."""
    step = 2 if factor.halved else 1

    def domain(own: list[SSAValue]) -> list[Constraint]:
        index = Affine.of(own[0])
        return [Constraint(index), Constraint(factor.size - index * step - step)]

    return e.reduce(tix.ProdOp, ["i"], domain, lambda e, _: e.constant(-1))
