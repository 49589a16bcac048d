"""
A normalising flow from its forward text alone
==============================================

A flow takes data to a normal density by invertible layers. Mostly one writes each layer three
times: forward, inverse, and the logarithm of its Jacobian's determinant. Here only the first is
written, and tadc makes the other two. So a layer may have no inverse in closed form.
"""

import matplotlib.pyplot as plt
import numpy as np
import torch

import tadc
import tadc.torch

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
flow = tadc.torch.op(HEADER + "".join(layers))

# %%
# The determinant
# ---------------
# Each layer changes `a[n]` by its own old value and by what stays: its Jacobian is a diagonal.
# tadc proves that from the indices; this line of what it finds is the slope of the last layer.

log_det = tadc.compile(str(flow.function.inverse("log-abs-det")))
print(str(log_det).splitlines()[-4])

# %%
# Train
# -----
# The mean of `-log p`, where p is the normal density at the end times the determinant.
# `flow.log_abs_det` has gradients, as the flow has.

torch.manual_seed(0)
torch.set_default_dtype(torch.float64)
angle, side = np.pi * torch.rand(4000), torch.randint(2, (4000,)) * 2 - 1
moons = 1.4 * side * torch.stack([angle.cos() - 0.5, angle.sin() - 0.25])
moons += 0.1 * torch.randn_like(moons)

w = torch.full((LAYERS,), -1.0)
u, c = 1.5 * torch.randn(2, LAYERS, 24)
s, t = 0.1 * torch.randn(2, LAYERS, 24)
weights = [each.requires_grad_() for each in (w, u, c, s, t)]


def loss(a, b):
    z, y = flow(a, b, *weights)
    _, log = flow.log_abs_det((a, b, *weights))
    return (z.square() + y.square()).mean() / 2 + np.log(2 * np.pi) - log / len(a)


STEPS = 2000
optimizer = torch.optim.Adam(weights, 0.02, betas=(0.9, 0.99))
schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1, 0, total_iters=STEPS)
for _ in range(STEPS):
    optimizer.zero_grad()
    loss(*moons[:, torch.randint(4000, (256,))]).backward()
    optimizer.step()
    schedule.step()
normal = 1 + np.log(2 * np.pi) + moons.cov().logdet() / 2
print(f"-log p: {normal:.2f} of a normal density, {loss(*moons):.2f} of the flow")

# %%
# The inverse
# -----------
# Newton's method takes a result back through each layer: `x - J^-1 (layer(x) - z)`, again and
# again. `J^-1` times a vector is a mode of tadc; no matrix is made.

layer = tadc.torch.op(HEADER + LAYER.format(k=0, a="a", b="b"))


@torch.no_grad()
def inverse(point):
    point = list(point)
    for k in reversed(range(LAYERS)):
        goal, other = point[k % 2], point[1 - k % 2]
        own = [each[k : k + 1] for each in weights]
        x = goal
        for _ in range(20):
            wrong = layer(x, other, *own) - goal
            x = x - layer.inverse_jvp((x, other, *own), wrong)[0]
        point[k % 2] = x
    return torch.stack(point)


z = torch.randn(2, 3000)
samples = inverse(z)
back = torch.stack(flow(*samples, *weights)).detach()
print("error of the inverse:", (back - z).abs().max().item())
torch.testing.assert_close(back, z, atol=1e-9, rtol=0)

# %%
# A second way to the same numbers
# --------------------------------
# PyTorch's own Jacobian of the same layers, at one point. And a density has the integral 1: here it
# is summed over a grid, of which each point is a batch of its own.


def plain_flow(point):
    point = list(point)
    for k in range(LAYERS):
        a, h = point[k % 2], torch.tanh(u[k] * point[1 - k % 2] + c[k])
        point[k % 2] = torch.exp(s[k] @ h) * a + torch.exp(w[k]) * torch.tanh(a) + t[k] @ h
    return torch.stack(point)


one = samples[:, 0]
expected = torch.func.jacrev(plain_flow)(one).detach().slogdet().logabsdet
found = flow.log_abs_det((*one[:, None], *weights))[1].detach()
print(f"log |det J|: {found:.6f} and {expected:.6f}")
torch.testing.assert_close(found, expected)

line = np.linspace(-4, 4, 320)
grid = np.array([part.ravel() for part in np.meshgrid(line, line)])
values = [each.detach().numpy() for each in weights]
_, log = log_det.batched("a", "b")(*grid[:, :, None], *values)
density = np.exp(log - np.sum(np.square(flow.function(*grid, *values)), axis=0) / 2) / (2 * np.pi)
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
