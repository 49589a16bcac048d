"""Expressions of random updates: elements of a state, parameters and temporaries.

Parameters and temporaries come with the expressions that read them.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

LETTERS = "ijk"

Shape = tuple[int, ...]


class Unfit(Exception):
    """A move that these shapes do not allow."""


def element(name: str, indices: Sequence[object]) -> str:
    """`x[i, j]`, and `x` without indices."""
    return f"{name}[{', '.join(map(str, indices))}]" if indices else name


SHAPES: tuple[tuple[Shape, ...], ...] = (
    *(((), (3,)), ((4,),), ((5,), (5,)), ((9,),), ((10,), (10,)), ((12,),), ((2, 3), (3,))),
    *(((3, 3),), ((4,), (3,)), ((2, 3), (6,)), ((2, 2, 3),), ((2, 2), (2, 2), (2,))),
    *(((2, 9),), ((2, 4), (2, 4)), ((1,), (2,)), ((4, 3), (3,)), ((2, 3, 2), (3,), ())),
    *(((7,), (1,), (7,)), ((9, 2),), ((3, 3), (3, 3)), ((2, 2, 2), (2, 2, 2)), ((), ())),
)


class Expressions:
    """Texts for one program in the making, which is a list of `lines`."""

    def __init__(self, rng: random.Random, dtype: str):
        self.rng = rng
        self.dtype = dtype
        self.state: dict[str, Shape] = dict(zip("xyz", rng.choice(SHAPES), strict=False))
        self.parameters: dict[str, Shape] = {}
        self.temporaries: dict[str, Shape] = {}
        self.style = rng.choice(("numbers", "numbers", "names", "names", "mixed", "none"))
        self.count = rng.choice((1, 1, 2, 2, 3))
        self.sizes: dict[int, str] = {}
        self.lines: list[str] = []
        self.moves: list[str] = []
        self.flips: dict[int, str] = {}

    def chance(self, probability: float) -> bool:
        return self.rng.random() < probability

    def shapes(self) -> list[tuple[str, Shape]]:
        return list(self.state.items())

    def size(self, n: int) -> str:
        """The text of a size: the same for the same size."""
        if self.style == "none":
            raise Unfit
        if n not in self.sizes:
            named = self.style == "names" or (self.style == "mixed" and self.chance(0.5))
            self.sizes[n] = "KLMNPQRS"[len(self.sizes)] if named else str(n)
        return self.sizes[n]

    def indices(self, name: str) -> list[str]:
        return list(LETTERS[: len(self.shape(name))])

    def shape(self, name: str) -> Shape:
        return {**self.state, **self.parameters, **self.temporaries}[name]

    def parameter(self, shape: Shape) -> str:
        known = [name for name, s in self.parameters.items() if s == shape]
        if known and self.chance(0.5):
            return self.rng.choice(known)
        name = f"w{len(self.parameters)}"
        self.parameters[name] = shape
        return name

    def bent(self, x: str, rest: str = "0.5") -> str:
        """A function of `x` with a derivative between 1 and 3; `rest` is anything else."""
        forms = (
            *("1.5 * {x}", "{x}", "-2 * {x}", "2 * {x} + sin({x})", "{x} + 0.5 * tanh({x})"),
            *("2 * {x} + abs({x})", "max(2 * {x}, 3 * {x})", "{x} * (2 + sin({r}))"),
            *("(2 * {x} if {x} > 0.1 else -1.5 * {x})", "{x} / (0.7 + 0.3 * cos({r}))"),
            *("{x} * exp(sigmoid({r}))", "({x} if {r} > 0.2 else 2 * {x})"),
        )
        return self.rng.choice(forms).format(x=x, r=rest)

    def others(self, name: str, indices: Sequence[str]) -> str:
        """A number at each of these indices that does not depend on `name`, as far as is known."""
        terms = [self.other(name, indices) for _ in range(self.rng.choice((1, 1, 2)))]
        return " + ".join(terms)

    def other(self, name: str, indices: Sequence[str]) -> str:
        tensors = [v for v in self.state if v != name]
        defined = [v for v in self.temporaries if any(x.startswith(v) for x in self.lines)]
        if defined and self.chance(0.4):
            tensors = defined
        if not tensors or self.chance(0.2):
            shape = self.rng.choice(((), self.shape(name)[: len(indices)]))
            return element(self.parameter(shape), indices[: len(shape)])
        if self.chance(0.2):
            return self.temporary(self.rng.choice(tensors), name, indices)
        return self.read(self.rng.choice(tensors), name, indices)

    def temporary(self, source: str, name: str, indices: Sequence[str]) -> str:
        """A new temporary of the shape of `source`, and a read of it."""
        label = f"t{len(self.temporaries)}"
        own, shape = self.indices(source), self.shape(source)
        head = own
        if self.style != "none" and self.chance(0.5):
            head = [f"{i} in range({self.size(n)})" for i, n in zip(own, shape, strict=True)]
        more = self.read(self.rng.choice(list(self.state)), source, own)
        body = f"tanh({element(source, own)}) + 0.1 * {more}"
        self.lines.append(f"{element(label, head)} = {body}")
        self.temporaries[label] = shape
        return self.read(label, name, indices)

    def read(self, tensor: str, name: str, indices: Sequence[str]) -> str:
        """A bounded function of some elements of a tensor."""
        shape, own = self.shape(tensor), self.shape(name)[: len(indices)]
        if shape == own and self.chance(0.5):
            return f"sin({element(tensor, indices)})"
        if len(shape) == 1 and indices and self.chance(0.5):
            return self.moved(tensor, shape[0], list(zip(indices, own, strict=True)))
        if not shape:
            return f"cos({tensor})"
        return self.reduced(tensor, shape, indices, own)

    def moved(self, tensor: str, size: int, indices: Sequence[tuple[str, int]]) -> str:
        """An element of a vector, given by one of the indices."""
        i, n = self.rng.choice(indices)
        forms = [f"pad({tensor}[{i} - 1])", f"pad({tensor}[2 * {i}], 0.5)"]
        if n <= size:
            forms.append(f"{tensor}[{self.size(size)} - 1 - {i}]")
        if n == size:
            forms.append(f"{tensor}[{i}]")
        if n <= 2 * size:
            forms.append(f"{tensor}[{i} // 2]")
        if size >= 2:
            forms.append(f"{tensor}[({i} + 1) % 2]")
        return f"tanh({self.rng.choice(forms)})"

    def reduced(self, tensor: str, shape: Shape, indices: Sequence[str], own: Shape) -> str:
        own_letters = "abc"[: len(shape)]
        inner, read = ", ".join(own_letters), element(tensor, own_letters)
        choice = self.rng.randrange(5 if indices else 4)
        if choice == 4:
            place = self.rng.randrange(len(indices))
            weights = self.parameter((own[place], *shape))
            weight = element(weights, (indices[place], *own_letters))
            return f"sum[{inner}]({weight} * tanh({read}))"
        forms = (
            *("tanh(sum[{i}]({r}))", "sin(max[{i}]({r}))", "cos(min[{i}]({r}))"),
            "prod[{i}](1 + 0.1 * sin({r}))",
        )
        return forms[choice].format(i=inner, r=read)

    def add(self, name: str, value: str, rest: str = "") -> None:
        """`name[...] = value`, plus something small if `rest` is given."""
        tail = f" + 0.3 * ({rest})" if rest else ""
        self.lines.append(f"{element(name, self.indices(name))} = {value}{tail}")

    def maybe_others(self, name: str) -> str:
        return self.others(name, self.indices(name)) if self.chance(0.5) else ""

    def chosen_dimension(self, name: str, least: int) -> int:
        """A dimension of at least this size."""
        dims = [d for d, n in enumerate(self.shape(name)) if n >= least]
        if not dims:
            raise Unfit
        return self.rng.choice(dims)

    def flip(self, name: str) -> None:
        """From now on, elements are counted from the end in some dimensions."""
        self.flips = {}
        if self.style != "none" and self.chance(0.25):
            sizes = enumerate(map(self.size, self.shape(name)))
            self.flips = {d: n for d, n in sizes if self.chance(0.7)}

    def at(self, name: str, changes: dict[int, str]) -> str:
        """An element with other indices in some dimensions."""
        indices = [changes.get(d, i) for d, i in enumerate(self.indices(name))]
        for d, size in self.flips.items():
            compound = "-" in indices[d] or "+" in indices[d]
            indices[d] = f"{size} - 1 - " + (f"({indices[d]})" if compound else indices[d])
        return element(name, indices)

    def alike(self, name: str) -> str:
        """Another tensor of the state, of the same shape."""
        same = [v for v, s in self.state.items() if v != name and s == self.shape(name)]
        if not same:
            raise Unfit
        return self.rng.choice(same)

    def fresh(self, shape: Shape) -> str:
        label = f"t{len(self.temporaries)}"
        self.temporaries[label] = shape
        return label
