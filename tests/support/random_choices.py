"""Random sums that are chosen by indices: `random_choice(rng)`, for passes that decide choices."""

from __future__ import annotations

import random

import numpy as np

from tests.support.derivations import Case

CONDITIONS = (
    "{i} < {a}",
    "{i} >= {b}",
    "{a} <= {i} < {b}",
    "{i} == {a}",
    "{i} != {b}",
    "{i} < {a} or {i} > {b}",
    "{i} < {a} and {j} >= 1",
    "{i} < N + {a}",
    "{i} >= N - 1",
    "{i} < {a} or {i} > N",
    "{i} != {j}",
    "{i} < {j}",
    "{i} == {j} or {i} < {j} - {a}",
)


def random_choice(rng: random.Random) -> Case:
    """Sums in choices, within each other, within other operations, and within sums."""

    def value(depth: int) -> str:
        place, number = rng.choice("ij"), rng.randint(-1, 6)
        if not depth:
            term = rng.choice(["x[i, k] * w[j, k]", f"pad(x[{place} - {number}, k])", "w[j, k]"])
            return rng.choice([f"sum[k]({term})", f"max[k]({term})", f"sum[k]({term})", "x[i, j]"])
        condition = rng.choice(CONDITIONS).format(
            i=place, j="ij"[place == "i"], a=number, b=number + rng.randint(0, 3)
        )
        choice = f"({value(depth - 1)} if {condition} else {value(rng.randrange(depth))})"
        return rng.choice([choice, choice, f"({choice} * w[j, i] + {value(0)})"])

    numbers = np.random.default_rng(rng.randrange(1 << 30))
    size = rng.choice([1, 4, 5, 7])
    tensors = {name: numbers.normal(size=(size, size)) for name in "xw"}
    element = value(rng.randint(1, 3))
    if rng.randrange(3):
        text = f"y[i in range(N), j in range(N)] = {element}"
    else:
        text = f"y[i in range(N)] = sum[j in range(N)](sin({element}))"
    return Case(f"x: f64[N, N]\nw: f64[N, N]\n{text}", tensors)
