"""A normalising flow of coupling layers (RealNVP), trained by maximum likelihood in two dimensions.

A layer scales and shifts one half of the state by what a small network makes of the other half. In
the language that is an update, and a flow is a program that updates its state in turn:

    a[n] = a[n] * exp(s[n]) + t[n]        s, t from b;  log |det J| = s[n]

Such programs have all four modes, and J^-1 v takes no matrix.
"""

from __future__ import annotations

import numpy as np

import tadc

HEADER = """
a: f64[N]
b: f64[N]
u: f64[{layers}, H]
c: f64[{layers}, H]
scale: f64[{layers}, H]
shift: f64[{layers}, H]
"""
LAYER = """
h{k}[n, j] = tanh(u[{k}, j] * {other}[n] + c[{k}, j])
s{k}[n] = tanh(sum[j](scale[{k}, j] * h{k}[n, j]))
{half}[n] = {half}[n] * exp(s{k}[n]) + sum[j](shift[{k}, j] * h{k}[n, j])
"""
# the mean of -log p(a, b), where the flow takes the density to a standard normal one
LOSS = """
loss = sum[n](0.5 * (a[n]**2 + b[n]**2) + log(2 * 3.141592653589793) - ({log_det})) / N
return loss
"""
WEIGHTS = ("u", "c", "scale", "shift")


def programs(layers):
    """The flow, and its loss as a function of the data and the weights."""
    halves = [("b", "a") if k % 2 else ("a", "b") for k in range(layers)]
    steps = [LAYER.format(k=k, half=half, other=other) for k, (half, other) in enumerate(halves)]
    flow = HEADER.format(layers=layers) + "".join(steps)
    log_det = " + ".join(f"s{k}[n]" for k in range(layers))
    return tadc.compile(flow), tadc.compile(flow + LOSS.format(log_det=log_det))


def moons(points, rng):
    """Points on two half circles that reach into each other, with noise; in two columns."""
    angle = rng.uniform(0, np.pi, points)
    upper = rng.integers(0, 2, points).astype(bool)
    a = np.where(upper, np.cos(angle), 1 - np.cos(angle))
    b = np.where(upper, np.sin(angle), 0.5 - np.sin(angle))
    data = np.stack([a, b], axis=1) + rng.normal(0, 0.1, (points, 2))
    return (data - data.mean(axis=0)) / data.std(axis=0)


def train(loss, weights, data, steps, rng, rate=0.02):
    """Adam on minibatches; the rate falls to 0."""
    gradient = tadc.grad(loss, wrt=WEIGHTS)
    first = {name: np.zeros_like(w) for name, w in weights.items()}
    second = {name: np.zeros_like(w) for name, w in weights.items()}
    for step in range(1, steps + 1):
        a, b = rng.choice(data, 200).T
        for name, d in zip(WEIGHTS, gradient(a=a, b=b, **weights), strict=True):
            first[name] += 0.1 * (d - first[name])
            second[name] += 0.01 * (d**2 - second[name])
            mean, square = first[name] / (1 - 0.9**step), second[name] / (1 - 0.99**step)
            weights[name] -= rate * (1 - step / steps) * mean / (np.sqrt(square) + 1e-8)


def jacobian(flow, a, b, weights):
    """J as a matrix, of which column k is J times unit vector k."""
    columns = []
    for unit in np.eye(2 * len(a)):
        tangents = *np.split(unit, 2), None, None, None, None
        columns.append(np.concatenate(tadc.jvp(flow, (a, b, *weights), tangents)[1]))
    return np.array(columns).T


def check(flow, weights, data, rng):
    """What J^-1 v, its transpose and log |det J| are wrong by, at the largest."""
    a, b = data.T
    v, w = rng.normal(size=(2, 2, len(a)))
    dense = jacobian(flow, a, b, weights)
    arguments = (a, b, *weights)
    solved = np.concatenate(tadc.inverse_jvp(flow, arguments, tuple(v)))
    transposed = np.concatenate(tadc.inverse_vjp(flow, arguments, tuple(w)))
    _, log_det = tadc.log_abs_det(flow, arguments)
    return (
        np.abs(solved - np.linalg.solve(dense, v.ravel())).max(),
        np.abs(transposed - np.linalg.solve(dense.T, w.ravel())).max(),
        np.abs(log_det - np.linalg.slogdet(dense)[1]),
    )


def main(layers=4, hidden=16, steps=1000):
    """Train and look at J; gives the loss of a normal density, of the flow, and errors about J."""
    rng = np.random.default_rng(0)
    flow, loss = programs(layers)
    data = moons(2000, rng)
    weights = {name: rng.normal(0, 0.5, (layers, hidden)) for name in WEIGHTS}
    weights["scale"] *= 0.1
    weights["shift"] *= 0.1
    a, b = data.T
    normal = 1 + np.log(2 * np.pi) + 0.5 * np.log(np.linalg.det(np.cov(data.T)))
    train(loss, weights, data, steps, rng)
    last = loss(a=a, b=b, **weights)
    print(f"-log p: {normal:.3f} of a normal density, {last:.3f} of the flow")
    errors = check(flow, list(weights.values()), data[:5], rng)
    print("largest errors of J^-1 v, J^-T w, log |det J|: " + ", ".join(f"{e:.0e}" for e in errors))
    return normal, last, errors


if __name__ == "__main__":
    main()
