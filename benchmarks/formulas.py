"""Times random formulas beside torch: what nobody thought of when loops were chosen.

    python -m benchmarks.formulas [--count 100] [--first 0] [--threads 1] [--show 10] [--save]

A formula has one to four indices, one to three tensors with dimensions in any order, a product,
square, distance or exponential of these, and a sum or maximum over some indices. torch is given
what its users would write: `einsum` for sums of products, else broadcast tensors in any layout. In
float32, the time of the clock; both take turns in one run. Results are compared before anything is
timed. The formulas with the largest multiples of torch's time are listed.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from statistics import geometric_mean, median
from typing import Any

import numpy as np
import torch

import tadc
from benchmarks import machine, tables
from benchmarks.timing import measure
from benchmarks.workloads.workload import normal

LIMIT = 2e-3
"""The largest difference allowed, by the largest element of the result."""

POINTS = range(1 << 15, 1 << 23)
"""The points that all indices of a formula have together."""

LENGTHS = (2, 3, 8, 30, 100, 300, 700)
"""The values of an index, but of the last one, which has those that are left."""


def _total(*own: Any) -> Any:
    return sum(own[1:], start=own[0])


def _product(*own: Any) -> Any:
    return prod(own[1:], start=own[0])


def _square(*own: Any) -> Any:
    return _total(*own) ** 2


def _distance(*own: Any) -> Any:
    return abs(own[0] - _total(*own[1:])) if own[1:] else abs(own[0])


def _exponential(*own: Any) -> Any:
    return torch.exp(-_square(*own))


BODIES: Mapping[str, tuple[str, Callable[..., Any]]] = {
    "product": ("{}", _product),
    "square": ("({})**2", _square),
    "distance": ("abs({})", _distance),
    "exponential": ("exp(-({})**2)", _exponential),
}
"""The text around what joins the reads, and the same of tensors."""

SIGNS: Mapping[str, str] = {
    "product": " * ",
    "square": " + ",
    "distance": " - ",
    "exponential": " + ",
}
"""Texts between the reads of a body."""


@dataclass(frozen=True)
class Formula:
    """A formula over some indices, as text and as a function of tensors."""

    lengths: Mapping[str, int]
    """The number of values of each index."""
    out: Sequence[str]
    """The indices of the result."""
    reads: Sequence[Sequence[str]]
    """The indices of each tensor: `a`, `b`, `c`."""
    body: str
    reduction: str
    """`sum` or `max`, over the indices that the result has not."""

    @property
    def summed(self) -> list[str]:
        return [index for index in self.lengths if index not in self.out]

    @property
    def source(self) -> str:
        """The text, with a name for each size."""
        sizes = [", ".join(v.upper() for v in own) for own in self.reads]
        lines = [f"{t}: real[{shape}]" for t, shape in zip("abc", sizes, strict=False)]
        return "\n".join([*lines, self.definition])

    @property
    def definition(self) -> str:
        """The last line of the text."""
        reads = [f"{t}[{', '.join(own)}]" for t, own in zip("abc", self.reads, strict=False)]
        element = BODIES[self.body][0].format(SIGNS[self.body].join(reads))
        if self.summed:
            element = f"{self.reduction}[{', '.join(self.summed)}]({element})"
        return f"y[{', '.join(self.out)}] = {element}" if self.out else f"y = {element}"

    def torch(self, *tensors: Any) -> Any:
        """The formula as a function of tensors, by one call of torch where there is one."""
        if self.summed and (self.body, self.reduction) == ("product", "sum"):
            texts = ",".join(map("".join, self.reads))
            return torch.einsum(f"{texts}->{''.join(self.out)}", *tensors)
        every = [*self.out, *self.summed]
        own = [_spread(t, read, every) for t, read in zip(tensors, self.reads, strict=True)]
        found = BODIES[self.body][1](*own)
        dims = tuple(range(len(self.out), len(every)))
        if not dims:
            return found
        return found.sum(dims) if self.reduction == "sum" else found.amax(dims)


def _spread(tensor: Any, own: Sequence[str], every: Sequence[str]) -> Any:
    """A view of a tensor with a dimension for each index; of one value where it has it not."""
    view = tensor.permute([own.index(v) for v in every if v in own])
    for place, index in enumerate(every):
        if index not in own:
            view = view.unsqueeze(place)
    return view


def formula_of(seed: int) -> Formula:
    """The formula of a seed, of which each index is read; none is a copy, of which torch has a
    view."""
    rng = random.Random(seed)
    while True:
        lengths = _lengths(rng)
        indices = list(lengths)
        reads = [_some(rng, indices, 0.75) or indices[:1] for _ in range(rng.choice([1, 2, 2, 3]))]
        body, reduction = rng.choice([*BODIES]), rng.choice(["sum", "sum", "max"])
        found = Formula(lengths, _some(rng, indices, 0.45), reads, body, reduction)
        is_read = {*indices} == {v for own in reads for v in own}
        is_copy = not found.summed and body == "product" and len(reads) == 1
        if is_read and not is_copy and prod(lengths.values()) in POINTS:
            return found


def _lengths(rng: random.Random) -> dict[str, int]:
    """The indices in any order of the text, with their numbers of values."""
    names, left = list("ijkl")[: rng.randrange(1, 5)], rng.choice([1 << 18, 1 << 20, 1 << 22])
    found: dict[str, int] = {}
    for name in names[:-1]:
        found[name] = min(rng.choice(LENGTHS), max(2, left))
        left //= found[name]
    found[names[-1]] = max(2, left)
    order = rng.sample(names, len(names))
    return {name: found[name] for name in order}


def _some(rng: random.Random, indices: Sequence[str], share: float) -> list[str]:
    """About such a share of the indices, in any order."""
    found = [v for v in indices if rng.random() < share]
    return rng.sample(found, len(found))


def ratio_of(formula: Formula, rounds: int) -> tuple[float, float]:
    """Milliseconds of tadc, and that as a multiple of torch's time, for results that agree."""
    rng = np.random.default_rng(0)
    arrays = [normal(rng, *(formula.lengths[v] for v in own)) for own in formula.reads]
    tensors = [torch.from_numpy(a) for a in arrays]
    f = tadc.compile(formula.source)
    own = dict(zip("abc", arrays, strict=False))
    called = [own[t.name] for t in f.args]
    found, expected = np.asarray(f(*called)), formula.torch(*tensors)
    difference = np.abs(found - expected.numpy()).max()
    if difference > LIMIT * max(1.0, float(expected.abs().max())):
        raise ValueError(f"{formula.definition}: differs from torch by {difference:.1e}")
    runs = {"tadc": lambda: f(*called), "torch": lambda: formula.torch(*tensors)}
    times = measure(runs, rounds=rounds, share=0.05)
    return times["tadc"].minimum * 1e3, times["tadc"].minimum / times["torch"].minimum


def table(seeds: Sequence[int], rounds: int, show: int) -> str:
    """A summary of all multiples of torch's time, and a row for each of the largest."""
    rows: list[tuple[float, float, int]] = []
    for seed in seeds:
        milliseconds, ratio = ratio_of(formula_of(seed), rounds)
        rows.append((ratio, milliseconds, seed))
        print(f"{seed}: {ratio:.2f}x  {formula_of(seed).definition}", flush=True)
    ratios = [ratio for ratio, *_ in rows]
    behind = sum(ratio > 1 for ratio in ratios)
    text = (
        f"{len(rows)} formulas: geometric mean {geometric_mean(ratios):.2f}x of torch's time, "
        f"median {median(ratios):.2f}x, {behind} above 1"
    )
    return f"{text}\n\n{_worst(sorted(rows, reverse=True)[:show])}"


def _worst(rows: Sequence[tuple[float, float, int]]) -> str:
    lines: list[list[str]] = []
    for ratio, milliseconds, seed in rows:
        formula = formula_of(seed)
        sizes = ", ".join(f"{v.upper()}={n}" for v, n in sorted(formula.lengths.items()))
        name = f"`{formula.definition}`, {sizes}"
        lines.append([name, str(seed), f"{milliseconds:.3f}", f"{ratio:.2f}x"])
    return tables.markdown(["formula", "seed", "ms", "x torch"], lines)


def main() -> None:
    """Measure the formulas of some seeds, and print the table; save it if asked."""
    parser = argparse.ArgumentParser(description="Random formulas beside torch.")
    parser.add_argument("--count", type=int, default=100, help="of formulas")
    parser.add_argument("--first", type=int, default=0, help="the seed of the first one")
    parser.add_argument("--threads", type=int, default=1, help="of both")
    parser.add_argument("--show", type=int, default=10, help="rows of the table")
    parser.add_argument("--rounds", type=int, default=4, help="turns of each")
    parser.add_argument(
        "--save", action="store_true", help="write benchmarks/results/formulas-<date>"
    )
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    tadc.set_num_threads(options.threads)
    start = time.perf_counter()
    text = table(range(options.first, options.first + options.count), options.rounds, options.show)
    print(f"\n{text}\n\nin {time.perf_counter() - start:.0f} s")
    if options.save:
        machine.save("formulas", "Random formulas beside torch", options.threads, text)


if __name__ == "__main__":
    main()
