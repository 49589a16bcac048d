"""Random valid programs with index tensors, as text, with arguments and a meaning in Python.

    program = random_index_program(random.Random(seed))
    tadc.compile(program.source).call([], program.arguments)   against   program.reference()

An expression is generated twice, in the language and in Python. Ends of indices and of elements are
affine in the sizes; an argument is declared as large as its forms reach, for any sizes.
"""

from __future__ import annotations

import math
import random
import re
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tests.support.random_index_forms import Atom, IndexTensor, Lin
from tests.support.random_index_values import IndexValues

KINDS = ("uniform", "few", "sorted", "one")
"""The kinds of index arrays that are drawn."""


@dataclass
class IndexProgram:
    """A program, its arguments, and the definitions as Python evaluates them."""

    source: str
    arguments: dict[str, Any]
    sizes: dict[str, int]
    definitions: list[tuple[str, list[tuple[str, str, str]], str]]
    updated: list[str] = field(default_factory=list)

    def reference(self) -> dict[str, np.ndarray]:
        """All definitions, evaluated by Python."""
        tensors = {**self.arguments}
        scope = {**MEANING, **self.sizes, "T": tensors}
        scope |= {n: a for n, a in self.arguments.items() if np.ndim(a) or n == "q"}
        for name, heads, python in self.definitions:
            scope["T"] = {**tensors}
            old = tensors.get(name)
            shape = [max(0, eval(end, scope)) for _, _, end in heads]
            result = np.empty(shape if old is None else old.shape)
            code = compile(python, "<definition>", "eval")
            for point in np.ndindex(result.shape):
                local = dict(zip((h[0] for h in heads), point, strict=True))
                result[point] = eval(code, scope | local)
            tensors[name] = result
        return {name: tensors[name] for name, _, _ in self.definitions}


def _read(tensors: dict[str, np.ndarray], name: str, *at: int) -> float:
    inside = all(0 <= e < n for e, n in zip(at, tensors[name].shape, strict=True))
    assert inside, f"{name}{list(at)} of shape {tensors[name].shape}"
    return float(tensors[name][at])


def _pad(tensors: dict[str, np.ndarray], name: str, otherwise: float, *at: int) -> float:
    inside = all(0 <= e < n for e, n in zip(at, tensors[name].shape, strict=True))
    return float(tensors[name][at]) if inside else otherwise


def _clamp(tensors: dict[str, np.ndarray], name: str, *at: int) -> float:
    shape = tensors[name].shape
    nearest = (min(max(e, 0), n - 1) for e, n in zip(at, shape, strict=True))
    return float(tensors[name][tuple(nearest)])


MEANING: dict[str, Any] = {
    "READ": _read,
    "PAD": _pad,
    "CLAMP": _clamp,
    "MAX": lambda terms: max(terms, default=-math.inf),
    "MIN": lambda terms: min(terms, default=math.inf),
    "PROD": math.prod,
    **{n: getattr(math, n) for n in ("sin", "exp", "tanh")},
}


def random_index_program(rng: random.Random, **options: Any) -> IndexProgram:
    """A program, the same for the same state of `rng`."""
    return _Generator(rng, **options).program()


class _Generator(IndexValues):
    """Declarations, definitions and arguments."""

    def program(self) -> IndexProgram:
        rng = self.rng
        for name in "abc"[: rng.choice([1, 1, 2, 2, 3])]:
            rank = rng.choice([1, 1, 1, 1, 2])
            shape = tuple(self.size() for _ in range(rank))
            if rank == 1 and self.chance(0.1):
                shape = (shape[0] * rng.choice([1, 2]) + rng.choice([0, 1, 2]),)
            end: Lin | None = self.size() + rng.choice([0, 0, 0, 0, 1])
            if self.chance(0.08):
                end = None
            self.indices[name] = IndexTensor(shape, end, end is not None and self.chance(0.2))
        if self.chance(0.15):
            self.indices["q"] = IndexTensor((), self.size())
        lines, definitions, updated = [], [], []
        for n in range(rng.choice([1, 1, 1, 2, 2, 3])):
            self.nodes = 0
            line, definition = self.definition("fgh"[n])
            lines.append(line)
            definitions.append(definition)
        if self.chance(0.15):
            line, definition, name = self.update()
            lines.append(line)
            definitions.append(definition)
            updated.append(name)
        lines = [line.replace("[()]", "") for line in lines]
        forms = [form for shape in self.all_shapes() for form in shape]
        told = {s for form in forms if len(form.sizes) == 1 for s in form.sizes}
        words = set(re.findall(r"\b[NMEV]\b", "\n".join([*lines, *map(str, forms)])))
        ends = {s for t in self.indices.values() if t.end for s in t.end.sizes}
        self.given = sorted((words | ends) - told)
        declared = [f"{size}: size" for size in self.given]
        declared += [t.declaration(n) for n, t in self.indices.items()]
        for name, shape in self.reals.items():
            declared.append(f"{name}: {self.dtype}[{', '.join(map(str, shape))}]")
        source = "\n".join([*declared, *lines]) + "\n"
        return IndexProgram(source, self.arguments(), self.sizes, definitions, updated)

    def all_shapes(self) -> list[tuple[Lin, ...]]:
        """The shapes of all arguments."""
        return [*(t.shape for t in self.indices.values()), *self.reals.values()]

    def count(self, form: Lin) -> int:
        return max(0, form.constant + sum(c * self.sizes[s] for s, c in form.sizes.items()))

    def arguments(self) -> dict[str, Any]:
        draw = np.random.default_rng(self.rng.getrandbits(32))
        found: dict[str, Any] = {}
        for t in self.indices.values():
            if t.end is not None and all(map(self.count, t.shape)) and not self.count(t.end):
                for size in t.end.sizes:
                    self.sizes[size] = max(1, self.sizes[size])
        for name, t in self.indices.items():
            shape = [self.count(f) for f in t.shape]
            if t.end is None:
                found[name] = draw.integers(-3, 7, shape)
                continue
            below = max(1, self.count(t.end))
            x = np.asarray(draw.integers(0, below, shape))
            kind = "sorted" if t.is_sorted else self.rng.choice(KINDS)
            if kind == "few":
                x = np.minimum(x, 1 if below > 1 else 0)
            if kind == "one" and x.size:
                x[...] = x.flat[0]
            if kind == "sorted":
                x = np.sort(x, axis=None).reshape(shape)
            found[name] = x
        dtype = np.float32 if self.dtype == "f32" else np.float64
        for name, shape in self.reals.items():
            found[name] = draw.uniform(-1, 1, [self.count(f) for f in shape]).astype(dtype)
        return found

    def definition(self, name: str) -> tuple[str, tuple[str, list[tuple[str, str, str]], str]]:
        atoms: list[Atom] = []
        heads: list[tuple[str, str, str]] = []
        for index in "ij"[: self.rng.choice([0, 1, 1, 1, 2])]:
            end = self.size() + self.rng.choice([0, 0, 0, 1])
            heads.append((index, f"{index} in range({end})", str(end)))
            atoms.append(Atom(index, end))
        value = self.value(atoms, 3)
        shape = tuple(a.end for a in atoms)
        head = f"{name}[{', '.join(h[1] for h in heads)}]" if heads else name
        self.defined[name] = shape
        return f"{head} = {value.text}", (name, heads, value.python)

    def update(self) -> tuple[str, tuple[str, list[tuple[str, str, str]], str], str]:
        name, end = "p", self.size()
        self.reals[name] = (end,)
        value = self.value([Atom("i", end)], 2)
        python = f"READ(T, 'p', i) + ({value.python})"
        return f"p[i] += {value.text}", (name, [("i", "i", str(end))], python), name
