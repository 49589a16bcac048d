"""The drawings of docs/tours are those drawn today, are shown, and name modules that there are.

python docs/draw_tours.py     draws them anew, to be looked at
"""

from __future__ import annotations

import re
import runpy
from typing import Any

import pytest

from tests.house.sources import modules
from tests.support.paths import ROOT

FOLDER = ROOT / "docs" / "tours"
SCRIPT: dict[str, Any] = runpy.run_path(str(ROOT / "docs" / "draw_tours.py"))
DRAWN: dict[str, str] = SCRIPT["draw"]()


@pytest.mark.parametrize("name", DRAWN)
def test_the_files_are_what_is_drawn(name: str) -> None:
    assert DRAWN[name] == (FOLDER / name).read_text(encoding="utf-8")


def test_each_page_shows_its_drawing() -> None:
    assert {p.name for p in FOLDER.glob("*.svg")} == {*DRAWN}
    for page in FOLDER.glob("*.md"):
        assert f"]({page.stem}.svg)" in page.read_text(encoding="utf-8")


def test_the_drawings_name_modules() -> None:
    known = {name.rpartition(".")[2] for name in modules()}
    named = [m for _, words, _, _ in SCRIPT["QUESTIONS"] for m in re.findall(r"\w+", words)]
    named += re.findall(r"\bllvm_\w+", DRAWN["printer.svg"])
    assert [name for name in named if name not in known] == []
