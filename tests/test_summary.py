"""Summaries: what a call reads of a program, and costs that count what the interpreter runs."""

import pickle

import pytest

import tadc
from tadc.passes.analysis.costs import COST_OF_FUNCTION
from tadc.sizes import bind_sizes
from tadc.summary import Summary
from tests.support.derivations import random_case


@pytest.mark.parametrize("seed", range(30))
def test_a_summary_is_of_its_program_and_pickles(seed: int) -> None:
    program = random_case(seed, declarations=("symbolic", "none")).function.program
    summary = pickle.loads(pickle.dumps(Summary.of(program.op)))
    assert summary == program.summary
    assert list(summary.arguments) == [t.name for t in program.args]
    assert summary.result_labels == tuple(program.result_labels)


def test_work_counts_operations() -> None:
    f = tadc.compile("y[i, j] = sum[k](x[i, k] * w[k, j])")
    sizes = bind_sizes(f.program.summary, {"x": (10, 20), "w": (20, 30)})
    # for each term two reads, a product and its addition, and the element is stored
    assert f.program.summary.total_work(sizes) == 10 * 30 * (20 * 4 + 1)


def test_ranges_between_sizes_and_functions_count() -> None:
    f = tadc.compile("x: f64[N]\ny = sum[k in range(2, N - 1)](exp(x[k]))")
    assert f.program.summary.work({"N": 13}) == [10 * (2 + COST_OF_FUNCTION) + 1]


@pytest.mark.parametrize(
    ("sum_", "terms"),
    [
        ("sum[i, j in range(i)]", 64 * 32),
        ("sum[i in range(N), j in range(i + 1, N)]", 64 * 32),
        ("sum[i, j in range(i // 2)]", 64 * 16),
        ("sum[i, j in range(i, min(i + 9, N))]", 64 * 9),
        ("sum[i, j in range(max(0, i - 8), i + 1)]", 64 * 9),
        ("sum[i, j in range(i), k in range(j)]", 64 * 32 * 16),
        ("sum[i, j in range(i, 2 * i)]", 64 * 32),
    ],
)
def test_ranges_that_move_are_as_long_as_in_the_mean(sum_: str, terms: int) -> None:
    f = tadc.compile(f"x: f64[N]\ny = {sum_}(x[i] * x[i])")
    assert f.program.summary.work({"N": 64})[0] == pytest.approx(4 * terms, rel=0.1)


def test_precision_is_that_of_undeclared_tensors() -> None:
    summary = tadc.compile("x: f64[N]\ny[i] = x[i] * w[i]").program.summary.with_precision("f32")
    assert [t.type.dtype for t in summary.inputs] == ["f64", "f32"]
