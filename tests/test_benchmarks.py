"""The benchmarks' own arithmetic, and that what they measure is still valid text."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import tadc
from benchmarks import compile_time, limits, report, tables
from benchmarks.cpu import SETS
from benchmarks.hand_written import SOURCES
from benchmarks.limits import Peaks, Work
from benchmarks.operations import OPERATIONS, moved
from benchmarks.timing import least, measure
from benchmarks.workloads.workload import Array, Workload
from tests.support.campaign import seeds


def entry(minimum: float) -> dict[str, float]:
    return {"minimum": minimum, "median": 2 * minimum}


def turns(**times: dict[str, float]) -> dict[str, Any]:
    """One kind on one thread: workloads with the minima of contenders."""
    rows = {w: {name: entry(ms) for name, ms in each.items()} for w, each in times.items()}
    return {"1": {"clock": "the processor", "times": {"value": rows}}}


RUN = turns(W1={"C": 2.0, "tadc": 4.0}, W2={"C": 1.0, "tadc": 8.0, "torch": 3.0})


def test_a_table_has_multiples_of_the_c_and_their_geometric_means():
    assert report.report(RUN).splitlines() == [
        "## 1 thread, value: ms of the processor, minimum (median), x C",
        "",
        "|  | C | tadc | torch |",
        "| --- | ---: | ---: | ---: |",
        "| W1 | 2 (4) **1.00x** | 4 (8) **2.00x** |  |",
        "| W2 | 1 (2) **1.00x** | 8 (16) **8.00x** | 3 (6) **3.00x** |",
        "| geometric mean | **1.00x** of 2 | **4.00x** of 2 | **3.00x** of 1 |",
    ]


def test_a_change_has_what_both_runs_have():
    after = turns(W2={"C": 2.0, "tadc": 4.0}, W3={"C": 1.0, "tadc": 1.0})
    assert report.change(RUN, after).splitlines()[2:] == [
        "|  | C | tadc |",
        "| --- | ---: | ---: |",
        "| W2 | 1 -> 2 | 8.00 -> 2.00 |",
        "| geometric mean |  | 8.00 -> 2.00 |",
    ]


def test_without_the_c_there_are_times_and_no_multiples():
    assert "| W1 | 4 (8) |" in report.report(turns(W1={"tadc": 4.0}))


@pytest.mark.parametrize("seed", seeds(15, of=600))
def test_random_formulas_are_the_same_in_torch(seed: int) -> None:
    torch = pytest.importorskip("torch")
    from benchmarks.formulas import formula_of

    formula = formula_of(seed)
    lengths = {v: 2 + n % 5 for n, v in enumerate(formula.lengths)}
    small = replace(formula, lengths=lengths)
    rng = np.random.default_rng(seed)
    shapes = [[lengths[v] for v in own] for own in small.reads]
    arrays = dict(zip("abc", (rng.normal(size=shape) for shape in shapes), strict=False))
    f = tadc.compile(small.source)
    expected = small.torch(*map(torch.from_numpy, arrays.values()))
    np.testing.assert_allclose(f(*(arrays[t.name] for t in f.args)), expected.numpy(), rtol=1e-9)


def test_methods_have_their_inputs_as_arguments() -> None:
    pytest.importorskip("torch")
    from benchmarks.methods import METHODS

    assert len({method.name for method in METHODS}) == len(METHODS) == 36
    for method in METHODS:
        arrays = method.inputs(np.random.default_rng(0))
        ranks = {t.name: len(t.shape) for t in tadc.compile(method.source).args}
        assert ranks == {name: a.ndim for name, a in arrays.items()}, method.name


def test_functions_take_turns():
    calls: list[str] = []
    runs = {name: lambda name=name: calls.append(name) for name in ("a", "b")}
    ticks = iter(range(10**6))
    times = measure(runs, clock=lambda: next(ticks), rounds=3, share=0)
    blocks = [name for n, name in enumerate(calls) if n == 0 or calls[n - 1] != name]
    assert blocks == ["a", "b"] * 4, "once to find out how long a call takes, then three rounds"
    assert [t.readings for t in times.values()] == [3, 3]


def test_the_steps_of_compiling():
    times = compile_time.one_turn("x: f32[40]\ny[i] = sum[j](x[i] * x[j])")
    assert {*compile_time.STEPS} < {*times}
    assert times["first call"] < times["machine code"]


def test_the_least_of_each_step():
    assert least([{"a": 1, "b": 4}, {"a": 2, "b": 3}]) == {"a": 1, "b": 3}


ALL = SETS["all"]


@pytest.mark.parametrize("workload", ALL, ids=[w.name for w in ALL])
def test_both_texts_of_a_workload_have_its_arguments(workload: Workload):
    arrays: dict[str, Array] = workload.inputs(np.random.default_rng(0))
    for text in (workload.free(), workload.declared(arrays)):
        assert [t.name for t in tadc.compile(text).args] == list(arrays)
    shapes = [t.shape for t in tadc.compile(workload.declared(arrays)).args]
    assert shapes == [a.shape for a in arrays.values()]


def test_every_workload_is_written_in_c_and_counted():
    text = "".join(file.read_text(encoding="utf-8") for file in SOURCES.glob("*.c"))
    functions = set(re.findall(r"^void (\w+)\(", text, flags=re.MULTILINE))
    for workload in ALL:
        name = workload.name.lower()
        assert {f"{name}_value", f"{name}_gradients"} <= functions
    assert list(OPERATIONS) == [w.name for w in ALL]


def test_bytes_of_a_matrix_product():
    product = next(w for w in ALL if w.name == "W4")
    matrix = 1024 * 1024 * 4
    assert moved(product) == (3 * matrix, 5 * matrix), "x w to y; x w dy to dx dw"


def test_a_limit_is_what_takes_longer():
    machine = Peaks(operations=10.0, bytes=2.0)
    assert machine.limit(Work(operations=20.0, bytes=2.0)) == (2.0, "operations")
    assert machine.limit(Work(operations=20.0, bytes=8.0)) == (4.0, "bytes")


def test_shares_of_a_limit():
    kinds: tuple[str, ...] = ("value", "value + gradients")
    works: limits.Counted = {"W4": dict.fromkeys(kinds, Work(operations=2e9, bytes=1e6))}
    times = {kind: {"W4": {"C": entry(200.0), "tadc": entry(400.0)}} for kind in kinds}
    last = limits.shares(Peaks(operations=1e10, bytes=1e10), works, times).splitlines()[-1]
    part = "200, operations | 100 % | 50 % |  |"
    assert last == f"| W4: matrix product, 1024 x 1024 x 1024 | {part} {part}"


def test_a_page_gets_a_new_table():
    page = "From `limits-2020-01-01.md`:\n\n| share of the limit | a |\n| W1 | 2 |\n\nAnd so on."
    table = "| share of the limit | b |\n| W2 | 3 |"
    expected = f"From `limits-2021-02-03.md`:\n\n{table}\n\nAnd so on."
    assert limits.renewed(page, "limits-2021-02-03.md", table) == expected


def test_what_is_said_of_limits_is_saved():
    text = limits.PAGE.read_text(encoding="utf-8")
    name = re.search(r"results/(limits-[-0-9]+\.md)", text)
    assert name, "the page says where its numbers are from"
    saved = (tables.RESULTS / name[1]).read_text(encoding="utf-8").splitlines()
    rows = [line for line in text.splitlines() if re.match(r"\| W\d+b?: ", line)]
    assert len(rows) == len(ALL)
    assert set(rows) <= set(saved)


def test_convolutions_make_about_as_many_multiplications():
    pytest.importorskip("torch")
    from benchmarks.convolutions import MULTIPLICATIONS, Shape

    small, large = Shape(8, 3, 2), Shape(64, 5, 1)
    assert small.text(declared=False).endswith("x[n, c, 2*h + s, 2*v + t])")
    assert [a.shape for a in small.arrays().values()] == [(8, 8, 3, 3), (11, 8, 113, 113)]
    assert small.multiplications == 11 * 8 * 8 * 9 * 56 * 56 <= MULTIPLICATIONS
    assert large.samples == 1
