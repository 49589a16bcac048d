"""Times convolutions of planes over channels, kernels and strides beside torch, to find cliffs.

    python -m benchmarks.convolutions [--channels 8 16] [--kernels 3] [--strides 1 2]
                                      [--sizes declared] [--limit 2] [--save] [--plot FILE]

As many channels come out as go in, results are 56 x 56, and there are as many samples, from 1 to
16, as make twenty million multiplications. One thread in float32, the time of the clock; both
take turns in one run. Each cell is the picoseconds of a multiplication, and that as a multiple of
torch: of the value, and of each gradient alone. Cells above the limit are **bold**: the cliffs. The
default takes about three minutes; its channels lie beside whole vectors, where cliffs are.
`--save` also writes the times as JSON, of which `benchmarks/plot.py` draws lines over the channels;
`--plot` draws those of this run.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

import tadc
from benchmarks import machine, plot, tables
from benchmarks.timing import Run, Times, measure
from benchmarks.workloads.workload import Array, normal

SIDE = 56
MULTIPLICATIONS = 2e7
MOST_SAMPLES = 16
CHANNELS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 31, 32, 33, 40, 48, 56, 63, 64, 65)
PARTS = ("value", "dw", "dx")
LIMIT = 1e-3
"""The largest difference allowed, by the largest element of the result."""

Pair = tuple[Run, Run]
"""A call in tadc, and the same in torch."""


@dataclass(frozen=True)
class Shape:
    """A convolution of `channels` planes by as many, with a square kernel."""

    channels: int
    kernel: int
    stride: int

    @property
    def per_sample(self) -> int:
        return self.channels**2 * self.kernel**2 * SIDE**2

    @property
    def samples(self) -> int:
        return int(min(MOST_SAMPLES, max(1, MULTIPLICATIONS // self.per_sample)))

    @property
    def multiplications(self) -> int:
        return self.samples * self.per_sample

    def text(self, declared: bool) -> str:
        step = "" if self.stride == 1 else f"{self.stride}*"
        rows, columns = f"{step}h + s", f"{step}v + t"
        source = f"y[n, o, h, v] = sum[c, s, t](w[o, c, s, t] * x[n, c, {rows}, {columns}])"
        arrays = self.arrays() if declared else {}
        lines = (f"{name}: f32[{', '.join(map(str, a.shape))}]" for name, a in arrays.items())
        return "\n".join([*lines, source])

    def arrays(self) -> dict[str, Array]:
        rng = np.random.default_rng(0)
        c, k, side = self.channels, self.kernel, self.stride * (SIDE - 1) + self.kernel
        return {"w": normal(rng, c, c, k, k), "x": normal(rng, self.samples, c, side, side)}


def pairs(shape: Shape, declared: bool) -> dict[str, Pair]:
    """The parts of a convolution; those of tadc and torch agree."""
    f = tadc.compile(shape.text(declared))
    w, x = shape.arrays().values()
    dy = normal(np.random.default_rng(1), shape.samples, shape.channels, SIDE, SIDE)
    pullbacks = {a: tadc.vjp(f, w, x, wrt=a)[1] for a in ("w", "x")}
    tensor: Callable[[Array], Any] = torch.as_tensor
    tw, tx, tdy = map(tensor, (w, x, dy))
    step = [shape.stride] * 2

    def in_torch(*wanted: bool) -> Any:
        backward = torch.ops.aten.convolution_backward
        return backward(tdy, tx, tw, None, step, [0, 0], [1, 1], False, [0, 0], 1, wanted)

    found: dict[str, Pair] = {
        "value": (lambda: f(w, x), lambda: torch.conv2d(tx, tw, stride=step)),
        "dw": (lambda: pullbacks["w"](dy)[0], lambda: in_torch(False, True, False)[1]),
        "dx": (lambda: pullbacks["x"](dy)[0], lambda: in_torch(True, False, False)[0]),
    }
    for part, (ours, theirs) in found.items():
        difference, size = np.abs(ours() - theirs().numpy()).max(), np.abs(ours()).max()
        assert difference < LIMIT * size, f"{part} of {shape} is off by {difference / size:.1e}"
    return found


def timed(found: Mapping[str, Pair], options: argparse.Namespace) -> dict[str, tuple[Times, Times]]:
    clock: Callable[[], float] = time.perf_counter
    times: dict[str, tuple[Times, Times]] = {}
    for part, (ours, theirs) in found.items():
        runs = {"tadc": ours, "torch": theirs}
        both = measure(runs, clock, options.rounds, options.share)
        times[part] = both["tadc"], both["torch"]
    return times


def row(shape: Shape, times: Mapping[str, tuple[Times, Times]], limit: float) -> list[str]:
    """The words of a line of the table."""
    cells = [f"{shape.kernel} x {shape.kernel}, stride {shape.stride}", str(shape.channels)]
    for ours, theirs in times.values():
        picoseconds, ratio = ours.minimum * 1e12 / shape.multiplications, relative(ours, theirs)
        cell = f"{picoseconds:.3g} ({ratio:.2f}x)"
        cells.append(f"**{cell}**" if ratio > limit else cell)
    return cells


def measured(shape: Shape, times: Mapping[str, tuple[Times, Times]]) -> dict[str, Any]:
    """The picoseconds of a multiplication, by part and contender."""
    picoseconds = {
        part: {
            name: each.minimum * 1e12 / shape.multiplications
            for name, each in zip(("tadc", "torch"), both, strict=True)
        }
        for part, both in times.items()
    }
    return {**asdict(shape), "picoseconds": picoseconds}


def relative(ours: Times, theirs: Times) -> float:
    return ours.minimum / theirs.minimum


def main() -> None:
    """Measure what the command line asks for, and print the table; save it if asked."""
    options = arguments()
    about = machine.about()
    tadc.set_num_threads(1)
    torch.set_num_threads(1)
    rows: list[Sequence[str]] = []
    cells: list[dict[str, Any]] = []
    for kernel in options.kernels:
        for stride in options.strides:
            for channels in options.channels:
                shape = Shape(channels, kernel, stride)
                times = timed(pairs(shape, options.sizes == "declared"), options)
                rows.append(row(shape, times, options.limit))
                cells.append(measured(shape, times))
                print(*rows[-1], sep=" | ", flush=True)
    head = ["ps a multiplication (x torch)", "channels", *PARTS]
    text = tables.markdown(head, rows)
    data = {"machine": about, "sizes": options.sizes, "cells": cells}
    if options.save:
        title = f"# Convolutions beside torch, sizes {options.sizes}"
        tables.save("convolutions", f"{title}\n\n{tables.listed(about)}\n\n{text}", data)
    if options.plot:
        plot.write(Path(options.plot), plot.convolutions(data))


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Times of convolutions beside torch.")
    parser.add_argument("--channels", type=int, nargs="+", default=CHANNELS)
    parser.add_argument("--kernels", type=int, nargs="+", default=[1, 3, 5])
    parser.add_argument("--strides", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--sizes", choices=["free", "declared"], default="free")
    parser.add_argument("--limit", type=float, default=2.0, help="ratios above it are bold")
    parser.add_argument("--rounds", type=int, default=3, help="turns of each")
    parser.add_argument("--share", type=float, default=0.02, help="seconds of a turn")
    parser.add_argument("--save", action="store_true", help="write the results to a file")
    parser.add_argument("--plot", metavar="FILE", help="draw the times as SVG")
    return parser.parse_args()


if __name__ == "__main__":
    main()
