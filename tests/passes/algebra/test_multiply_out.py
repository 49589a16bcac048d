"""Products with sums, multiplied out: what programs mean, and where it is done."""

from __future__ import annotations

import random
from functools import partial

import numpy as np
import pytest

import tadc
from tadc.dialects import tix
from tadc.dialects.tix import elementwise as ew
from tadc.passes.algebra.factor_sums import factor_sums
from tadc.passes.algebra.multiply_out import multiply_out
from tadc.passes.derive.absorb_conditions import bounded_without_conditions
from tests.support.campaign import seeds
from tests.support.derivations import Case, random_case
from tests.support.random_programs import EVERYTHING
from tests.support.random_sums import random_sum
from tests.support.rewritten import check_meaning

check = partial(check_meaning, multiply_out)

PRODUCT = "z[j, k] = sum[i]((a[i, k] + b[j, k]) * t[i, j])"


@pytest.mark.parametrize("seed", seeds(6, of=300))
def test_random_sums_keep_their_meaning(seed: int) -> None:
    check(random_sum(random.Random(seed)))


@pytest.mark.parametrize("seed", seeds(6, of=300, start=1000))
def test_random_programs_keep_their_meaning(seed: int) -> None:
    check(random_case(seed, **(EVERYTHING if seed % 2 else {})))


@pytest.mark.parametrize("seed", seeds(8, of=200, start=2000))
def test_products_of_sums_keep_their_meaning(seed: int) -> None:
    """Factors of one to three reads each, over any of four indices, some of them divisors."""
    rng, numbers = random.Random(seed), np.random.default_rng(seed)
    sizes = dict(zip("ijkl", (3, 4, 5, 2), strict=True))
    arrays: dict[str, np.ndarray] = {}

    def read() -> str:
        indices = rng.sample("ijkl", rng.randint(1, 2))
        name = f"x{len(arrays)}"
        arrays[name] = numbers.uniform(0.5, 1.5, [sizes[index] for index in indices])
        return f"{name}[{', '.join(indices)}]"

    def factor() -> str:
        return "(" + " + ".join(read() for _ in range(rng.randint(1, 3))) + ")"

    body = " * ".join(factor() for _ in range(rng.randint(1, 3)))
    body += rng.choice(["", f" / {factor()}", f" - {factor()}", f" * -{factor()}"])
    ranges = ", ".join(f"{index} in range({size})" for index, size in sizes.items())
    own, around = ranges.split(", ")[:2], ranges.split(", ")[2:]
    check(Case(f"y[{', '.join(around)}] = sum[{', '.join(own)}]({body})", arrays))


def sums_after(source: str) -> tuple[bool, int]:
    """True if something was multiplied out, and the definitions behind `factor-sums`."""
    program = bounded_without_conditions(tadc.compile(source).program.op)
    made = multiply_out(program)
    return made is not program, len(factor_sums(made).definitions)


@pytest.mark.parametrize(
    ("source", "found"),
    [
        (PRODUCT, (True, 2)),
        # each half of the sum is the same for some of the others
        ("z[j, k] = sum[i]((a[k] + b[j]) * t[i])", (True, 2)),
        # a difference of near numbers is exact
        ("z[j, k] = sum[i]((a[i, k] - b[j, k]) * t[i, j])", (False, 1)),
        # what would be left of the sum is no smaller
        ("z[j] = sum[i]((a[i, j] + b[j]) * t[i, j])", (False, 1)),
        # nothing leaves
        ("z[j, k] = sum[i]((a[i, k] + b[i, j]) * t[i, j])", (False, 1)),
        # few terms are unrolled where they stand
        ("z[j, k] = sum[i in range(2)]((a[i, k] + b[j, k]) * t[i, j])", (False, 1)),
        # a maximum compares its terms
        ("z[k] = max[j](sum[i]((a[i, k] + b[j, k]) * t[i, j]))", (False, 1)),
    ],
)
def test_where_it_is_done(source: str, found: tuple[bool, int]) -> None:
    assert sums_after(source) == found


def test_one_operation_per_term_is_left() -> None:
    program = multiply_out(bounded_without_conditions(tadc.compile(PRODUCT).program.op))
    *_, z = factor_sums(program).definitions
    (inner,) = (op for op in z.walk() if isinstance(op, tix.SumOp))
    assert [type(op) for op in inner.walk() if isinstance(op, tix.BinaryOp)] == [ew.MulOp]
