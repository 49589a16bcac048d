"""What pictures show, read out of their text, against the elements that a program really reads."""

from __future__ import annotations

import json
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
from tadc.sizes import bind_sizes
from tadc.view.pictures.contributions import contributions
from tadc.view.pictures.pictures import picture_file, pictures
from tests.support.campaign import seeds
from tests.support.paths import ROOT
from tests.support.random_programs import EVERYTHING, random_program

SVG = "{http://www.w3.org/2000/svg}"
Point = tuple[int, ...]


# --- reading pictures -----------------------------------------------------------------------------


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
    with_sum: str
    """The same read where some of the indices are summed over."""
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


@pytest.mark.parametrize("seed", seeds(200, of=2000))
def test_pictures_show_the_points_that_read_an_element(seed: int) -> None:
    """Those of functions of all indices, and of sums over some of them, are the same.

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
    """What a program reads, in how many parts, and the element that is looked at."""

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
        """These indices of a point."""
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


# --- programs of every kind -----------------------------------------------------------------------


def drawn(
    source: str, element: Mapping[str, int] | None = None, **sizes: int
) -> list[dict[str, Any]]:
    """The pictures of all reads of a program."""
    f = tadc.compile(source)
    found = [(f"r{n}", c) for n, c in enumerate(contributions(f))]
    return pictures(found, f.program.summary.with_derived(sizes), element)


@pytest.mark.parametrize("seed", seeds(20, of=600))
def test_every_program_has_pictures_that_are_valid(seed: int) -> None:
    program = random_program(random.Random(seed), **(EVERYTHING if seed % 2 else {}))
    f = tadc.compile(program.source)
    sizes = bind_sizes(f.program.summary, {n: a.shape for n, a in program.arguments.items()})
    found = [(f"r{n}", c) for n, c in enumerate(contributions(f))]
    for picture in pictures(found, sizes):
        assert json.loads(json.dumps(picture)) == picture
        assert len(picture["svg"]) < 20_000
        root = ElementTree.fromstring(picture["svg"])
        assert root.tag == f"{SVG}svg"
        assert root.get("role") == "img"
        assert root.get("data-link") == picture["link"]
        assert [root[0].tag, root[0].text] == [f"{SVG}title", picture["title"]]
        assert root[1].tag == f"{SVG}desc"
        assert not {e.tag for e in root.iter()} & {f"{SVG}script", f"{SVG}style"}


# --- by example -----------------------------------------------------------------------------------

CONVOLUTION = "x: f64[N]\nw: f64[K]\ny[i] = sum[k](w[k] * x[2*i + 3*k])\n"


def texts(picture: Mapping[str, Any]) -> list[str]:
    root = ElementTree.fromstring(picture["svg"])
    return [e.text or "" for e in root.iter(f"{SVG}text")]


def tooltips(picture: Mapping[str, Any], kind: str) -> list[str]:
    root = ElementTree.fromstring(picture["svg"])
    lines = (e for e in root.iter(f"{SVG}line") if kind in (e.get("class") or "").split())
    return [title.text or "" for line in lines for title in line.iter(f"{SVG}title")]


def test_a_convolution() -> None:
    plane, strip, *of_w = drawn(CONVOLUTION, {"p": 12}, N=30, K=5)
    assert plane["title"] == "3 of 45 points (i, k) read x[12]"
    assert [tuple(d.values()) for d in dots(plane, "hit")] == [(0, 4), (3, 2), (6, 0)]
    assert len(dots(plane, "inside")) == 42
    assert {"4", "5", "6", "l", "h", "z"} <= {*texts(plane)}
    assert "p == 2*i + 3*k for p = 12" in texts(plane)
    assert "i = -p + 3*z, k = p - 2*z" in texts(plane)
    assert strip["title"] == "x[12] is read for z from 4 to 6"
    assert [d["z"] for d in dots(strip, "hit")] == [4, 5, 6]
    bounds = {
        "3*z >= p, from i >= 0",
        "2*z + K >= p + 1, from k + 1 <= K",
        "p >= 2*z, from k >= 0",
        "p + I >= 3*z + 1, from i + 1 <= I",
    }
    assert {*tooltips(strip, "bound")} == bounds
    assert tooltips(strip, "active") == ["3*z >= p, from i >= 0", "p >= 2*z, from k >= 0"]
    assert [p["of"] for p in of_w] == ["dw", "dw"]
    assert of_w[0]["elements"] == [{"name": "k", "value": 2, "least": 0, "most": 4}]


def test_a_stride_leaves_elements_out() -> None:
    (strip,) = drawn("x: f64[N]\ny[i in range(9)] = x[2*i]\n", {"p": 7}, N=18)
    assert strip["title"] == "x[7] is not read: p % 2 == 0 does not hold"
    assert len([*groups(strip, "guarded")]) == 9
    assert len([*groups(strip, "read")]) == 9
    assert not dots(strip, "hit") and len(dots(strip, "inside")) == 9


def test_solutions_outside_of_the_set_are_rings() -> None:
    plane, _ = drawn("x: f64[9]\ny[i in range(5), k in range(5)] = x[i + k]\n", {"p": 2})
    assert [tuple(d.values()) for d in dots(plane, "outside")] == [(-1, 3), (3, -1)]


def test_an_element_outside_becomes_the_nearest() -> None:
    for given, shown in ((-3, 0), (99, 29), (7, 7)):
        assert drawn(CONVOLUTION, {"p": given}, N=30, K=5)[0]["elements"][0]["value"] == shown


def test_without_a_choice_the_element_is_one_that_is_read() -> None:
    """The middle one, 8, is not, and neither is what is nearer than 6."""
    (strip,) = drawn("x: f64[N]\ny[i in range(3)] = x[6*i]\n", N=16)
    assert strip["elements"][0]["value"] == 6
    assert dots(strip, "hit") == [{"p": 6, "i": 1}]


def test_where_nothing_is_to_be_drawn() -> None:
    assert drawn("x: f64[N]\ny[i] = x[i]**2\n", N=0) == []
    assert drawn("x: f64[3]\ny = x[1]**2\n") == []
    assert [p["of"] for p in drawn("s: f64[]\nx: f64[N]\ny[i] = s*x[i]\n", N=3)] == ["dx"]


def test_an_empty_set_has_a_picture() -> None:
    plane, strip = drawn(CONVOLUTION, N=5, K=9)[:2]
    assert plane["title"] == "0 of 0 points (i, k) read x[2]"
    assert strip["title"] == "x[2] is not read"


def test_of_many_points_the_polygon_is_left() -> None:
    plane, strip = drawn(CONVOLUTION, {"p": 90_000}, N=100_000, K=1000)[:2]
    for picture in (plane, strip):
        assert 'class="set"' in picture["svg"]
        assert not dots(picture, "inside")
        assert len(picture["svg"]) < 100_000


def test_a_matrix_element_has_two_indices() -> None:
    plane, strip = drawn("a: f64[3, 4]\nb[i, j] = sum[k](a[i, k] * a[j, k])\n", {"i": 2, "k": 1})[
        :2
    ]
    assert plane["title"].endswith("read a[2, 1]")
    assert [(e["name"], e["value"]) for e in strip["elements"]] == [("i", 2), ("k", 1)]


def test_a_file_has_all_pictures_below_their_reads() -> None:
    f = tadc.compile(CONVOLUTION)
    found = [(f"r{n}", c) for n, c in enumerate(contributions(f))]
    sizes = f.program.summary.with_derived({"N": 30, "K": 5})
    root = ElementTree.fromstring(picture_file(found, sizes, {"p": 12}))
    shown = [p["title"] for p in pictures(found, sizes, {"p": 12})]
    assert [svg[0].text for svg in root.iter(f"{SVG}svg") if svg is not root] == shown
    headings = [e.text for e in root.findall(f"{SVG}text")]
    assert headings == ["dx[12] from x[2*i + 3*k]", "dw[2] from w[k]"]
    frames = [[float(svg.get(a) or 0) for a in ("x", "y", "width", "height")] for svg in root[2:]]
    assert all(w <= float(root.attrib["width"]) for _, _, w, _ in frames if w)


def test_of_several_new_indices_one_that_the_element_bounds_has_a_strip() -> None:
    """`dd` of the example of the paper: the range of k depends on p, that of j does not."""
    source = (ROOT / "examples" / "paper.tad").read_text(encoding="utf-8")
    plane, solutions, strip = [p for p in drawn(source, {"p": 6}) if p["of"] == "dd"]
    assert (plane["kind"], solutions["kind"], strip["kind"]) == ("points", "points", "strip")
    assert strip["title"] == "d[6] is read for k = 4"
    found = Counter(d["p"] for kind in ("hit", "inside") for d in dots(strip, kind))
    assert [found[p] for p in range(8)] == [1, 2, 3, 3, 3, 2, 1, 0]


def test_a_solution_above_a_point_of_the_set_is_no_ring() -> None:
    """At (3, 0) k would be 2, outside of its range; but the set has points there."""
    source = "x: f64[7, 5]\nf[i in range(4), j in range(4), k in range(2)] = x[i + j, j + k]\n"
    plane = drawn(source, {"p": 3, "q": 2})[0]
    assert [(d["i"], d["j"]) for d in dots(plane, "hit")] == [(1, 2), (2, 1)]
    assert [(d["i"], d["j"]) for d in dots(plane, "outside")] == [(-1, 4), (4, -1)]
