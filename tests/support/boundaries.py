"""Programs that read beyond borders, with the shapes of small arguments."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

WINDOW = """\
x: f64[N, M]
w: f64[3, 3]
y[i in range(N), j in range(M)] = sum[u, v](w[u, v] * sin(x[{word}(i + u - 1), {word}(j + v - 1)]))
"""

BOUNDARIES: dict[str, tuple[str, Sequence[tuple[int, ...]]]] = {
    "clamp": (WINDOW.format(word="clamp"), [(4, 5), (3, 3)]),
    "reflect": (WINDOW.format(word="reflect"), [(4, 5), (3, 3)]),
    "wrap": (WINDOW.format(word="wrap"), [(4, 5), (3, 3)]),
    "remainder": (
        "x: f64[N]\nc: f64[]\ny[i] = x[i] + c * sin(x[(i + 1) % N]) * x[(i - 2) % N]",
        [(7,), ()],
    ),
    "cylinder": (
        "x: f64[N, M]\nw: f64[3]\n"
        "y[i, j in range(M)] = x[i, j] * sum[u](w[u] * pad(x[i + u - 1, wrap(j + u - 1)]))",
        [(4, 5), (3,)],
    ),
}
"""For each kind of boundary a program and the shapes of its arguments."""


def boundary(name: str) -> tuple[str, list[np.ndarray]]:
    """The program of a kind of boundary, and arguments between 0.5 and 1."""
    source, shapes = BOUNDARIES[name]
    rng = np.random.default_rng(0)
    return source, [rng.uniform(0.5, 1, shape) for shape in shapes]
