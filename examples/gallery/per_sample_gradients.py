"""
Gradients of each sample, and what one sample does to a fit
===========================================================

How would a fit change if one of its samples were missing? To first order by `H^-1 g`, with the
Hessian `H` of the loss and the gradient `g` of the sample. That takes the gradients of all samples,
each for itself, and second derivatives: by `torch.func`, and by `f.batched` in NumPy.
"""

import matplotlib.pyplot as plt
import numpy as np
import torch
from scipy.optimize import minimize

import tadc
import tadc.torch

# %%
# The loss of one sample
# ----------------------
# A curve of Gaussian bumps whose heights and common width are fitted, and a loss that is quadratic
# near 0 and grows like the absolute value far off.

sample_loss = tadc.compile("""
t: f64[]
y: f64[]
height: f64[K]
width: f64[]
curve = sum[k](height[k] * exp(-((t - k / (K - 1)) / width)**2))
loss = sqrt(1 + (10 * (y - curve))**2) - 1
return loss
""")

rng = np.random.default_rng(0)
t = np.sort(rng.uniform(0, 1, 40))
y = np.sin(2 * np.pi * t) + 0.1 * rng.normal(size=t.size)
y[[5, 22]] += 1, -1.5  # two that are far off


def parts(p):
    """Heights and width out of one vector."""
    return p[:-1], p[-1]


# %%
# The fit
# -------
# In NumPy: `batched` makes the program of all samples at once, and its gradient is the sum.

all_losses = sample_loss.batched("t", "y")
print(all_losses)


def fit(t, y, start):
    def value_and_gradient(p):
        values, pullback = tadc.vjp(all_losses, t, y, *parts(p), wrt=("height", "width"))
        return values.sum(), np.append(*pullback(np.ones(t.size)))

    return minimize(value_and_gradient, start, jac=True, tol=1e-12).x


best = fit(t, y, np.append(np.zeros(5), 0.2))

# %%
# Each gradient, and the Hessian
# ------------------------------
# In PyTorch: `vmap` of `grad`, and `hessian`. In NumPy, the gradient of one sample is a program
# too, and batched over the samples.

operation = tadc.torch.op(sample_loss)


def loss_of_one(p, t, y):
    return operation(t, y, *parts(p))


samples = torch.tensor(t), torch.tensor(y)
point = torch.tensor(best)
each = torch.func.vmap(torch.func.grad(loss_of_one), (None, 0, 0))(point, *samples)
losses = torch.func.vmap(loss_of_one, (None, 0, 0))
hessian = torch.func.hessian(lambda p: losses(p, *samples).sum())(point)

gradient = tadc.grad(sample_loss, wrt=("height", "width")).batched("t", "y")
of_heights, of_widths = gradient(t, y, *parts(best))
in_numpy = np.column_stack([of_heights, of_widths])
np.testing.assert_allclose(each.numpy(), in_numpy, rtol=1e-9, atol=1e-9)

# %%
# A second way to the same numbers
# --------------------------------
# The loss in plain PyTorch, with the Hessian by its own rules.


def plain_loss(p):
    height, width = parts(p)
    centres = torch.linspace(0, 1, 5, dtype=torch.float64)
    curve = torch.exp(-(((samples[0][:, None] - centres) / width) ** 2)) @ height
    return (torch.sqrt(1 + (10 * (samples[1] - curve)) ** 2) - 1).sum()


torch.testing.assert_close(hessian, torch.func.hessian(plain_loss)(point), rtol=1e-9, atol=1e-6)

# %%
# One sample less
# ---------------
# What is predicted, beside what a fit without the sample gives.

predicted = torch.linalg.solve(hessian, each.T).T.numpy()
left_out = [fit(np.delete(t, n), np.delete(y, n), best) - best for n in range(t.size)]
correlation = np.corrcoef(predicted.ravel(), np.ravel(left_out))[0, 1]
print(f"correlation of what is predicted and what happens: {correlation:.3f}")
assert correlation > 0.95

figure, panels = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
line = np.linspace(0, 1, 200)
bumps = np.exp(-(((line[:, None] - np.linspace(0, 1, 5)) / best[-1]) ** 2))
influence = np.linalg.norm(predicted, axis=1)
panels[0].plot(line, bumps @ best[:-1], "k")
dots = panels[0].scatter(t, y, c=influence, cmap="viridis_r")
figure.colorbar(dots, label="|H^-1 g|")
panels[0].set_title("samples, and the fit")
panels[1].plot(predicted.ravel(), np.ravel(left_out), ".")
panels[1].axline((0, 0), slope=1, color="k", linewidth=0.5)
panels[1].set(title="change of each parameter", xlabel="predicted", ylabel="without the sample")
plt.show()
