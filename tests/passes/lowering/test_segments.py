"""Long sums: exact counts, errors within the bound, infinities, and no term lost in between."""

from __future__ import annotations

import math
import random
from collections.abc import Callable

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

import tadc
from tadc.dialects import tix
from tadc.interpreter.loops import run
from tadc.passes.lowering.scalars import segments
from tadc.passes.lowering.schedule import schedule
from tadc.passes.lowering.set_precision import set_precision
from tadc.runtime import size_class
from tadc.runtime.on_cpu import CpuExecutable
from tests.interpreter.tix_text import parse
from tests.support.campaign import seeds
from tests.support.random_programs import random_program

SCALAR = "s = sum[i](x[i])"
ROWS = "y[i] = sum[j](x[i, j])"
COLUMNS = "y[j] = sum[i](x[i, j])"
NEST = "s = sum[i, j](x[i, j])"
PRODUCT = "y[i, j] = sum[k](x[i, k] * w[k, j])"

MANY = 3 * 2**23
"""More ones than float32 can count one by one."""


@pytest.fixture(params=[True, False], ids=["tiles", "plain"])
def tiles(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Code in tiles for all calls, or in plain nests."""
    monkeypatch.setattr(CpuExecutable, "tiles", request.param)
    monkeypatch.setattr(size_class, "MOST_WORK_WITHOUT_TILES", -1)


@pytest.mark.usefixtures("tiles")
@pytest.mark.parametrize(
    ("source", "shape"),
    [
        (SCALAR, (MANY,)),
        (ROWS, (1, MANY)),
        (COLUMNS, (MANY, 1)),
        (NEST, (MANY // 3, 3)),
        (NEST, (3, MANY // 3)),
        (NEST, (3000, MANY // 3000)),
        (f"x: f32[N, 64]\n{NEST}", (MANY // 64, 64)),
        (f"x: f32[{MANY}]\n{SCALAR}", (MANY,)),
        ("s = sum[i, j, k](x[i, j, k])", (MANY // 24, 3, 8)),
    ],
)
def test_ones_are_counted(source: str, shape: tuple[int, ...]) -> None:
    counts = tadc.compile(source)(np.ones(shape, np.float32))
    assert np.all(counts == np.float32(math.prod(shape))), counts


@pytest.mark.parametrize(
    ("source", "columns"),
    [(COLUMNS, 64), (PRODUCT, 16), ("y[i, j] = sum[k](x[k, i] * w[k, j])", 64)],
)
def test_blocks_of_columns_go_on_counting(
    source: str, columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A total that ones would not change is in the first segment; the others are ones."""
    monkeypatch.setattr(size_class, "MOST_WORK_WITHOUT_TILES", -1)
    rows = 3 * segments.SEGMENT_TERMS + 1000
    w = np.ones((rows, columns), np.float32)
    w[: segments.SEGMENT_TERMS] = 0
    w[0] = 2**24
    f, ones = tadc.compile(source), np.ones((rows, 8), np.float32)
    x = {COLUMNS: (w,), PRODUCT: (ones.T, w)}.get(source, (ones, w))
    assert np.all(f(*x) == np.float32(2**24 + rows - segments.SEGMENT_TERMS))


@pytest.fixture
def short_segments(monkeypatch: pytest.MonkeyPatch) -> None:
    """Segments of few terms, so that short sums have many."""
    monkeypatch.setattr(segments, "SEGMENT_TERMS", 4)


def bound(terms: np.ndarray, segment: int, unit: float) -> float:
    """The largest error of a sum that `passes/lowering/scalars/segments.py` states."""
    number = -(-terms.size // segment)
    plain, magnitude = (segment + 256) * unit, math.fsum(np.abs(terms))
    return unit * abs(math.fsum(terms)) + (plain + (number * unit) ** 2) * magnitude


@pytest.mark.usefixtures("tiles")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("spread", [0, 30])
def test_errors_are_within_the_bound_of_one_segment(
    dtype: type[np.float32 | np.float64], spread: int
) -> None:
    rng = np.random.default_rng(spread)
    terms = rng.uniform(-1, 1, 100_000) * 2.0 ** rng.uniform(-spread, spread, 100_000)
    x = terms.astype(dtype)
    unit = float(np.finfo(dtype).eps) / 2
    limit = bound(x.astype(np.float64), segments.SEGMENT_TERMS, unit)
    exact = math.fsum(x.astype(np.float64))
    for source, shape in ((SCALAR, (-1,)), (ROWS, (1, -1)), (COLUMNS, (-1, 1)), (NEST, (100, -1))):
        got = tadc.compile(source)(x.reshape(shape))
        assert abs(float(np.ravel(got)[0]) - exact) <= limit


def test_long_sums_err_no_more_than_short_ones() -> None:
    """Random rounding errors cancel; what grows with the number of terms would show here."""
    x = np.random.default_rng(3).uniform(0, 1, 2**21).astype(np.float32)
    exact = math.fsum(x.astype(np.float64))
    assert abs(float(tadc.compile(SCALAR)(x)) - exact) <= 2**-23 * exact


@pytest.mark.usefixtures("tiles", "short_segments")
def test_infinities_and_what_is_no_number_come_out_as_in_plain_sums() -> None:
    sums = tadc.compile(ROWS), tadc.compile(COLUMNS)
    inf, nan = math.inf, math.nan
    for place in (0, 5, 18):
        for bad, expected in ((inf, inf), (-inf, -inf), (nan, nan)):
            x = np.ones((2, 19))
            x[1, place] = bad
            for got in (sums[0](x), sums[1](np.ascontiguousarray(x.T))):
                np.testing.assert_array_equal(got, [19, expected])
    np.testing.assert_array_equal(sums[0](np.array([[inf] + [1.0] * 9 + [-inf]])), [nan])


@pytest.mark.usefixtures("tiles", "short_segments")
def test_overflow_stays() -> None:
    x = np.full((1, 40), 1e308)
    assert tadc.compile(ROWS)(x) == math.inf
    assert tadc.compile(COLUMNS)(np.ascontiguousarray(x.T)) == math.inf


@pytest.mark.usefixtures("tiles", "short_segments")
@pytest.mark.parametrize("terms", [0, 1, 3, 4, 5, 8, 9])
def test_no_term_is_lost_where_segments_meet(terms: int) -> None:
    x = np.arange(1.0, 6 * terms + 1).reshape(6, terms)
    np.testing.assert_array_equal(tadc.compile(ROWS)(x), x.sum(1))
    np.testing.assert_array_equal(tadc.compile(COLUMNS)(x), x.sum(0))
    np.testing.assert_array_equal(tadc.compile(NEST)(x), x.sum())


def test_an_empty_sum_and_one_of_negative_zeros_is_zero() -> None:
    for x in (np.zeros((1, 0)), np.full((1, 5), -0.0)):
        assert not np.signbit(tadc.compile(ROWS)(x))


def test_lost_bits_are_kept() -> None:
    """The running total alone cannot hold both."""
    x = np.zeros(3 * segments.SEGMENT_TERMS, np.float32)
    x[0], x[-1] = 2**24, -(2**24)
    x[segments.SEGMENT_TERMS] = 0.25
    assert tadc.compile(SCALAR)(x) == 0.25


NESTS: list[tuple[str, tuple[int, ...], Callable[[np.ndarray], float]]] = [
    (
        "s = sum[i, j in range(i, N)](x[i] * x[j])",
        (9,),
        lambda x: (x[:, None] * x)[np.triu_indices(9)].sum(),
    ),
    (
        "s = sum[i, k in range(max(0, i - 1), min(N, i + 2))](x[i] * x[k])",
        (9,),
        lambda x: sum(x[i] * x[k] for i in range(9) for k in range(9) if abs(i - k) < 2),
    ),
    (
        "s = sum[i, j](x[i] * sum[k in range(j, N)](x[k]) * x[j])",
        (7,),
        lambda x: x.sum() * sum(x[k:].sum() * x[k] for k in range(7)),
    ),
]


@pytest.mark.usefixtures("tiles", "short_segments")
@pytest.mark.parametrize(("source", "shape", "expected"), NESTS)
def test_nests_whose_bounds_depend_on_each_other(
    source: str, shape: tuple[int, ...], expected: Callable[[np.ndarray], float]
) -> None:
    x = np.arange(1.0, shape[0] + 1)
    assert tadc.compile(f"x: f64[N]\n{source}")(x) == expected(x)


@pytest.mark.usefixtures("tiles", "short_segments")
@pytest.mark.parametrize("seed", seeds(9, of=24))
def test_random_programs_in_short_segments_agree_with_the_interpreter(seed: int) -> None:
    program = random_program(random.Random(seed), index_values=seed % 2 == 0)
    f = tadc.compile(program.source)
    arguments = [program.arguments[t.name] for t in f.args]
    expected = f.with_target("interpret").call(arguments, {})
    for a, b in zip(f.call(arguments, {}), expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9)


@pytest.mark.usefixtures("short_segments")
def test_loops_mean_the_same_one_operation_at_a_time() -> None:
    """The rounding error that is kept is exact in the operations, whatever a compiler does."""
    program = set_precision(tadc.compile(f"x: f32[N]\n{SCALAR}").program.op, "f32")
    (function,) = schedule(program)
    x, s = np.array([2**24, 0, 0, 0, 1, 0, 0, 0, 1, 1], np.float32), np.zeros(1, np.float32)
    run(ModuleOp([function]), "s", [s, x], [x.size])
    assert s[0] == 2**24 + 4 == np.float32(2**24 + 3)


@pytest.mark.usefixtures("tiles")
def test_sums_that_are_compared_keep_their_order() -> None:
    """The derivative of an extremum finds the sum that it came from."""
    x = np.random.default_rng(0).uniform(0, 1, (3, 20_000)).astype(np.float32)
    _, pullback = tadc.vjp(tadc.compile("m = max[i](sum[j](x[i, j]))"), x)
    assert pullback(np.float32(1))[0].sum() == 20_000


def sum_over_k(constraints: str) -> tix.SumOp:
    program = parse(f"""
        tix.program @f (%x = "x" : !tix.tensor<[N], f32>) {{
          %y = tix.define "y" (%i) : !tix.tensor<[N], f32> {{
            %0 = tix.sum (%k) in ({constraints}) {{
              %1 = tix.read %x[%k]
              tix.yield %1
            }}
            tix.yield %0
          }}
          tix.return %y
        }}""")
    (op,) = (o for o in program.walk() if isinstance(o, tix.SumOp))
    return op


@pytest.mark.parametrize(
    ("constraints", "most"),
    [
        ("%k >= 0, %k <= 6", 7),
        ("%k + 2 >= %i, %i + 2 >= %k", 5),
        ("2 * %k + 4 >= %i, %i >= 2 * %k", 3),
        ("2 * %k + 4 >= %i, %i >= 2 * %k, %k >= 0, %k + 1 <= N", 3),
        ("4 * %k >= %i, %i + 1 >= 2 * %k, %i + 3 >= 4 * %k", 1),
        ("3 * %k >= %i + 1, %i - 1 >= 3 * %k", 0),
        ("%k >= 0, %k + 1 <= N", None),
        ("2 * %k >= %i, %i >= %k", None),
    ],
)
def test_the_length_of_a_range_that_a_number_bounds(constraints: str, most: int | None) -> None:
    op = sum_over_k(constraints)
    assert segments.most_values(op, op.indices) == most


@pytest.mark.parametrize("seed", range(40))
def test_no_range_is_longer_than_its_bound(seed: int) -> None:
    """Ranges are counted value by value; some is at most one value shorter than the bound."""
    rng = random.Random(seed)
    c, d, slope = rng.randint(1, 6), rng.randint(1, 6), rng.randint(-3, 3)
    a, b = (slope * n // math.gcd(c, d) for n in (c, d))
    low, high = rng.randint(-9, 9), rng.randint(-9, 25)
    op = sum_over_k(f"{c} * %k >= {a} * %i + {low}, {b} * %i + {high} >= {d} * %k")
    lengths = [
        sum(c * k >= a * i + low and b * i + high >= d * k for k in range(-99, 99))
        for i in range(30)
    ]
    most = segments.most_values(op, op.indices)
    assert most is not None
    assert max(lengths) <= most <= max(lengths) + 1
