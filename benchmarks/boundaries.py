"""Times stencils with boundaries beside torch: in long rows and in planes, of several widths.

    python -m benchmarks.boundaries [--only row Sobel] [--around wrap] [--sides 4194304 2048]
                                    [--no-torch] [--no-compile] [--save]

Each stencil goes around (`wrap`), reads the nearest element (`clamp`) or the mirror image
(`reflect`), with numbers for sizes and with symbols. In float32 on one thread, the time of the
processor; all take turns in one run. A cell has milliseconds of tadc with numbers and with symbols,
and of the fastest way to write it in torch, eager and compiled: slices or a convolution of what
`pad` makes, or `roll`. Then come the multiples of torch, and the time of the gradients of all
arguments as a multiple of the value's. Multiples above 1 of torch and 3 of the value are **bold**.
Results are compared before anything is timed.
"""

from __future__ import annotations

import argparse
import gc
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from statistics import geometric_mean
from typing import Any

import numpy as np
import torch
from torch.nn import functional

import tadc
from benchmarks import machine, tables
from benchmarks.timing import Run, measure
from benchmarks.workloads.workload import Array, normal

LIMIT = 2e-3
"""The largest difference allowed, by the largest element of the result."""

BEHIND, DEAR = 1.0, 3.0
"""Multiples of torch, and of the value, that are bold."""

MODES = {"wrap": "circular", "clamp": "replicate", "reflect": "reflect"}
"""The boundaries, and the names that `torch.nn.functional.pad` has for them."""

HEAD = [
    "ms: numbers, symbols (torch)",
    *("value", "value + gradients", "x torch", "x torch, with gradients", "gradients x value"),
]

At = Callable[..., Any]
"""The elements at given distances along each axis: text, or a tensor."""


@dataclass(frozen=True)
class Stencil:
    """A stencil as text and in torch, given the elements at distances; with its weights if any."""

    name: str
    rank: int
    reach: int
    text: Callable[[At], str]
    torch: Callable[[At, Any], Any]
    weights: tuple[int, ...] = ()

    def source(self, around: str, sizes: Sequence[str]) -> str:
        """The program for a boundary, with these sizes along the axes."""

        def at(*distances: int | str) -> str:
            places = (f"{around}({v} + {d})" for v, d in zip("ij", distances, strict=False))
            return f"x[{', '.join(places)}]"

        ranges = ", ".join(f"{v} in range({n})" for v, n in zip("ij", sizes, strict=False))
        weights = f"w: f32[{', '.join(map(str, self.weights))}]\n" if self.weights else ""
        return f"x: f32[{', '.join(sizes)}]\n{weights}y[{ranges}] = {self.text(at)}"


def _window(rank: int, width: int) -> Stencil:
    """The sum of a window, by weights that are an argument."""
    half = width // 2

    def formula(at: At, w: Any) -> Any:
        places = product(range(width), repeat=rank)
        return sum(w[p] * at(*(v - half for v in p)) for p in places)

    def text(at: At) -> str:
        terms = ", ".join("uv"[:rank])
        return f"sum[{terms}](w[{terms}] * {at(*(f'{v} - {half}' for v in 'uv'[:rank]))})"

    name = " x ".join([str(width)] * rank)
    return Stencil(f"window of {name}", rank, half, text, formula, (width,) * rank)


def _difference(*coefficients: float) -> Stencil:
    """A difference along a row, by coefficients that are numbers."""
    width = len(coefficients)
    pairs = [(c, n - width // 2) for n, c in enumerate(coefficients) if c]

    def text(at: At) -> str:
        return " + ".join(f"{c} * {at(d)}" for c, d in pairs)

    def formula(at: At, w: Any) -> Any:
        return sum(c * at(d) for c, d in pairs)

    return Stencil(f"difference of {width}", 1, width // 2, text, formula)


NEIGHBOURS = ((1, 0), (-1, 0), (0, 1), (0, -1))
"""The distances to the neighbours of an element of a plane."""


def _five(at: At, w: Any) -> Any:
    return at(0, 0) + 0.1 * (sum(at(*d) for d in NEIGHBOURS) - 4 * at(0, 0))


def _four(at: At, w: Any) -> Any:
    return at(1, 0) * at(-1, 0) * at(0, 1) * at(0, -1)


def _sobel(at: At, w: Any) -> Any:
    return torch.sqrt(_slope(at) ** 2 + _slope(_transposed(at)) ** 2 + 1e-4)


def _transposed(at: At) -> At:
    return lambda *distances: at(*reversed(distances))


def _slope(at: At) -> Any:
    pairs = [(c, at(1, b), at(-1, b)) for b, c in ((-1, 1), (0, 2), (1, 1))]
    if isinstance(pairs[0][1], str):
        return " + ".join(f"{c} * ({high} - {low})" for c, high, low in pairs)
    return sum(c * (high - low) for c, high, low in pairs)


STENCILS = (
    *(_window(1, width) for width in (3, 5, 9)),
    _difference(0.25, 0.5, 0.25),
    _difference(1 / 12, -2 / 3, 0.0, 2 / 3, -1 / 12),
    _difference(1 / 280, -4 / 105, 0.2, -0.8, 0.0, 0.8, -0.2, 4 / 105, -1 / 280),
    Stencil(
        "product of two neighbours",
        1,
        1,
        lambda at: f"{at(1)} * {at(-1)}",
        lambda at, w: at(1) * at(-1),
    ),
    _window(2, 3),
    Stencil(
        "five points",
        2,
        1,
        lambda at: (
            f"{at(0, 0)} + 0.1 * ({' + '.join(at(*d) for d in NEIGHBOURS)} - 4 * {at(0, 0)})"
        ),
        _five,
    ),
    Stencil(
        "product of four neighbours", 2, 1, lambda at: " * ".join(at(*d) for d in NEIGHBOURS), _four
    ),
    Stencil(
        "Sobel",
        2,
        1,
        lambda at: f"sqrt(({_slope(at)})**2 + ({_slope(_transposed(at))})**2 + 1e-4)",
        _sobel,
    ),
)


# --- contenders -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Task:
    """A stencil with a boundary, and arguments."""

    stencil: Stencil
    around: str
    arrays: Mapping[str, Array]
    dy: Array

    @staticmethod
    def of(stencil: Stencil, around: str, side: int) -> Task:
        rng = np.random.default_rng(0)
        shape = (side,) * stencil.rank
        weights = {"w": normal(rng, *stencil.weights)} if stencil.weights else {}
        return Task(stencil, around, {"x": normal(rng, *shape), **weights}, normal(rng, *shape))

    def functions(self) -> Iterator[tuple[str, tadc.Function]]:
        """With numbers for sizes, and with symbols."""
        numbers = [str(n) for n in self.dy.shape]
        for name, sizes in ("numbers", numbers), ("symbols", ["N", "M"][: self.stencil.rank]):
            yield name, tadc.compile(self.stencil.source(self.around, sizes))

    def in_torch(self) -> dict[str, Callable[..., Any]]:
        """The ways to write it in torch."""
        stencil, rank, reach = self.stencil, self.stencil.rank, self.stencil.reach
        margins = [reach, reach] * rank

        def padded(x: Any) -> Any:
            return functional.pad(x[None, None], margins, mode=MODES[self.around])

        def slices(x: Any, w: Any = None) -> Any:
            p, shape = padded(x)[0, 0], x.shape

            def at(*distances: int) -> Any:
                pairs = zip(distances, shape, strict=True)
                return p[tuple(slice(reach + d, reach + d + n) for d, n in pairs)]

            return stencil.torch(at, w)

        def rolled(x: Any, w: Any = None) -> Any:
            def at(*distances: int) -> Any:
                return torch.roll(x, [-d for d in distances], [*range(rank)])

            return stencil.torch(at, w)

        def convolved(x: Any, w: Any) -> Any:
            convolution = functional.conv1d if rank == 1 else functional.conv2d
            return convolution(padded(x), w[None, None])[0, 0]

        found: dict[str, Callable[..., Any]] = {"slices": slices}
        if stencil.weights:
            found["convolution"] = convolved
        if self.around == "wrap":
            found["roll"] = rolled
        return found


Runs = dict[str, dict[str, Run]]
"""By part and contender."""

PARTS = ("value", "value + gradients", "gradients")


def runs_of(task: Task, rivals: bool, compiled: bool) -> Runs:
    """The calls of all contenders, whose results agree."""
    found: Runs = {part: {} for part in PARTS}
    expected: Sequence[Array] = ()
    for name, f in task.functions():
        own = [task.arrays[t.name] for t in f.args]
        y, pullback = tadc.vjp(f, *own)
        results = [y, *pullback(task.dy)]
        _compare(task, results, expected)
        expected = results
        found["value"][name] = lambda f=f, own=own: f(*own)
        found["gradients"][name] = lambda pullback=pullback: pullback(task.dy)
        found["value + gradients"][name] = lambda f=f, own=own: tadc.vjp(f, *own)[1](task.dy)
    for way, function in task.in_torch().items() if rivals else ():
        ways = {way: function}
        if compiled:
            torch.compiler.reset()
            ways[f"{way}, compiled"] = torch.compile(function, dynamic=False)
        for name, rival in ways.items():
            value, both = _torch(rival, task)
            _compare(task, [value().numpy(), *(t.numpy() for t in both())], expected)
            found["value"][name], found["value + gradients"][name] = value, both
    return found


def _torch(function: Callable[..., Any], task: Task) -> tuple[Run, Run]:
    tensor: Callable[[Array], Any] = torch.as_tensor
    plain = [tensor(a) for a in task.arrays.values()]
    leaves = [t.clone().requires_grad_() for t in plain]
    dy = tensor(task.dy)

    def value() -> Any:
        with torch.no_grad():
            return function(*plain)

    return value, lambda: torch.autograd.grad(function(*leaves), leaves, dy)


def _compare(task: Task, found: Sequence[Array], expected: Sequence[Array]) -> None:
    for own, other in zip(found, expected, strict=bool(expected)):
        difference = np.abs(own - other).max()
        if not difference <= LIMIT * max(1.0, float(np.abs(other).max())):
            name = f"{task.stencil.name}, {task.around}"
            raise ValueError(f"{name}: results differ by {difference:.1e}")


# --- the table ------------------------------------------------------------------------------------


def row_of(task: Task, rivals: bool, compiled: bool, rounds: int) -> tuple[list[str], list[float]]:
    """The cells of a stencil, and its multiples: the larger ones of both kinds of sizes."""
    times: dict[str, dict[str, float]] = {}
    for part, runs in runs_of(task, rivals, compiled).items():
        gc.collect()
        measured = measure(runs, time.process_time, rounds, 0.05)
        times[part] = {name: t.minimum * 1e3 for name, t in measured.items()}
    own = {part: (found.pop("numbers"), found.pop("symbols")) for part, found in times.items()}
    best = {part: min(found.values()) for part, found in times.items() if found}
    multiples = [max(own[part]) / best[part] for part in best]
    dear = [g / v for g, v in zip(own["gradients"], own["value"], strict=True)]
    cells = [_cell(own[part], best.get(part)) for part in PARTS[:2]]
    shown = [tables.multiple(m, BEHIND) for m in multiples] or ["", ""]
    last = ", ".join(tables.multiple(m, DEAR) for m in dear)
    rows = "rows" if task.stencil.rank == 1 else "planes"
    name = f"{task.stencil.name}, {task.around}, {rows} of {' x '.join(map(str, task.dy.shape))}"
    return [name, *cells, *shown, last], [*multiples, max(dear)]


def _cell(own: Sequence[float], best: float | None) -> str:
    times = ", ".join(f"{ms:.3g}" for ms in own)
    return times if best is None else f"{times} ({best:.3g})"


def table(tasks: Iterator[Task], rivals: bool, compiled: bool, rounds: int) -> str:
    """A row for each stencil and boundary, and the geometric means."""
    rows: list[list[str]] = []
    all_multiples: list[list[float]] = []
    for task in tasks:
        row, multiples = row_of(task, rivals, compiled, rounds)
        rows.append(row)
        all_multiples.append(multiples)
        print(" | ".join(row), flush=True)
    means = [f"{geometric_mean(column):.2f}x" for column in zip(*all_multiples, strict=True)]
    return tables.markdown(HEAD, [*rows, ["geometric mean", *[""] * (5 - len(means)), *means]])


def tasks_of(options: argparse.Namespace) -> Iterator[Task]:
    """The stencils whose names hold what is asked for, each with the boundaries asked for."""
    for stencil in STENCILS:
        for around in options.around if any(o in stencil.name for o in options.only) else ():
            yield Task.of(stencil, around, options.sides[stencil.rank - 1])


def main() -> None:
    """Measure what the command line asks for, and print the table; save it if asked."""
    parser = argparse.ArgumentParser(description="Stencils with boundaries beside torch.")
    parser.add_argument("--only", nargs="+", default=[""], help="those whose names hold these")
    parser.add_argument("--around", nargs="+", default=[*MODES], choices=MODES, help="boundaries")
    parser.add_argument("--sides", type=int, nargs=2, default=[4194304, 2048], help="of both ranks")
    parser.add_argument("--no-torch", action="store_true", help="tadc alone")
    parser.add_argument("--no-compile", action="store_true", help="without torch.compile")
    parser.add_argument("--rounds", type=int, default=3, help="turns of each")
    parser.add_argument(
        "--save", action="store_true", help="write benchmarks/results/boundaries-<date>"
    )
    options = parser.parse_args()
    torch.set_num_threads(1)
    tadc.set_num_threads(1)
    start = time.perf_counter()
    rivals = not options.no_torch
    text = table(tasks_of(options), rivals, not options.no_compile, options.rounds)
    print(f"\n{text}\n\nin {time.perf_counter() - start:.0f} s")
    if options.save:
        machine.save("boundaries", "Stencils with boundaries beside torch", 1, text)


if __name__ == "__main__":
    main()
