"""Newton's method for a nonlinear elliptic equation on a square, with a sparse Jacobian.

    -u_xx - u_yy + u^3 = g,   u = 0 at the border

The residual on a grid is a program. Its Jacobian has five diagonals, which the compiler finds from
the program's indices: nobody assembles a matrix or colours its columns.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from scipy.sparse.linalg import spsolve

import tadc


def solve(residual, u, g, steps=20, tolerance=1e-12):
    """The root of the residual near u, and the largest element of every step to it."""
    jacobian = residual.jacobian("u")
    lengths = []
    while len(lengths) < steps and (not lengths or lengths[-1] > tolerance):
        step = spsolve(jacobian(u, g), -residual(u, g).ravel()).reshape(u.shape)
        u = u + step
        lengths.append(np.abs(step).max())
    return u, lengths


def main(points=40, height=3.0):
    """Solve; gives the lengths of the steps, the error of u and the entries of the Jacobian."""
    residual = tadc.compile_file(Path(__file__).with_suffix(".tad"))
    print(residual.jacobian("u"))

    # g such that u = height sin(pi x) sin(pi y) solves the equation
    x = np.sin(np.pi * np.arange(1, points + 1) / (points + 1))
    exact = height * np.outer(x, x)
    g = 2 * np.pi**2 * exact + exact**3
    u, lengths = solve(residual, np.zeros_like(g), g)
    for k, length in enumerate(lengths):
        print(f"step {k + 1}: {length:.1e}")
    error = np.abs(u - exact).max()
    print(f"error of u: {error:.1e}, of the differences on the grid")
    entries = residual.jacobian("u").pattern(N=points).nnz
    print(f"{entries} entries of the Jacobian can differ from 0, of {points**4}")
    return lengths, error, entries


if __name__ == "__main__":
    main()
