"""`tadc doctor`: what it shows where all is well, and what it says where something is wrong."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import PackageNotFoundError
from typing import Any

import pytest

import tadc
from tadc.commands import doctor
from tadc.support.disk_store import DiskStore, disk_store
from tadc.verify import gradients
from tests.support.paths import ROOT


def test_all_is_well(tadc_: Any, store: DiskStore) -> None:
    outcome = tadc_("doctor")
    assert (outcome.code, outcome.err) == (0, "")
    lines = outcome.out.splitlines()
    assert lines[-1] == "all is well"
    assert f"  tadc       {tadc.__version__}" in lines
    assert f"  folder     {store.folder}" in lines and "  writable   yes" in lines
    assert "  result     as the reference has it" in lines


def test_the_page_shows_the_same_lines(tadc_: Any, store: DiskStore) -> None:
    page = (ROOT / "docs" / "command-line.md").read_text(encoding="utf-8")
    shown = page.partition("$ tadc doctor\n")[2].partition("```")[0]
    found = tadc_("doctor").out
    assert _names(shown) == _names(found) and len(_names(found)) > 15


def _names(text: str) -> list[str]:
    """The subject of each line: all of a title, the first word of others."""
    return [line[:11].rstrip() if line[0] == " " else line for line in text.splitlines()]


def test_no_framework_is_imported() -> None:
    code = (
        "import sys, tadc; assert tadc.__version__ and 'xdsl' not in sys.modules\n"
        "from tadc.commands.cli import main; assert main(['doctor']) == 0\n"
        "assert not {'torch', 'jax', 'scipy'} & {name.partition('.')[0] for name in sys.modules}"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_packages_that_are_missing_or_old(tadc_: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    versions = {"xdsl": "0.74.0", "numpy": "1.2.3", "scipy": "1.11.4", "jax": "0.6.9+x"}

    def version(package: str) -> str:
        if package not in versions:
            raise PackageNotFoundError(package)
        return versions[package]

    bounds = ["numpy>=1.26", "xdsl<0.76,>=0.70", 'scipy>=1.11.1; extra == "ode"']
    monkeypatch.setattr(doctor, "version", version)
    monkeypatch.setattr(doctor, "requires", lambda _: [*bounds, 'jax>=0.7; extra == "jax"'])
    outcome = tadc_("doctor")
    assert outcome.code == 1
    assert "  NumPy      1.2.3, older than 1.26\n  SciPy      1.11.4\n" in outcome.out
    assert "  PyTorch    not installed\n  JAX        0.6.9+x, older than 0.7\n" in outcome.out
    assert outcome.out.endswith(
        "\nwrong here: llvmlite, NumPy, JAX\n"
        "  llvmlite   pip install llvmlite\n"
        "  NumPy      pip install 'numpy>=1.26'\n"
        "  JAX        pip install 'jax>=0.7'\n"
    )


def test_a_cache_that_cannot_be_written(tadc_: Any, store: DiskStore) -> None:
    assert store.folder
    store.folder.write_text("a file")
    outcome = tadc_("doctor")
    assert outcome.code == 1
    assert "  writable   no\n" in outcome.out
    assert "TADC_CACHE=FOLDER" in outcome.out.partition("wrong here: writable\n")[2]


def test_a_cache_that_is_off(tadc_: Any, store: DiskStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TADC_CACHE", "off")
    disk_store.cache_clear()
    outcome = tadc_("doctor")
    assert outcome.code == 0
    assert "  folder     none: TADC_CACHE=off\n" in outcome.out


def test_a_setting_that_makes_no_sense(tadc_: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TADC_NUM_THREADS", "many")
    outcome = tadc_("doctor")
    assert outcome.code == 1
    assert "TADC_NUM_THREADS is 'many', expected a whole number" in outcome.out
    assert "  result     " in outcome.out  # what comes after it is looked at all the same


def test_wrong_derivatives(tadc_: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = gradients.Verdict("x", (3,), 3, 0.5, 1e-6, (-1, 1))
    monkeypatch.setattr(gradients, "verify", lambda f: [wrong])
    outcome = tadc_("doctor")
    assert outcome.code == 1
    assert "  gradients  5.0e-01 from central differences\n" in outcome.out
    assert "wrong here: gradients\n  gradients  please report it" in outcome.out


def test_whatever_a_damaged_installation_ends_in(
    tadc_: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_: object) -> None:
        raise AttributeError("no such thing")

    monkeypatch.setattr(gradients, "verify", broken)
    outcome = tadc_("doctor")
    assert outcome.code == 1
    assert "  error      AttributeError: no such thing\n" in outcome.out
