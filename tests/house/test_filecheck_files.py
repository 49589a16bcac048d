"""RUN lines of FileCheck files reach FileCheck, and no CHECK line is without use."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from lit_tests.conftest import COMMENTS, BadRunLine, Stage, parse_run_line, run_lines
from tests.house.sources import each, files
from tests.support.paths import ROOT


def lit_files() -> list[Path]:
    return [p for p in files("lit_tests") if p.suffix in COMMENTS]


@each(lit_files())
def test_every_run_line_is_checked(path: Path):
    for line in run_lines(path):
        stages = parse_run_line(line, path)
        assert stages[-1].tool == "filecheck", f"nothing looks at the output of: {line}"
        assert str(path) in stages[-1].arguments
        assert all(stage.tool != "filecheck" for stage in stages[:-1])


@pytest.mark.parametrize(
    "line",
    [
        "",
        "cat %s",
        "not",
        "tadc-opt %s |",
        "tadc-opt %s > out",
        "tadc-opt %s 2> out",
        "tadc-opt %s 2>&1 -p cse",
        "tadc-opt %s && filecheck %s",
        "tadc-opt %s; filecheck %s",
        "tadc-opt %t",
        "tadc-opt %S/f.mlir",
        "tadc-opt *.mlir",
        "tadc-opt $FILE",
        "tadc-opt 'unfinished",
        "tadc-opt a\\ b",
    ],
)
def test_run_lines_without_a_common_meaning_are_refused(line: str):
    with pytest.raises(BadRunLine):
        parse_run_line(line, ROOT / "f.mlir")


@pytest.mark.parametrize(
    "text",
    ["", "// run: x", "  // RUN: tadc-opt", "// RUN: a \\", "// RUN: a\n// XFAIL: *", "# RUN: a"],
)
def test_files_without_proper_run_lines_are_refused(text: str, tmp_path: Path):
    path = tmp_path / "f.mlir"
    path.write_text(text)
    with pytest.raises(BadRunLine):
        run_lines(path)


def test_run_lines_are_pipelines(tmp_path: Path):
    path = tmp_path / "f.tad"
    path.write_text(
        """# RUN: not tadc-opt %s -p 'a{b="c d"},e' \\\n# RUN:   2>&1 | filecheck %s\n"""
    )
    (line,) = run_lines(path)
    assert parse_run_line(line, path) == [
        Stage("tadc-opt", [str(path), "-p", 'a{b="c d"},e'], fails=True, merged=True),
        Stage("filecheck", [str(path)], fails=False, merged=False),
    ]


@each(lit_files())
def test_every_check_is_used(path: Path):
    used = {"CHECK"}
    for line in run_lines(path):
        used.update(*(p.split(",") for p in re.findall(r"--check-prefix(?:es)?[ =](\S+)", line)))
    mark = re.escape(COMMENTS[path.suffix])
    label = rf"^ *{mark} *([A-Z][A-Z0-9_-]*?)(?:-(?:NEXT|SAME|NOT|DAG|LABEL|EMPTY|COUNT-\d+))?:"
    written = set(re.findall(label, path.read_text(encoding="utf-8"), re.MULTILINE))
    assert written - {"RUN"} <= used
