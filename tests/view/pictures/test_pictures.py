"""The pictures of programs: which there are, what they say and show, and that they are valid."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping
from typing import Any
from xml.etree import ElementTree

import pytest

import tadc
from tadc.sizes import bind_sizes
from tadc.view.pictures.pictures import picture_file, pictures
from tests.support.campaign import seeds
from tests.support.paths import ROOT
from tests.support.random_programs import EVERYTHING, random_program
from tests.view.pictures.read_pictures import SVG, contributions, dots, groups

# --- programs of every kind -----------------------------------------------------------------------


def drawn(
    source: str, element: Mapping[str, int] | None = None, **sizes: int
) -> list[dict[str, Any]]:
    """The pictures of all reads of a program."""
    f = tadc.compile(source)
    found = [(f"r{n}", c) for n, c in enumerate(contributions(f))]
    return pictures(found, f.program.summary.with_derived(sizes), element)


@pytest.mark.parametrize("seed", seeds(15, of=600))
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


def test_a_delta_is_a_guard() -> None:
    """`dc` of the example of the paper has no sum off the diagonal."""
    source = (ROOT / "examples" / "paper.tad").read_text(encoding="utf-8")
    (strip,) = [
        p for p in drawn(source, {"i": 2, "p": 1}) if (p["of"], p["kind"]) == ("dc", "strip")
    ]
    assert strip["title"] == "c[2, 1] is not read: i == p does not hold"
    assert len([*groups(strip, "guarded")]) == 2
    assert {d["i"] for d in dots(strip, "inside")} == {1}
    assert not dots(strip, "hit")


def test_a_solution_above_a_point_of_the_set_is_no_ring() -> None:
    """At (3, 0) k would be 2, outside of its range; but the set has points there."""
    source = "x: f64[7, 5]\nf[i in range(4), j in range(4), k in range(2)] = x[i + j, j + k]\n"
    plane = drawn(source, {"p": 3, "q": 2})[0]
    assert [(d["i"], d["j"]) for d in dots(plane, "hit")] == [(1, 2), (2, 1)]
    assert [(d["i"], d["j"]) for d in dots(plane, "outside")] == [(-1, 4), (4, -1)]


def test_pictures_need_no_numpy() -> None:
    code = f"""
import sys
from tadc.view.view import view
shown = view({CONVOLUTION!r}, parts=["pictures"])["pictures"]
print(len(shown), {{"numpy", "scipy", "llvmlite"}} & {{*sys.modules}})
"""
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout == "4 set()\n"
