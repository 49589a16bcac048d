"""An image is found from its sums along lines: a sparse inverse problem, solved by SciPy.

The matrix has an entry for each sample of a line in a pixel. It is three arrays, in any order and
with repeated entries, and no class of matrices. A term that is small for smooth images is added.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from scipy.optimize import minimize

import tadc

MISFIT = tadc.compile_file(Path(__file__).with_name("tomography.tad"))
ROUGHNESS = tadc.compile("""
x: f64[N, N]
rows = sum[i in range(N - 1), j](sqrt((x[i + 1, j] - x[i, j])**2 + 1e-4))
columns = sum[i, j in range(N - 1)](sqrt((x[i, j + 1] - x[i, j])**2 + 1e-4))
s = rows + columns
""")


def image(n):
    """A disk and a square."""
    u, v = np.meshgrid(*[np.linspace(-1, 1, n)] * 2, indexing="ij")
    return 1.0 * ((u + 0.2) ** 2 + v**2 < 0.4) + 0.5 * (np.maximum(abs(u - 0.5), abs(v)) < 0.25)


def lines(n, angles):
    """Entries (line, pixel, length) of lines through n x n pixels."""
    offsets, steps = np.linspace(-1, 1, n), np.linspace(-1, 1, 2 * n)
    turn = np.arange(angles) * np.pi / angles
    t, s, d = np.meshgrid(turn, offsets, steps, indexing="ij")
    u, v = s * np.cos(t) - d * np.sin(t), s * np.sin(t) + d * np.cos(t)
    i, j = (np.rint((w + 1) / 2 * (n - 1)).astype(int) for w in (u, v))
    line = np.broadcast_to(np.arange(angles * n).reshape(angles, n, 1), i.shape)
    inside = (i >= 0) & (i < n) & (j >= 0) & (j < n)
    return line[inside], (i * n + j)[inside], np.full(inside.sum(), 1 / n)


def main(n=32, angles=16, weight=2e-4):
    """Reconstruct; gives the error of the image as a part of it, and that of the first guess."""
    rng = np.random.default_rng(0)
    row, col, length = lines(n, angles)
    truth = image(n)
    data = np.bincount(row, length * truth.ravel()[col], minlength=angles * n)
    data = data + rng.normal(0, 0.01, data.shape)
    print(f"{n * n} pixels, {len(data)} sums, {len(row)} entries")

    def loss(x):
        misfit, by_misfit = tadc.vjp(MISFIT, row, col, length, x, data, wrt="x")
        rough, by_rough = tadc.vjp(ROUGHNESS, x.reshape(n, n))
        gradient = by_misfit(1.0)[0] + by_rough(weight)[0].ravel()
        return misfit + weight * rough, gradient

    fit = minimize(loss, np.zeros(n * n), jac=True, method="L-BFGS-B", options={"maxiter": 200})
    errors = [np.linalg.norm(x - truth.ravel()) / np.linalg.norm(truth) for x in (fit.x, 0)]
    print(f"{fit.nfev} gradients; the image is off by {errors[0]:.1%}")
    return errors


if __name__ == "__main__":
    main()
