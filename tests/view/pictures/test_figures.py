"""The pictures of docs/pictures.md are those drawn today; figures 3 and 4 say what the paper does.

python docs/draw_pictures.py     draws them anew, to be looked at
"""

from __future__ import annotations

import runpy
from fractions import Fraction
from xml.etree import ElementTree

import pytest

from tests.support.paths import ROOT

SVG = "{http://www.w3.org/2000/svg}"
SCRIPT = runpy.run_path(str(ROOT / "docs" / "draw_pictures.py"))
DRAWN: dict[str, str] = SCRIPT["draw"]()


@pytest.mark.parametrize("name", DRAWN)
def test_the_files_are_what_is_drawn(name: str) -> None:
    assert DRAWN[name] == (ROOT / "docs" / "pictures" / name).read_text(encoding="utf-8")


def test_there_are_no_other_files() -> None:
    assert {p.name for p in (ROOT / "docs" / "pictures").iterdir()} == {*DRAWN}


def test_pages_show_all() -> None:
    pages = [ROOT / "README.md", ROOT / "docs" / "pictures.md"]
    text = "".join(page.read_text(encoding="utf-8") for page in pages)
    assert [name for name in DRAWN if f"pictures/{name})" not in text] == []


def hits(name: str) -> list[tuple[int, ...]]:
    """The indices of the points that read the element."""
    root = ElementTree.fromstring(DRAWN[name])
    (group,) = (g for g in root.iter(f"{SVG}g") if g.get("class") == "hit")
    return [
        tuple(int(v) for k, v in circle.attrib.items() if k.startswith("data-"))
        for circle in group.iter(f"{SVG}circle")
    ]


def test_figure_3() -> None:
    """A = (1 -2), beta = -1: alpha = (-1, 0) + (2, 1) z for 1 <= z <= 3, between l and h."""
    alpha = [(i + 1, k + 1) for i, k in hits("figure-3.svg")]
    assert alpha == [(-1 + 2 * z, z) for z in (1, 2, 3)]
    texts = [e.text for e in ElementTree.fromstring(DRAWN["figure-3.svg"]).iter(f"{SVG}text")]
    assert {"l", "h"} <= {*texts}


def test_figure_4() -> None:
    """A = (1 -2 -2), beta = 3: a parallelogram, -1 <= z1 <= 1 and 0 <= z1 + z2 <= 4, of 15 points.

    alpha_1 = 3 + 2 z1 and alpha_2 = z1 + z2 are the coordinates of figure 4 (a), from 1 and 0 on.
    """
    paper = {(3 + 2 * z1, z1 + z2) for z1 in (-1, 0, 1) for z2 in range(-z1, 5 - z1)}
    assert len(paper) == 15
    assert {(i + 1, j) for i, j in hits("figure-4.svg")} == paper
    assert len(hits("figure-4-solutions.svg")) == 15
    root = ElementTree.fromstring(DRAWN["figure-4-solutions.svg"])
    (polygon,) = (p for p in root.iter(f"{SVG}polygon") if p.get("class") == "set")
    corners = [tuple(map(Fraction, c.split(","))) for c in polygon.attrib["points"].split()]
    assert len(corners) == 4
    (a, b, c, d) = corners
    assert (b[0] - a[0], b[1] - a[1]) == (c[0] - d[0], c[1] - d[1]), "opposite sides are parallel"
