"""The order of factors in products under sums: what programs mean, and which factors come first."""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import partial

import numpy as np
import pytest
from xdsl.ir import SSAValue

import tadc
from tadc.dialects import tix
from tadc.dialects.tix import elementwise as ew
from tadc.passes.algebra.order_factors import order_factors
from tadc.passes.derive.absorb_conditions import bounded_without_conditions
from tadc.passes.lowering.set_precision import set_precision
from tadc.passes.rewriting.programs import tensor_names
from tadc.passes.scheduling.tiles import tile_choice
from tests.support.campaign import seeds
from tests.support.derivations import Case, random_case
from tests.support.long_calls import count_all_calls_as_long
from tests.support.random_programs import EVERYTHING
from tests.support.random_sums import random_sum
from tests.support.rewritten import check_meaning

LENGTHS = dict(zip("ijkl", (5, 9, 4, 17), strict=True))


def ordered(program: tix.ProgramOp) -> tix.ProgramOp:
    """A copy of the bounded program with its factors in order."""
    return order_factors(bounded_without_conditions(program).clone(), {})


check = partial(check_meaning, ordered)


@pytest.mark.parametrize("seed", seeds(6, of=300))
def test_random_sums_keep_their_meaning(seed: int) -> None:
    check(random_sum(random.Random(seed)))


@pytest.mark.parametrize("seed", seeds(6, of=300, start=1000))
def test_random_programs_keep_their_meaning(seed: int) -> None:
    check(random_case(seed, **(EVERYTHING if seed % 2 else {})))


def random_product(seed: int) -> Case:
    """Three to six factors, over any of four indices, two of which are summed over; some are sums,
    functions or parts of other products."""
    rng, numbers = random.Random(seed), np.random.default_rng(seed)
    arrays: dict[str, np.ndarray] = {}

    def read() -> str:
        indices = rng.sample("ijkl", rng.randint(1, 3))
        name = f"x{len(arrays)}"
        arrays[name] = numbers.uniform(0.5, 1.5, [LENGTHS[index] for index in indices])
        return f"{name}[{', '.join(indices)}]"

    def factor() -> str:
        form = rng.choice(["{}", "{}", "{}", "sin({})", "({} + {} * {} * {})", "2.5 * {}", "-{}"])
        return form.format(*(read() for _ in range(4)))

    terms = [" * ".join(factor() for _ in range(rng.randint(3, 6))) for _ in range(2)]
    body = rng.choice([terms[0], " + ".join(terms), " - ".join(terms), f"({terms[0]}) / {read()}"])
    ranges = [f"{index} in range({size})" for index, size in LENGTHS.items()]
    return Case(f"y[{', '.join(ranges[:2])}] = sum[{', '.join(ranges[2:])}]({body})", arrays)


@pytest.fixture
def any_tile(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks wherever there are some: programs here are small."""
    monkeypatch.setattr(tile_choice, "MOST_OF_PLAIN_COST", 1e9)


@pytest.mark.usefixtures("any_tile")
@pytest.mark.parametrize("seed", seeds(10, of=300, start=2000))
def test_products_keep_their_meaning(seed: int) -> None:
    check(random_product(seed))


@pytest.mark.usefixtures("any_tile")
@pytest.mark.parametrize("seed", seeds(3, of=100, start=3000))
def test_code_gives_what_the_interpreter_gives(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    count_all_calls_as_long(monkeypatch)
    case = random_product(seed)
    f = case.function
    found = f(*case.values)
    np.testing.assert_allclose(found, case.results[0], rtol=1e-11)


def factors(source: str) -> list[str]:
    """The products of a program in f32 as texts of the tensors in them, in order."""
    program = ordered(set_precision(tadc.compile(source).program.op, "f32"))
    names = tensor_names(program)

    def text(value: SSAValue) -> str:
        match value.owner:
            case tix.ReadOp(tensor=tensor):
                return names[tensor]
            case ew.MulOp(lhs=lhs, rhs=rhs):
                return f"({text(lhs)}{text(rhs)})"
            case ew.UnaryOp(operand=operand):
                return f"f{text(operand)}"
            case _:
                return "_"

    def whole(op: tix.DefineOp) -> Iterator[ew.MulOp]:
        products = [o for o in op.walk() if isinstance(o, ew.MulOp)]
        inner = {v.owner for o in products for v in o.operands}
        yield from (o for o in products if o not in inner)

    return [text(product.result) for op in program.definitions for product in whole(op)]


SIZES = "a: f32[N, 64]\nb: f32[64, 64]\nc: f32[64, 64]\nx: f32[64, N, 64]\n"


@pytest.mark.parametrize(
    ("source", "found"),
    [
        # rows i, columns r: b and c are the same for all rows
        ("m[i, r] = sum[j, k](x[i, j, k] * b[j, r] * c[k, r])", ["((bc)x)"]),
        # of two that all rows share, the one that the inner loop does not change comes first
        ("m[i, r] = sum[j, k](x[i, j, k] * c[k, r] * b[j, r])", ["((bc)x)"]),
        # functions are factors like reads
        ("m[i, r] = sum[j, k](exp(x[i, j, k]) * b[j, r] * c[k, r])", ["((bc)fx)"]),
        # columns k, whatever the rest: what they share comes first
        ("m[j, k] = sum[i](x[i, j, k] * b[i, k] * b[i, k])", ["((bb)x)"]),
        # two factors have no order
        ("m[i, r] = sum[j](b[i, j] * c[j, r])", ["(bc)"]),
        # a maximum compares its terms
        ("m[i] = max[r](sum[j, k](x[i, j, k] * b[j, r] * c[k, r]))", ["((xb)c)"]),
    ],
)
def test_which_factors_come_first(source: str, found: list[str]) -> None:
    assert factors(SIZES + source) == found
