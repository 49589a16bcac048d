"""The hyperparameters of a Gaussian process, by gradient of the log marginal likelihood.

The kernel matrix K and its gradient are programs; what one does with a matrix as a whole - its
Cholesky factor, solving with it - is SciPy's. Both meet at the adjoint of K:

    log p(y) = -(y' K^-1 y + log det K + n log 2 pi) / 2      a = K^-1 y
    dlog p   = sum over i, j of (a[i] a[j] - K^-1[i, j]) / 2 * dK[i, j]
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.optimize import minimize

import tadc

# the logarithms of a length for every dimension, of the amplitude and of the noise
KERNEL = """
x: f64[N, D]
length: f64[D]
amplitude: f64[]
noise: f64[]
distance[i, j] = sum[d](((x[i, d] - x[j, d]) * exp(-length[d]))**2)
K[i, j] = exp(amplitude - 0.5 * distance[i, j]) + (exp(noise) if i == j else 0)
"""


def log_likelihood(kernel, x, y, length, amplitude, noise):
    """Its value, and its gradient by the length scales, the amplitude and the noise."""
    K, pullback = tadc.vjp(kernel, x, length, amplitude, noise)
    factor, lower = cho_factor(K)
    inverse = cho_solve((factor, lower), np.eye(len(y)))
    a = inverse @ y
    value = -0.5 * (y @ a + 2 * np.log(np.diag(factor)).sum() + len(y) * np.log(2 * np.pi))
    _, *gradient = pullback(0.5 * (np.outer(a, a) - inverse))
    return value, gradient


def main(points=80):
    """Fit; gives the likelihood before and after, the length scales and the gradient's error."""
    rng = np.random.default_rng(0)
    x = rng.uniform(-2, 2, (points, 2))
    y = np.sin(3 * x[:, 0]) + 0.1 * rng.normal(size=points)  # nothing depends on x[:, 1]
    kernel = tadc.compile(KERNEL)

    def negative(hyperparameters):
        *length, amplitude, noise = hyperparameters
        value, gradient = log_likelihood(kernel, x, y, np.array(length), amplitude, noise)
        return -value, -np.concatenate([np.ravel(g) for g in gradient])

    start = np.zeros(4)
    h = 1e-5
    differences = [
        (negative(start + h * e)[0] - negative(start - h * e)[0]) / (2 * h) for e in np.eye(4)
    ]
    error = np.abs(negative(start)[1] - differences).max()
    print(f"gradient against differences: largest error {error:.1e}")

    fit = minimize(negative, start, jac=True, method="L-BFGS-B")
    before, after = -negative(start)[0], -fit.fun
    lengths, (amplitude, noise) = np.exp(fit.x[:2]), np.exp(fit.x[2:])
    print(f"log likelihood {before:.1f} -> {after:.1f} in {fit.nit} steps")
    print(f"lengths {lengths[0]:.2f} and {lengths[1]:.2g}, amplitude {amplitude:.2f}")
    print(f"noise {np.sqrt(noise):.3f}, of which the data has 0.1")
    return before, after, lengths, np.sqrt(noise), error


if __name__ == "__main__":
    main()
