"""Random sums of products, read at affine forms that conditions keep within their tensors."""

from __future__ import annotations

import random

import numpy as np

from tests.support.derivations import Case


def random_sum(rng: random.Random) -> Case:
    """A sum of products, read at random forms in its indices and those of the result."""
    own, outer = ["k", "l"][: rng.randint(1, 2)], ["i", "j"][: rng.randint(1, 2)]
    lengths = {v: rng.choice([3, 6, 20]) for v in own} | {v: rng.randint(2, 6) for v in outer}
    point = {v: rng.randrange(n) for v, n in lengths.items()}
    shapes: dict[str, tuple[int, ...]] = {}
    conditions: list[str] = []

    def form(size: int) -> str:
        """A form that at `point` is from 0 to `size`."""
        used = rng.sample([*own, *outer], rng.choice([1, 2, 2, 3 if len(lengths) > 2 else 2]))
        parts = [(rng.choice([1, 1, 1, -1, -1, 2, -2, 3]), v) for v in used]
        offset = rng.randrange(size) - sum(c * point[v] for c, v in parts)
        return " + ".join([*(f"{c}*{v}" for c, v in parts), str(offset)])

    def read(name: str) -> str:
        shapes[name] = tuple(rng.randint(2, 9) for _ in range(rng.randint(1, 2)))
        forms = [form(size) for size in shapes[name]]
        pairs = zip(forms, shapes[name], strict=True)
        conditions.extend(f"0 <= {text} < {size}" for text, size in pairs)
        return f"{name}[{', '.join(forms)}]"

    factors = [read(name) for name in "abc"[: rng.randint(1, 3)]]
    term = " * ".join([*factors, *([f"({rng.choice(own)} // 2)"] if rng.random() < 0.2 else [])])
    bounds = [f"{v} in range({lengths[v]})" for v in own]
    body = f"sum[{', '.join(bounds)}]({term} if {' and '.join(conditions)} else 0)"
    result = ", ".join(f"{v} in range({lengths[v]})" for v in outer)
    lines = [f"{name}: f64[{', '.join(map(str, shape))}]" for name, shape in shapes.items()]
    numbers = np.random.default_rng(rng.randrange(1 << 30))
    arguments = {name: numbers.uniform(0.5, 1.5, shape) for name, shape in shapes.items()}
    return Case("\n".join([*lines, f"y[{result}] = {body}"]), arguments)
