"""Plans of loops as text: what is printed is a plan again, and says what the chooser chose."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

import tadc
from benchmarks.workloads import WORKLOADS
from benchmarks.workloads.workload import Workload
from tadc.explain.loops import explain_loops
from tadc.passes.scheduling.text.plan_text import without_comments
from tadc.program import deserialised, serialised
from tests.support.paths import ROOT


def told(text: str) -> list[str]:
    """The lines of a plan without comments."""
    return without_comments(text.splitlines())


EXAMPLES = sorted((ROOT / "examples").rglob("*.tad"))

PRODUCT = "x: f32[N, K]\nw: f32[M, K]\ny[i, j] = sum[k](x[i, k] * w[j, k])"
KERNEL = "y[i] = sum[j](exp(-sum[k]((x[i, k] - z[j, k])**2)) * b[j])"


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_plans_of_examples_are_plans_again(path: Path):
    """For all sizes, in double precision."""
    f = tadc.compile_file(path)
    text = explain_loops(f, precision="f64")
    g = tadc.compile(f.program.source, plan=text)
    assert told(explain_loops(g, precision="f64")) == told(text)


@pytest.mark.parametrize("workload", WORKLOADS, ids=lambda workload: workload.name)
def test_plans_of_workloads_are_plans_again(workload: Workload):
    """For sizes that make loops long, in single precision."""
    f = tadc.compile(workload.free())
    chosen = sizes_of(f, workload)
    text = explain_loops(f, sizes=chosen, precision="f32")
    g = tadc.compile(workload.free(), plan=text)
    assert told(explain_loops(g, sizes=chosen, precision="f32")) == told(text)


class Zeros:
    """A generator whose arrays hold zeros, which takes no time."""

    def standard_normal(self, size: Any = None) -> Any:
        return np.zeros(size)

    def uniform(self, low: float, high: float, size: Any = None) -> Any:
        return np.zeros(size)


def sizes_of(f: tadc.Function, workload: Workload) -> dict[str, int]:
    arrays = workload.inputs(cast("np.random.Generator", Zeros()))
    sizes = f.runner.sizes_of([arrays[t.name].shape for t in f.args])
    return {name: sizes[name] for name in f.program.summary.size_names()}


# --- the chooser ----------------------------------------------------------------------------------

CHOICES: list[tuple[str, dict[str, int], list[str]]] = [
    (
        PRODUCT,
        {"N": 1024, "M": 1024, "K": 1024},
        [
            "for N=1024, M=1024, K=1024, f32",
            "y[i, j]: rows i by 6, columns j by 64, 42 blocks a group",
            "  sum 1 over k in chunks of 256 of k: panel w[j, k]",
        ],
    ),
    (
        KERNEL,
        {"I": 4096, "J": 4096, "K": 3},
        ["for I=4096, J=4096, K=3, f32", "y[i]: columns i by 64"],
    ),
    ("y[i, j] = exp(x[i, j])", {"I": 9, "J": 9}, ["for I=9, J=9, f32", "y[ij]: plain"]),
    (
        "x: f32[9000, 9000]\ny[i, j] = x[j, i]",
        {},
        ["for f32", "y[i, j]: rows i by 16, columns j by 16, 4 blocks a group"],
    ),
    ("x: f32[9000, 9000]\ny[i, j] = 2 * x[i, j]", {}, ["for f32", "y[ij]: stream"]),
]


@pytest.mark.parametrize(("source", "sizes", "plan"), CHOICES)
def test_what_the_chooser_chooses(source: str, sizes: dict[str, int], plan: list[str]):
    assert told(tadc.compile(source).emit("plan", sizes or None, "f32")) == plan


# --- plans by hand --------------------------------------------------------------------------------


def arrays() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    x, w = (rng.uniform(-1, 1, (n, 150)).astype(np.float32) for n in (130, 140))
    return x, w


def test_a_plan_by_hand_is_what_runs_in_a_function_and_its_derivatives():
    plan = "y[i, j]: rows j by 3, columns i by 32\ndx[i, k]: plain\n"
    f, g = tadc.compile(PRODUCT), tadc.compile(PRODUCT, plan=plan)
    sizes = {"N": 130, "K": 150, "M": 140}
    assert "y[i, j]: rows j by 3, columns i by 32" in g.emit("plan", sizes)
    assert "dx[i, k]: plain" in g.derivative().emit("plan", sizes)
    assert g.emit("llvm", sizes) != f.emit("llvm", sizes)
    x, w = arrays()
    y, pullback = tadc.vjp(g, x, w)
    np.testing.assert_allclose(y, x @ w.T, atol=1e-4)
    dx, dw = pullback(y)
    np.testing.assert_allclose(dx, y @ w, atol=1e-3)
    np.testing.assert_allclose(dw, y.T @ x, atol=1e-3)
    both = [tadc.vjp(h, x, w)[1](y)[1] for h in (f, g)]
    assert np.array_equal(*both)  # a definition without a plan runs as ever


def test_entries_are_passed_over_where_sizes_have_no_room_for_them():
    g = tadc.compile(PRODUCT, plan="y[i, j]: rows i by 4, columns j by 64")
    sizes = {"N": 3000, "K": 3000, "M": 16}
    assert told(g.emit("plan", sizes)) == told(tadc.compile(PRODUCT).emit("plan", sizes))
    x, w = arrays()
    np.testing.assert_allclose(g(x[:3], w[:5]), x[:3] @ w[:5].T, atol=1e-4)


def test_a_plan_goes_with_its_program():
    g = tadc.compile(PRODUCT, plan="y[i, j]: columns j by 32")
    others = [
        pickle.loads(pickle.dumps(g)),
        g.with_target("interpret").with_target("cpu"),
        tadc.Function(deserialised(serialised(g.program)), "cpu"),
    ]
    for other in others:
        assert "y[i, j]: columns j by 32" in other.emit("plan")
    assert g.program.key != tadc.compile(PRODUCT).program.key
    assert "y[i, j]: plain" not in g.batched("x").emit("plan")
    assert g.with_target("interpret").emit("plan") == g.emit("plan")


# --- refusals at their place ----------------------------------------------------------------------

SMALL = "for N=4, K=4, M=4, f32\ny[i, j]: columns j by 4"
REFUSED = [
    ("z[i]: plain", 1, 1, "there is no definition z to plan"),
    ("dxx[i, k]: plain", 1, 1, "there is no definition dxx to plan"),
    ("# told\nx[i, k]: plain", 2, 1, "there is no definition x to plan"),
    ("y[i, j]: rows q by 4, columns j by 32", 1, 15, "q is no index of y"),
    ("dx[i, k]: columns k by 7", 1, 24, "7 columns are no vector"),
    ("for Q=4, f32\n", 1, 5, "Q is no size of the program"),
    ("for N=4, f32\n", 1, 1, "the size K is missing"),
    (SMALL, 2, 10, "calls of these sizes are short: all their loops are plain"),
    ("y[i, j] plain", 1, 9, "expected ':', and found 'plain'"),
]


@pytest.mark.parametrize(("plan", "line", "column", "message"), REFUSED)
def test_a_plan_that_is_not_possible_is_one_located_error(
    plan: str, line: int, column: int, message: str
):
    with pytest.raises(tadc.TadcError) as caught:
        tadc.compile(PRODUCT, plan=plan)
    error = caught.value
    assert type(error).__name__ == "PlanError"
    assert (error.file, error.line, error.column) == ("<plan>", line, column)
    assert error.message == message
    assert "^" in str(error)


def test_equivalent_definitions_have_one_plan():
    source = "x: f64[N]\ny[i] = exp(x[i])\nz[i] = exp(y[i])"
    f = tadc.compile(source)
    assert "# z[i] runs the code of y" in f.emit("plan")
    with pytest.raises(tadc.TadcError, match="z runs the code of y, which is equal"):
        tadc.compile(source, plan="z[i]: plain")
    g = tadc.compile(source, plan="y[i]: plain")
    assert told(g.emit("plan"))[1:] == ["y[i]: plain"]


def test_a_plan_is_text():
    with pytest.raises(tadc.TadcError, match="a plan is text, not int"):
        tadc.compile(PRODUCT, plan=3)  # pyright: ignore[reportArgumentType]
