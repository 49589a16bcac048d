"""The site that `make docs` builds: its links lead somewhere, it asks no other host for anything.

`make docs` names the site in `TADC_SITE`; without it, what would look at the site is skipped.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.house.built_site import Page, faults
from tests.house.test_api_page import public_names
from tests.support.paths import ROOT

SITE = Path(os.environ.get("TADC_SITE") or ROOT / "nowhere").resolve()
built = pytest.mark.skipif(
    "TADC_SITE" not in os.environ,
    reason="TADC_SITE names no site: `make docs` builds and tests one",
)

FAULTS = {
    '<a href="away.html">': "away.html: there is no such place",
    '<a href="b.html#gone">': "b.html#gone: there is no such place",
    '<a href="#gone">': "#gone: there is no such place",
    '<script src="https://cdn.ex/a.js"></script>': "https://cdn.ex/a.js: asks another host",
    '<link href="//fonts.example/a" rel="stylesheet">': "//fonts.example/a: asks another host",
    '<img src="a.png">': "a.png: there is no such file",
    '<img src="pixel.png" srcset="pixel.png, b2.png 2x">': "b2.png: there is no such file",
    "<style>@font-face{src:url(http://a.ex/f)}</style>": "http://a.ex/f: asks another host",
    "<p style=\"background: url('x.png')\">": "x.png: there is no such file",
}
RIGHT = (
    '<a href="b.html#here">',
    '<a href="b.html?q=1#here">',
    '<a href="#top">',
    '<a href="https://arxiv.org">',
    '<img src="pixel.png" srcset="pixel.png, pixel.png 2x">',
    '<img src="data:image/png;base64,AA">',
)


def site(folder: Path, body: str) -> Path:
    """A site of two pages and a picture."""
    (folder / "a.html").write_text(f'<h1 id="top">a</h1>{body}')
    (folder / "b.html").write_text('<h1 id="here">b</h1>')
    (folder / "pixel.png").touch()
    return folder


@pytest.mark.parametrize("body", FAULTS)
def test_a_fault_is_found(body: str, tmp_path: Path):
    assert list(faults(site(tmp_path, body))) == [f"a.html: {FAULTS[body]}"]


@pytest.mark.parametrize("body", RIGHT)
def test_what_is_right_is_no_fault(body: str, tmp_path: Path):
    assert list(faults(site(tmp_path, body))) == []


def test_styles_are_read(tmp_path: Path):
    (site(tmp_path, "") / "s.css").write_text("@import 'https://a.example/s.css'; a{b:url(no.svg)}")
    assert list(faults(tmp_path)) == [
        "s.css: https://a.example/s.css: asks another host",
        "s.css: no.svg: there is no such file",
    ]


@built
def test_the_built_site_has_no_faults():
    assert len(list(SITE.rglob("*.html"))) > 50
    assert list(faults(SITE)) == []


@built
def test_links_to_packages_lead_to_their_pages():
    links = {link.partition("#")[0] for link in Page(SITE / "design" / "planning.html").links}
    assert links >= {"../tour/tadc.passes.scheduling.html", "../tour/tadc.passes.lowering.html"}


@built
def test_the_reference_has_every_public_name():
    anchors = {a for page in (SITE / "reference").glob("*.html") for a in Page(page).anchors}
    assert {*public_names(), "tadc.torch.op", "tadc.jax.op"} - anchors == set()
