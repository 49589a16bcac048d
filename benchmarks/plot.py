"""Draws saved results: the workloads as multiples of the C, and convolutions over channels.

    python -m benchmarks.plot                          both, of the newest results, for the pages
    python -m benchmarks.plot workloads --of benchmarks/results/cpu-2026-11-23.json ...
    python -m benchmarks.plot convolutions --of FILE --out plot.svg

A plot is an SVG for light and dark pages: its colours are variables, with other values where a page
is dark. It names the results that it is made of, and is the same text for the same results.
"""

from __future__ import annotations

import argparse
import io
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks import machine, tables
from benchmarks.cpu import KINDS, SETS
from benchmarks.report import BASE, Rows, geometric_mean, ratio

FOLDER = machine.ROOT / "docs" / "plots"

RIVALS = {"torch": "s", "torch.compile": "D", "jax.jit": "^", "numba": "v"}
"""Contenders of whom the best one is shown for each workload, with the form of its mark."""

INKS = {
    "ink": ("#111112", "#24292f", "#c9d1d9"),
    "line": ("#111113", "#d0d7de", "#3d444d"),
    "own": ("#111114", "#0969da", "#58a6ff"),
    "other": ("#111115", "#bc4c00", "#f0883e"),
    "a": ("#111116", "#0969da", "#58a6ff"),
    "b": ("#111117", "#1a7f37", "#3fb950"),
    "c": ("#111118", "#8250df", "#bc8cff"),
}
"""Colours: how matplotlib knows them, on light ground, on dark ground."""

SETTINGS = {
    "svg.fonttype": "none",
    "svg.hashsalt": "tadc",
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 10,
    "legend.frameon": False,
    **dict.fromkeys(
        ("text.color", "axes.labelcolor", "axes.titlecolor", "xtick.color", "ytick.color"),
        INKS["ink"][0],
    ),
    "axes.edgecolor": INKS["line"][0],
}


def drawn(title: str, draw: Callable[[Any], Any]) -> str:
    """The SVG of what `draw` makes with matplotlib's `pyplot`; the title is read aloud."""
    matplotlib: Any = import_module("matplotlib")
    matplotlib.use("svg")
    pyplot: Any = import_module("matplotlib.pyplot")
    with pyplot.rc_context(SETTINGS):
        figure, out = draw(pyplot), io.StringIO()
        figure.savefig(
            out, format="svg", transparent=True, bbox_inches="tight", metadata={"Date": None}
        )
        pyplot.close(figure)
    return themed(out.getvalue(), title)


def themed(text: str, title: str) -> str:
    """The SVG with variables for colours and the fonts of the page."""
    light, dark = ("".join(f"--{name}:{INKS[name][place]};" for name in INKS) for place in (1, 2))
    style = f"<style>svg{{{light}}}@media(prefers-color-scheme:dark){{svg{{{dark}}}}}</style>"
    for name, (known, *_) in INKS.items():
        text = text.replace(known, f"var(--{name})")
    text = re.sub(r"font-family: [^;\"]*", "font-family: system-ui, sans-serif", text)
    text = re.sub(r"<!DOCTYPE.*?>\s*", "", text, flags=re.DOTALL)
    text = "\n".join(line.rstrip() for line in text.splitlines()) + "\n"
    return re.sub(r"(<svg[^>]*>)", rf"\1\n<title>{escape(title)}</title>{style}", text, count=1)


# --- workloads ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Beside:
    """A workload in multiples of the C: that of tadc, and of the best rival, if there is one."""

    words: str
    own: float
    rival: str = ""
    best: float = 0.0


def beside_c(rows: Rows) -> list[Beside]:
    """The workloads that have a C and tadc."""
    found: list[Beside] = []
    titles = {w.name: w.title.partition(",")[0] for w in SETS["all"]}
    for name, entries in rows.items():
        own = ratio(entries, "tadc")
        others = {r: entries[r]["minimum"] for r in RIVALS if r in entries}
        if own is None:
            continue
        if not others:
            found.append(Beside(titles[name], own))
            continue
        best = min(others, key=lambda r: others[r])
        found.append(Beside(titles[name], own, best, others[best] / entries[BASE]["minimum"]))
    return found


def workloads(paths: Sequence[Path], threads: str = "1") -> str:
    """The plot of the times of so many threads in these files."""
    rows: dict[str, dict[str, Any]] = {kind: {} for kind in KINDS}
    for path in paths:
        turn = json.loads(path.read_text(encoding="utf-8"))["turns"][threads]
        for kind in KINDS:
            rows[kind] |= turn["times"][kind]
    found = {kind: beside_c(rows[kind]) for kind in KINDS}
    return drawn(titled("Times as multiples of C", paths), lambda p: _workloads(p, found))


def titled(words: str, paths: Sequence[Path]) -> str:
    return f"{words}, from {', '.join(path.name for path in paths)}"


def _workloads(pyplot: Any, found: Mapping[str, Sequence[Beside]]) -> Any:
    most = max(len(each) for each in found.values()) + 1
    figure, panels = pyplot.subplots(1, 2, sharey=True, figsize=(8.4, 0.5 + 0.205 * most))
    for axes, (kind, each) in zip(panels, found.items(), strict=True):
        _beside(axes, kind, [*each, mean(each)])
    names = [b.words for b in max(found.values(), key=len)]
    panels[0].set_yticks(range(most), [*names, "geometric mean"])
    panels[0].set_ylim(most - 0.5, -0.6)
    shown = dict(mark for axes in panels for mark in _marks(axes))
    figure.legend(
        shown.values(), shown, loc="lower center", ncols=len(shown), bbox_to_anchor=(0.6, -0.04)
    )
    figure.tight_layout(w_pad=1.5)
    return figure


def _marks(axes: Any) -> Iterator[tuple[str, Any]]:
    """Entries of a legend: words and marks."""
    marks, words = axes.get_legend_handles_labels()
    yield from zip(words, marks, strict=True)


def mean(each: Sequence[Beside]) -> Beside:
    """The geometric means; that of rivals where each workload has one."""
    own, best = geometric_mean([b.own for b in each]), [b.best for b in each if b.rival]
    if len(best) < len(each):
        return Beside("geometric mean", own)
    return Beside("geometric mean", own, each[0].rival, geometric_mean(best))


def _beside(axes: Any, kind: str, each: Sequence[Beside]) -> None:
    ink, line, own, other = (INKS[name][0] for name in ("ink", "line", "own", "other"))
    axes.axvline(1, color=ink, linewidth=1)
    axes.text(1, -0.7, "C", ha="center", va="bottom")
    axes.axhline(len(each) - 1.5, color=line, linewidth=0.8)
    for place, b in enumerate(each[:-1]):
        if b.rival:
            axes.plot([b.own, b.best], [place, place], color=line, linewidth=1, zorder=1)
    axes.scatter([b.own for b in each], range(len(each)), s=22, color=own, label="tadc", zorder=3)
    for rival, form in RIVALS.items():
        points = [(b.best, place) for place, b in enumerate(each) if b.rival == rival]
        if points:
            axes.scatter(
                *zip(*points, strict=True),
                s=18,
                marker=form,
                facecolors="none",
                edgecolors=other,
                linewidths=1.2,
                label=f"best rival: {rival}",
                zorder=2,
            )
    for value in (each[-1].own, each[-1].best):
        if value:
            label = {"xytext": (6, 0), "textcoords": "offset points", "va": "center"}
            axes.annotate(f"{value:.3g}", (value, len(each) - 1), **label)
    axes.set_xscale("log")
    least = min(0.5, *(b.own for b in each), *(b.best for b in each if b.rival))
    axes.set_xlim(left=least * 0.9)
    ticks = [
        t for t in (0.2, 0.5, 1, 2, 5, 10, 100, 1000) if least * 0.9 <= t <= axes.get_xlim()[1]
    ]
    axes.set_xticks(ticks, [f"{t:g}" for t in ticks])
    axes.minorticks_off()
    axes.grid(axis="x", color=line, linewidth=0.5)
    axes.tick_params(length=0)
    axes.spines[["left", "bottom"]].set_visible(False)
    axes.set_axisbelow(True)
    axes.set_title(kind)
    axes.set_xlabel("time as a multiple of that of C")


# --- convolutions ---------------------------------------------------------------------------------

KERNELS = {1: "a", 3: "b", 5: "c"}
"""The colour of each side of a kernel."""

PARTS = {"value": "value", "dw": "gradient by weights", "dx": "gradient by input"}

Cells = Sequence[Mapping[str, Any]]
"""Times that `benchmarks/convolutions.py` has measured, by shape."""


def convolutions(data: Mapping[str, Any], title: str = "Convolutions over channels") -> str:
    """The plot of what `benchmarks/convolutions.py` saves."""
    return drawn(title, lambda p: _convolutions(p, data["cells"]))


def _convolutions(pyplot: Any, cells: Cells) -> Any:
    figure, panels = pyplot.subplots(1, 3, sharey=True, figsize=(9.6, 4))
    channels = sorted({c["channels"] for c in cells})
    for axes, (part, words) in zip(panels, PARTS.items(), strict=True):
        for shape in dict.fromkeys((c["kernel"], c["stride"]) for c in cells):
            own = [c for c in cells if (c["kernel"], c["stride"]) == shape]
            places = [channels.index(c["channels"]) for c in own]
            for name in ("torch", "tadc"):
                times = [c["picoseconds"][part][name] for c in own]
                axes.plot(places, times, **_line(name, *shape))
        _channel_axes(axes, words, channels)
    # what is far above all of tadc, for few channels, leaves the panels
    panels[0].set_ylim(top=2 * max(c["picoseconds"][p]["tadc"] for c in cells for p in PARTS))
    panels[0].set_ylabel("picoseconds a multiplication")
    figure.tight_layout()
    kernels, strides = ([*dict.fromkeys(c[of] for c in cells)] for of in ("kernel", "stride"))
    _explain_lines(figure, panels[0], kernels, strides)
    return figure


def _line(name: str, kernel: int | None, stride: int) -> dict[str, Any]:
    """The looks of a line: colours for kernels, marks for strides, thin dashes for torch."""
    color = INKS[KERNELS.get(kernel or 0, "ink")][0]
    if name == "torch":
        return {
            "color": color,
            "linewidth": 0.9,
            "linestyle": (0, (4, 2) if stride == 1 else (1, 2)),
        }
    face = color if stride == 1 else "none"
    mark = {"marker": "o", "markersize": 3.5, "markerfacecolor": face}
    return {"color": color, "linewidth": 1.6, **mark}


def _explain_lines(figure: Any, axes: Any, kernels: Sequence[int], strides: Sequence[int]) -> None:
    """A legend: each colour, and each form of line."""
    shown = {f"{k} x {k}": {**_line("tadc", k, 1), "marker": None} for k in kernels}
    for name in ("tadc", "torch"):
        shown |= {f"{name}, stride {s}": _line(name, None, s) for s in strides}
    marks = [axes.plot([], [], **looks)[0] for looks in shown.values()]
    figure.legend(
        marks, [*shown], loc="upper center", ncols=len(shown), bbox_to_anchor=(0.52, 0.02)
    )


def _channel_axes(axes: Any, words: str, channels: Sequence[int]) -> None:
    """All channels that were measured, side by side: 31, 32 and 33 are as far apart as 8 and 16."""
    line = INKS["line"][0]
    axes.set_yscale("log")
    axes.grid(color=line, linewidth=0.5)
    axes.tick_params(length=0)
    axes.set_xticks(range(len(channels)), [str(c) for c in channels], fontsize=7)
    axes.minorticks_off()
    axes.yaxis.set_major_formatter("{x:g}")
    axes.set_title(words)
    axes.set_xlabel("channels")


# --- files ----------------------------------------------------------------------------------------


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    print(f"written to {path}")


def of_workloads(paths: Sequence[Path]) -> str:
    return workloads(paths)


def of_convolutions(paths: Sequence[Path]) -> str:
    """The plot of the last of these files."""
    data = json.loads(paths[-1].read_text(encoding="utf-8"))
    return convolutions(data, titled("Convolutions over channels", paths[-1:]))


def newest(*patterns: str) -> list[Path]:
    """The last results of each kind."""
    found = (sorted(tables.RESULTS.glob(pattern)) for pattern in patterns)
    return [paths[-1] for paths in found if paths]


PLOTS: Mapping[str, tuple[Callable[[Sequence[Path]], str], tuple[str, ...]]] = {
    "workloads": (of_workloads, ("cpu-2*.json", "cpu-more-*.json")),
    "convolutions": (of_convolutions, ("convolutions-*.json",)),
}
"""Each plot, by the name of its file in `docs/plots`, and the results that it is made of."""


def main() -> None:
    """Draw what the command line asks for."""
    parser = argparse.ArgumentParser(description="Plots of saved results, as SVG.")
    parser.add_argument("plots", nargs="*", choices=[*PLOTS, []], help="both by default")
    parser.add_argument("--of", nargs="+", type=Path, metavar="FILE", help="results, as JSON")
    parser.add_argument("--out", type=Path, metavar="FILE", help="by default in docs/plots")
    options = parser.parse_args()
    for name in options.plots or PLOTS:
        draw, patterns = PLOTS[name]
        paths = options.of or newest(*patterns)
        if paths:
            write(options.out or FOLDER / f"{name}.svg", draw(paths))
        else:
            print(f"no results for {name}: benchmarks/README.md says how to measure")


if __name__ == "__main__":
    main()
