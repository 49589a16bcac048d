"""Numbers of elements as polynomials, against counting."""

from __future__ import annotations

import random
from itertools import product
from math import prod

import pytest
from xdsl.ir import Block, SSAValue

from tadc.dialects.tix import Affine, TensorType, real
from tadc.passes.analysis.element_counts import count, difference, is_positive, show, value

SIZES = [{"N": n, "M": m} for n, m in product(range(5), repeat=2)]


def random_tensors(rng: random.Random) -> list[SSAValue]:
    def size() -> Affine:
        return Affine(rng.choice([{}, {"N": 1}, {"M": 2}, {"N": 1, "M": -1}]), rng.randint(-2, 3))

    shapes = [[size() for _ in range(rng.randint(0, 2))] for _ in range(rng.randint(1, 3))]
    return list(Block(arg_types=[TensorType.of(shape, real) for shape in shapes]).args)


def elements(tensors: list[SSAValue], sizes: dict[str, int]) -> int:
    shapes = [t.type.shape for t in tensors if isinstance(t.type, TensorType)]
    known = {name: Affine(constant=n) for name, n in sizes.items()}
    numbers = [[form.substitute(dict(known.items())).constant for form in s] for s in shapes]
    return sum(prod(max(0, n) for n in shape) for shape in numbers)


@pytest.mark.parametrize("seed", range(100))
def test_polynomials_count_elements(seed: int):
    rng = random.Random(seed)
    a, b = random_tensors(rng), random_tensors(rng)
    more = difference(count(a), count(b))
    for sizes in SIZES:
        assert value(count(a), sizes) == elements(a, sizes)
        assert value(more, sizes) == elements(a, sizes) - elements(b, sizes)
        if is_positive(more) and all(sizes.values()):
            assert elements(a, sizes) > elements(b, sizes)


def test_sizes_that_agree_are_equal():
    n, m = Affine.of("N"), Affine.of("M")
    shapes = [[n + m, n], [n, n], [m, n], [n - 2], [n], [Affine(constant=2)]]
    a, b, c, d, e, f = Block(arg_types=[TensorType.of(shape, real) for shape in shapes]).args
    assert not difference(count([a]), count([b, c]))
    assert show(count([a])) == "M * N + N * N"
    assert difference(count([d, f]), count([e])), "N - 2 elements are 0 where N is 1"
