"""Modules as bytecode: they import as before, and what they import is known."""

from __future__ import annotations

import importlib
import sys
import zipfile
from pathlib import Path

import pytest

from tadc.view import bundle, bytecode

OUTER = '''
"""A long text about the package."""
from dataclasses import dataclass

@dataclass
class Point:
    """A long text about points."""
    x: int

def double(n):
    """A long text about doubling."""
    import json.decoder
    return 2 * n
'''
INNER = """
import os.path, sys
from . import double
from outer import Point
VALUE = double(Point(4).x)
"""


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    package, module = tmp_path / "__init__.py", tmp_path / "inner.py"
    package.write_text(OUTER)
    module.write_text(INNER)
    bundle.write({"outer": package, "outer.inner": module}, tmp_path / "found.zip")
    return tmp_path / "found.zip"


def test_modules_import_as_before(archive: Path, monkeypatch: pytest.MonkeyPatch):
    bytecode.rewrite(archive, lambda name: True)
    monkeypatch.syspath_prepend(archive)
    for name in ("outer", "outer.inner"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    inner = importlib.import_module("outer.inner")
    assert inner.VALUE == 8
    assert inner.Point.__doc__ == "."
    assert repr(inner.Point(3)) == "Point(x=3)"
    for name in ("outer", "outer.inner"):
        monkeypatch.delitem(sys.modules, name)


def test_what_is_not_kept_goes(archive: Path):
    bytecode.rewrite(archive, lambda name: "inner" not in name)
    with zipfile.ZipFile(archive) as packed:
        assert packed.namelist() == ["outer/__init__.pyc"]


def test_imports_in_functions_count(archive: Path):
    assert bytecode.imported(archive) == {"dataclasses", "json.decoder", "os.path", "sys", "outer"}


def test_the_same_modules_give_the_same_bytes(archive: Path, tmp_path: Path):
    copy = tmp_path / "copy.zip"
    copy.write_bytes(archive.read_bytes())
    for each in (archive, copy):
        bytecode.rewrite(each, lambda name: True)
    assert archive.read_bytes() == copy.read_bytes()
