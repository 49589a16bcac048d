"""Brings plots and small tables of docs/performance.md up to date with the newest saved results.

    python -m benchmarks.page

The table of limits is written by `python -m benchmarks.limits --save`, which measures the machine.
Tables name the results that they are made of; a test makes them again from these.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks import plot, tables
from benchmarks.cpu import KINDS
from benchmarks.limits import PAGE
from benchmarks.report import Rows, geometric_mean, ratios

MEANS = "geometric mean of times, as multiples of the C's"
"""The first words of the table of means: tadc on several machines."""

RUNS: Sequence[tuple[tuple[str, ...], str]] = (
    (("cpu-2*.json", "cpu-more-*.json"), "1"),
    (("cpu-two-threads-2*.json",), "2"),
    (("cpu-two-threads-amd-*.json",), "2"),
)
"""The results of each row, with the number of threads that counts."""

CONVOLUTIONS = "times of convolutions, as multiples of torch's"
MUCH = 2.0
"""A cliff: so many times the time of torch, or more."""


def mean_row(paths: Sequence[Path], threads: str) -> list[str]:
    """The means of all workloads in some files; what they are, and on which processor."""
    rows: dict[str, dict[str, Any]] = {kind: {} for kind in KINDS}
    for path in paths:
        turn = _read(path)["turns"][threads]
        for kind in KINDS:
            rows[kind] |= turn["times"][kind]
    files = ", ".join(f"`{path.name}`" for path in paths)
    processor = _read(paths[0])["machine"]["processor"].partition(",")[0]
    cells = [f"{files}: {processor}", str(len(rows[KINDS[0]])), threads]
    return [*cells, *(_mean(rows[kind]) for kind in KINDS)]


def _mean(rows: Rows) -> str:
    return f"{geometric_mean(ratios(rows, 'tadc')):.2f}"


def means(runs: Sequence[tuple[Sequence[Path], str]]) -> str:
    """The table of these results."""
    return tables.markdown(
        [MEANS, "workloads", "threads", *KINDS], [mean_row(paths, n) for paths, n in runs]
    )


def convolutions(path: Path) -> str:
    """The table of a sweep over convolutions: means, and how many times are cliffs."""
    cells = _read(path)["cells"]
    rows: list[list[str]] = []
    for part, words in plot.PARTS.items():
        times = [c["picoseconds"][part] for c in cells]
        found = [t["tadc"] / t["torch"] for t in times]
        cliffs = sum(r > MUCH for r in found)
        rows.append([words, f"{geometric_mean(found):.2f}", f"{max(found):.1f}", str(cliffs)])
    head = [f"{CONVOLUTIONS}, `{path.name}`", f"geometric mean of {len(cells)}", "largest"]
    return tables.markdown([*head, f"above {MUCH:g}"], rows)


def _read(path: Path) -> Mapping[str, Any]:
    return json.loads(path.read_text(encoding="utf-8"))


def renewed(page: str, tables_: Sequence[str]) -> str:
    """The page with these tables in the place of those that begin with the same words."""
    for table in tables_:
        first = re.split("[,`]", table.partition("|")[2])[0].strip()
        page = re.sub(rf"\| {first}.*?(?=\n\n)", lambda _, t=table: t, page, flags=re.DOTALL)
    return page


def main() -> None:
    """Draw the plots, and write the tables."""
    for name, (draw, patterns) in plot.PLOTS.items():
        plot.write(plot.FOLDER / f"{name}.svg", draw(plot.newest(*patterns)))
    runs = [(plot.newest(*patterns), threads) for patterns, threads in RUNS]
    found = [means(runs), convolutions(*plot.newest("convolutions-*.json"))]
    PAGE.write_text(renewed(PAGE.read_text(encoding="utf-8"), found), encoding="utf-8")
    print(f"tables of {PAGE} renewed")


if __name__ == "__main__":
    argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0]).parse_args()
    main()
