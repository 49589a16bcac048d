"""A multilayer perceptron, written element by element, learns to tell two spirals apart."""

from __future__ import annotations

import numpy as np

import tadc

NETWORK = """
x: f64[B, 2]
W1: f64[2, H]
b1: f64[H]
W2: f64[H, H]
b2: f64[H]
w3: f64[H]
b3: f64[]
h[n, j] = tanh(b1[j] + sum[i](x[n, i] * W1[i, j]))
g[n, k] = tanh(b2[k] + sum[j](h[n, j] * W2[j, k]))
z[n] = b3 + sum[k](g[n, k] * w3[k])
"""
# the mean cross entropy of labels 0 and 1, in a form that never overflows
LOSS = f"""
label: f64[B]
{NETWORK}
loss = sum[n](max(z[n], 0) - z[n] * label[n] + log1p(exp(-abs(z[n])))) / B
return loss
"""
WEIGHTS = ("W1", "b1", "W2", "b2", "w3", "b3")


def spirals(points, rng):
    """Points on two spirals, with some noise, and which spiral each is on."""
    label = np.arange(points) % 2
    turn = rng.uniform(0.25, 1.0, points)
    angle = 2 * np.pi * (1.5 * turn + 0.5 * label)
    x = turn[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    return 3 * x + rng.normal(0, 0.05, x.shape), label.astype(float)


def first_weights(hidden, rng):
    shapes = {"W1": (2, hidden), "W2": (hidden, hidden), "w3": (hidden,)}
    weights = {name: rng.normal(size=s) / np.sqrt(s[0]) for name, s in shapes.items()}
    return weights | {"b1": np.zeros(hidden), "b2": np.zeros(hidden), "b3": np.zeros(())}


def adam(weights, gradients, state, step, rate=0.01, beta1=0.9, beta2=0.999):
    """A step of Adam, in place."""
    for name, gradient in gradients.items():
        m, v = state.setdefault(name, [np.zeros_like(gradient), np.zeros_like(gradient)])
        m += (1 - beta1) * (gradient - m)
        v += (1 - beta2) * (gradient**2 - v)
        scale = rate / (1 - beta1**step)
        weights[name] -= scale * m / (np.sqrt(v / (1 - beta2**step)) + 1e-8)


def main(epochs=150, batch=50):
    """Train; gives the loss before and after, and how many of the points end up on their side."""
    rng = np.random.default_rng(0)
    network = tadc.compile(NETWORK)
    loss = tadc.compile(LOSS)
    gradient = tadc.grad(loss, wrt=WEIGHTS)  # a program too, compiled once for every batch

    x, label = spirals(400, rng)
    weights, state = first_weights(16, rng), {}
    first = loss(x=x, label=label, **weights)
    step = 0
    for epoch in range(epochs):
        for chosen in np.split(rng.permutation(len(x)), len(x) // batch):
            step += 1
            found = gradient(x=x[chosen], label=label[chosen], **weights)
            adam(weights, dict(zip(WEIGHTS, found, strict=True)), state, step)
        if epoch % 30 == 29:
            print(f"epoch {epoch + 1:3}: loss {loss(x=x, label=label, **weights):.4f}")
    last = loss(x=x, label=label, **weights)
    right = np.mean((network(x=x, **weights) > 0) == label)
    print(f"loss {first:.3f} -> {last:.4f}, {right:.1%} of the points on the right side")
    return first, last, right


if __name__ == "__main__":
    main()
