"""Tables of a comparison: ratios to the C, their geometric means, the change to an earlier run.

Results are nested dictionaries, as they are saved: by number of threads, kind ("value", "value +
gradients"), workload and contender, with the median and the minimum in milliseconds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from math import exp, log
from typing import Any

from benchmarks.tables import markdown

Entry = Mapping[str, float]
Rows = Mapping[str, Mapping[str, Entry]]
"""By workload and contender."""
Turn = Mapping[str, Any]
"""Of one number of threads: its clock, errors, and `Rows` by kind."""

BASE = "C"


def report(turns: Mapping[str, Turn]) -> str:
    """All tables of a run."""
    return "\n\n".join(part for threads, turn in turns.items() for part in _tables(threads, turn))


def _tables(threads: str, turn: Turn) -> Iterator[str]:
    for kind, rows in turn["times"].items():
        clock = turn["clock"]
        yield f"## {_counted(threads)}, {kind}: ms of {clock}, minimum (median), x C"
        yield table(rows)


def _counted(threads: str) -> str:
    return f"{threads} thread{'s' if int(threads) > 1 else ''}"


def table(rows: Rows) -> str:
    """One row per workload, one column per contender; the last row has the geometric means."""
    names = contenders(rows)
    lines = [[w, *(_cell(entries, n) for n in names)] for w, entries in rows.items()]
    means = ["geometric mean", *(_mean(ratios(rows, n)) for n in names)]
    return markdown(["", *names], [*lines, means])


def contenders(rows: Rows) -> list[str]:
    """The names of all contenders, in the order in which they appear."""
    return list(dict.fromkeys(name for entries in rows.values() for name in entries))


def ratios(rows: Rows, name: str) -> list[float]:
    """The minima of a contender by those of the C, where both ran."""
    found = (ratio(entries, name) for entries in rows.values())
    return [r for r in found if r is not None]


def ratio(entries: Mapping[str, Entry], name: str) -> float | None:
    if name not in entries or BASE not in entries:
        return None
    return entries[name]["minimum"] / entries[BASE]["minimum"]


def geometric_mean(values: list[float]) -> float:
    return exp(sum(map(log, values)) / len(values))


def _cell(entries: Mapping[str, Entry], name: str) -> str:
    if name not in entries:
        return ""
    entry, beside = entries[name], ratio(entries, name)
    times = f"{entry['minimum']:.3g} ({entry['median']:.3g})"
    return times if beside is None else f"{times} {_times(beside)}"


def _mean(values: list[float]) -> str:
    return f"{_times(geometric_mean(values))} of {len(values)}" if values else ""


def _times(ratio: float) -> str:
    return f"**{ratio:.{2 if ratio < 10 else 1 if ratio < 100 else 0}f}x**"


# --- the change to an earlier run -----------------------------------------------------------------


def change(before: Mapping[str, Turn], after: Mapping[str, Turn]) -> str:
    """The ratios to the C before and after, of all that both runs have.

    Ratios were taken within a run, so that they compare across runs where milliseconds may not:
    the column of the C, in milliseconds, shows how much the machine has changed.
    """
    parts: list[str] = []
    for threads, turn in after.items():
        for kind, rows in turn["times"].items():
            old: Rows = before.get(threads, {"times": {}})["times"].get(kind, {})
            if set(old) & set(rows):
                parts.append(f"## {_counted(threads)}, {kind}: change of x C (of the C: of ms)")
                parts.append(_changes(old, rows))
    return "\n\n".join(parts)


def _changes(before: Rows, after: Rows) -> str:
    shared = [w for w in after if w in before]
    names = [n for n in contenders(after) if n in contenders(before)]
    lines = [[w, *(_changed(before[w], after[w], n) for n in names)] for w in shared]
    old, new = ({w: rows[w] for w in shared} for rows in (before, after))
    means = [_arrow(old, new, n) for n in names]
    return markdown(["", *names], [*lines, ["geometric mean", *means]])


def _changed(before: Mapping[str, Entry], after: Mapping[str, Entry], name: str) -> str:
    if name not in before or name not in after:
        return ""
    if name == BASE:
        return f"{before[name]['minimum']:.3g} -> {after[name]['minimum']:.3g}"
    old, new = ratio(before, name), ratio(after, name)
    return "" if old is None or new is None else f"{old:.2f} -> {new:.2f}"


def _arrow(before: Rows, after: Rows, name: str) -> str:
    """The geometric means over the workloads that both have of this contender."""
    both = [w for w in after if name in after[w] and name in before[w]]
    old, new = ([r for w in both if (r := ratio(rows[w], name))] for rows in (before, after))
    mean: Callable[[list[float]], float] = geometric_mean
    return f"{mean(old):.2f} -> {mean(new):.2f}" if old and new and name != BASE else ""
