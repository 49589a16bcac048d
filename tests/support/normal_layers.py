"""Random normalisations, over any axes."""

from __future__ import annotations

import random
from math import prod
from typing import Any

from tests.support.torch_layers import CHANNELS, SIDES, Layer, joined, torch

SMALL = 0.125
"""Added to variances: they differ from 0 then."""


def random_normalisation(rng: random.Random) -> tuple[Layer, int]:
    """Softmax, or elements by their mean and variance, over any axes of a tensor."""
    rank = rng.choice([1, 2, 2, 3, 4])
    sizes = [rng.choice(rng.choice([SIDES, CHANNELS])) for _ in range(rank)]
    axes = sorted(rng.sample(range(rank), rng.randint(1, rank)))
    own = "ijkl"[:rank]
    inner = [own[a].upper() if a in axes else own[a] for a in range(rank)]
    summed = joined(rng, [own[a].upper() for a in axes], ", ")
    kept = [own[a] for a in range(rank) if a not in axes]
    at = lambda name, indices: f"{name}[{', '.join(indices)}]" if indices else name
    count = prod(sizes[a] for a in axes)
    x, x2 = at("x", list(own)), at("x", inner)
    m, v = at("m", kept), at("v", kept)
    e, e2 = at("e", list(own)), at("e", inner)
    y = at("y", list(own))
    g = "g[" + ", ".join(own[a] for a in axes) + "]"
    shapes = {"x": tuple(sizes)}
    kind = rng.choice(["softmax", "log-softmax", "standard", "affine", "root", "length"])
    if kind == "softmax":
        lines = [f"{e} = exp({x} - max[{summed}]({x2}))", f"{y} = {e} / sum[{summed}]({e2})"]
        reference: Any = lambda x: torch.exp(x - torch.logsumexp(x, axes, keepdim=True))
    elif kind == "log-softmax":
        lines = [
            f"{m} = max[{summed}]({x2})",
            f"{y} = {x} - ({m} + log(sum[{summed}](exp({x2} - {m}))))",
        ]
        reference = lambda x: x - torch.logsumexp(x, axes, keepdim=True)
    elif kind in ("standard", "affine"):
        lines = [
            f"{m} = sum[{summed}]({x2}) / {count}",
            f"{v} = sum[{summed}](({x2} - {m})**2) / {count}",
            f"{y} = ({x} - {m}) / sqrt({v} + {SMALL})",
        ]
        standard = lambda x: (
            (x - x.mean(axes, keepdim=True))
            / torch.sqrt(x.var(axes, correction=0, keepdim=True) + SMALL)
        )
        reference = standard
        if kind == "affine":
            lines[-1] += f" * {g} + {g.replace('g', 'h', 1)}"
            shapes |= dict.fromkeys("gh", tuple(sizes[a] for a in axes))
            wide = [n if a in axes else 1 for a, n in enumerate(sizes)]
            reference = lambda x, g, h: standard(x) * g.reshape(wide) + h.reshape(wide)
    elif kind == "root":
        lines = [f"{y} = {x} / sqrt(sum[{summed}]({x2}**2) / {count} + {SMALL})"]
        reference = lambda x: x / torch.sqrt((x**2).mean(axes, keepdim=True) + SMALL)
    else:
        lines = [f"{v} = sqrt(sum[{summed}]({x2}**2))", f"{y} = {x} / {v}"]
        reference = lambda x: x / torch.sqrt((x**2).sum(axes, keepdim=True))
    return Layer("\n".join(lines), shapes, reference, linear=False), 30 * prod(sizes)
