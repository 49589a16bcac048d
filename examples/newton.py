"""Newton's method for a differential equation with values given at both ends (Bratu's problem).

    u'' + s exp(u) = 0,   u(0) = u(1) = 0

The residual on a grid is a program that updates u. So it has the mode J^-1 v, which is Newton's
step, and nobody has to assemble a matrix.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import brentq

import tadc

RESIDUAL = """
u: f64[N]
s: f64[]
u[i] = (pad(u[i - 1]) - 2*u[i] + pad(u[i + 1])) * (N + 1)**2 + s * exp(u[i])
"""


def solve(residual, u, s, steps=20, tolerance=1e-12):
    """The root of the residual near u, and the largest element of every step to it."""
    lengths = []
    while len(lengths) < steps and (not lengths or lengths[-1] > tolerance):
        (step,) = tadc.inverse_jvp(residual, (u, s), residual(u, s))
        u = u - step
        lengths.append(np.abs(step).max())
    return u, lengths


def exact(x, s):
    """The solution in closed form, the smaller one of two."""
    t = brentq(lambda t: t - np.sqrt(2 * s) * np.cosh(t / 4), 0, 4)
    return -2 * np.log(np.cosh((x - 0.5) * t / 2) / np.cosh(t / 4))


def main(points=99, s=2.0):
    """Solve; gives the lengths of the steps, and the errors of u and of its derivative by s."""
    residual = tadc.compile(RESIDUAL)
    x = np.arange(1, points + 1) / (points + 1)
    u, lengths = solve(residual, np.zeros(points), s)
    for k, length in enumerate(lengths):
        print(f"step {k + 1}: {length:.1e}")
    error = np.abs(u - exact(x, s)).max()
    print(f"error of u: {error:.1e}, of the differences on the grid")

    # u depends on s such that the residual stays 0: J du/ds + dr/ds = 0
    _, by_s = tadc.jvp(residual, (u, s), (None, 1.0))
    (slope,) = tadc.inverse_jvp(residual, (u, s), -by_s)
    h = 1e-4
    around = [solve(residual, u, s + d)[0] for d in (h, -h)]
    slope_error = np.abs(slope - (around[0] - around[1]) / (2 * h)).max()
    print(f"du/ds in the middle: {slope[points // 2]:.6f}, against differences {slope_error:.1e}")
    return lengths, error, slope_error


if __name__ == "__main__":
    main()
