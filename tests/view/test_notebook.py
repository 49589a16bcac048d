"""Functions in notebooks: valid HTML, escaped, without script, small, with texts from elsewhere."""

from __future__ import annotations

import pickle
import re
from html.parser import HTMLParser

import pytest

import tadc
from tadc.view import notebook
from tests.support.paths import ROOT

EXAMPLES = sorted(ROOT.glob("examples/*.tad"))
CONVOLUTION = "x: f64[N]\nw: f64[K]\ny[i] = sum[k](w[k] * x[2*i + 3*k])"
VOID = {"br", "img", "hr", "input", "link", "meta"}


class Reader(HTMLParser):
    """The elements and texts of a fragment, whose tags must match."""

    def __init__(self, html: str):
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.texts: dict[str, list[str]] = {}
        self.feed(html)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag not in VOID
        self.tags.append(tag)
        self.attributes += attrs
        self.open.append(tag)
        self.texts.setdefault(tag, []).append("")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        for tag in self.open:
            self.texts[tag][-1] += data


def read(function: tadc.Function) -> Reader:
    return Reader(function._repr_html_())


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples_are_valid_static_and_small(path):
    function = tadc.compile(path.read_text(encoding="utf-8"))
    for f in (function, function.derivative()):
        html = f._repr_html_()
        assert len(html.encode()) < 100_000
        found = Reader(html)
        assert found.texts["pre"][0] == str(f)
        assert {"pre", "details", "summary"} <= set(found.tags)
        if all(t.is_real for t in f.args):  # of index tensors, the data says which points there are
            assert "svg" in found.tags
        assert not {"script", "iframe", "link", "object"} & set(found.tags)
        names = {name for name, _ in found.attributes}
        assert not [name for name in names if name.startswith("on") or name in ("href", "src")]
        assert all(value for name, value in found.attributes if name == "data-link")


def test_styles_are_for_what_is_inside():
    (style,) = read(tadc.compile(CONVOLUTION)).texts["style"]
    selectors = re.findall(r"([^{}]+)\{[^}]*\}", style)
    assert len(selectors) > 4
    assert all(selector.startswith(".tadc") for selector in selectors)


def test_a_derivative_shows_the_program_that_it_is_of():
    function = tadc.compile(CONVOLUTION)
    found = read(function.derivative("w"))
    assert found.texts["pre"][:2] == [str(function.derivative("w")), str(function)]
    assert found.texts["summary"][0] == "program"
    why = "".join(found.texts["pre"])
    assert "dw:" in why and "dx:" not in why


def test_a_program_shows_its_derivative():
    function = tadc.compile(CONVOLUTION)
    found = read(function)
    assert found.texts["pre"][:2] == [str(function), str(function.derivative())]
    assert [s.partition(":")[0] for s in found.texts["summary"]] == [
        *("derivative", "pictures", "why", "stages"),
        *("tensor-index", "derivative", "solved", "bounded", "simplified"),
    ]


def test_a_second_derivative_is_of_the_first():
    first = tadc.compile("y[i] = x[i]**3").derivative()
    assert read(first.derivative()).texts["pre"][:2] == [str(first.derivative()), str(first)]


@pytest.mark.parametrize("make", ["forward", "batched"])
def test_what_is_no_derivative_in_reverse_shows_itself(make: str):
    made = getattr(tadc.compile(CONVOLUTION), make)()
    assert read(made).texts["pre"][0] == str(made)


def test_pickled_functions_show_themselves():
    derivative = pickle.loads(pickle.dumps(tadc.compile(CONVOLUTION).derivative()))
    assert read(derivative).texts["pre"][0] == str(derivative)


def test_texts_are_escaped():
    source = "x: f64[4]\ny[i] = x[i] if x[i] < 3 else 0  # <img src=x onerror=alert(1)> & </pre>"
    for function in (tadc.compile(source), tadc.compile(source).derivative()):
        html = function._repr_html_()
        assert "<img" not in html and "&lt;img src=x onerror=alert(1)&gt;" in html
        assert "img" not in Reader(html).tags


def test_programs_without_a_derivative_are_a_text():
    function = tadc.compile("y[i in range(3)] = i")
    found = read(function)
    assert found.texts["pre"] == [str(function)]
    assert "details" not in found.tags


def test_long_programs_are_a_text(monkeypatch):
    monkeypatch.setattr(notebook, "MOST_OPERATIONS", 5)
    function = tadc.compile(CONVOLUTION)
    assert read(function).texts["pre"] == [str(function)]
