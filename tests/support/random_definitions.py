"""Random programs of many small definitions that read each other, beside long sums.

    f0[i] = sum[k](z[i, k] * c[k])
    f1[i] = b[i] * 2
    f2[i, k] = f1[i] * tanh(z[i, k])
    f3[i] = f0[i] + b[i]

So each may be computed with some others, in rows, strips, streams or blocks, ahead of what it reads
nothing of.
"""

from __future__ import annotations

import random

import numpy as np

from tests.support.derivations import Case

ROWS, COLUMNS = 19, 18
"""Sizes of what all reads: more than a vector has."""

KINDS = {"i": (ROWS,), "k": (COLUMNS,), "ik": (ROWS, COLUMNS), "": ()}
"""The indices of a definition, and their sizes."""

FUNCTIONS = ("{}", "{}", "2 * {}", "tanh({})", "abs({})", "({})**2", "1 / (2 + ({})**2)")


def random_definitions(rng: random.Random) -> Case:
    """A program of five to eleven definitions, of which some are results."""
    tensors = {"z": "ik", "b": "i", "c": "k"}
    lines = ["z: real[I, K]", "b: real[I]", "c: real[K]"]
    for n in range(rng.randint(5, 11)):
        own = rng.choice(["i", "i", "i", "k", "k", "ik", "ik", "ik", ""])
        ranges = ", ".join(f"{v} in range({v.upper()})" for v in own)
        head = f"f{n}[{ranges}]" if own else f"f{n}"
        lines.append(f"{head} = {_value(rng, tensors, own)}")
        tensors[f"f{n}"] = own
    made = [name for name in tensors if name.startswith("f")]
    results = sorted({made[-1], *rng.sample(made, rng.randint(0, 3))}, key=made.index)
    numbers = np.random.default_rng(rng.randrange(1 << 30))
    arguments = {name: numbers.uniform(-1, 1, KINDS[tensors[name]]) for name in ("z", "b", "c")}
    return Case("\n".join([*lines, f"return {', '.join(results)}"]), arguments)


def _value(rng: random.Random, tensors: dict[str, str], own: str) -> str:
    """A value of these indices: of elements of tensors, and of sums over the others."""
    parts = [_term(rng, tensors, own) for _ in range(rng.choice([1, 2, 2, 3]))]
    missing = [v for v in "ik" if v not in own]
    if missing and rng.random() < (0.6 if own else 1):
        over = missing if not own else [rng.choice(missing)]
        kind = rng.choice(["sum", "sum", "sum", "sum", "max"])
        term = " * ".join(_term(rng, tensors, own + v) for v in over)
        term = f"{term} * {_read(rng, tensors, 'ik', set(over))}"
        ranges = ", ".join(f"{v} in range({v.upper()})" for v in over)
        parts[0] = f"{kind}[{ranges}]({term}) / 10"
    elif not own:
        parts = ["1"]
    return rng.choice([" + ", " * ", " - "]).join(parts)


def _term(rng: random.Random, tensors: dict[str, str], own: str) -> str:
    return rng.choice(FUNCTIONS).format(_read(rng, tensors, own, set()))


def _read(rng: random.Random, tensors: dict[str, str], own: str, needed: set[str]) -> str:
    """An element of a tensor that has no other indices than these, and all that are needed: the
    newest ones are read more often."""
    found = [name for name, k in tensors.items() if {*k} <= {*own} and needed <= {*k}]
    if not found:
        return "1"
    name = found[max(rng.randrange(len(found)), rng.randrange(len(found)))]
    indices = tensors[name]
    if len(indices) == 2 and rng.random() < 0.15:
        return f"pad({name}[i, k - 1])" if rng.random() < 0.5 else f"pad({name}[i - 1, k])"
    return f"{name}[{', '.join(indices)}]" if indices else name
