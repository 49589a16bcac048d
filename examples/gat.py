"""Two layers of graph attention learn the communities of a graph from a few nodes with labels."""

from __future__ import annotations

import numpy as np

import tadc

LAYER = """
h{n}[i, k] = sum[j](x{n}[i, j] * W{n}[k, j])
l{n}[i] = sum[k](a{n}[k] * h{n}[i, k])
r{n}[i] = sum[k](b{n}[k] * h{n}[i, k])
q{n}[e] = l{n}[dst[e]] + r{n}[src[e]]
z{n}[e] = q{n}[e] if q{n}[e] > 0 else 0.2 * q{n}[e]
m{n}[i in range(N)] = max[e, dst[e] == i](z{n}[e])
w{n}[e] = exp(z{n}[e] - m{n}[dst[e]])
s{n}[i in range(N)] = sum[e, dst[e] == i](w{n}[e])
y{n}[i in range(N), k] = sum[e, dst[e] == i](w{n}[e] * h{n}[src[e], k]) / s{n}[i]
"""
MODEL = f"""
src: range(N)[E]
dst: range(N)[E]
x1: f64[N, F]
{LAYER.format(n=1)}
x2[i, k] = tanh(y1[i, k])
{LAYER.format(n=2)}
"""
# the mean cross entropy of the nodes that have labels
LOSS = f"""
node: range(N)[T]
label: range(C)[T]
W2: f64[C, H]
{MODEL}
top[i] = max[c](y2[i, c])
total[i] = top[i] + log(sum[c](exp(y2[i, c] - top[i])))
loss = sum[t](total[node[t]] - y2[node[t], label[t]]) / T
return loss
"""
WEIGHTS = ("W1", "a1", "b1", "W2", "a2", "b2")


def communities(nodes, classes, rng):
    """A random graph whose edges mostly stay inside of a class, and noisy features of its nodes."""
    label = rng.integers(0, classes, nodes)
    chance = np.where(label[:, None] == label, 0.08, 0.005)
    pairs = np.argwhere(np.triu(rng.uniform(size=(nodes, nodes)) < chance, 1))
    loops = np.arange(nodes)
    src = np.concatenate([pairs[:, 0], pairs[:, 1], loops])
    dst = np.concatenate([pairs[:, 1], pairs[:, 0], loops])
    features = np.eye(classes)[label] + rng.normal(0, 1.0, (nodes, classes))
    return src, dst, features, label


def first_weights(features, hidden, classes, rng):
    shapes = {1: (hidden, features), 2: (classes, hidden)}
    weights = {f"W{n}": rng.normal(size=s) / np.sqrt(s[1]) for n, s in shapes.items()}
    return weights | {f"{v}{n}": rng.normal(size=s[0]) / 2 for v in "ab" for n, s in shapes.items()}


def main(nodes=300, classes=4, hidden=8, steps=100, rate=0.5):
    """Train; gives the loss before and after, and how many of the other nodes are told right."""
    rng = np.random.default_rng(0)
    src, dst, x, label = communities(nodes, classes, rng)
    loss, model = tadc.compile(LOSS), tadc.compile(MODEL)
    weights = first_weights(classes, hidden, classes, rng)
    graph = {"src": src, "dst": dst, "x1": x}
    node, others = np.split(rng.permutation(nodes), [nodes // 10])
    losses = []
    for step in range(steps):
        value, pullback = tadc.vjp(
            loss, **graph, **weights, node=node, label=label[node], wrt=WEIGHTS
        )
        for name, gradient in zip(WEIGHTS, pullback(1.0), strict=True):
            weights[name] = weights[name] - rate * gradient
        losses.append(float(value))
        if step % 20 == 0:
            print(f"step {step}: loss {value:.4f}")
    told = model(**graph, **weights).argmax(axis=1)
    right = (told == label)[others].mean()
    alone = (x.argmax(axis=1) == label)[others].mean()
    print(f"{len(src)} edges, {len(node)} labels; of the other nodes {right:.0%} are told right,")
    print(f"and {alone:.0%} by their own features alone")
    return losses[0], losses[-1], right, alone


if __name__ == "__main__":
    main()
