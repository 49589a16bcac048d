"""Run the files of this folder under pytest, in one process: the same commands as `lit` runs.

A file says in comments how it is tested; each RUN line is a pipeline of the tools below:

    // RUN: tadc-opt %s -p 'differentiate{wrt=x}' \
    // RUN:   | filecheck %s
    // RUN: not tadc-opt %s -p unknown 2>&1 | filecheck %s --check-prefix ERROR

(`# RUN:` in `.tad` files). `%s` is the file, `not` expects failure, `2>&1` joins the standard error
to the output. Whatever else `lit` and its shell understand is refused, so that both always agree.
"""

from __future__ import annotations

import io
import os
import re
import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from xdsl.ir import Attribute

os.environ["TADC_CACHE"] = "off"  # tests see what is compiled now

COMMENTS = {".mlir": "//", ".tad": "#"}

WORD = r"""(?:'[^']*'|"[^"\\$`]*"|[\w./,:=+@{}%-])+"""
TOKEN = re.compile(rf"\s*(?:(?P<pipe>\|)|(?P<merge>2>&1)|(?P<word>{WORD}))(?=\s|\||$)")

# What lit reads from a file besides RUN lines, and RUN lines that only lit would see.
UNSUPPORTED = re.compile(r"\b(?:XFAIL|REQUIRES|UNSUPPORTED|ALLOW_RETRIES|DEFINE|REDEFINE|END)[.:]")


class BadRunLine(Exception):
    """A RUN line that is outside the supported syntax."""


# --- reading --------------------------------------------------------------------------------------


def run_lines(path: Path) -> list[str]:
    """The commands of a file, with continued lines joined."""
    text = path.read_text(encoding="utf-8")
    if unsupported := UNSUPPORTED.search(text):
        raise BadRunLine(f"unsupported: {unsupported[0]}")
    lines = re.findall(rf"^{COMMENTS[path.suffix]} RUN: *(.*?) *$", text, re.MULTILINE)
    if len(lines) != text.count("RUN:"):
        raise BadRunLine(f"a RUN line must start with '{COMMENTS[path.suffix]} RUN:'")
    if not lines:
        raise BadRunLine("no RUN line")
    if lines[-1].endswith("\\"):
        raise BadRunLine("the last RUN line is continued")
    joined = re.sub(r" *\\\n", " ", "\n".join(lines))
    return joined.split("\n")


@dataclass
class Stage:
    """One command of a pipeline."""

    tool: str
    arguments: list[str]
    fails: bool
    merged: bool

    @staticmethod
    def of(words: list[str], merged: bool) -> Stage:
        fails = words[:1] == ["not"]
        match words[fails:]:
            case [tool, *arguments] if tool in TOOLS:
                return Stage(tool, arguments, fails, merged)
            case _:
                raise BadRunLine(f"not one of {', '.join(TOOLS)}: '{' '.join(words)}'")


def parse_run_line(line: str, path: Path) -> list[Stage]:
    """The pipeline that a RUN line means."""
    if re.search(r"%(?!s\b)", line):
        raise BadRunLine(f"only %s is substituted: {line}")
    stages: list[Stage] = []
    words: list[str] = []
    merged = False
    position = 0
    while line[position:].strip():
        token = TOKEN.match(line, position)
        if token is None or (merged and token["pipe"] is None):
            raise BadRunLine(f"unsupported shell syntax: {line[position:].strip()}")
        position = token.end()
        if token["pipe"]:
            stages.append(Stage.of(words, merged))
            words, merged = [], False
        elif token["merge"]:
            merged = True
        else:
            (word,) = shlex.split(token["word"])
            words.append(word.replace("%s", str(path)))
    return [*stages, Stage.of(words, merged)]


# --- running --------------------------------------------------------------------------------------


def _tadc_opt(arguments: list[str]) -> int:
    from tadc.commands.opt import main

    with patch.object(Attribute, "__post_init__", Attribute.__post_init__):  # --disable-verify
        return main(arguments)


def _tadc(arguments: list[str]) -> int:
    from tadc.commands.cli import main

    return main(arguments)


def _filecheck(arguments: list[str]) -> int:
    from filecheck.main import main

    main(["filecheck", *arguments])
    return 0


TOOLS: dict[str, Callable[[list[str]], int]] = {
    "tadc-opt": _tadc_opt,
    "tadc": _tadc,
    "filecheck": _filecheck,
}


def run_tool(stage: Stage, text: str) -> tuple[int, str, str]:
    """Run one stage on the input `text`: exit code, output and standard error."""
    output = io.StringIO()
    errors = output if stage.merged else io.StringIO()
    stdin = io.TextIOWrapper(io.BytesIO(text.encode()), encoding="utf-8")
    argv = [stage.tool, *stage.arguments]
    with (
        redirect_stdout(output),
        redirect_stderr(errors),
        patch.object(sys, "stdin", stdin),
        patch.object(sys, "argv", argv),
    ):
        try:
            code = TOOLS[stage.tool](stage.arguments)
        except SystemExit as exit:
            code = exit.code if isinstance(exit.code, int) else int(exit.code is not None)
    return code, output.getvalue(), errors.getvalue()


class RunLineFailed(Exception):
    """A tool ended in another way than its RUN line says."""


class RunLine(pytest.Item):
    """One RUN line of a file."""

    def __init__(self, *, line: str, **options: Any):
        super().__init__(**options)
        self.line = line

    def runtest(self) -> None:
        text = ""
        for stage in parse_run_line(self.line, self.path):
            code, text, errors = run_tool(stage, text)
            if bool(code) != stage.fails:
                raise RunLineFailed(f"{stage.tool} ended with {code}\n{errors or text}")

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        if isinstance(excinfo.value, BadRunLine | RunLineFailed):
            return f"{self.path}\nRUN: {self.line}\n{excinfo.value}"
        excinfo.traceback = excinfo.traceback.cut(path=__file__)
        return super().repr_failure(excinfo, "short")

    def reportinfo(self) -> tuple[Path, int, str]:
        return self.path, 0, f"{self.path.name}: {self.line}"


class LitFile(pytest.File):
    """A file with RUN lines."""

    def collect(self) -> Iterator[RunLine]:
        try:
            lines = run_lines(self.path)
        except BadRunLine as error:
            raise self.CollectError(f"{self.path}: {error}") from error
        for number, line in enumerate(lines, 1):
            yield RunLine.from_parent(self, name=f"RUN-{number}", line=line)


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> LitFile | None:
    if file_path.suffix in COMMENTS:
        return LitFile.from_parent(parent, path=file_path)
    return None
