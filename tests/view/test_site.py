"""The static site: all its files are there, small enough, from one origin, under one version."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from html import unescape
from pathlib import Path

import pytest

import tadc
from tadc.errors import FileError, TargetError
from tadc.view import site as sites
from tests.house.built_site import faults

FIRST_VISIT = 7_500_000
"""The most bytes of a first visit, as servers send them."""


def kept_files(script: Path) -> list[str]:
    found = re.search(r"FILES = (\[.*\]);", script.read_text())
    assert found
    return json.loads(found[1])


def version(folder: Path) -> str:
    found = re.search(r'VERSION = "(\w+)"', (folder / "offline.js").read_text())
    assert found
    return found[1]


def test_links_lead_somewhere_and_to_no_other_host(site: Path):
    assert list(faults(site)) == []


def test_programs_of_the_help_can_be_derived():
    text = (sites.PAGE / "help.html").read_text(encoding="utf-8")
    programs = re.findall(r'<pre class="(?:paper )?tad">(.*?)</pre>', text, re.DOTALL)
    assert len(programs) == 10
    for program in programs:
        tadc.compile(unescape(program)).derivative()


def test_a_first_visit_is_small(site: Path):
    assert sum(packed for _, _, packed in sites.sizes(site)) < FIRST_VISIT


def test_all_files_are_kept_offline(site: Path):
    listed = kept_files(site / "offline.js")
    assert {*listed, "offline.js"} == {"./", *sites.file_names(site)}


def test_modules_import_files_of_the_site(site: Path):
    for script in site.glob("*.mjs"):
        for name in re.findall(r'from "\./([\w.]+)"', script.read_text()):
            assert (site / name).exists(), f"{script.name}: {name}"


def test_examples_have_stored_answers(site: Path):
    listed = json.loads((site / "examples.json").read_text())
    assert listed[0]["name"] == sites.FIRST
    for example in listed:
        answer = json.loads((site / example["answer"]).read_text())
        assert answer["error"] is None
        assert answer["formula"]["text"] == example["source"]
        assert set(sites.STORED) <= answer.keys()


def test_the_version_changes_with_every_file(site: Path, tmp_path: Path):
    copy = tmp_path / "site"
    shutil.copytree(site, copy)
    (copy / "answers" / f"{sites.FIRST}.json").write_text("{}")
    shutil.copy(sites.PAGE / "offline.js", copy)
    sites.name_files(copy)
    assert version(copy) != version(site)


def test_another_pyodide_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sites, "FETCHED", tmp_path)
    archive = tmp_path / f"pyodide-{sites.PYODIDE}.tgz"
    archive.write_bytes(b"another one")
    with pytest.raises(TargetError, match="is not the package"):
        sites.fetched_pyodide()
    assert not archive.exists()


def test_without_a_checkout_the_build_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sites, "ROOT", tmp_path)
    with pytest.raises(FileError, match="is not beside tadc"):
        sites.programs_of_language()


def test_npm_says_why_it_cannot_fetch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def fails(command: list[str], **_: object) -> None:
        raise subprocess.CalledProcessError(1, command, stderr="npm error network\nmore\n")

    monkeypatch.setattr(sites, "FETCHED", tmp_path)
    monkeypatch.setattr(subprocess, "run", fails)
    with pytest.raises(TargetError, match=r"npm cannot fetch pyodide@.*: npm error network"):
        sites.fetched_pyodide()


def test_without_node_the_build_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PATH", "")
    with pytest.raises(TargetError, match="takes node"):
        sites.compile_modules(tmp_path)


def test_without_npm_the_build_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sites, "FETCHED", tmp_path)
    monkeypatch.setenv("PATH", "")
    with pytest.raises(TargetError, match="takes npm"):
        sites.fetched_pyodide()
