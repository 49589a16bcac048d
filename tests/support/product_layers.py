"""Random products of tensors: of matrices, of batches, of heads side by side, of pairs of rows."""

from __future__ import annotations

import random
from math import prod
from typing import Any

from tests.support.torch_layers import CHANNELS, SIDES, Layer, Shape, joined, torch

SIZES = tuple(sorted({*CHANNELS, *SIDES}))


def random_product(rng: random.Random) -> tuple[Layer, int]:
    """Of two or three tensors, each with some of the indices in any order, also two in one axis."""
    names = "abc"[: rng.choice([2, 2, 3])]
    letters = "ijklmn"[: rng.randint(2, 5 if len(names) == 2 else 6)]
    size = {v: rng.choice(SIZES) for v in letters}
    owners = {v: rng.sample(names, rng.choice([1, 2, 2, len(names)])) for v in letters}
    operands = {a: [v for v in letters if a in owners[v]] for a in names}
    output = [v for v in letters if rng.random() < (0.75 if len(owners[v]) == 1 else 0.4)]
    for axes in (*operands.values(), output):
        rng.shuffle(axes)
    merged = {a: rng.random() < 0.2 and len(axes) > 1 for a, axes in operands.items()}
    flat = rng.random() < 0.2 and len(output) > 1
    texts = {v: v for v in letters}
    if flat:  # the last two axes of the result are one
        first, second = output[-2:]
        texts |= {first: f"t // {size[second]}", second: f"t % {size[second]}"}
    factors = [_element(a, axes, texts, size, merged[a]) for a, axes in operands.items()]
    factors.sort(key=lambda text: "[" not in text)
    unranged = {v for a in names if merged[a] for v in operands[a][-2:]}
    index = lambda v: f"{v} in range({size[v]})" if v in unranged else v
    head = [index(v) for v in (output[:-2] if flat else output)]
    head += [f"t in range({size[output[-2]] * size[output[-1]]})"] if flat else []
    term = joined(rng, factors, " * ")
    summed = [index(v) for v in letters if v not in output]
    total = f"sum[{joined(rng, summed, ', ')}]({term})" if summed else term
    source = f"y[{', '.join(head)}] = {total}" if head else f"y = {total}"
    equation = f"{','.join(''.join(operands[a]) for a in names)}->{''.join(output)}"
    shapes = {a: tuple(size[v] for v in axes) for a, axes in operands.items()}

    def reference(*tensors: Any) -> Any:
        pairs = zip(tensors, shapes.values(), strict=True)
        y = torch.einsum(equation, *(t.reshape(shape) for t, shape in pairs))
        return y.flatten(-2) if flat else y

    given = {a: _joined_axes(shape) if merged[a] else shape for a, shape in shapes.items()}
    elements = prod(size[v] for v in output)
    return Layer(source, given, reference), max(prod(size.values()), 30 * elements)


def _joined_axes(shape: Shape) -> Shape:
    return (*shape[:-2], shape[-2] * shape[-1])


def _element(
    name: str, axes: list[str], texts: dict[str, str], size: dict[str, int], merged: bool
) -> str:
    """An element of a tensor of these indices, the last two of which may be one axis."""
    forms = [texts[v] for v in axes]
    if merged:
        high = f"({forms[-2]})" if " " in forms[-2] else forms[-2]
        forms[-2:] = [f"{high}*{size[axes[-1]]} + {forms[-1]}"]
    return f"{name}[{', '.join(forms)}]" if forms else name


# --- attention ------------------------------------------------------------------------------------


def random_attention(rng: random.Random) -> tuple[Layer, int]:
    """Of heads in front, or side by side in the last axis; of all places, or of those before."""
    batch, heads = rng.choice([1, 1, 2, 3]), rng.choice([1, 2, 3, 4, 8])
    length, depth = rng.choice([s for s in SIDES if s > 1]), rng.choice([3, 8, 16, 17, 32, 33, 64])
    layout = rng.choice(["b h t d", "b t h d", "b t (h d)"])
    causal = rng.random() < 0.4

    def element(name: str, t: str, d: str) -> str:
        places = {"b h t d": f"b, h, {t}, {d}", "b t h d": f"b, {t}, h, {d}"}
        return f"{name}[{places.get(layout, f'b, {t}, h*{depth} + {d}')}]"

    j = "j in range(i + 1)" if causal else f"j in range({length})"
    d = f"d in range({depth})"
    head = f"b, h in range({heads}), i in range({length})"
    scale = 0.25
    score = f"sum[{d}]({element('q', 'i', 'd')} * {element('k', 'j', 'd')}) * {scale}"
    lines = [
        f"s[{head}, j in range({length})] = {score}",
        f"m[{head}] = max[{j}](s[b, h, i, j])",
        f"e[{head}, j in range({length})] = exp(s[b, h, i, j] - m[b, h, i])",
        f"z[{head}] = sum[{j}](e[b, h, i, j])",
    ]
    total = f"sum[{j}](e[b, h, i, j] * {element('v', 'j', 'd')}) / z[b, h, i]"
    if layout == "b t (h d)":
        width = heads * depth
        total = total.replace(f"h*{depth} + d", "f").replace(", h,", f", f // {depth},")
        lines.append(f"y[b, i in range({length}), f in range({width})] = {total}")
    elif layout == "b t h d":
        lines.append(f"y[b, i in range({length}), h, {d}] = {total}")
    else:
        lines.append(f"y[{head}, {d}] = {total}")
    shape = {"b h t d": (batch, heads, length, depth), "b t h d": (batch, length, heads, depth)}
    shapes = dict.fromkeys("qkv", shape.get(layout, (batch, length, heads * depth)))

    def apart(x: Any) -> Any:
        if layout == "b h t d":
            return x
        return x.reshape(batch, length, heads, depth).transpose(1, 2)

    def reference(q: Any, k: Any, v: Any) -> Any:
        function = torch.nn.functional.scaled_dot_product_attention
        y = function(apart(q), apart(k), apart(v), is_causal=causal, scale=scale)
        if layout == "b h t d":
            return y
        y = y.transpose(1, 2)
        return y if layout == "b t h d" else y.flatten(-2)

    products = batch * heads * length**2 * (2 * depth + 30)
    return Layer("\n".join(lines), shapes, reference, linear=False), products


# --- pairs ----------------------------------------------------------------------------------------

FUNCTIONS = {
    "distances": "sum[{d}]((a[{i}] - c[{j}])**2)",
    "gaussian": "exp(-0.5 * sum[{d}]((a[{i}] - c[{j}])**2))",
    "laplacian": "exp(-0.125 * sum[{d}](abs(a[{i}] - c[{j}])))",
    "rational": "1 / (1 + sum[{d}]((a[{i}] - c[{j}])**2))",
    "polynomial": "(1 + 0.25 * sum[{d}](a[{i}] * c[{j}]))**3",
    "steep": "tanh(0.25 * sum[{d}](a[{i}] * c[{j}]))",
}


def _pairs_in_torch(kind: str, a: Any, c: Any) -> Any:
    """`a` and `c` are matrices, or batches of matrices, of rows."""
    if kind in ("polynomial", "steep"):
        products = 0.25 * a @ c.transpose(-1, -2)
        return (1 + products) ** 3 if kind == "polynomial" else torch.tanh(products)
    differences = a[..., :, None, :] - c[..., None, :, :]
    if kind == "laplacian":
        return torch.exp(-0.125 * differences.abs().sum(-1))
    squares = (differences**2).sum(-1)
    if kind == "distances":
        return squares
    return torch.exp(-0.5 * squares) if kind == "gaussian" else 1 / (1 + squares)


def random_pairs(rng: random.Random) -> tuple[Layer, int]:
    """A function of all pairs of rows of two matrices, or of one: all values, or weighted sums."""
    kind = rng.choice(list(FUNCTIONS))
    rows, others = rng.choice(CHANNELS) * rng.choice([1, 3]), rng.choice(CHANNELS)
    width, batch = rng.choice([1, 2, 3, 5, 8, 17, 33, 64]), rng.choice([0, 0, 0, 2, 5])
    one, summed = rng.random() < 0.3, rng.random() < 0.5
    n = "n, " if batch else ""
    across = rng.random() < 0.25  # rows of numbers that belong together, or columns
    row = lambda v: f"{n}d, {v}" if across else f"{n}{v}, d"
    term = FUNCTIONS[kind].format(i=row("i"), j=row("j"), d="d")
    term = term.replace("c[", "a[") if one else term
    front = (batch,) if batch else ()
    matrix = lambda r: (*front, width, r) if across else (*front, r, width)
    shapes = {"a": matrix(rows)} | ({} if one else {"c": matrix(others)})
    source = f"y[{n}i, j] = {term}"
    columns = rows if one else others
    if summed:
        source = f"y[{n}i] = sum[j]({term} * g[{n}j])"
        shapes["g"] = (*front, columns)

    def reference(a: Any, *rest: Any) -> Any:
        given = [a, a, *rest] if one else [a, *rest]
        a, c = (t.transpose(-1, -2) if across else t for t in given[:2])
        y = _pairs_in_torch(kind, a, c)
        return (y * given[2][..., None, :]).sum(-1) if summed else y

    products = max(1, batch) * rows * columns * (width + 20)
    return Layer(source, shapes, reference, linear=False), products
