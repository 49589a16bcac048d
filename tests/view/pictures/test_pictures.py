"""What pictures show, read out of their text, against the elements that a program really reads."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

import tadc
from tadc.interpreter.tensor_index import evaluate
from tadc.view.pictures.contributions import contributions
from tadc.view.pictures.pictures import pictures
from tests.support.campaign import seeds

SVG = "{http://www.w3.org/2000/svg}"
CONVOLUTION = "x: f64[N]\nw: f64[K]\ny[i] = sum[k](w[k] * x[2*i + 3*k])\n"
Point = tuple[int, ...]


# --- reading pictures -----------------------------------------------------------------------------


def drawn(source: str, element: Mapping[str, int] | None = None, **sizes: int) -> list[Any]:
    """The pictures of all reads of a program."""
    f = tadc.compile(source)
    found = [(f"r{n}", c) for n, c in enumerate(contributions(f))]
    return pictures(found, f.program.summary.with_derived(sizes), element)


def groups(picture: Mapping[str, Any], kind: str) -> Iterator[ElementTree.Element]:
    root = ElementTree.fromstring(picture["svg"])
    return (group for group in root.iter(f"{SVG}g") if group.get("class") == kind)


def dots(picture: Mapping[str, Any], kind: str) -> list[dict[str, int]]:
    """The values of the dots of a kind, by name; there is a `-` for a prime."""
    return [
        {k.removeprefix("data-"): int(v) for k, v in circle.attrib.items() if k[:5] == "data-"}
        for group in groups(picture, kind)
        for circle in group.iter(f"{SVG}circle")
    ]


# --- random reads ---------------------------------------------------------------------------------


@dataclass
class Read:
    """`f[i, j, k] = x[...] if ... else 0`, with a range for each index."""

    source: str
    names: list[str]
    shape: Point
    """Of x."""

    def reading(self) -> dict[Point, Point]:
        """For each point of the set the element that it reads.

        The interpreter says so: x holds the number of each element, counted from 1.
        """
        x = np.arange(1.0, 1 + np.prod(self.shape)).reshape(self.shape)
        (f,) = evaluate(tadc.compile(self.source).program.op, {"x": x})
        return {
            tuple(map(int, point)): tuple(map(int, np.unravel_index(int(f[point]) - 1, x.shape)))
            for point in np.ndindex(*f.shape)
            if f[point]
        }


def random_read(rng: random.Random) -> Read:
    """A read by one to three indices, of a vector or a matrix, with conditions and quotients."""
    names = ["i", "j", "k"][: rng.choice([1, 2, 2, 2, 3])]
    counts = [rng.randint(1, {1: 9, 2: 7, 3: 4}[len(names)]) for _ in names]
    points = [dict(zip(names, p, strict=True)) for p in product(*map(range, counts))]
    forms = [_form(rng, names) for _ in range(rng.choice([1, 1, 1, 2]))]
    shape: list[int] = []
    for n, form in enumerate(forms):
        values = [eval(form, dict(p)) for p in points]
        forms[n] = f"{form} + {-min(values)}" if min(values) <= 0 else f"{form} - {min(values)}"
        shape.append(max(values) - min(values) + 1 + rng.choice([0, 0, 2]))
    heads = ", ".join(f"{name} in range({c})" for name, c in zip(names, counts, strict=True))
    condition = _condition(rng, names)
    source = f"x: f64[{', '.join(map(str, shape))}]\nf[{heads}] = x[{', '.join(forms)}]"
    return Read(source + (f" if {condition} else 0\n" if condition else "\n"), names, tuple(shape))


def _form(rng: random.Random, names: list[str]) -> str:
    terms: list[str] = []
    for name in names:
        c = rng.choice([-3, -2, -1, 0, 1, 1, 1, 2, 3])
        d = rng.randint(2, 3)
        terms += [f"{c}*{rng.choice([name] * 5 + [f'({name}//{d})', f'({name}%{d})'])}"] * bool(c)
    return " + ".join(terms) or "0"


def _condition(rng: random.Random, names: list[str]) -> str:
    a, b = rng.choice(names), rng.choice(names)
    return rng.choice(
        [
            *[""] * 4,
            f"{a} + 2*{b} <= {rng.randint(0, 9)}",
            f"{a} >= {b}",
            f"{a} == {b}",
            f"{a} % 2 == {rng.randint(0, 1)}",
            f"{a} != {rng.randint(0, 3)}",
            f"{a} < 2 or {b} > 3",
        ]
    )


@pytest.mark.parametrize("seed", seeds(200, of=2000))
def test_pictures_show_the_points_that_read_an_element(seed: int) -> None:
    """A set that is cut into parts has pictures for each: they add up, and never overlap."""
    rng = random.Random(seed)
    read = random_read(rng)
    reading = read.reading()
    element = tuple(rng.randrange(n) for n in read.shape)
    if reading and rng.random() < 0.7:
        element = rng.choice([*reading.values()])
    parts = list(contributions(tadc.compile(read.source)))
    assert parts or not reading
    chosen = dict(zip([*parts[0].element.values()], element, strict=True)) if parts else {}
    shown = pictures([(f"r{n}", part) for n, part in enumerate(parts)], {}, chosen)
    expected = Expected(read.names, reading, chosen, len(parts))
    expected.check_points([p for p in shown if p["kind"] == "points"])
    expected.check_strips([p for p in shown if p["kind"] == "strip"])
    assert len({p["link"] for p in shown}) == len(parts)


@dataclass
class Expected:
    """What a program reads, in how many parts, and the element that is looked at."""

    names: list[str]
    reading: dict[Point, Point]
    element: dict[str, int]
    parts: int

    def points(self, names: Sequence[str], element: Point | None) -> list[Point]:
        """The values of these indices at points that read an element, or any one."""
        return [
            tuple(point[self.names.index(name)] for name in names)
            for point, read in self.reading.items()
            if element in (None, read)
        ]

    def shown(self, picture: Mapping[str, Any], kind: str) -> dict[tuple[str, ...], list[Point]]:
        """The dots of a kind as values of indices of the read, by the names of these.

        Those that have the name of an index of the element have a prime.
        """
        own = {f"{n}-" if n in self.element else n: n for n in self.names}
        found: dict[tuple[str, ...], list[Point]] = {}
        for dot in dots(picture, kind):
            values = {name: dot[key] for key, name in own.items() if key in dot}
            found.setdefault(tuple(values), []).append(tuple(values.values()))
        return found

    def check_points(self, some: Sequence[Any]) -> None:
        """Dots are where points are, also where they are seen along other indices."""
        here = tuple(self.element.values())
        hits: dict[tuple[str, ...], list[Point]] = {}
        for picture in some:
            for names, points in self.shown(picture, "hit").items():
                hits.setdefault(names, []).extend(points)
            for names, points in self.shown(picture, "inside").items():
                assert {*points} <= {*self.points(names, None)}
                if self.parts == 1:
                    red = self.shown(picture, "hit").get(names, [])
                    assert {*points, *red} == {*self.points(names, None)}
            for names, points in self.shown(picture, "outside").items():
                if self.parts == 1:
                    assert not {*points} & {*self.points(names, None)}
        for names, points in hits.items():
            expected = {*self.points(names, here)}
            assert {*points} <= expected
            assert {*points} == expected or self.parts > 1 or not names

    def check_strips(self, some: Sequence[Any]) -> None:
        """The heights above each value of p are as many as points that read there."""
        here = tuple(self.element.values())
        hits = [p for picture in some for p in self.shown(picture, "hit").get((*self.names,), [])]
        if len(some) == self.parts:
            assert sorted(hits) == sorted(self.points(self.names, here))
        assert {*hits} <= {*self.points(self.names, here)} and len(hits) == len({*hits})
        found, read = Counter[Point](), set[Point]()
        for picture in some:
            ((name, column),) = self._moving(picture)
            for dot in (*dots(picture, "hit"), *dots(picture, "inside")):
                found[(*here[:column], dot[name], *here[column + 1 :])] += 1
            for group in groups(picture, "read"):
                says = group.find(f"{SVG}title")
                assert says is not None and says.text
                p = int(says.text.removeprefix(f"{name} = ").partition(":")[0])
                read.add((*here[:column], p, *here[column + 1 :]))
            if len(some) == self.parts == 1:
                line = [e for n, e in enumerate(here) if n != column]
                there = Counter(
                    e for e in self.reading.values() if [*e[:column], *e[column + 1 :]] == line
                )
                assert found == there
                assert read == {*there}

    def _moving(self, picture: Mapping[str, Any]) -> list[tuple[str, int]]:
        """The index of the element that a strip runs along, with its number."""
        (line,) = (
            line
            for line in ElementTree.fromstring(picture["svg"]).iter(f"{SVG}line")
            if line.get("class") == "element"
        )
        said = line.find(f"{SVG}title")
        assert said is not None and said.text
        name = said.text.partition(" = ")[0]
        return [(name, [*self.element].index(name))]
