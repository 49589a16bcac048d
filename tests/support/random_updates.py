"""Random programs of constant width, as text, with arguments: what the inverse modes are tested on.

    update = random_update(random.Random(seed))
    tadc.compile(update.source) and update.arguments

A program is a chain of moves. Each takes some tensors of the state to new values by a Jacobian that
is regular by construction: a diagonal between 1 and 3, or a permutation or a rotation times one,
plus a small part with the structure that the move is there for. Moves read all else of the state,
parameters and temporaries, new ones and those of earlier moves.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

LETTERS = "ijk"

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Update:
    """A program, its arguments by name, and the moves that it is made of."""

    source: str
    arguments: dict[str, np.ndarray]
    moves: tuple[str, ...]


class Unfit(Exception):
    """A move that these shapes do not allow."""


def random_update(rng: random.Random, dtype: str = "f64") -> Update:
    """The same program for the same state of `rng`."""
    return _Generator(rng, dtype).update()


def element(name: str, indices: Sequence[object]) -> str:
    """`x[i, j]`, and `x` without indices."""
    return f"{name}[{', '.join(map(str, indices))}]" if indices else name


SHAPES: tuple[tuple[Shape, ...], ...] = (
    *(((), (3,)), ((4,),), ((5,), (5,)), ((9,),), ((10,), (10,)), ((12,),), ((2, 3), (3,))),
    *(((3, 3),), ((4,), (3,)), ((2, 3), (6,)), ((2, 2, 3),), ((2, 2), (2, 2), (2,))),
    *(((2, 9),), ((2, 4), (2, 4)), ((1,), (2,)), ((4, 3), (3,)), ((2, 3, 2), (3,), ())),
    *(((7,), (1,), (7,)), ((9, 2),), ((3, 3), (3, 3)), ((2, 2, 2), (2, 2, 2)), ((), ())),
)


class _Generator:
    """Moves append lines; parameters and temporaries come with the lines that read them."""

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

    # --- programs ---------------------------------------------------------------------------------

    def update(self) -> Update:
        if self.style == "none":  # what is first read in its own update is an argument
            self.lines += [f"{element(v, LETTERS[: len(s)])} *= 1.25" for v, s in self.shapes()]
        while len(self.moves) < self.count:
            self.move(self.rng.choice(list(self.state)))
        for name in self.state:
            if not any(line.startswith((f"{name}[", f"{name} ")) for line in self.lines):
                self.move(name)
        declarations = [self.declaration(name, shape) for name, shape in self.shapes()]
        declarations += [self.declaration(n, s) for n, s in self.parameters.items()]
        lines = [line for line in declarations if line] + self.lines
        if self.chance(0.6) or self.unread():
            lines.append(f"return {', '.join(self.rng.sample(list(self.state), len(self.state)))}")
        values = np.random.default_rng(self.rng.getrandbits(32))
        shapes = {**self.state, **self.parameters}
        kind = np.float32 if self.dtype == "f32" else np.float64
        arguments = {n: np.asarray(values.uniform(-1, 1, s), kind) for n, s in shapes.items()}
        return Update("\n".join(lines) + "\n", arguments, tuple(self.moves))

    def unread(self) -> bool:
        """Is there a temporary that would be a result?"""
        values = " ".join(line.split("=", 1)[1] for line in self.lines)
        return any(not re.search(rf"\b{name}\b", values) for name in self.temporaries)

    def shapes(self) -> list[tuple[str, Shape]]:
        return list(self.state.items())

    def declaration(self, name: str, shape: Shape) -> str:
        if self.style == "none":
            return ""
        return f"{name}: {self.dtype}[{', '.join(map(self.size, shape))}]"

    def size(self, n: int) -> str:
        """The text of a size: the same for the same size."""
        if self.style == "none":
            raise Unfit
        if n not in self.sizes:
            named = self.style == "names" or (self.style == "mixed" and self.chance(0.5))
            self.sizes[n] = "KLMNPQRS"[len(self.sizes)] if named else str(n)
        return self.sizes[n]

    def move(self, name: str) -> None:
        """Any move that the shape of a tensor allows."""
        moves: list[Callable[[str], None]] = [
            *(self.scale, self.turn, self.exchange, self.rotate, self.halves, self.parity),
            *(self.steps, self.band, self.triangle, self.blocks, self.dense, self.mix),
            *(self.cycle, self.reshape, self.coupled, self.first_row),
        ]
        rare = self.band, self.reshape, self.rotate, self.exchange, self.steps, self.triangle
        moves.sort(key=lambda m: self.rng.random() * (0.4 if m in (*rare, self.blocks) else 1))
        for move in moves:
            self.flips = {}
            before = len(self.lines), dict(self.temporaries), dict(self.parameters)
            try:
                move(name)
            except Unfit:
                del self.lines[before[0] :]
                self.temporaries, self.parameters = before[1], before[2]
                continue
            self.moves.append(move.__name__)
            return

    # --- parts of expressions ---------------------------------------------------------------------

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

    # --- moves: diagonals -------------------------------------------------------------------------

    def scale(self, name: str) -> None:
        """Each element by itself, in one statement of any form."""
        indices = self.indices(name)
        here, rest = element(name, indices), self.others(name, indices)
        form = self.rng.randrange(4)
        if form == 0:
            self.lines.append(f"{here} += {rest}")
        elif form == 1:
            self.lines.append(f"{here} *= exp(0.3 * sin({rest}))")
        elif form == 2:
            self.lines.append(f"{here} /= 1.5 + 0.3 * cos({rest})")
        else:
            self.add(name, self.bent(here, rest), self.maybe_others(name))

    def turn(self, name: str) -> None:
        """Dimensions reversed or exchanged."""
        shape, indices = self.shape(name), self.indices(name)
        if not shape:
            raise Unfit
        order = list(range(len(shape)))
        self.rng.shuffle(order)
        if [shape[d] for d in order] != list(shape):
            order = list(range(len(shape)))
        places = [
            f"{self.size(shape[d])} - 1 - {indices[d]}" if self.chance(0.5) else indices[d]
            for d in order
        ]
        self.add(name, self.bent(element(name, places)), self.maybe_others(name))

    def exchange(self, name: str) -> None:
        """Two tensors of the same shape."""
        other, indices = self.alike(name), self.indices(name)
        label = self.fresh(self.shape(name))
        self.add(label, self.bent(element(name, indices)))
        self.add(name, self.bent(element(other, indices)))
        self.add(other, element(label, indices))

    def fresh(self, shape: Shape) -> str:
        label = f"t{len(self.temporaries)}"
        self.temporaries[label] = shape
        return label

    # --- moves: several tensors -------------------------------------------------------------------

    def rotate(self, name: str) -> None:
        """Two tensors of the same shape, element by element."""
        other, indices = self.alike(name), self.indices(name)
        a, b = self.fresh(self.shape(name)), self.fresh(self.shape(name))
        x, y = element(name, indices), element(other, indices)
        angle = self.rng.choice(("0.7", self.others(name, ())))
        c, s = f"cos({angle})", f"sin({angle})"
        if "t" in angle or name in angle or other in angle:
            c, s = "0.8", "0.6"  # that of what turns would change the determinant
        self.add(a, f"{c} * {x} - {s} * {y}")
        self.add(b, f"{s} * {x} + {c} * {y}")
        self.add(name, self.bent(element(a, indices)))
        self.add(other, element(b, indices), self.maybe_others(name))

    def mix(self, name: str) -> None:
        """Two tensors of any shapes, each with sums of the other."""
        others = [v for v in self.state if v != name]
        if not others:
            raise Unfit
        other = self.rng.choice(others)
        a, b = self.fresh(self.shape(name)), self.fresh(self.shape(other))
        for label, x, y in ((a, name, other), (b, other, name)):
            indices = self.indices(x)
            rest = self.reduced(y, self.shape(y), indices, self.shape(x)) if self.shape(y) else y
            self.lines.append(
                f"{element(label, indices)} = {self.bent(element(x, indices))} + 0.2 * {rest}"
            )
        for label, x in ((a, name), (b, other)):
            self.add(x, element(label, self.indices(x)))

    def reshape(self, name: str) -> None:
        """A matrix and a vector of as many elements change places."""
        vectors = [v for v, s in self.state.items() if len(s) == 1]
        shape = self.shape(name)
        fitting = [
            v for v in vectors if len(shape) == 2 and self.shape(v)[0] == shape[0] * shape[1]
        ]
        if not fitting or self.style != "numbers":
            raise Unfit
        vector, width = fitting[0], shape[1]
        a, b = self.fresh(shape), self.fresh(self.shape(vector))
        head = f"{a}[i in range({shape[0]}), j in range({width})]"
        self.lines.append(f"{head} = {self.bent(f'{vector}[{width} * i + j]')}")
        head = f"{b}[i in range({shape[0] * width})]"
        self.lines.append(f"{head} = {self.bent(f'{name}[i // {width}, i % {width}]')}")
        self.add(name, element(a, "ij"))
        self.add(vector, element(b, "i"))

    def coupled(self, name: str) -> None:
        """A sum of all of a tensor that it and others read: wide until the last of them."""
        if not self.shape(name):
            raise Unfit
        label = self.fresh(())
        letters = "abc"[: len(self.shape(name))]
        self.lines.append(f"{label} = sum[{', '.join(letters)}](sin({element(name, letters)}))")
        for v in self.rng.sample(list(self.state), self.rng.randint(1, len(self.state))):
            self.add(v, self.bent(element(v, self.indices(v))), f"0.3 * {label}")
        self.add(name, element(name, self.indices(name)), f"0.3 * {label}")

    # --- moves: one tensor, more than a diagonal --------------------------------------------------

    def halves(self, name: str) -> None:
        """The second part by the first one, which stays, through a temporary."""
        self.flip(name)
        d = self.chosen_dimension(name, 2)
        h, i = self.shape(name)[d] // 2, self.indices(name)[d]
        here = self.at(name, {})
        reach = self.at(name, {d: "a"})
        if self.style == "none" or self.chance(0.4):
            value = f"sum[a in range({h})](sin({reach}))"
        else:
            label = self.fresh(self.shape(name))
            ranges = [
                f"{v} in range({self.size(n)})"
                for v, n in zip(self.indices(name), self.shape(name), strict=True)
            ]
            self.lines.append(
                f"{element(label, ranges)} = sum[a in range({h})](sin({reach})) + 0.1 * {i}"
            )
            value = element(label, self.indices(name))
        bent = self.bent(here, value)
        self.add(name, f"{here} if {i} < {h} else {bent} + 0.4 * {value}")

    def parity(self, name: str) -> None:
        """Odd elements by even ones."""
        self.flip(name)
        d = self.chosen_dimension(name, 2)
        i, here = self.indices(name)[d], self.at(name, {})
        before = self.at(name, {d: f"{i} - 1"})
        forms = (
            f"{self.bent(here)} + sin({before}) if {i} % 2 == 1 else 1.5 * {here}",
            f"{here} * exp(0.4 * cos({before})) if {i} % 2 == 1 else {here}",
            f"{self.bent(here)} + 0.5 * pad({before}) if {i} % 2 != 0 else -{here}",
        )
        self.add(name, self.rng.choice(forms))

    def steps(self, name: str) -> None:
        """Each part by the one before, as that was."""
        self.flip(name)
        d = self.chosen_dimension(name, 3)
        n, i = self.shape(name)[d], self.indices(name)[d]
        width = -(-n // self.rng.choice((2, 3, 4)))
        here, before = self.at(name, {}), self.at(name, {d: f"{i} - {width}"})
        self.add(name, f"{self.bent(here)} + (0.5 * sin({before}) if {i} >= {width} else 0)")

    def first_row(self, name: str) -> None:
        """All by the first element in one dimension, which only changes itself."""
        self.flip(name)
        d = self.chosen_dimension(name, 2)
        i, here, first = (
            self.indices(name)[d],
            self.at(name, {}),
            self.at(name, {d: "0"}),
        )
        self.add(name, f"{here} * (2 + sin({first})) if {i} > 0 else {self.bent(here)}")

    def band(self, name: str) -> None:
        """Neighbours in one dimension."""
        self.flip(name)
        d = self.chosen_dimension(name, 6)
        i, here = self.indices(name)[d], self.at(name, {})
        below, above = self.at(name, {d: f"{i} - 1"}), self.at(name, {d: f"{i} + 1"})
        terms = [f"sin(pad({below}))", f"0.4 * pad({above})", f"0.5 * tanh(pad({above}, 0.3))"]
        chosen = self.rng.sample(terms, self.rng.randint(1, 3))
        self.add(name, f"3 * {self.bent(here)} + {' + '.join(chosen)}", self.maybe_others(name))

    def triangle(self, name: str) -> None:
        """Sums of all before, or behind, in one dimension."""
        self.flip(name)
        d = self.chosen_dimension(name, 2)
        i, here, there = (
            self.indices(name)[d],
            self.at(name, {}),
            self.at(name, {d: "a"}),
        )
        bounds = [f"{i}"]
        if self.style != "none":
            bounds.append(f"{i} + 1, {self.size(self.shape(name)[d])}")
        forms = ("0.5 * sum[a in range({b})](sin({r}))", "prod[a in range({b})](1 + 0.2 * {r})")
        rest = self.rng.choice(forms).format(b=self.rng.choice(bounds), r=there)
        self.add(name, f"{self.bent(here)} + {rest}", self.maybe_others(name))

    def blocks(self, name: str) -> None:
        """A small matrix for each index of the other dimensions."""
        d = self.chosen_dimension(name, 2)
        shape, indices = self.shape(name), self.indices(name)
        if len(shape) < 2:
            raise Unfit
        weights = self.parameter((shape[d], shape[d]))
        rest = f"sum[a]({weights}[{indices[d]}, a] * tanh({self.at(name, {d: 'a'})}))"
        here = element(name, indices)
        self.add(name, f"2 * {self.bent(here)} + 0.4 * {rest}", self.maybe_others(name))

    def dense(self, name: str) -> None:
        """All by all, through a parameter or a reduction."""
        shape, indices = self.shape(name), self.indices(name)
        if not shape:
            raise Unfit
        rest = self.reduced(name, shape, indices, shape)
        self.add(name, f"2 * {self.bent(element(name, indices))} + 0.3 * {rest}")

    def cycle(self, name: str) -> None:
        """Elements in another order along one dimension."""
        d = self.chosen_dimension(name, 2)
        n, i = self.shape(name)[d], self.indices(name)[d]
        last = f"{self.size(n)} - 1"
        after = self.bent(self.at(name, {d: f"{i} + 1"}))
        self.add(name, f"{after} if {i} < {last} else {self.bent(self.at(name, {d: '0'}))}")
