"""Other indices of sums: what programs mean, that choices come to rest, and ranges of numbers."""

from __future__ import annotations

import random
from itertools import product

import pytest
from xdsl.dialects.builtin import IndexType
from xdsl.ir import Block

import tadc
from tadc.dialects import tix
from tadc.dialects.tix import Affine
from tadc.language.printing.program import print_program
from tadc.passes.algebra.shift_sums import best_indices, ranges_of_numbers, shift_sums
from tadc.passes.analysis.stage_checks import require_bounded
from tadc.passes.derive.absorb_conditions import bounded_without_conditions
from tadc.passes.scheduling.tiles.sum_lengths import is_short
from tests.support.campaign import seeds
from tests.support.derivations import Case, assert_close, interpret, random_case
from tests.support.random_programs import EVERYTHING
from tests.support.random_sums import random_sum


def value_and_derivative(case: Case) -> list[tix.ProgramOp]:
    """Both with sums that are bounded."""
    program = bounded_without_conditions(case.function.program.op)
    return [program, case.function.derivative().program.op]


# --- meaning --------------------------------------------------------------------------------------


def check(case: Case) -> None:
    program, derivative = value_and_derivative(case)
    gradients = interpret(derivative, case.inputs)
    pairs = (program, case.values, case.results), (derivative, case.inputs, gradients)
    for given, inputs, expected in pairs:
        shifted = shift_sums(given)
        shifted.verify()
        require_bounded(shifted)
        assert_close(interpret(shifted, inputs), expected, 1e-11, case.source)


@pytest.mark.parametrize("seed", seeds(12, of=600))
def test_random_sums_keep_their_meaning(seed: int) -> None:
    check(random_sum(random.Random(seed)))


@pytest.mark.parametrize("seed", seeds(8, of=400, start=1000))
def test_random_programs_keep_their_meaning(seed: int) -> None:
    check(random_case(seed, **(EVERYTHING if seed % 2 else {})))


def test_many_random_sums_change() -> None:
    cases = [random_sum(random.Random(seed)) for seed in range(24)]
    programs = [program for case in cases for program in value_and_derivative(case)]
    assert sum(shift_sums(program) is not program for program in programs) > 8


# --- the choice -----------------------------------------------------------------------------------


def test_choices_come_to_rest() -> None:
    """Of sums over one index: of others, bounds that follow from each other may come and go."""
    for seed in range(16):
        for program in value_and_derivative(random_sum(random.Random(seed))):
            shifted = shift_sums(program)
            sums = [op for op in shifted.walk() if isinstance(op, tix.SumOp)]
            assert all(best_indices(op) is None for op in sums if len(op.indices) == 1)


TRANSPOSED = "w: f64[4]\ny[p in range(58)] = sum[i](x[i] * w[p - 2*i] if 0 <= p - 2*i < 4 else 0)"


@pytest.mark.parametrize(
    ("source", "reads"),
    [
        # the transpose of a transposed convolution is a convolution, with the same stride
        (
            f"x: f64[28]\n{TRANSPOSED}",
            "dy[2*i + p] * w[p]",
        ),
        # also where some x[i] lack terms: borders alone have masks of elements two apart
        (TRANSPOSED, "dy[2*i + p] * w[p]"),
        # the gradient of a correlation reads neighbours, not diagonals
        ("y[d, w] = sum[c](f[c, w] * g[c, w + d])", "dy[w, p - w] * f[c, p - w]"),
        # a short window stays, and so does a sum that is as good the other way round
        ("w: f64[3]\ny[i] = sum[k](w[k] * x[i + k])", "dy[p - k] * w[k]"),
        ("y[i] = sum[k](w[k] * x[i + k])", "dy[p - k] * w[k]"),
    ],
)
def test_gradients(source: str, reads: str) -> None:
    derivative = tadc.compile(source).derivative().program.op
    assert reads in print_program(shift_sums(derivative))


def test_windows_stay_where_vectors_may_run_along_other_indices() -> None:
    """Tests of elements two apart are those of numbers then, not masks: along o in place of j."""
    window = "sum[c, v](pad(x[c, 2*j + v - 1]) * w[{o}c, v])"
    wide = tadc.compile(f"w: f64[8, 100, 3]\ny[o, j in range(28)] = {window.format(o='o, ')}")
    alone = tadc.compile(f"w: f64[100, 3]\ny[j in range(28)] = {window.format(o='')}")
    kept, moved = (
        print_program(shift_sums(bounded_without_conditions(f.program.op))) for f in (wide, alone)
    )
    assert "w[o, c, v]" in kept
    assert "x[c, v]" in moved


def test_sums_that_begin_at_a_size_run_over_numbers() -> None:
    program = tadc.compile("x: f64[N]\ny[i] = a[i] * sum[k in range(N - 2, N)](x[k])").program.op
    (total,) = (op for op in shift_sums(program).walk() if isinstance(op, tix.SumOp))
    assert is_short(total)


# --- ranges ---------------------------------------------------------------------------------------


def test_ranges_hold_every_point() -> None:
    """They are those of a scan where each bound is of one index, and never smaller."""
    rng = random.Random(0)
    block = Block(arg_types=[IndexType()] * 3)
    indices = list(block.args)
    found = 0
    for _ in range(300):
        boxes = [Affine.of(v) + 4 for v in indices] + [4 - Affine.of(v) for v in indices]
        others = [
            Affine({v: rng.randint(-2, 2) for v in indices}, rng.randint(0, 5))
            for _ in range(rng.randint(0, 3))
        ]
        ranges = ranges_of_numbers(indices, [*boxes, *others])
        for point in product(range(-4, 5), repeat=3):
            values = dict(zip(indices, point, strict=True))
            if all(form.evaluate(values) >= 0 for form in others):
                assert all(n in ranges[v] for v, n in values.items())
        found += any(len(r) < 9 for r in ranges.values())
    assert found > 50


def test_ranges_through_other_indices() -> None:
    k, s = Block(arg_types=[IndexType()] * 2).args
    bounds = [Affine.of(s), 1 - Affine.of(s), Affine.of(k) * 2 - Affine.of(s), 7 - Affine.of(k) * 2]
    assert ranges_of_numbers([k, s], bounds) == {k: range(4), s: range(2)}
    assert ranges_of_numbers([k, s], bounds[2:]) == {}
    assert ranges_of_numbers([k, s], [*bounds, Affine.of(k) - Affine.of("N")])[k] == range(4)
