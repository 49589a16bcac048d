"""Pictures of random reads against the elements that a program really reads."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

import tadc
from tadc.interpreter.tensor_index import evaluate
from tadc.view.pictures.pictures import pictures
from tests.support.campaign import seeds
from tests.view.pictures.read_pictures import SVG, contributions, dots, groups

Point = tuple[int, ...]


# --- random reads ---------------------------------------------------------------------------------


@dataclass
class Read:
    """`f[i, j, k] = x[...] if ... else 0`, with a range for each index."""

    source: str
    with_sum: str
    """A program with the given read, where some of the indices are summed over."""
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
    heads = [f"{name} in range({c})" for name, c in zip(names, counts, strict=True)]
    condition = _condition(rng, names)
    read = f"x[{', '.join(forms)}]" + (f" if {condition} else 0" if condition else "")
    declaration = f"x: f64[{', '.join(map(str, shape))}]\n"
    source = f"{declaration}f[{', '.join(heads)}] = {read}\n"
    # what does not depend on an index is no sum over it, neither is one of a single value
    fixed = [n for n, name in enumerate(names) if counts[n] < 2 or name not in "".join(forms)]
    outer = rng.randint(max(fixed, default=-1) + 1, len(names))
    free, summed = ", ".join(heads[:outer]), ", ".join(heads[outer:])
    body = f"sum[{summed}]({read})" if summed else read
    with_sum = f"{declaration}f[{free}] = {body}\n" if free else f"{declaration}f = {body}\n"
    return Read(source, with_sum, names, tuple(shape))


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


@pytest.mark.parametrize("seed", seeds(150, of=2000))
def test_pictures_show_the_points_that_read_an_element(seed: int) -> None:
    """Pictures of functions of all indices, and of sums over some of them, are the same.

    A set that is cut into parts has pictures for each: they add up, and never overlap.
    """
    rng = random.Random(seed)
    read = random_read(rng)
    reading = read.reading()
    element = tuple(rng.randrange(n) for n in read.shape)
    if reading and rng.random() < 0.7:
        element = rng.choice([*reading.values()])
    program = read.source if seed % 2 else read.with_sum
    parts = list(contributions(tadc.compile(program)))
    assert parts or not reading
    chosen = dict(zip([*parts[0].element.values()], element, strict=True)) if parts else {}
    shown = pictures([(f"r{n}", part) for n, part in enumerate(parts)], {}, chosen)
    expected = Expected(read.names, reading, chosen, len(parts))
    expected.check_points([p for p in shown if p["kind"] == "points"])
    expected.check_strips([p for p in shown if p["kind"] == "strip"])
    assert len({p["link"] for p in shown}) == len(parts)


@dataclass
class Expected:
    """A program with one read, the number of its parts, and the element that is looked at."""

    names: list[str]
    reading: dict[Point, Point]
    element: dict[str, int]
    parts: int

    def points(self, names: Sequence[str], element: Point | None) -> list[Point]:
        """The values of these indices at points that read an element, or any one."""
        return [
            self.project(point, names)
            for point, read in self.reading.items()
            if element in (None, read)
        ]

    def shown(self, picture: Mapping[str, Any], kind: str) -> dict[tuple[str, ...], list[Point]]:
        """The dots of a kind as values of indices of the read, by the names of these.

        Those that have the name of an index of the element have a prime.
        """
        return self.shown_as(dots(picture, kind))

    def project(self, point: Point, names: Sequence[str]) -> Point:
        """The values of some indices of a point."""
        return tuple(point[self.names.index(name)] for name in names)

    def shown_as(self, some: Sequence[Mapping[str, int]]) -> dict[tuple[str, ...], list[Point]]:
        """The values of dots by name as values of indices of the read, by the names of these."""
        own = {f"{n}-" if n in self.element else n: n for n in self.names}
        found: dict[tuple[str, ...], list[Point]] = {}
        for dot in some:
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
        """Above each p are the heights of the points that read there."""
        here = tuple(self.element.values())
        for picture in some:
            name, column = self._moving(picture)
            there: dict[int, list[Point]] = {}
            for point, e in self.reading.items():
                if (*e[:column], *e[column + 1 :]) == (*here[:column], *here[column + 1 :]):
                    there.setdefault(e[column], []).append(point)
            hits = self.shown(picture, "hit")
            for names, points in hits.items():
                assert {*points} <= {*self.points(names, here)}
                assert {*points} == {*self.points(names, here)} or self.parts > 1
                assert len(points) == len({*points}) or not names
            found: dict[int, list[Mapping[str, int]]] = {}
            for dot in (*dots(picture, "hit"), *dots(picture, "inside")):
                found.setdefault(dot[name], []).append(dot)
            if self.parts > 1:
                assert {*found} <= {*there}
                continue
            assert {*found} == {*there} == {*self._ticks(picture, name)}
            for p, heights in found.items():
                values = self.shown_as(heights)
                if len(values) == 1 and (*self.names,) in hits:
                    assert len(heights) == len(there[p])
                for names, points in values.items():
                    assert {*points} == {self.project(point, names) for point in there[p]}

    def _ticks(self, picture: Mapping[str, Any], name: str) -> Iterator[int]:
        """The elements that are marked as read."""
        for group in groups(picture, "read"):
            says = group.find(f"{SVG}title")
            assert says is not None and says.text
            yield int(says.text.removeprefix(f"{name} = ").partition(":")[0])

    def _moving(self, picture: Mapping[str, Any]) -> tuple[str, int]:
        """The index of the element that a strip runs along, with its number."""
        (line,) = (
            line
            for line in ElementTree.fromstring(picture["svg"]).iter(f"{SVG}line")
            if line.get("class") == "element"
        )
        said = line.find(f"{SVG}title")
        assert said is not None and said.text
        name = said.text.partition(" = ")[0]
        return name, [*self.element].index(name)
