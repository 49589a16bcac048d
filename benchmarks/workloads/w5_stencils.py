"""W5: the five-point stencil; W5b: a stencil of four exponentials, as in Perona-Malik diffusion."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.workloads.workload import Array, Numba, Workload, normal

N = 4096
NEIGHBOURS = ((0, 1), (2, 1), (1, 0), (1, 2))
"""The places of the four neighbours in a square of 3 x 3 around (1, 1)."""

DECLARATIONS = "x: f32[H + 2, W + 2]\n"
SIZES = {"H": N - 2, "W": N - 2}
RESULT = "y[i in range(H), j in range(W)] = "


def at(x: Any, i: int, j: int) -> Any:
    """The inner points, moved by i - 1 and j - 1."""
    return x[i : i + N - 2, j : j + N - 2]


def linear_inputs(rng: np.random.Generator) -> dict[str, Array]:
    return {"x": normal(rng, N, N)}


def linear(x: Array) -> Array:
    return sum(at(x, i, j) for i, j in NEIGHBOURS) - 4 * at(x, 1, 1)


def linear_gradients(y: Array, dy: Array, x: Array) -> tuple[Array]:
    dx = np.zeros_like(x)
    for i, j in NEIGHBOURS:
        at(dx, i, j)[...] += dy
    at(dx, 1, 1)[...] -= 4 * dy
    return (dx,)


def linear_in_library(module: Any, x: Any) -> Any:
    return sum(at(x, i, j) for i, j in NEIGHBOURS) - 4 * at(x, 1, 1)


def nonlinear_inputs(rng: np.random.Generator) -> dict[str, Array]:
    return {"x": normal(rng, N, N, scale=0.5)}


def nonlinear_in(module: Any, x: Any) -> Any:
    steps = [at(x, i, j) - at(x, 1, 1) for i, j in NEIGHBOURS]
    return sum(d * module.exp(-(d * d)) for d in steps)


def nonlinear(x: Array) -> Array:
    return nonlinear_in(np, x)


def nonlinear_gradients(y: Array, dy: Array, x: Array) -> tuple[Array]:
    dx = np.zeros_like(x)
    for i, j in NEIGHBOURS:
        square = (at(x, i, j) - at(x, 1, 1)) ** 2
        slope = (1 - 2 * square) * np.exp(-square) * dy
        at(dx, i, j)[...] += slope
        at(dx, 1, 1)[...] -= slope
    return (dx,)


def nonlinear_jax(j: Any, x: Any) -> Any:
    return nonlinear_in(j.numpy, x)


def nonlinear_text() -> str:
    centre = "x[i + 1, j + 1]"
    steps = [f"(x[i + {i}, j + {j}] - {centre})" for i, j in NEIGHBOURS]
    return RESULT + " + ".join(f"{d} * exp(-{d}**2)" for d in steps)


def nonlinear_numba(nb: Any) -> Numba:
    """The value and the gradients of the nonlinear stencil as loops for numba."""
    f32 = np.float32

    @nb.njit(fastmath=True)
    def term(d: Any) -> Any:
        return d * np.exp(-d * d)

    @nb.njit(fastmath=True)
    def slope(d: Any) -> Any:
        return (f32(1) - f32(2) * d * d) * np.exp(-d * d)

    @nb.njit(parallel=True, fastmath=True)
    def value(x: Any, y: Any) -> None:
        for i in nb.prange(1, N - 1):
            for j in range(1, N - 1):
                c = x[i, j]
                rows = term(x[i - 1, j] - c) + term(x[i + 1, j] - c)
                y[i - 1, j - 1] = rows + term(x[i, j - 1] - c) + term(x[i, j + 1] - c)

    @nb.njit(parallel=True, fastmath=True)
    def gradients(x: Any, y: Any, dy: Any, dx: Any) -> None:
        """By the adjoint with zeros around; at the border a missing neighbour is the point."""
        around = np.zeros((N, N), f32)
        around[1:-1, 1:-1] = dy
        for i in nb.prange(N):
            u, v = max(i - 1, 0), min(i + 1, N - 1)
            for j in range(N):
                p, q = max(j - 1, 0), min(j + 1, N - 1)
                c, e = x[i, j], around[i, j]
                rows = slope(x[u, j] - c) * (around[u, j] - e)
                rows += slope(x[v, j] - c) * (around[v, j] - e)
                rows += slope(x[i, p] - c) * (around[i, p] - e)
                dx[i, j] = rows + slope(x[i, q] - c) * (around[i, q] - e)

    return value, gradients


LINEAR = Workload(
    "W5",
    "five-point stencil, 4096 x 4096",
    f"{RESULT}x[i, j+1] + x[i+2, j+1] + x[i+1, j] + x[i+1, j+2] - 4*x[i+1, j+1]",
    linear_inputs,
    linear,
    linear_gradients,
    linear_in_library,
    linear_in_library,
    declarations=DECLARATIONS,
    sizes=SIZES,
)
NONLINEAR = Workload(
    "W5b",
    "stencil of exponentials, 4096 x 4096",
    nonlinear_text(),
    nonlinear_inputs,
    nonlinear,
    nonlinear_gradients,
    nonlinear_in,
    nonlinear_jax,
    numba=nonlinear_numba,
    declarations=DECLARATIONS,
    sizes=SIZES,
)
