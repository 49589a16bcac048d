"""Force matching: the parameters of a potential are fitted to forces, its derivatives.

The energy is a sum over a neighbour list. Forces are minus its gradient, so that the gradient of a
loss of forces takes second derivatives: the program of forces is derived as any other.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from scipy.optimize import minimize
from scipy.spatial import cKDTree

import tadc

ENERGY = Path(__file__).with_name("neighbours.tad")


def lattice(points, rng):
    """Atoms near the points of a cubic lattice, and the pairs of those that are near each other."""
    r = np.stack(np.meshgrid(*[np.arange(points)] * 3), axis=-1).reshape(-1, 3) * 1.1
    r = r + rng.normal(0, 0.1, r.shape)
    a, b = cKDTree(r).query_pairs(2.0, output_type="ndarray").T
    return a, b, r


def main(points=6):
    """Fit; gives the parameters found, and the errors of forces and of their gradient."""
    rng = np.random.default_rng(0)
    a, b, r = lattice(points, rng)
    energy = tadc.compile_file(ENERGY)
    forces = energy.derivative("r")  # with denergy=-1.0
    print(f"{len(r)} atoms, {len(a)} pairs")

    given = forces(a, b, r, 1.7, 0.9, -1.0)
    h, v = 1e-5, rng.normal(size=r.shape)
    slope = (energy(a, b, r + h * v, 1.7, 0.9) - energy(a, b, r - h * v, 1.7, 0.9)) / (2 * h)
    force_error = abs(slope + (given * v).sum()) / abs(slope)

    def loss(parameters):
        depth, length = parameters
        found, pullback = tadc.vjp(forces, a, b, r, depth, length, -1.0, wrt=("depth", "length"))
        off = found - given
        return (off**2).mean(), np.array(pullback(2 * off / off.size))

    start = np.array([1.0, 1.0])
    differences = [(loss(start + s)[0] - loss(start - s)[0]) / (2 * h) for s in h * np.eye(2)]
    gradient_error = np.abs(loss(start)[1] - differences).max()
    fit = minimize(loss, start, jac=True, method="BFGS", options={"gtol": 1e-10})
    print(f"depth {fit.x[0]:.6f}, length {fit.x[1]:.6f}, after {fit.nfev} gradients of forces")
    print(f"errors: forces {force_error:.1e}, gradient of their loss {gradient_error:.1e}")
    return fit.x, force_error, gradient_error


if __name__ == "__main__":
    main()
