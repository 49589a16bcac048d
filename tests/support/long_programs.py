"""Random programs of many statements, many of them alike: what long computations look like."""

from __future__ import annotations

import random

import numpy as np

from tests.support.derivations import Case

STATEMENTS = (
    "{a}[i] += 0.1 * {b}[i]",
    "{a}[i] += 0.1 * sin({a}[i])",
    "{a}[i] -= 0.1 * {b}[i] * {c}[i]",
    "{a}[i] *= cos({b}[i])",
    "{a}[i] = 0.5 * ({b}[i] + {c}[n - 1 - i])",
    "{a}[i] = sum[j](w[i, j] * {b}[j])",
    "{a}[i] = tanh({b}[i]) - 0.3 * (pad({c}[i - 1]) + pad({c}[i + 1]))",
    "{a}[i] += {b}[i] if i < 2 else -{c}[i]",
    "{a}[i] = max({b}[i], 0.3 * {c}[i])",
    "{a}[i] -= 0.1 * max[j]({b}[j] * w[i, j])",
    "{a}[i] = -0.0 * {b}[i] + {c}[i]",
    "{a}[i] = 0.0 * {b}[i] + {c}[i]",
)
NAMES = "pqr"


def long_case(
    seed: int, statements: int = 40, symbolic: bool = False, smooth: bool = False
) -> Case:
    """Updates of three vectors, of a few kinds, in random order."""
    rng = random.Random(seed)
    kinds = [s for s in STATEMENTS if not smooth or "max" not in s]
    size = rng.randint(3, 5)
    n = "N" if symbolic else str(size)
    lines = [f"{name}: f64[{n}]" for name in NAMES] + [f"w: f64[{n}, {n}]"]
    for _ in range(statements):
        a, b, c = (rng.choice(NAMES) for _ in range(3))
        lines.append(rng.choice(kinds).format(a=a, b=b, c=c).replace("n - 1", f"{n} - 1"))
    values = np.random.default_rng(seed)
    arguments = {name: values.uniform(-1, 1, size) for name in NAMES}
    arguments["w"] = values.uniform(-0.4, 0.4, (size, size))
    return Case("\n".join(lines) + "\n", arguments, seed)
