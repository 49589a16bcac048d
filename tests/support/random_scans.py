"""Random scans: forwards and backwards, along either index, of one index or two, with all else."""

from __future__ import annotations

import random

import numpy as np

from tests.support.derivations import Case


def random_scan(rng: random.Random, most: int = 13) -> Case:
    """A scan of up to `most` elements, with a few terms more or less than an element has."""
    before, behind = rng.choice([("", ""), ("d, ", ""), ("", ", d")])
    offset, size = rng.randint(-2, 3), rng.randint(1, most)
    also, too = rng.choice([("", ""), ("", ""), (", j", ", 2 * j + 1")])
    ends = (f"max(0, i + {offset}{also}), N", f"0, min(N, i + {offset}{too})")
    term = rng.choice(["x[k]", "x[k] * w[k, j]", "w[k, j]**2", "x[k] / (k + 1)", "w[k, i % 3]"])
    kind = rng.choice(["sum", "sum", "max", "min", "prod"])
    inner = f"{kind}[{before}k in range({rng.choice(ends)}){behind}](u[d] * {term})"
    total = inner if before or behind else inner.replace("u[d] * ", "")
    if kind in ("max", "min"):
        total = f"max(-9, min(9, {total}))"  # of no terms they are infinite
    axes = rng.choice(["j in range(3), i in range(N)", "i in range(N), j in range(3)"])
    whole = rng.choice(["{}", "{}", "x[i] * {}", "{} + w[i, j]", "{} * {}"])
    head = "x: f64[N]\nu: f64[2]\nw: f64[N, 3]\n"
    source = f"{head}y[{axes}] = {whole.replace('{}', total)}"
    numbers = np.random.default_rng(rng.randint(0, 999))
    shapes = {"x": size, "u": 2, "w": (size, 3)}
    return Case(source, {name: numbers.normal(size=shape) for name, shape in shapes.items()})
