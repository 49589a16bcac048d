"""Programs with index tensors: graphs and tables, forms of elements, and arguments for them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

import tadc
from tadc.dialects.tix import IndexRange

GRAPHS = {
    "gcn": """
src: range(N)[E]
dst: range(N)[E]
c: f64[E]
x: f64[N, K]
y[i in range(N), k] = sum[e, dst[e] == i](c[e] * x[src[e], k])
""",
    "gat": """
src: range(N)[E]
dst: range(N)[E]
h: f64[N, K]
a: f64[K]
b: f64[K]
l[i] = sum[k](a[k] * h[i, k])
r[i] = sum[k](b[k] * h[i, k])
z[e] = max(l[dst[e]] + r[src[e]], 0.2 * (l[dst[e]] + r[src[e]]))
m[i in range(N)] = max[e, dst[e] == i](z[e])
w[e] = exp(z[e] - m[dst[e]])
s[i in range(N)] = sum[e, dst[e] == i](w[e])
y[i in range(N), k] = sum[e](w[e] * h[src[e], k] if dst[e] == i else 0) / s[i]
""",
    "edge mlp": """
src: range(N)[E]
dst: range(N)[E]
x: f64[N, K]
W: f64[H, K]
U: f64[H, K]
m[e, h] = tanh(sum[k](W[h, k] * x[src[e], k] + U[h, k] * x[dst[e], k]))
y[i in range(N), h] = sum[e](m[e, h] if dst[e] == i else 0)
""",
    "pna": """
src: range(N)[E]
dst: range(N)[E]
x: f64[N, K]
n: f64[N]
n[i] = sum[e](1 if dst[e] == i else 0)
mean[i in range(N), k] = sum[e](x[src[e], k] if dst[e] == i else 0) / max(n[i], 1)
top[i in range(N), k] = max[e](x[src[e], k] if dst[e] == i else -1e999)
y[i, k] = mean[i, k] + (top[i, k] if n[i] > 0 else 0)
""",
    "forces": """
a: range(N)[E]
b: range(N)[E]
r: f64[N, 3]
d[e] = sum[c]((r[a[e], c] - r[b[e], c])**2)
u = sum[e](1 / (1 + d[e])**6 - 1 / (1 + d[e])**3)
""",
    "bag": """
idx: range(V)[E]
bag: range(B)[E]
w: f64[V, K]
o: f64[B]
y[b, k] = o[b] * sum[i](w[idx[i], k] if bag[i] == b else 0)
""",
    "ragged": """
seg: range(B)[E]
q: f64[E, K]
k: f64[E, K]
v: f64[E, K]
t: f64[B]
s[i, j] = t[seg[i]] * sum[c](q[i, c] * k[j, c])
d[i] = sum[j, seg[j] == seg[i]](exp(s[i, j]))
y[i, c] = sum[j, seg[j] == seg[i]](exp(s[i, j]) * v[j, c]) / d[i]
""",
    "table": """
nbr: range(N)[N, S]
w: f64[N, S]
x: f64[N, K]
y[i, k] = sum[s](w[i, s] * x[nbr[i, s], k])
""",
    "embedding": """
idx: range(V)[B, E]
w: f64[V, K]
y[b, i, k] = w[idx[b, i], k]
""",
    "least squares": """
row: range(M)[E]
col: range(N)[E]
a: f64[E]
x: f64[N]
b: f64[M]
res[i] = sum[e](a[e] * x[col[e]] if row[e] == i else 0) - b[i]
loss = sum[i](res[i]**2)
""",
    "elements": """
conn: range(N)[E, 4]
k: f64[E, 4, 4]
x: f64[N]
g: f64[N]
y[n] = g[n] + sum[e, a, b](k[e, a, b] * x[conn[e, b]] if conn[e, a] == n else 0)
""",
}

FORMS = {
    "odd": """
a: range(V)[N]
x: f64[2*V, K]
y[i, k] = x[2*a[i] + 1, k] * x[a[i], k]
""",
    "two": """
a: range(V)[N]
b: range(V)[N]
x: f64[3*V]
y[i] = x[2*a[i] + b[i]]**2
""",
    "difference": """
a: range(V)[N]
b: range(V)[N]
w: f64[2*V]
v: f64[N]
y = sum[p](v[p] * w[a[p] - b[p] + V])
""",
    "half": """
a: range(V)[N]
x: f64[V]
y[i] = x[a[i] // 2] * x[a[i]]
""",
    "stride": """
a: range(V)[2*N + 1]
x: f64[V, K]
y[i in range(N), k] = x[a[2*i + 1], k] * x[a[i], k]
""",
    "window": """
a: range(V)[N + J]
x: f64[V]
w: f64[J]
y[i in range(N)] = sum[j](w[j] * x[a[i + j]])
""",
    "around": """
a: range(V)[N]
x: f64[V + 2]
y[i, j in range(3)] = x[a[i] + j]
""",
    "pad": """
a: range(V)[N]
x: f64[V]
y[i] = pad(x[a[i] - 1]) + pad(x[a[i] + 2], 3)**2
""",
    "where": """
a: range(V)[N]
x: f64[V]
y[i] = x[a[i]]**2 if x[a[i]] > 0 and i != 2 else sin(x[a[i]])
""",
    "max": """
a: range(V)[N]
x: f64[V, K]
y[i] = max[k](x[a[i], k])
""",
    "prod": """
a: range(V)[N]
x: f64[V]
y[q in range(V)] = prod[i](x[i // 2] + i if a[i] == q else 1)
""",
    "less": """
a: range(V)[N]
v: f64[N]
x: f64[V]
y[q] = x[q] + sum[i](v[i] if a[i] <= q else 0)
""",
    "not": """
a: range(V)[N]
v: f64[N]
x: f64[V]
y[q] = x[q] + sum[i](v[i]**2 if a[i] != q else 0)
""",
    "mixed": """
a: range(V)[N]
v: f64[N]
x: f64[V]
y[q] = x[q] * sum[i](v[i]**2 if a[i] == q and i >= 2 else 0)
""",
    "nested": """
a: range(E)[N]
b: range(V)[E]
x: f64[V, K]
y[i, k] = x[b[a[i]], k]**2
""",
    "outer": """
a: range(V)[N]
x: f64[V]
y = sum[i, j](x[a[i]] * x[a[j]] if i < j else 0)
""",
    "value": """
a: range(V)[N]
x: f64[V]
y[i] = a[i] * x[a[i]]**2 + i
""",
    "itself": """
a: range(N)[N]
h: f64[N]
x: f64[N]
z[i] = h[i] * x[a[i]]
y[i] = z[a[i]] * z[i]
""",
    "updates": """
a: range(N)[N]
p: f64[N]
q: f64[N]
p[i] += sin(q[a[i]])
q[i] -= p[a[i]] * q[i]
""",
    "slice": """
q: range(V)[1]
x: f64[V + K]
w: f64[K]
y = sum[k](w[k] * x[q[0] + k])
""",
    "guarded": """
a: range(V)[N]
x: f64[V]
y[i in range(N + 2)] = x[a[i - 1]]**2 if 1 <= i < N else 0
""",
}
PROGRAMS = GRAPHS | FORMS

KINDS = ("uniform", "few", "sorted", "one")
"""The kinds of index arrays: with all values, with few, in order, or with one value."""


def arguments(
    f: tadc.Function, sizes: Mapping[str, int], rng: np.random.Generator, kind: str = "uniform"
) -> dict[str, np.ndarray | int]:
    """Arguments by name: normal numbers, and elements of index tensors of one of `KINDS`."""
    found: dict[str, np.ndarray | int] = {}
    for name, type in f.program.summary.inputs:
        shape = [form.evaluate(sizes) for form in type.shape]
        if isinstance(type.element, IndexRange):
            assert type.end is not None
            found[name] = elements(shape, type.end.evaluate(sizes), rng, kind)
        else:
            found[name] = sizes[name] if type.is_size else rng.normal(size=shape) / 2
    return found


def elements(shape: list[int], end: int, rng: np.random.Generator, kind: str) -> np.ndarray:
    """Integers from 0 to below an end."""
    x = rng.integers(0, end, shape)
    if kind == "uniform" and x.size >= end:  # every value: no segment is empty
        x.flat[:end] = rng.permutation(end)
    if kind == "few":
        x = np.minimum(rng.zipf(1.5, shape) - 1, end - 1)
    if kind == "one" and x.size:
        x[...] = x.flat[0]
    return np.sort(x, axis=None).reshape(shape) if kind == "sorted" else x
