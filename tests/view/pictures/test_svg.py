"""The text of scenes: valid, escaped, small, and the same each time."""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction
from xml.etree import ElementTree

from tadc.view.pictures.scene import Arrow, Axis, Dot, Line, Mark, Scene, Tick
from tadc.view.pictures.svg import attribute_names, sheet, svg

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = "<img src=x onerror=alert(1)>&\"'"
SCENE = Scene(
    "r0",
    "a title",
    "a description",
    Axis("i", -1, 5),
    Axis("k", -1, 4),
    [(Fraction(0), Fraction(0)), (Fraction(4), Fraction(0)), (Fraction(7, 3), Fraction(3))],
    dots=[
        Dot("inside", 1, 0, {"i": 1, "k": 0}),
        Dot("outside", 5, 4, {"i": 5, "k": 4}),
        Dot("hit", 2, 1, {"i": 2, "k": 1}, "7"),
    ],
    lines=[
        Line("equation", (Fraction(-1), Fraction(0)), (Fraction(5), Fraction(3)), "i == 2*k"),
        Line("bound", (Fraction(0), Fraction(0)), (Fraction(4), Fraction(0)), "k >= 0", True),
    ],
    arrows=[Arrow((0, 0), (2, 1), "z")],
    marks=[Mark((Fraction(0), Fraction(1, 2)), "l", "i >= 0")],
    ticks=[Tick("read", 0, "i = 0"), Tick("guarded", 1, "i = 1"), Tick("unread", 2, "i = 2")],
    legend={"hit": "reads x[2]"},
    notes=["a note"],
)


def test_coordinates() -> None:
    """Both axes have one scale here: a unit is the same to the right and up."""
    root = ElementTree.fromstring(svg(SCENE))
    places = {
        group.get("class"): (float(circle.attrib["cx"]), float(circle.attrib["cy"]))
        for group in root
        for circle in group.findall(f"{SVG}circle")
        if circle.get("data-i")
    }
    (x0, y0), (x1, y1), (x2, y2) = (places[k] for k in ("inside", "hit", "outside"))
    assert x1 - x0 == y0 - y1 > 0
    assert (x2 - x0, y0 - y2) == (4 * (x1 - x0), 4 * (y0 - y1))


def test_what_belongs_to_a_read_has_its_link() -> None:
    root = ElementTree.fromstring(svg(SCENE))
    linked = {e.get("class") for e in root.iter() if e.get("data-link") == "r0"}
    assert linked == {"tadc-picture", "equation", "bound active", "outside", "hit", "basis", "end"}
    (hit,) = (c for c in root.iter(f"{SVG}circle") if c.get("data-i") == "2")
    assert hit.get("data-k") == "1"
    assert [t.text for t in hit] == ["i = 2, k = 1"]


def test_without_a_link_nothing_has_one() -> None:
    assert "data-link" not in svg(replace(SCENE, link=None))


def test_shapes_differ_without_colours() -> None:
    plain = re.sub(r'(fill|stroke)="var[^"]*"', "", svg(replace(SCENE, legend={})))
    circles = re.findall(r'<circle [^>]*r="([\d.]+)" data', plain)
    assert len({*circles}) == 3, "dots by size"
    ticks = re.findall(r'<g class="(?:read|guarded|unread)"><title>[^<]*</title>(<.*?/>)', plain)
    assert len({re.sub(r"[\d.]+", "", tick) for tick in ticks}) == 3, "ticks by form"


def test_texts_are_escaped() -> None:
    """Whatever names and conditions hold stays text, in attributes and outside of them."""
    scene = replace(
        SCENE,
        link=HOSTILE,
        title=HOSTILE,
        description=HOSTILE,
        x=Axis(HOSTILE, -1, 5),
        dots=[Dot("hit", 2, 1, {HOSTILE: 2}, HOSTILE)],
        lines=[replace(line, says=HOSTILE) for line in SCENE.lines],
        arrows=[Arrow((0, 0), (2, 1), HOSTILE)],
        marks=[replace(mark, name=HOSTILE, says=HOSTILE) for mark in SCENE.marks],
        ticks=[Tick("read", 0, HOSTILE)],
        legend={"hit": HOSTILE},
        notes=[HOSTILE],
    )
    for text in (svg(scene), sheet({HOSTILE: [scene]})):
        root = ElementTree.fromstring(text)
        assert not any(e.tag.endswith("img") or "onerror" in e.attrib for e in root.iter())
        assert "<img" not in text
        assert any(e.get("data-link") == HOSTILE for e in root.iter())


def test_the_text_is_the_same_each_time() -> None:
    assert svg(SCENE) == svg(replace(SCENE))


def test_attributes_are_valid_and_differ() -> None:
    assert attribute_names(["i", "I", "i'", "i''", "\N{GREEK SMALL LETTER ALPHA}", "i_1"]) == {
        "i": "data-i",
        "I": "data-i-",
        "i'": "data-i--",
        "i''": "data-i---",
        "\N{GREEK SMALL LETTER ALPHA}": "data--",
        "i_1": "data-i_1",
    }


def test_long_axes_stay_small() -> None:
    for count in (10, 100, 10_000, 10**9):
        root = ElementTree.fromstring(
            svg(replace(SCENE, x=Axis("p", -1, count), dots=[], ticks=[]))
        )
        assert float(root.attrib["width"]) < 1200
        numbers = [t for t in root.iter(f"{SVG}text") if t.get("text-anchor") == "middle"]
        assert 3 <= len(numbers) <= 80


def test_a_sheet_has_room_for_all() -> None:
    root = ElementTree.fromstring(sheet({"first": [SCENE, SCENE], "second": [SCENE]}))
    frames = [
        [float(inner.attrib[name]) for name in ("x", "y", "width", "height")]
        for inner in root.iter(f"{SVG}svg")
        if inner is not root
    ]
    assert len(frames) == 3
    (x0, y0, width, height), (x1, y1, _, _), (x2, y2, _, _) = frames
    assert (x0, y0) == (x2, y1) == (0, y0) and x1 == width and y2 > y0 + height
    assert float(root.attrib["width"]) == x1 + width
    assert float(root.attrib["height"]) == y2 + height
