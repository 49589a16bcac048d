"""Random programs of middling sizes, and what they mean in PyTorch.

    formula = random_formula(seed)
    formula.source                     a program of up to three definitions
    formula.torch(*arguments)          the last one, in float64

The programs are made with their meaning: each part of an expression has its text, and a function
from the places of all indices around it, tensors of integers that broadcast against each other, to
the values there. Sums of pieces, partial sums, blocks of several registers and the choices between
them are met in all combinations, which layers of networks do not have; but they hold few elements.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from tests.support.torch_layers import Layer, torch

Places = Mapping[str, Any]
Tensors = Mapping[str, Any]

MOST_POINTS = 500_000
"""Of a sum, with the elements around it."""
MOST_ELEMENTS = 50_000
MOST_ARGUMENTS = 5
LONGEST = (6, 20, 40, 70)


@dataclass(frozen=True)
class Size:
    text: str
    number: int


@dataclass(frozen=True)
class Index:
    """An index, and the size of the range around its values."""

    name: str
    size: Size

    def at(self, places: Places) -> Any:
        return places[self.name]


@dataclass(frozen=True)
class Form:
    """A form of indices, from 0 on and below a size."""

    text: str
    at: Callable[[Places], Any]
    size: Size


@dataclass(frozen=True)
class Part:
    """A part of an expression."""

    text: str
    value: Callable[[Places, Tensors], Any]


FUNCTIONS: Mapping[str, Callable[[Any], Any]] = {
    "exp(-({})**2)": lambda x: torch.exp(-x * x),
    "tanh({})": lambda x: torch.tanh(x),
    "({})**2": lambda x: x * x,
    "sqrt(1 + ({})**2)": lambda x: torch.sqrt(1 + x * x),
    "1/(1 + ({})**2)": lambda x: 1 / (1 + x * x),
    "sigmoid({})": lambda x: torch.sigmoid(x),
    "0.5*({})": lambda x: 0.5 * x,
    "-({})": lambda x: -x,
}
COMPARISONS: Mapping[str, Callable[[Any, Any], Any]] = {
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
}


def random_formula(seed: int) -> Layer:
    """The program of a seed; its sizes are numbers, or names that the arguments decide."""
    rng = random.Random(seed)
    formulas = _Formulas(rng)
    for _ in range(rng.choice([1, 1, 2, 3])):
        formulas.define()
    return formulas.layer(by_name=rng.random() < 0.6)


class _Tensors:
    """The tensors of a program on the way, its arguments and what it has defined, and reads."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        longest = rng.choice(LONGEST)
        lengths = [rng.choice([rng.randint(1, longest), longest, 16, 8]) for _ in range(3)]
        self.sizes = [Size(f"N{n}", length) for n, length in enumerate(lengths)]
        self.arguments: dict[str, list[Size]] = {}
        self.defined: dict[str, tuple[list[Index], Part]] = {}
        self._names = 0

    def name(self, letter: str) -> str:
        """A new name."""
        self._names += 1
        return f"{letter}{self._names}"

    def read(self, around: Sequence[Index], inner: Sequence[Index]) -> Part:
        """An element at places of the indices around, likely of the `inner` ones."""
        tensors = self.arguments | {
            name: [v.size for v in own] for name, (own, _) in self.defined.items()
        }
        fit = {
            name: options
            for name, sizes in tensors.items()
            if all(options := [[v for v in around if v.size == size] for size in sizes])
        }
        if fit and (self.rng.random() < 0.6 or len(self.arguments) >= MOST_ARGUMENTS):
            made = [name for name in fit if name in self.defined]
            name = self.rng.choice(made if made and self.rng.random() < 0.5 else [*fit])
            return self._again(name, fit[name], around, inner)
        forms = [
            self.form(around, inner if n == 0 else ()) for n in range(self.rng.choice([1, 2, 2, 3]))
        ]
        if prod(form.size.number for form in forms) > 4 * MOST_ELEMENTS:
            forms = forms[:1]
        self.rng.shuffle(forms)
        self.arguments[name := self.name("x")] = [form.size for form in forms]
        return _element(name, forms)

    def _again(
        self,
        name: str,
        options: Sequence[Sequence[Index]],
        around: Sequence[Index],
        inner: Sequence[Index],
    ) -> Part:
        """An element of a tensor that is there, in each dimension at one of these indices."""
        forms: list[Form] = []
        for own in options:
            v = self.rng.choice([v for v in own if v in inner] or own)
            forms.append(Form(v.name, v.at, v.size))
        if forms and self.rng.random() < 0.15:
            return _padded(name, forms, self.rng.choice(around), self.rng.randint(0, 2))
        return _element(name, forms)

    def form(self, around: Sequence[Index], inner: Sequence[Index]) -> Form:
        """A form of one or two indices that no tensor decides."""
        if not around:
            return Form("0", lambda _: torch.zeros((), dtype=torch.long), Size("1", 1))
        v = self.rng.choice(inner if inner and self.rng.random() < 0.6 else around)
        w, size, n = self.rng.choice(around), v.size.text, v.size.number
        kind = self.rng.random()
        if kind < 0.55:
            return Form(v.name, v.at, v.size)
        if kind < 0.62:
            return self.divided(v)
        if kind < 0.7:
            return Form(f"{size} - 1 - {v.name}", lambda p: n - 1 - v.at(p), v.size)
        if kind < 0.8 or w is v:
            step, first = self.rng.choice([1, 2, 2, 3]), self.rng.choice([0, 0, 1])
            whole = Size(f"{step}*({size}) - {step} + {first + 1}", step * (n - 1) + first + 1)
            return Form(f"{step}*{v.name} + {first}", lambda p: step * v.at(p) + first, whole)
        both, most = Size(f"{size} + {w.size.text} - 1", n + w.size.number - 1), w.size.number - 1
        if kind < 0.95:
            return Form(f"{v.name} + {w.name}", lambda p: v.at(p) + w.at(p), both)
        text = f"{v.name} - {w.name} + {w.size.text} - 1"
        return Form(text, lambda p: v.at(p) - w.at(p) + most, both)

    def divided(self, v: Index) -> Form:
        """A quotient or a remainder of an index."""
        first, by = self.rng.choice([0, 0, 1, 2]), self.rng.choice([2, 3, 4])
        if self.rng.random() < 0.4:
            text, count = f"({v.name} + {first}) % {by}", by
            return Form(text, lambda p: (v.at(p) + first) % by, Size(str(count), count))
        text, count = f"({v.name} + {first}) // {by}", (v.size.number - 1 + first) // by + 1
        return Form(text, lambda p: (v.at(p) + first) // by, Size(str(count), count))


class _Formulas(_Tensors):
    """A program on the way: its definitions, and what may come next."""

    @property
    def result(self) -> str:
        """The name of what is defined last."""
        return [*self.defined][-1]

    def layer(self, by_name: bool) -> Layer:
        """The program, whose result is what it defines last."""
        shapes = {
            name: f"{name}: f32[{', '.join(s.text for s in sizes)}]"
            for name, sizes in self.arguments.items()
        }
        lines = [
            f"{name}[{', '.join(f'{v.name} in range({v.size.text})' for v in own)}] = {part.text}"
            if own
            else f"{name} = {part.text}"
            for name, (own, part) in self.defined.items()
        ]
        declared = "\n".join(shapes.values())
        text = "\n".join([declared, *lines, f"return {self.result}"])
        for size in self.sizes:
            # a name is a size only where a dimension says what it is
            is_said = re.search(rf"[\[ ]{size.text}[\],]", declared)
            if not (by_name and is_said):
                text = re.sub(rf"\b{size.text}\b", str(size.number), text)
        numbers = {n: tuple(s.number for s in sizes) for n, sizes in self.arguments.items()}
        return Layer(text, numbers, self._value, linear=False, cancels=True)

    def _value(self, *arguments: Any) -> Any:
        tensors = dict(zip(self.arguments, arguments, strict=True))
        for name, (own, part) in self.defined.items():
            value = part.value(_grid(own), tensors)
            tensors[name] = value.expand([v.size.number for v in own])
        return tensors[self.result]

    def define(self) -> None:
        """One more definition."""
        own: list[Index] = []
        for _ in range(self.rng.choice([0, 1, 1, 2, 2, 2, 3])):
            size = self.rng.choice(self.sizes)
            if _points(own) * size.number <= MOST_ELEMENTS:
                own.append(Index(self.name("i"), size))
        part = self.reduction(own, 2) if self.rng.random() < 0.6 else self.part(own, [], 3)
        self.defined[self.name("y")] = own, part

    # --- expressions ---

    def part(self, around: Sequence[Index], inner: Sequence[Index], depth: int) -> Part:
        """An expression of so many levels."""
        kind = self.rng.random()
        if kind < 0.05 and around:
            return self.weighted(around, inner)
        if depth <= 0 or kind < 0.3:
            return self.read(around, inner)
        if kind < 0.65:
            a, b = (self.part(around, inner, depth - 1) for _ in range(2))
            if kind < 0.53:
                return Part(f"({a.text})*({b.text})", lambda p, t: a.value(p, t) * b.value(p, t))
            return Part(f"({a.text}) - ({b.text})", lambda p, t: a.value(p, t) - b.value(p, t))
        if kind < 0.75:
            text, function = self.rng.choice([*FUNCTIONS.items()])
            of = self.part(around, inner, depth - 1)
            return Part(text.format(of.text), lambda p, t: function(of.value(p, t)))
        if kind < 0.84 and around:
            return self.choice(around, inner, depth - 1)
        return self.reduction(around, depth - 1)

    def weighted(self, around: Sequence[Index], inner: Sequence[Index]) -> Part:
        """An element times a quotient or a remainder."""
        form, x = self.divided(self.rng.choice(around)), self.read(around, inner)
        return Part(f"({form.text})*({x.text})", lambda p, t: form.at(p) * x.value(p, t))

    def choice(self, around: Sequence[Index], inner: Sequence[Index], depth: int) -> Part:
        """One of two expressions, by two indices."""
        then, other = self.part(around, inner, depth), Part("0", lambda p, t: _zero())
        if self.rng.random() < 0.4:
            other = self.part(around, inner, depth)
        test = self.test(self.rng.choice(inner or around), self.rng.choice(around))
        return Part(
            f"(({then.text}) if {test.text} else ({other.text}))",
            lambda p, t: torch.where(test.value(p, t), then.value(p, t), other.value(p, t)),
        )

    def test(self, v: Index, w: Index) -> Part:
        """A comparison of two indices, or of one with a number."""
        offset = self.rng.randint(0, 3)
        word, holds = self.rng.choice([*COMPARISONS.items()])
        if w is v:
            return Part(f"{v.name} {word} {offset}", lambda p, _: holds(v.at(p), offset))
        kind = self.rng.random()
        if kind < 0.7:
            text = f"{v.name} {word} {w.name} + {offset} - 1"
            return Part(text, lambda p, _: holds(v.at(p), w.at(p) + offset - 1))
        if kind < 0.8:
            text = f"{v.name} // 2 {word} {w.name} // 3"
            return Part(text, lambda p, _: holds(v.at(p) // 2, w.at(p) // 3))
        return Part(f"({v.name} + {w.name}) % 2 == 0", lambda p, _: (v.at(p) + w.at(p)) % 2 == 0)

    def reduction(self, around: Sequence[Index], depth: int) -> Part:
        """A sum or an extremum over one or two indices, some of them bounded by those around."""
        own = [self.range(around) for _ in range(self.rng.choice([1, 1, 2]))]
        while own and _points([*around, *(r.index for r in own)]) > MOST_POINTS:
            own.pop()
        if not own:
            return self.read(around, [])
        inner = [r.index for r in own]
        body = self.part([*around, *inner], inner, depth)
        if self.rng.random() < 0.4:
            first, second = body, self.read([*around, *inner], inner)
            body = Part(
                f"({first.text})*{second.text}", lambda p, t: first.value(p, t) * second.value(p, t)
            )
        word = self.rng.choice(["sum"] * 8 + ["max", "min"])
        return _reduction(word, own, body)

    def range(self, around: Sequence[Index]) -> _Range:
        """A range of a size, of a few numbers, or around or on one side of an index."""
        name, kind = self.name("k"), self.rng.random()
        if kind < 0.5 or (kind >= 0.75 and not around):
            size = self.rng.choice(self.sizes)
            return _Range(Index(name, size), f"range({size.text})")
        if kind < 0.75:
            number = self.rng.choice([2, 3, 3, 4, 5, 7, 9])
            return _Range(Index(name, Size(str(number), number)), f"range({number})")
        v, reach = self.rng.choice(around), self.rng.randint(1, 4)
        index, size = Index(name, v.size), v.size.text
        near = f"range(max(0, {v.name} - {reach}), min({size}, {v.name} + {reach + 1}))"
        group = f"range(3*({v.name} // 3), min({size}, 3*({v.name} // 3) + 3))"
        return self.rng.choice(
            [
                _Range(index, f"range({v.name} + 1)", lambda k, p: k <= v.at(p)),
                _Range(index, f"range({v.name}, {size})", lambda k, p: k >= v.at(p)),
                _Range(index, near, lambda k, p: abs(k - v.at(p)) <= reach),
                _Range(index, f"range({v.name} // 2, {size})", lambda k, p: k >= v.at(p) // 2),
                _Range(index, group, lambda k, p: k // 3 == v.at(p) // 3),
            ]
        )


@dataclass(frozen=True)
class _Range:
    """An index of a reduction with its range."""

    index: Index
    text: str
    holds: Callable[[Any, Places], Any] = lambda k, _: k >= 0
    """Tells of places of the index, True for those in the range, from the places of all indices."""


def _zero() -> Any:
    return torch.zeros((), dtype=torch.float64)


def _points(indices: Sequence[Index]) -> int:
    return prod(v.size.number for v in indices)


def _grid(indices: Sequence[Index]) -> Places:
    """The places of indices, each along a dimension of its own."""
    count = len(indices)
    return {
        v.name: torch.arange(v.size.number).reshape(-1, *[1] * (count - 1 - n))
        for n, v in enumerate(indices)
    }


def _element(name: str, forms: Sequence[Form]) -> Part:
    """An element of a tensor."""
    if not forms:
        return Part(name, lambda _, tensors: tensors[name])
    return Part(
        f"{name}[{', '.join(form.text for form in forms)}]",
        lambda p, tensors: tensors[name][tuple(form.at(p) for form in forms)],
    )


def _padded(name: str, forms: Sequence[Form], by: Index, offset: int) -> Part:
    """An element of a tensor some places from the last of these forms, or 0 outside of it."""
    *others, last = forms
    limit = last.size.number

    def value(places: Places, tensors: Tensors) -> Any:
        at = last.at(places) + by.at(places) - offset
        found = tensors[name][(*(f.at(places) for f in others), at.clamp(0, limit - 1))]
        return torch.where((at >= 0) & (at < limit), found, _zero())

    texts = [*(form.text for form in others), f"{last.text} + {by.name} - {offset}"]
    return Part(f"pad({name}[{', '.join(texts)}])", value)


REDUCTIONS: Mapping[str, tuple[float, Callable[[Any, Any], Any]]] = {
    "sum": (0.0, lambda x, dims: x.sum(dims)),
    "max": (float("-inf"), lambda x, dims: x.amax(dims)),
    "min": (float("inf"), lambda x, dims: x.amin(dims)),
}
"""Each reduction by its word: the number in the place of terms that are not there, and PyTorch's
function of all terms and the dimensions that they run along."""


def _reduction(word: str, own: Sequence[_Range], body: Part) -> Part:
    count = len(own)
    missing, function = REDUCTIONS[word]

    def value(places: Places, tensors: Tensors) -> Any:
        around = {name: at.reshape(*at.shape, *[1] * count) for name, at in places.items()}
        inside = {**around, **_grid([r.index for r in own])}
        is_there = torch.ones((), dtype=torch.bool)
        for r in own:
            is_there = is_there & r.holds(r.index.at(inside), inside)
        terms = body.value(inside, tensors)
        terms = torch.where(is_there, terms, torch.full((), missing, dtype=torch.float64))
        return function(terms, tuple(range(-count, 0)))

    ranges = ", ".join(f"{r.index.name} in {r.text}" for r in own)
    return Part(f"{word}[{ranges}]({body.text})", value)
