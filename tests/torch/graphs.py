"""Programs with index tensors for the tests of `tadc.torch`, and the same in plain PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import pytest

from tests.torch.programs import rand, torch

op = pytest.importorskip("tadc.torch").op
F = Callable[..., Any]

NODES, EDGES, COLUMNS = 6, 17, 3

EMBEDDING = "idx: range(V)[N, S]\nw: real[V, K]\ny[i, s, k] = w[idx[i, s], k]"
SEGMENTS = "seg: range(B)[E]\nv: real[E]\ns[b in range(B)] = sum[e, seg[e] == b](v[e]**2)"
SOFTMAX = """
dst: range(N)[E]
z: real[E]
N: size
m[i in range(N)] = max[e, dst[e] == i](z[e])
w[e] = exp(z[e] - m[dst[e]])
s[i in range(N)] = sum[e, dst[e] == i](w[e])
y[e] = w[e] / s[dst[e]]
"""
GCN = """
src: range(N)[E]
dst: range(N)[E]
c: real[E]
x: real[N, K]
y[i in range(N), k] = sum[e, dst[e] == i](c[e] * x[src[e], k])
"""
GAT = """
src: range(N)[E]
dst: range(N)[E]
h: real[N, K]
a: real[K]
b: real[K]
l[i] = sum[k](a[k] * h[i, k])
r[i] = sum[k](b[k] * h[i, k])
z[e] = max(l[dst[e]] + r[src[e]], 0.2 * (l[dst[e]] + r[src[e]]))
m[i in range(N)] = max[e, dst[e] == i](z[e])
w[e] = exp(z[e] - m[dst[e]])
s[i in range(N)] = sum[e, dst[e] == i](w[e])
y[i in range(N), k] = sum[e, dst[e] == i](w[e] * h[src[e], k]) / s[i]
"""
NEIGHBOURS = """
a: range(N)[P]
b: range(N)[P]
r: real[N, 3]
d2[p] = sum[c]((r[a[p], c] - r[b[p], c])**2)
u = sum[p](exp(-d2[p]))
"""


def segment_sum(values: Any, dst: Any, count: int) -> Any:
    return torch.zeros(count, *values.shape[1:], dtype=values.dtype).index_add(0, dst, values)


def softmax(dst: Any, z: Any, count: int) -> Any:
    m = torch.full((count,), -torch.inf, dtype=z.dtype).scatter_reduce(0, dst, z, "amax")
    w = torch.exp(z - m[dst])
    return w / segment_sum(w, dst, count)[dst]


def gat(src: Any, dst: Any, h: Any, a: Any, b: Any) -> Any:
    z = torch.nn.functional.leaky_relu((h @ a)[dst] + (h @ b)[src], 0.2)
    return segment_sum(softmax(dst, z, len(h))[:, None] * h[src], dst, len(h))


class Case(NamedTuple):
    """A program, the same in PyTorch, and tensors: of indices, of reals, and sizes by name."""

    text: str
    plain: F
    indices: tuple[Any, ...]
    reals: tuple[Any, ...]
    sizes: dict[str, int]

    @property
    def tadc(self) -> F:
        """The program as a function of the reals."""
        f = operation(self.text)
        return lambda *reals: f(*self.indices, *reals, **self.sizes)

    @property
    def torch(self) -> F:
        """The same graph program in plain PyTorch."""
        return lambda *reals: self.plain(*self.indices, *reals, *self.sizes.values())


@cache
def operation(text: str) -> Any:
    """The operation of a program, which is derived once for all tests."""
    return op(text)


def edges(count: int = EDGES) -> tuple[Any, Any]:
    """Edges of which some repeat, in any order; each node has one."""
    generator = torch.Generator().manual_seed(count)
    src, dst = torch.randint(0, NODES, (2, count), generator=generator)
    dst[:NODES] = torch.arange(NODES)
    return src, dst


def case(name: str) -> Case:
    torch.manual_seed(0)
    src, dst = edges()
    x = rand(NODES, COLUMNS)
    match name:
        case "embedding":
            table = src[:10].reshape(5, 2)
            return Case(EMBEDDING, lambda idx, w: w[idx], (table,), (x,), {})
        case "segments":
            sums = lambda seg, v, count: segment_sum(v**2, seg, count)
            return Case(SEGMENTS, sums, (dst,), (rand(EDGES),), {"B": NODES + 2})
        case "softmax":
            return Case(SOFTMAX, softmax, (dst,), (rand(EDGES),), {"N": NODES})
        case "gcn":
            layer = lambda s, d, c, x: segment_sum(c[:, None] * x[s], d, len(x))
            return Case(GCN, layer, (src, dst), (rand(EDGES), x), {})
        case "gat":
            return Case(GAT, gat, (src, dst), (x, rand(COLUMNS), rand(COLUMNS)), {})
        case _:
            pairs = lambda a, b, r: torch.exp(-((r[a] - r[b]) ** 2).sum(-1)).sum()
            return Case(NEIGHBOURS, pairs, (src, dst), (x,), {})


CASES = ["embedding", "segments", "softmax", "gcn", "gat", "neighbours"]


def loss(f: F) -> F:
    return lambda *reals: torch.sin(f(*reals)).sum()
