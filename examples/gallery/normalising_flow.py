"""
A normalising flow from its forward text alone
==============================================

A flow takes data to a normal density by invertible layers. Mostly one writes each layer three
times: forward, inverse, and the logarithm of its Jacobian's determinant. Here only the first is
written, and tadc makes the other two. So a layer may have no inverse in closed form.
"""

import matplotlib.pyplot as plt
import numpy as np

import tadc

# %%
# The layers
# ----------
# One half of a point moves, by what a small network makes of the other half, and on a curve of its
# own: `a` goes to `e^s a + e^w tanh(a) + t`. Nobody can solve that for `a`.

LAYERS = 6
HEADER = """
a: f64[N]
b: f64[N]
w: f64[L]
u: f64[L, H]
c: f64[L, H]
s: f64[L, H]
t: f64[L, H]
"""
LAYER = """
h{k}[n, j] = tanh(u[{k}, j] * {b}[n] + c[{k}, j])
s{k}[n] = sum[j](s[{k}, j] * h{k}[n, j])
t{k}[n] = sum[j](t[{k}, j] * h{k}[n, j])
{a}[n] = exp(s{k}[n]) * {a}[n] + exp(w[{k}]) * tanh({a}[n]) + t{k}[n]
"""
layers = [LAYER.format(k=k, a="ab"[k % 2], b="ba"[k % 2]) for k in range(LAYERS)]
flow = tadc.compile(HEADER + "".join(layers))

# %%
# The determinant
# ---------------
# Each layer changes `a[n]` by its own old value and by what stays: its Jacobian is a diagonal.
# tadc proves that from the indices. What it finds is a program of the old values and the weights,
# which can be derived in turn; this line of it is the slope of the last layer.

log_det = tadc.compile(str(flow.inverse("log-abs-det")))
print(str(log_det).splitlines()[-4])

# %%
# Train
# -----
# The mean of `-log p`, where p is the normal density at the end times the determinant.

rng = np.random.default_rng(0)
angle = rng.uniform(0, np.pi, 4000)
side = 1 - 2 * rng.integers(0, 2, 4000)
moons = side * np.array([np.cos(angle) - 0.5, np.sin(angle) - 0.25]) + 0.08 * rng.normal(
    size=(2, 4000)
)
moons *= 1.4
WEIGHTS = ("w", "u", "c", "s", "t")
sizes = {"w": LAYERS} | dict.fromkeys(WEIGHTS[1:], (LAYERS, 24))
spread = {"w": 0, "u": 1.5, "c": 1.5, "s": 0.1, "t": 0.1}
weights = {name: spread[name] * rng.normal(size=sizes[name]) for name in WEIGHTS}
weights["w"] -= 1


def loss_and_gradient(a, b):
    (z, y), pull_flow = tadc.vjp(flow, a=a, b=b, **weights, wrt=WEIGHTS)
    (_, log), pull_log = tadc.vjp(log_det, a=a, b=b, **weights, wrt=WEIGHTS)
    loss = (z @ z + y @ y) / 2 / len(a) + np.log(2 * np.pi) - log / len(a)
    gradients = zip(pull_flow(z / len(a), y / len(a)), pull_log(0.0, -1 / len(a)), strict=True)
    return loss, [of_flow + of_log for of_flow, of_log in gradients]


STEPS = 2000
losses, mean, square = [], dict.fromkeys(WEIGHTS, 0.0), dict.fromkeys(WEIGHTS, 0.0)
for step in range(1, STEPS + 1):  # Adam, at a rate that falls to 0
    loss, gradients = loss_and_gradient(*moons[:, rng.integers(0, 4000, 256)])
    losses.append(loss)
    for name, g in zip(WEIGHTS, gradients, strict=True):
        mean[name] = 0.9 * mean[name] + 0.1 * g
        square[name] = 0.99 * square[name] + 0.01 * g**2
        size = np.sqrt(square[name] / (1 - 0.99**step)) + 1e-8
        weights[name] -= 0.02 * (1 - step / STEPS) * mean[name] / (1 - 0.9**step) / size
normal = 1 + np.log(2 * np.pi) + np.linalg.slogdet(np.cov(moons))[1] / 2
print(f"-log p: {normal:.2f} of a normal density, {np.mean(losses[-100:]):.2f} of the flow")

# %%
# The inverse
# -----------
# Newton's method takes a result back through each layer: `x - J^-1 (layer(x) - z)`, again and
# again. `J^-1` times a vector is a mode of tadc; no matrix is made.


layer = tadc.compile(HEADER + LAYER.format(k=0, a="a", b="b"))


def inverse(*point):
    point = list(point)
    for k in reversed(range(LAYERS)):
        goal, other = point[k % 2], point[1 - k % 2]
        own = [weights[name][k : k + 1] for name in WEIGHTS]
        x = goal
        for _ in range(20):
            wrong = layer(x, other, *own) - goal
            x = x - tadc.inverse_jvp(layer, (x, other, *own), wrong)[0]
        point[k % 2] = x
    return np.array(point)


z = rng.normal(size=(2, 3000))
samples = inverse(*z)
print("error of the inverse:", np.abs(flow(*samples, **weights) - z).max())
np.testing.assert_allclose(flow(*samples, **weights), z, atol=1e-9)

# %%
# A second way to the same numbers
# --------------------------------
# The determinant of one point is that of a matrix of differences. And a density has the integral
# 1: here it is summed over a grid, of which each point is a batch of its own.

point, h = samples[:, :1], 1e-6 * np.eye(2)[:, :, None]
columns = [
    (np.array(flow(*(point + e), **weights)) - flow(*(point - e), **weights)) / 2e-6 for e in h
]
expected = np.linalg.slogdet(np.hstack(columns))[1]
print("log |det J|:", log_det(*point, **weights)[1], "and from differences", expected)
np.testing.assert_allclose(log_det(*point, **weights)[1], expected, rtol=1e-5)

line = np.linspace(-4, 4, 320)
grid = np.array([part.ravel() for part in np.meshgrid(line, line)])
_, log = log_det.batched("a", "b")(a=grid[0][:, None], b=grid[1][:, None], **weights)
density = np.exp(log - np.sum(np.square(flow(*grid, **weights)), axis=0) / 2) / (2 * np.pi)
integral = density.sum() * (line[1] - line[0]) ** 2
print(f"integral of the density: {integral:.4f}")
np.testing.assert_allclose(integral, 1, atol=0.01)

# %%
# Data, density and samples
# -------------------------

figure, panels = plt.subplots(
    1, 3, figsize=(9, 3.2), sharex=True, sharey=True, layout="constrained"
)
panels[0].plot(*moons, ".", markersize=1)
panels[1].pcolormesh(line, line, density.reshape(320, 320), cmap="magma")
panels[2].plot(*samples, ".", markersize=1)
for panel, title in zip(panels, ("data", "density", "samples by the inverse"), strict=True):
    panel.set(title=title, xlim=(-2.8, 2.8), ylim=(-2.8, 2.8), aspect="equal")
plt.show()
