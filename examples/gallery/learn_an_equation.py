"""
A stencil inside a training loop in JAX
=======================================

Heat spreads along a rod whose conductivity changes from place to place. From a few pictures of the
temperature, before and after, JAX finds the conductivity, by gradients through all time steps. The
step is a program of tadc, inside `scan`, `vmap`, `grad` and `jit`.
"""

import time

import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import minimize

import tadc.jax

jax.config.update("jax_enable_x64", True)

# %%
# The step
# --------
# What flows between two cells is `c[i] (u[i + 1] - u[i])`, nothing through the ends. So the sum of
# all `u` stays what it is.

step = tadc.jax.op("""
u: f64[N]
c: f64[N - 1]
flow[i in range(N - 1)] = c[i] * (u[i + 1] - u[i])
u[i] += pad(flow[i]) - pad(flow[i - 1])
""")
print(step.function.derivative("c"))

STEPS, CELLS, RODS = 200, 60, 8


def simulate(c, u):
    return jax.lax.scan(lambda u, _: (step(u, c), None), u, None, length=STEPS)[0]


# %%
# The data
# --------

place = np.linspace(0, 1, CELLS - 1)
truth = 0.15 + 0.1 * np.sin(7 * place) + 0.15 * (np.abs(place - 0.6) < 0.1)
rng = np.random.default_rng(0)
before = rng.normal(size=(RODS, CELLS)).cumsum(1)
after = jax.vmap(simulate, (None, 0))(truth, before) + 0.001 * rng.normal(size=before.shape)


def loss(log_c, simulate):
    """The squared errors of predictions, and a small penalty on jumps of c between cells."""
    predicted = jax.vmap(simulate, (None, 0))(jnp.exp(log_c), before)
    return jnp.sum((predicted - after) ** 2) + 1e-4 * jnp.sum(jnp.diff(log_c) ** 2)


value_and_gradient = jax.jit(jax.value_and_grad(lambda log_c: loss(log_c, simulate)))

# %%
# A second way to the same numbers
# --------------------------------
# The same step in `jax.numpy`, with JAX's own gradient. A step of so few cells is faster there: XLA
# sees into it, and what tadc has compiled is a call in the loop.


def simulate_again(c, u):
    def step(u, _):
        flow = c * jnp.diff(u)
        return u + jnp.pad(flow, (0, 1)) - jnp.pad(flow, (1, 0)), None

    return jax.lax.scan(step, u, None, length=STEPS)[0]


again = jax.jit(jax.value_and_grad(lambda log_c: loss(log_c, simulate_again)))
start = np.full(CELLS - 1, np.log(0.2))
for ours, theirs in zip(value_and_gradient(start), again(start), strict=True):
    np.testing.assert_allclose(ours, theirs, rtol=1e-9)


def milliseconds(function):
    begin = time.perf_counter()
    jax.block_until_ready(function(start))
    return 1e3 * (time.perf_counter() - begin)


times = [(milliseconds(value_and_gradient), milliseconds(again)) for _ in range(10)]
print("value and gradient: {:.2f} ms, by jax.numpy {:.2f} ms".format(*np.min(times, axis=0)))

# %%
# Train
# -----

fit = minimize(value_and_gradient, start, jac=True, method="L-BFGS-B", options={"maxiter": 500})
found = np.exp(fit.x)
error = np.abs(found - truth).max()
print(f"largest error of the conductivity: {error:.3f}, at first {np.abs(0.2 - truth).max():.3f}")
assert error < 0.05

figure, panels = plt.subplots(1, 2, figsize=(9, 3), layout="constrained")
panels[0].plot(before[0], label="before")
panels[0].plot(after[0], label="after")
panels[0].plot(simulate(found, before[0]), "k--", linewidth=1, label="predicted")
panels[0].set(title="one of the rods", xlabel="cell")
panels[1].plot(truth, label="truth")
panels[1].plot(found, "--", label="found")
panels[1].set(title="conductivity", xlabel="cell", ylim=(0, 0.45))
for panel in panels:
    panel.legend()
plt.show()
