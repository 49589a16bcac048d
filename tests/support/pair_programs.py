"""Random programs of forces and energies between the points of one set."""

from __future__ import annotations

import random

import numpy as np

from tests.support.derivations import Case

POINTS = 7


def pair_case(seed: int, points: int = POINTS) -> Case:
    """A potential, or its forces: quotients, roots and choices of what a pair (i, j) is made of.

    No denominator comes near 0 but where both points are one, which some programs leave out.
    """
    rng = random.Random(seed)
    dimensions = rng.randint(1, 3)
    lines = ["r[i, j] = sum[d]((x[i, d] - x[j, d])**2)", f"s[i, j] = {_distance(rng)}"]
    ends = f"i in range({points}), j in range({points})"
    lines.append(f"w[{ends}] = {_chosen(rng, _product(rng))}")
    results = [
        "y[i, d] = sum[j](w[i, j] * (x[i, d] - x[j, d]))",
        "y[j] = sum[i, d](x[i, d] * (x[i, d] - x[j, d]) / s[i, j] * w[i, j])",
        "e = sum[i, j](w[i, j])",
        "e = sum[i, j](q[i] * w[i, j])",
    ]
    lines.append(rng.choice(results))
    numbers = np.random.default_rng(seed)
    arrays = {
        "x": numbers.uniform(-1, 1, (points, dimensions)),
        "q": numbers.uniform(0.5, 1.5, points),
    }
    return Case("\n".join(lines), arrays)


def _distance(rng: random.Random) -> str:
    return rng.choice(
        ["r[i, j] + 0.25", "sqrt(r[i, j] + 0.25)", "(r[i, j] + 0.25)**1.5", "2 - exp(-r[i, j])"]
    )


def _product(rng: random.Random) -> str:
    """A product of some factors, over some powers of others."""
    above = ["q[j]", "q[i]", "(1.5 - s[i, j])", "(1.5 - s[i, j])**2", "s[i, j]", "exp(-s[i, j])"]
    below = ["s[i, j]", "s[i, j]**2", "(s[i, j] * q[i])", "(r[i, j] + 1)", "s[i, j]**(-2)"]
    up, down = rng.sample(above, rng.randint(1, 3)), rng.sample(below, rng.randint(0, 2))
    sign = rng.choice(["", "-", "2 * ", "-3 * "])
    product = sign + " * ".join(up) + "".join(f" / {v}" for v in down)
    other = rng.choice(["", "", f" + q[j] / {below[0]}", f" - {up[0]} / {below[1]}"])
    return product + other


def _chosen(rng: random.Random, value: str) -> str:
    tests = ["s[i, j] < 1.2", "r[i, j] <= 1", "i != j", "i < j"]
    return f"{value} if {rng.choice(tests)} else 0" if rng.random() < 0.6 else value
