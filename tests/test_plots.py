"""Plots and tables of docs/performance.md: what they show, and that it is from what they name."""

from __future__ import annotations

import re
from importlib.metadata import version
from typing import Any
from xml.etree import ElementTree

import pytest

from benchmarks import page, plot, tables
from benchmarks.plot import Beside

DRAWN = sorted(plot.FOLDER.glob("*.svg"))
SVG = "{http://www.w3.org/2000/svg}"


def entry(minimum: float) -> dict[str, float]:
    return {"minimum": minimum, "median": minimum}


def words_of(text: str) -> list[str]:
    return [e.text or "" for e in ElementTree.fromstring(text).iter(f"{SVG}text")]


def test_the_best_rival_of_each_workload_counts():
    rows = {
        "W1": {"C": entry(2), "tadc": entry(3), "torch": entry(8), "jax.jit": entry(6)},
        "W4": {"C": entry(2), "tadc": entry(1), "NumPy": entry(1)},
        "W5": {"tadc": entry(1)},
    }
    assert plot.beside_c(rows) == [
        Beside("example of the paper", 1.5, "jax.jit", 3.0),
        Beside("matrix product", 0.5),
    ]


def test_means_of_rivals_are_over_all_workloads_or_none():
    both = [Beside("a", 1.0, "torch", 2.0), Beside("b", 4.0, "numba", 8.0)]
    assert plot.mean(both) == Beside("geometric mean", 2.0, "torch", 4.0)
    assert plot.mean([both[0], Beside("b", 4.0)]) == Beside("geometric mean", 2.0)


def test_convolutions_have_a_panel_for_each_part_and_a_line_for_each_kernel():
    times = {part: {"tadc": 10.0, "torch": 20.0} for part in plot.PARTS}
    shapes = [(c, k) for k in (1, 3) for c in (8, 16, 31)]
    cells: list[dict[str, Any]] = [
        {"channels": c, "kernel": k, "stride": 1, "picoseconds": times} for c, k in shapes
    ]
    text = plot.convolutions({"cells": cells}, "a <title>")
    assert "<title>a &lt;title&gt;</title>" in text
    assert {*plot.PARTS.values(), "3 x 3", "torch, stride 1", "8", "16", "31"} <= {*words_of(text)}


def test_colours_are_variables_for_light_and_dark_pages():
    text = plot.themed(f'<svg><path style="fill: {plot.INKS["own"][0]}"/></svg>', "words")
    assert 'style="fill: var(--own)"' in text
    assert all(shade in text for shade in plot.INKS["own"][1:])


@pytest.mark.parametrize("path", DRAWN, ids=lambda p: p.name)
def test_a_plot_is_drawn_from_the_results_that_it_names(path: Any):
    """After new results, `python -m benchmarks.plot` draws the files anew."""
    text = path.read_text(encoding="utf-8")
    title = re.search(r"<title>.*, from (.*)</title>", text)
    assert title, "the title says where the numbers are from"
    draw, _ = plot.PLOTS[path.stem]
    if f"Matplotlib v{version('matplotlib')}," not in text:
        pytest.skip("drawn by another version of matplotlib")
    assert draw([tables.RESULTS / name for name in title[1].split(", ")]) == text


def test_all_files_are_plots():
    assert {path.stem for path in DRAWN} <= {*plot.PLOTS}


# --- tables of docs/performance.md ----------------------------------------------------------------

TEXT = page.PAGE.read_text(encoding="utf-8")


def named(row: str) -> list[Any]:
    """The results that a row of a table says it is made of."""
    return [tables.RESULTS / name for name in re.findall(r"`([-\w]+\.json)`", row)]


def test_means_are_those_of_the_results_that_they_name():
    table = TEXT[TEXT.index(f"| {page.MEANS}") :].partition("\n\n")[0]
    runs = [(named(row), row.split(" | ")[2]) for row in table.splitlines()[2:]]
    assert len(runs) == len(page.RUNS)
    assert page.means(runs) == table


def test_cliffs_are_those_of_the_results_that_they_name():
    table = TEXT[TEXT.index(f"| {page.CONVOLUTIONS}") :].partition("\n\n")[0]
    assert page.convolutions(*named(table)) == table


def test_a_page_gets_new_tables():
    old = "| times of convolutions, `a` | 1 |\n| b | 2 |\n\nAnd so on."
    new = f"| {page.CONVOLUTIONS}, `c.json` | 3 |\n| d | 4 |"
    assert page.renewed(old, [new]) == f"{new}\n\nAnd so on."
