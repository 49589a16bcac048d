"""The distance of the workloads from the limits of the machine, by results that are saved.

    python -m benchmarks.limits [--of benchmarks/results/cpu-2026-11-23.json ...] [--save]

A call takes at least the time that its operations take in registers, and at least that of its bytes
on their way, whichever is more: its *limit*. `operations` says how these are counted. Both speeds
are measured here, on one thread, and the times are those of one thread in the files. A share is the
limit as a part of such a time: above 100 % is what needs fewer operations than the C. `--save` also
brings the table of `docs/performance.md` up to date.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import hand_written, machine, tables
from benchmarks.cpu import KINDS, SETS
from benchmarks.operations import OPERATIONS, moved
from benchmarks.timing import Run
from benchmarks.workloads.workload import aligned

LANES, SUMS = 16, 24
"""Of a vector, and the vectors that the probe adds to at a time."""

MEGABYTES = 16
"""Of the arrays that the probe reads and copies: about as large as those of the workloads."""

CONTENDERS = ("C", "tadc", "torch")
PAGE = machine.ROOT / "docs" / "performance.md"
TITLES = {w.name: w.title for w in SETS["all"]}


@dataclass(frozen=True)
class Peaks:
    """The speed of one thread: operations on elements, and bytes read or written, per second."""

    operations: float
    bytes: float

    def limit(self, work: Work) -> tuple[float, str]:
        """The least number of seconds, and what takes them."""
        computing, moving = work.operations / self.operations, work.bytes / self.bytes
        return (computing, "operations") if computing > moving else (moving, "bytes")


@dataclass(frozen=True)
class Work:
    operations: float
    bytes: float


def peaks() -> Peaks:
    """Measures the machine. Raises `Unavailable` without the C."""
    kernels = hand_written.library(1)
    turns = 20000
    seconds = least(lambda: kernels.peaks_fma(ctypes.c_long(turns)))
    x = aligned(np.ones(MEGABYTES * 2**18, np.float32))
    y = aligned(x)
    start = ctypes.c_void_p(x.ctypes.data)
    reading = least(lambda: kernels.peaks_read(start, ctypes.c_long(x.size)))
    copying = least(lambda: np.copyto(y, x))
    return Peaks(turns * SUMS * LANES / seconds, max(1 / reading, 2 / copying) * x.nbytes)


def least(run: Run, turns: int = 100) -> float:
    """The shortest of some runs, in seconds of the processor."""
    times: list[float] = []
    for _ in range(turns):
        start = time.process_time()
        run()
        times.append(time.process_time() - start)
    return min(times)


def counted(name: str) -> dict[str, Work]:
    """The work of a workload, by kind: of the value, and of both."""
    workload = next(w for w in SETS["all"] if w.name == name)
    operations, sizes = OPERATIONS[name], moved(workload)
    both = Work(sum(operations), sum(sizes))
    return dict(zip(KINDS, (Work(operations[0], sizes[0]), both), strict=True))


# --- tables ---------------------------------------------------------------------------------------

Times = Mapping[str, Mapping[str, Mapping[str, Mapping[str, float]]]]
"""Milliseconds by kind, workload, contender, and "minimum" or "median"."""
Counted = Mapping[str, Mapping[str, Work]]
"""By workload and kind."""


def shares(found: Peaks, works: Counted, times: Times) -> str:
    """The limits, and what contenders reach of them."""
    head = ["share of the limit"]
    for kind in KINDS:
        head += [f"{kind}: limit in ms", *CONTENDERS]
    rows: list[Sequence[str]] = []
    for name, by_kind in works.items():
        cells = [f"{name}: {TITLES[name]}"]
        for kind in KINDS:
            seconds, by = found.limit(by_kind[kind])
            entries = times[kind][name]
            cells += [
                f"{seconds * 1e3:.3g}, {by}",
                *(_share(seconds, entries, c) for c in CONTENDERS),
            ]
        rows.append(cells)
    return tables.markdown(head, rows)


def _share(seconds: float, entries: Mapping[str, Mapping[str, float]], name: str) -> str:
    return f"{seconds * 1e5 / entries[name]['minimum']:.0f} %" if name in entries else ""


def counts(works: Counted) -> str:
    """A table of the operations and bytes of each workload, in millions."""
    head = ["millions", *(f"{kind}: {what}" for kind in KINDS for what in ("operations", "bytes"))]
    rows = [
        [name, *(f"{n / 1e6:.4g}" for k in KINDS for n in (by[k].operations, by[k].bytes))]
        for name, by in works.items()
    ]
    return tables.markdown(head, rows)


def read(paths: Sequence[str]) -> Times:
    """The times of one thread in these files; later ones count where two have a workload."""
    found: dict[str, dict[str, Any]] = {kind: {} for kind in KINDS}
    for path in paths:
        turn = json.loads(Path(path).read_text(encoding="utf-8"))["turns"]["1"]
        for kind in KINDS:
            found[kind] |= turn["times"][kind]
    return found


def newest() -> list[str]:
    """The last results of both sets of workloads."""
    found = (sorted(tables.RESULTS.glob(name)) for name in ("cpu-2*.json", "cpu-more-*.json"))
    return [str(paths[-1]) for paths in found if paths]


def main() -> None:
    """Measure the machine, and print the tables; save them if asked."""
    parser = argparse.ArgumentParser(description="The limits of the machine, and who reaches them.")
    parser.add_argument("--of", nargs="+", metavar="FILE", default=newest(), help="results")
    parser.add_argument("--save", action="store_true", help="write the results to a file")
    options = parser.parse_args()
    found, times = peaks(), read(options.of)
    works = {name: counted(name) for name in times[KINDS[0]]}
    files = ", ".join(Path(path).name for path in options.of)
    text = f"""\
One thread: {found.operations / 1e9:.3g} operations and {found.bytes / 1e9:.3g} bytes a nanosecond.
Times: {files}.

{shares(found, works, times)}

{counts(works)}"""
    print(text)
    if options.save:
        head = f"# Limits of the machine\n\n{tables.listed(machine.about())}"
        path = tables.save("limits", f"{head}\n\n{text}")
        page = PAGE.read_text(encoding="utf-8")
        PAGE.write_text(renewed(page, path.name, shares(found, works, times)), encoding="utf-8")


def renewed(page: str, name: str, table: str) -> str:
    """The page with this table, and the name of the file that it is from."""
    page = re.sub(r"limits-[-0-9]+\.md", name, page)
    return re.sub(r"\| share of the limit.*?(?=\n\n)", lambda _: table, page, flags=re.DOTALL)


if __name__ == "__main__":
    main()
