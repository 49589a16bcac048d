"""The command line of `tadc`: help, wrong command lines, errors and standard streams."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import tadc
from tests.support.paths import ROOT


def test_help_shows_examples_of_every_command(tadc_):
    assert all(word in tadc_("--help").out for word in ("derive", "run", "check", "tadc-opt"))
    for command in ("derive", "run", "check"):
        outcome = tadc_(command, "--help")
        assert outcome.code == 0
        assert f"  tadc {command} f.tad" in outcome.out
    assert tadc_("--version").out.startswith("tadc ")


@pytest.mark.parametrize(
    "line",
    [
        "",
        "divide f.tad",
        "derive",
        "derive f.tad --wrt a,,b",
        "derive f.tad --mode inverse",
        "derive f.tad --emit nothing",
        "derive f.tad --emit source,",
        "derive f.tad --diff solved",
        "derive f.tad --diff solved nothing",
        "derive f.tad --picture",
        "derive f.tad --element p",
        "run f.tad --arg x",
        "run f.tad --arg =3",
        "run f.tad --target tpu",
        "check f.tad --seed -1",
        "check f.tad --tolerance 0",
        "check f.tad --tolerance much",
        "check f.tad --size N",
        "check f.tad --size N=-2",
    ],
)
def test_wrong_command_lines_show_the_usage(tadc_, line: str):
    outcome = tadc_(*line.split())
    assert outcome.code == 2
    assert outcome.err.startswith("usage: tadc")
    assert not outcome.out


LOADED = """
import runpy, sys
sys.argv = ["tadc", *sys.argv[1:]]
try:
    runpy.run_module("tadc", run_name="__main__", alter_sys=True)
finally:
    print({".".join(m.split(".")[:2]) for m in sys.modules})
"""


@pytest.mark.parametrize("line", ["--help", "derive --help", "run --help", "--version"])
def test_help_loads_no_compiler(line: str):
    command = [sys.executable, "-c", LOADED, *line.split()]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    *shown, packages = done.stdout.splitlines()
    assert shown
    compiler = {"xdsl", "numpy", "llvmlite", "scipy", "tadc.passes", "tadc.dialects"}
    assert not compiler & eval(packages)


def test_the_package_is_the_command(tmp_path: Path):
    (tmp_path / "f.tad").write_text("y[i] = 2 * x[i]\n")
    command = [sys.executable, "-m", "tadc", "derive", str(tmp_path / "f.tad")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.endswith("\nreturn dx\n")


@pytest.mark.parametrize("command", ["derive", "run", "check"])
def test_empty_names_of_files(tadc_, command: str):
    outcome = tadc_(command, "")
    assert outcome.code == 2
    assert "error: argument FILE: it is empty: write the path of a program, or -\n" in outcome.err


@pytest.mark.parametrize("line", ["derive nowhere.tad", "run nowhere.tad", "check nowhere.tad"])
def test_missing_files_are_named(tadc_, line: str):
    outcome = tadc_(*line.split())
    assert outcome.code == 1
    assert outcome.err == "tadc: nowhere.tad: cannot read it: No such file or directory\n"


@pytest.mark.parametrize("command", ["derive", "run", "check"])
def test_errors_in_programs_show_their_place(tadc_, command: str):
    outcome = tadc_(command, "-", stdin="y[i] = expp(x[i])")
    assert outcome.code == 1
    assert outcome.err.startswith("tadc: <stdin>:1:8: there is no function expp\n")
    assert "\n           ^^^^\nhint: did you mean exp?" in outcome.err
    outcome = tadc_(command, "-", stdin=b"\xff")
    assert (outcome.code, outcome.err) == (1, "tadc: <stdin>: not a text in UTF-8 (byte 0)\n")


def test_interrupts_end_with_130(tadc_, monkeypatch: pytest.MonkeyPatch):
    def interrupt(*_: object):
        raise KeyboardInterrupt

    monkeypatch.setattr(tadc.Function, "derivative", interrupt)
    outcome = tadc_("derive", "f.tad")
    assert (outcome.code, outcome.err) == (130, "\ntadc: stopped\n")
