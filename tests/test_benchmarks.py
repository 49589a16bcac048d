"""The benchmarks' own arithmetic, and that what they measure is still valid text."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tadc
from benchmarks import report
from benchmarks.timing import least, measure
from benchmarks.workloads import WORKLOADS
from benchmarks.workloads.workload import Array, Workload


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


def test_functions_take_turns():
    calls: list[str] = []
    runs = {name: lambda name=name: calls.append(name) for name in ("a", "b")}
    ticks = iter(range(10**6))
    times = measure(runs, clock=lambda: next(ticks), rounds=3, share=0)
    blocks = [name for n, name in enumerate(calls) if n == 0 or calls[n - 1] != name]
    assert blocks == ["a", "b"] * 4, "once to find out how long a call takes, then three rounds"
    assert [t.readings for t in times.values()] == [3, 3]


def test_the_least_of_each_step():
    assert least([{"a": 1, "b": 4}, {"a": 2, "b": 3}]) == {"a": 1, "b": 3}


@pytest.mark.parametrize("workload", WORKLOADS, ids=[w.name for w in WORKLOADS])
def test_both_texts_of_a_workload_have_its_arguments(workload: Workload):
    arrays: dict[str, Array] = workload.inputs(np.random.default_rng(0))
    for text in (workload.free(), workload.declared(arrays)):
        assert [t.name for t in tadc.compile(text).args] == list(arrays)
    shapes = [t.shape for t in tadc.compile(workload.declared(arrays)).args]
    assert shapes == [a.shape for a in arrays.values()]
