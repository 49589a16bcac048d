"""Orders of summation against the classical search for chains of matrices, and by hand."""

from __future__ import annotations

import random
from functools import cache
from itertools import pairwise
from math import prod

import pytest
from xdsl.dialects.builtin import IndexType
from xdsl.ir import Block, SSAValue

from tadc.passes.algebra.factoring import contraction_order
from tadc.passes.algebra.factoring.contraction_order import Contraction, PartialSum
from tadc.passes.analysis.machine_facts import MachineFacts
from tests.support.campaign import seeds


def chain(lengths: list[int]) -> tuple[Contraction, list[SSAValue]]:
    """A product of matrices, all of whose inner indices are summed over."""
    indices = list[SSAValue](Block(arg_types=[IndexType()] * len(lengths)).args)
    known = dict(zip(indices, lengths, strict=True))
    factors = [frozenset(pair) for pair in pairwise(indices)]

    def elements(partial: PartialSum) -> int:
        used = frozenset[SSAValue]().union(*(factors[n] for n in partial.members))
        return prod(known[v] for v in used - partial.indices)

    outer = lengths[0] * lengths[-1]
    own = frozenset(indices[1:-1])
    return Contraction(own, factors, [0] * len(factors), known, outer, elements), indices


def cheapest(lengths: list[int]) -> int:
    """The least number of multiplications and additions for a chain of matrices."""

    @cache
    def cost(first: int, last: int) -> int:
        if last == first + 1:
            return 0
        return min(
            cost(first, k) + cost(k, last) + 2 * lengths[first] * lengths[k] * lengths[last]
            for k in range(first + 1, last)
        )

    return cost(0, len(lengths) - 1)


@pytest.mark.parametrize("seed", seeds(22, of=300))
def test_chains_of_matrices(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contraction_order, "MACHINE", MachineFacts(0, 0, 0, 0, 0, 0))
    rng = random.Random(seed)
    lengths = [rng.randint(2, 9) for _ in range(rng.randint(3, 7))]
    contraction, _ = chain(lengths)
    assert contraction.best().cost == cheapest(lengths)


def test_the_first_partial_sum_has_no_other_in_it() -> None:
    contraction, indices = chain([1000, 10, 1000, 10, 1000])
    assert contraction.best().first == PartialSum(frozenset([1, 2]), frozenset([indices[2]]))


def test_storing_must_be_worth_it() -> None:
    contraction, _ = chain([4, 4, 4, 4])
    assert contraction.best() == contraction.plain()


def test_what_no_results_share_is_read_for_each_term() -> None:
    """x[i, k] * w[k, m] * x[i, m] for each i: sums over k share both of their reads."""
    i, k, m = Block(arg_types=[IndexType()] * 3).args
    factors = [frozenset((i, k)), frozenset((k, m)), frozenset((i, m))]
    lengths = {k: 64, m: 64}

    def elements(partial: PartialSum) -> int:
        return 4096 * (1 if len(partial.indices) == 2 else 64)

    def gain(alone: list[int]) -> float:
        own = frozenset((k, m))
        order = Contraction(own, factors, [0] * 3, lengths, 4096, elements, alone=alone)
        return order.plain().cost / order.best().cost

    assert gain([0, 0, 0]) < 1.5
    assert gain([1, 0, 1]) > 2


def test_long_products_stay() -> None:
    contraction, _ = chain([100] * 11)
    assert contraction.best() == contraction.plain()
