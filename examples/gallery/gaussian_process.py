"""
A Gaussian process with a kernel of one's own
=============================================

A chirp swings slowly at first and quickly in the end. The usual kernels have one length scale for
all places; here is one whose length scale grows or shrinks with `x`, and its hyperparameters are
fitted by gradient. The kernel matrix and its derivatives are programs of tadc; its Cholesky
factor is SciPy's.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.optimize import minimize
from scipy.stats import multivariate_normal

import tadc

# %%
# The kernel
# ----------
# Gibbs' kernel compares two points at the scales `l` and `m` of both. Here the scale is
# `exp(a + b x)`: with `b = 0` it is the usual Gaussian kernel. Nothing in the text says how to
# derive it.

kernel = tadc.compile("""
x: f64[N]
z: f64[M]
scale[i] = exp(a + b * x[i])
scale_z[j] = exp(a + b * z[j])
square[i, j] = scale[i]**2 + scale_z[j]**2
height[i, j] = exp(2 * s) * sqrt(2 * scale[i] * scale_z[j] / square[i, j])
k[i, j] = height[i, j] * exp(-(x[i] - z[j])**2 / square[i, j])
""")

# %%
# The likelihood
# --------------
# With `K` the kernel matrix and the noise on its diagonal, `2 log p(y) = -y' K^-1 y - log det K`
# but for a constant. Its adjoint of `K` is `(v v' - K^-1) / 2` where `v = K^-1 y`: the pullback
# of the kernel makes gradients by `a`, `b` and `s` of that.

rng = np.random.default_rng(0)
x = np.sort(rng.uniform(0, 3, 60))
y = np.sin(2 * np.exp(x)) + 0.1 * rng.normal(size=x.size)


def likelihood(hyper):
    """log p(y) and its gradient; hyper is a, b, s and the logarithm of the noise."""
    a, b, s, noise = hyper
    K, pullback = tadc.vjp(kernel, x, x, a, b, s, wrt=("a", "b", "s"))
    factor = cho_factor(K + np.exp(2 * noise) * np.eye(x.size))
    inverse = cho_solve(factor, np.eye(x.size))
    v = inverse @ y
    adjoint = (np.outer(v, v) - inverse) / 2
    value = -y @ v / 2 - np.log(np.diag(factor[0])).sum() - x.size / 2 * np.log(2 * np.pi)
    return value, np.array([*pullback(adjoint), np.trace(adjoint) * 2 * np.exp(2 * noise)])


# %%
# A second way to the same numbers: the kernel by broadcasting in NumPy, the likelihood by SciPy's
# normal distribution, the gradient by central differences.


def likelihood_again(hyper):
    a, b, s, noise = hyper
    scale = np.exp(a + b * x)
    square = scale[:, None] ** 2 + scale**2
    height = np.exp(2 * s) * np.sqrt(2 * np.outer(scale, scale) / square)
    K = height * np.exp(-((x[:, None] - x) ** 2) / square)
    return multivariate_normal(cov=K + np.exp(2 * noise) * np.eye(x.size)).logpdf(y)


start = np.array([-1.0, 0.1, 0.2, -1.0])
value, gradient = likelihood(start)
h = 1e-5 * np.eye(4)
differences = [(likelihood_again(start + e) - likelihood_again(start - e)) / 2e-5 for e in h]
print("value    ", value, likelihood_again(start))
print("gradient ", gradient.round(4))
print("again    ", np.round(differences, 4))
np.testing.assert_allclose(value, likelihood_again(start), rtol=1e-9)
np.testing.assert_allclose(gradient, differences, rtol=1e-5)

# %%
# Fit
# ---
# Once with `b = 0`, which is the Gaussian kernel with one length scale, and once with all of
# them.


def fit(free):
    """The hyperparameters of greatest likelihood, of which only some are free."""

    def negative(given):
        value, gradient = likelihood(np.where(free, given, start * free))
        return -value, -gradient * free

    return minimize(negative, start * free, jac=True, method="L-BFGS-B")


one_scale, own = fit(np.array([1, 0, 1, 1])), fit(np.array([1, 1, 1, 1]))
print(f"log likelihood {-one_scale.fun:.1f} with one scale, {-own.fun:.1f} with our own kernel")

# %%
# The prediction at new points takes the same kernel, now between `z` and `x`.

z = np.linspace(0, 3, 400)


def predict(hyper):
    """Mean and standard deviation at z."""
    a, b, s, noise = hyper
    factor = cho_factor(kernel(x, x, a, b, s) + np.exp(2 * noise) * np.eye(x.size))
    across = kernel(z, x, a, b, s)
    variance = np.exp(2 * s) - np.sum(across * cho_solve(factor, across.T).T, axis=1)
    return across @ cho_solve(factor, y), np.sqrt(variance)


figure, panels = plt.subplots(2, 1, figsize=(7, 5), sharex=True, layout="constrained")
for panel, found, title in zip(
    panels, (one_scale, own), ("one length scale", "our own kernel"), strict=True
):
    mean, deviation = predict(found.x)
    panel.fill_between(z, mean - 2 * deviation, mean + 2 * deviation, alpha=0.25, label="± 2 σ")
    panel.plot(z, mean, label="mean")
    panel.plot(z, np.sin(2 * np.exp(z)), "k--", linewidth=0.8, label="truth")
    panel.plot(x, y, "k.", markersize=4)
    panel.set(title=f"{title}: log likelihood {-found.fun:.1f}", ylim=(-2, 2))
panels[0].legend(ncols=3, loc="lower left", fontsize="small")
plt.show()
