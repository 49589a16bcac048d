"""Times layers of networks beside torch's own function for each of them.

    python -m benchmarks.layers [--only "conv 3x3"] [--threads 1] [--limit 1.5] [--save]

Formulas as one writes them, without sizes, against the call that torch's users would make: padded,
strided and transposed convolutions, products, normalisations, pooling, attention. In float32, the
time of the clock; both take turns in one run. Each cell is milliseconds of tadc, and that as a
multiple of torch: of the value, and of the value with all gradients. Multiples above the limit are
**bold**. Results are compared before anything is timed.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import geometric_mean
from typing import Any

import numpy as np
import torch
from torch.nn import functional

import tadc
from benchmarks import machine, tables
from benchmarks.timing import Run, Times, measure
from benchmarks.workloads.workload import Array, normal

LIMIT = 2e-3
"""The largest difference allowed, by the largest element of the result."""

PARTS = ("value", "value + gradients")


@dataclass(frozen=True)
class Layer:
    """A formula, the shapes of its arguments, and torch's function of tensors of these names."""

    name: str
    source: str
    shapes: Mapping[str, Sequence[int]]
    torch: Callable[..., Any]


def _convolution(read: str, indices: str = "n, o, i, j") -> str:
    return f"y[{indices}] = sum[c, u, v](pad(x[{read}]) * w[o, c, u, v])"


MEAN = "m[i] = sum[k](x[i, k]) / {n}\nv[i] = sum[k]((x[i, k] - m[i])**2) / {n}\n"
SOFTMAX = "e[i, j] = exp(x[i, j] - max[k](x[i, k]))\ny[i, j] = e[i, j] / sum[k](e[i, k])"
SCORES = "s[h, i, j] = sum[d](q[h, i, d] * k[h, j, d]) * 0.125\nm[h, i] = max[j](s[h, i, j])\n"
ATTENTION = (
    SCORES + "e[h, i, j] = exp(s[h, i, j] - m[h, i])\nz[h, i] = sum[j](e[h, i, j])\n"
    "y[h, i, d] = sum[j](e[h, i, j] * v[h, j, d]) / z[h, i]"
)
HEADS = {"q": (8, 256, 64), "k": (8, 256, 64), "v": (8, 256, 64)}
PROJECTED = (
    "s[b, h in range(8), i, j] = "
    "sum[d in range(64)](p[b, i, 64*h + d] * p[b, j, 512 + 64*h + d]) * 0.125\n"
    "e[b, h, i, j] = exp(s[b, h, i, j] - max[l](s[b, h, i, l]))\n"
    "y[b, h, i, d in range(64)] = "
    "sum[j](e[b, h, i, j] * p[b, j, 1024 + 64*h + d]) / sum[j](e[b, h, i, j])"
)
CELL = (
    "w: real[512, D]\nu: real[512, H]\nb: real[512]\n"
    "g[n, j] = sum[k](x[n, k] * w[j, k]) + sum[l](h[n, l] * u[j, l]) + b[j]\n"
    "a[n, j in range(128)] = c[n, j] / (1 + exp(-g[n, j + 128]))"
    " + tanh(g[n, j + 256]) / (1 + exp(-g[n, j]))\n"
    "y[n, j in range(128)] = tanh(a[n, j]) / (1 + exp(-g[n, j + 384]))"
)


def _attention_of_one(p: Any) -> Any:
    """Attention whose queries, keys and values are parts of one tensor."""
    q, k, v = p.view(*p.shape[:2], 3, 8, 64).permute(2, 0, 3, 1, 4)
    return functional.scaled_dot_product_attention(q, k, v)


def _cell(x: Any, h: Any, c: Any, w: Any, u: Any, b: Any) -> Any:
    """The output of a cell of long and short memory (LSTM)."""
    i, f, g, o = (functional.linear(x, w, b) + functional.linear(h, u)).chunk(4, 1)
    memory = c * torch.sigmoid(f) + torch.tanh(g) * torch.sigmoid(i)
    return torch.tanh(memory) * torch.sigmoid(o)


def _contrast(z: Any) -> Any:
    """The logarithms of sums of similarities, but to itself."""
    similar = z @ z.T * 0.125
    return similar.masked_fill(torch.eye(len(z), dtype=torch.bool), -torch.inf).logsumexp(1)


def _average(x: Any) -> Any:
    """Averages that forget, by a matrix of the weights."""
    place = torch.arange(x.shape[1])
    weights = torch.tril(0.9 ** (place[:, None] - place).clamp(min=0).float())
    return x @ weights.T


LAYERS = (
    Layer(
        "conv 3x3 with padding, 28 x 28",
        _convolution("n, c, i + u - 1, j + v - 1", "n, o, i in range(28), j in range(28)"),
        {"x": (8, 64, 28, 28), "w": (64, 64, 3, 3)},
        lambda x, w: functional.conv2d(x, w, padding=1),
    ),
    Layer(
        "conv 3x3 with padding, 7 x 7",
        _convolution("n, c, i + u - 1, j + v - 1", "n, o, i in range(7), j in range(7)"),
        {"x": (8, 128, 7, 7), "w": (128, 128, 3, 3)},
        lambda x, w: functional.conv2d(x, w, padding=1),
    ),
    Layer(
        "conv 3x3 with stride 2 and padding",
        _convolution("n, c, 2*i + u - 1, 2*j + v - 1", "n, o, i in range(28), j in range(28)"),
        {"x": (4, 64, 56, 56), "w": (128, 64, 3, 3)},
        lambda x, w: functional.conv2d(x, w, padding=1, stride=2),
    ),
    Layer(
        "conv 7x7 with stride 2 and padding, of images",
        _convolution("n, c, 2*i + u - 3, 2*j + v - 3", "n, o, i in range(112), j in range(112)"),
        {"x": (1, 3, 224, 224), "w": (64, 3, 7, 7)},
        lambda x, w: functional.conv2d(x, w, padding=3, stride=2),
    ),
    Layer(
        "conv 1x1",
        "y[n, o, i, j] = sum[c](x[n, c, i, j] * w[o, c])",
        {"x": (8, 128, 28, 28), "w": (64, 128)},
        lambda x, w: functional.conv2d(x, w[:, :, None, None]),
    ),
    Layer(
        "conv 1-D with dilation 4",
        "y[n, o, i] = sum[c, k](x[n, c, i + 4*k] * w[o, c, k])",
        {"x": (8, 64, 528), "w": (64, 64, 3)},
        lambda x, w: functional.conv1d(x, w, dilation=4),
    ),
    Layer(
        "conv 3-D, 3x3x3",
        "y[n, o, i, j, l] = sum[c, u, v, z](x[n, c, i + u, j + v, l + z] * w[o, c, u, v, z])",
        {"x": (2, 16, 18, 18, 18), "w": (16, 16, 3, 3, 3)},
        functional.conv3d,
    ),
    Layer(
        "conv 5x5 of one channel",
        "y[n, o, i, j] = sum[c, u, v](x[n, c, i + u, j + v] * w[o, c, u, v])",
        {"x": (8, 1, 64, 64), "w": (16, 1, 5, 5)},
        functional.conv2d,
    ),
    Layer(
        "depthwise conv 3x3 with padding",
        "y[n, c, i in range(56), j in range(56)] = "
        "sum[u, v](pad(x[n, c, i + u - 1, j + v - 1]) * w[c, u, v])",
        {"x": (8, 64, 56, 56), "w": (64, 3, 3)},
        lambda x, w: functional.conv2d(x, w[:, None], groups=64, padding=1),
    ),
    Layer(
        "transposed conv 4x4 with stride 2",
        "y[n, o, p in range(58), q in range(58)] = "
        "sum[c, i, j](pad(w[c, o, p - 2*i, q - 2*j]) * x[n, c, i, j])",
        {"x": (4, 32, 28, 28), "w": (32, 32, 4, 4)},
        lambda x, w: functional.conv_transpose2d(x, w, stride=2),
    ),
    Layer(
        "patches of 16 x 16",
        "y[n, o, i, j] = sum[c, u in range(16), v in range(16)]"
        "(x[n, c, 16*i + u, 16*j + v] * w[o, c, u, v])",
        {"x": (2, 3, 224, 224), "w": (192, 3, 16, 16)},
        lambda x, w: functional.conv2d(x, w, stride=16),
    ),
    Layer(
        "linear",
        "y[b, o] = sum[k](x[b, k] * w[o, k]) + c[o]",
        {"x": (256, 512), "w": (512, 512), "c": (512,)},
        functional.linear,
    ),
    Layer(
        "batched product",
        "y[b, i, j] = sum[k](a[b, i, k] * c[b, k, j])",
        {"a": (64, 64, 64), "c": (64, 64, 64)},
        torch.bmm,
    ),
    Layer("softmax", SOFTMAX, {"x": (1024, 512)}, lambda x: functional.softmax(x, -1)),
    Layer(
        "softmax over channels",
        "e[n, c, i, j] = exp(x[n, c, i, j] - max[k](x[n, k, i, j]))\n"
        "y[n, c, i, j] = e[n, c, i, j] / sum[k](e[n, k, i, j])",
        {"x": (8, 21, 64, 64)},
        lambda x: functional.softmax(x, 1),
    ),
    Layer(
        "layer norm",
        MEAN.format(n=768) + "y[i, j] = (x[i, j] - m[i]) / sqrt(v[i] + 1e-5) * g[j] + b[j]",
        {"x": (1024, 768), "g": (768,), "b": (768,)},
        lambda x, g, b: functional.layer_norm(x, (768,), g, b),
    ),
    Layer(
        "RMS norm",
        "y[i, j] = x[i, j] / sqrt(sum[k](x[i, k]**2) / 768 + 1e-5) * g[j]",
        {"x": (1024, 768), "g": (768,)},
        lambda x, g: functional.rms_norm(x, (768,), g, 1e-5),
    ),
    Layer(
        "batch norm",
        "m[c] = sum[n, i, j](x[n, c, i, j]) / 6272\n"
        "v[c] = sum[n, i, j]((x[n, c, i, j] - m[c])**2) / 6272\n"
        "y[n, c, i, j] = (x[n, c, i, j] - m[c]) / sqrt(v[c] + 1e-5) * g[c] + b[c]",
        {"x": (8, 64, 28, 28), "g": (64,), "b": (64,)},
        lambda x, g, b: functional.batch_norm(x, None, None, g, b, training=True),
    ),
    Layer(
        "group norm",
        "m[n, g] = sum[c in range(8), i, j](x[n, 8*g + c, i, j]) / 6272\n"
        "v[n, g] = sum[c in range(8), i, j]((x[n, 8*g + c, i, j] - m[n, g])**2) / 6272\n"
        "y[n, c, i, j] = (x[n, c, i, j] - m[n, c // 8]) / sqrt(v[n, c // 8] + 1e-5) * a[c] + b[c]",
        {"x": (8, 64, 28, 28), "a": (64,), "b": (64,)},
        lambda x, a, b: functional.group_norm(x, 8, a, b),
    ),
    Layer(
        "max pooling 2x2",
        "y[n, c, i in range(28), j in range(28)] = "
        "max[u in range(2), v in range(2)](x[n, c, 2*i + u, 2*j + v])",
        {"x": (16, 64, 56, 56)},
        lambda x: functional.max_pool2d(x, 2),
    ),
    Layer(
        "upsampling by 2",
        "y[n, c, i in range(56), j in range(56)] = x[n, c, i // 2, j // 2]",
        {"x": (16, 32, 28, 28)},
        lambda x: functional.interpolate(x, scale_factor=2, mode="nearest"),
    ),
    Layer(
        "GELU",
        "y[i, j] = x[i, j] * 0.5 * (1 + erf(x[i, j] * 0.7071067811865476))",
        {"x": (1024, 768)},
        functional.gelu,
    ),
    Layer(
        "heads side by side",
        "y[b, t, k in range(512)] = x[b, k // 64, t, k % 64]",
        {"x": (4, 8, 256, 64)},
        lambda x: x.transpose(1, 2).reshape(4, 256, 512),
    ),
    Layer("attention", ATTENTION, HEADS, functional.scaled_dot_product_attention),
    Layer(
        "causal attention",
        "s[h, i, j] = sum[d](q[h, i, d] * k[h, j, d]) * 0.125\n"
        "m[h, i] = max[j in range(i + 1)](s[h, i, j])\n"
        "z[h, i] = sum[j in range(i + 1)](exp(s[h, i, j] - m[h, i]))\n"
        "y[h, i, d] = sum[j in range(i + 1)](exp(s[h, i, j] - m[h, i]) * v[h, j, d]) / z[h, i]",
        HEADS,
        lambda q, k, v: functional.scaled_dot_product_attention(q, k, v, is_causal=True),
    ),
    Layer(
        "attention of one projection",
        PROJECTED,
        {"p": (2, 128, 1536)},
        _attention_of_one,
    ),
    Layer(
        "halves gated by each other",
        "g[n, j] = sum[k](x[n, k] * w[j, k])\n"
        "y[n, j in range(256)] = g[n, j] / (1 + exp(-g[n, j + 256]))",
        {"x": (256, 256), "w": (512, 256)},
        lambda x, w: functional.glu(functional.linear(x, w)),
    ),
    Layer(
        "cell of an LSTM",
        CELL,
        {
            **{"x": (64, 256), "h": (64, 128), "c": (64, 128)},
            **{"w": (512, 256), "u": (512, 128), "b": (512,)},
        },
        _cell,
    ),
    Layer(
        "similarities of all others",
        "y[i] = log(sum[j](exp(sum[k](z[i, k] * z[j, k]) * 0.125) if i != j else 0))",
        {"z": (256, 64)},
        _contrast,
    ),
    Layer(
        "averages that forget",
        "y[i, j] = sum[k in range(j + 1)](0.9**(j - k) * x[i, k])",
        {"x": (256, 256)},
        _average,
    ),
    Layer(
        "Euclidean distances",
        "y[i, j] = sqrt(sum[k]((a[i, k] - b[j, k])**2) + 1e-6)",
        {"a": (512, 64), "b": (512, 64)},
        torch.cdist,
    ),
    Layer(
        "cumulative sums",
        "y[i, j] = sum[k in range(j + 1)](x[i, k])",
        {"x": (512, 256)},
        lambda x: torch.cumsum(x, 1),
    ),
)


def runs(layer: Layer) -> dict[str, tuple[Run, Run]]:
    """Each part in tadc and in torch, whose results agree."""
    rng = np.random.default_rng(0)
    arrays = {name: normal(rng, *shape) for name, shape in layer.shapes.items()}
    f = tadc.compile(layer.source)
    own = [arrays[t.name] for t in f.args]
    tensors = [torch.from_numpy(a) for a in arrays.values()]
    leaves = [t.clone().requires_grad_() for t in tensors]
    y, pullback = tadc.vjp(f, *own)
    dy = normal(rng, *y.shape)
    gradients = torch.autograd.grad(layer.torch(*leaves), leaves, torch.from_numpy(dy))
    expected = dict(zip(arrays, gradients, strict=True))
    _compare(layer, y, layer.torch(*tensors))
    for argument, gradient in zip(f.args, pullback(dy), strict=True):
        _compare(layer, gradient, expected[argument.name])

    def by_torch() -> Any:
        return torch.autograd.grad(layer.torch(*leaves), leaves, torch.from_numpy(dy))

    value: tuple[Run, Run] = lambda: f(*own), lambda: layer.torch(*tensors)
    return dict(zip(PARTS, (value, (lambda: tadc.vjp(f, *own)[1](dy), by_torch)), strict=True))


def _compare(layer: Layer, found: Array, expected: torch.Tensor) -> None:
    difference = np.abs(found - expected.numpy()).max()
    if difference > LIMIT * max(1.0, float(expected.abs().max())):
        raise ValueError(f"{layer.name}: differs from torch by {difference:.1e}")


def cell(own: Times, other: Times, limit: float) -> str:
    """Milliseconds, and the multiple of torch."""
    ratio = own.minimum / other.minimum
    shown = tables.multiple(ratio, limit)
    return f"{own.minimum * 1e3:.3f} ({shown})"


def table(layers: Sequence[Layer], limit: float, rounds: int) -> str:
    """A row for each layer, and the geometric means."""
    rows: list[list[str]] = []
    ratios: dict[str, list[float]] = {part: [] for part in PARTS}
    for layer in layers:
        row = [layer.name]
        for part, (own, other) in runs(layer).items():
            times = measure({"tadc": own, "torch": other}, rounds=rounds, share=0.1)
            row.append(cell(times["tadc"], times["torch"], limit))
            ratios[part].append(times["tadc"].minimum / times["torch"].minimum)
        rows.append(row)
        print(" | ".join(row), flush=True)
    means = [f"{geometric_mean(found):.2f}x" for found in ratios.values()]
    return tables.markdown(["ms of tadc (x torch)", *PARTS], [*rows, ["geometric mean", *means]])


def main() -> None:
    """Measure all layers, and print the table; save it if asked."""
    parser = argparse.ArgumentParser(description="Layers of networks beside torch's functions.")
    parser.add_argument("--only", nargs="+", default=[""], help="layers whose names hold these")
    parser.add_argument("--threads", type=int, default=1, help="of both")
    parser.add_argument("--limit", type=float, default=1.5, help="multiples above are bold")
    parser.add_argument("--rounds", type=int, default=6, help="turns of each")
    parser.add_argument(
        "--save", action="store_true", help="write benchmarks/results/layers-<date>"
    )
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    tadc.set_num_threads(options.threads)
    start = time.perf_counter()
    chosen = [e for e in LAYERS if any(name in e.name for name in options.only)]
    text = table(chosen, options.limit, options.rounds)
    print(f"\n{text}\n\nin {time.perf_counter() - start:.0f} s")
    if options.save:
        machine.save("layers", "Layers of networks beside torch", options.threads, text)


if __name__ == "__main__":
    main()
