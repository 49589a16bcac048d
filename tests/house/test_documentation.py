"""What the documentation shows is run: Python, commands, programs, their derivatives and errors.

    ```python            runs, with the names of the blocks before it on the page
    ```text              what the block before it prints
    ```console           lines `$ tadc ...` with what they print
    ```tad               a program: it is compiled, derived, and its derivative compiled again
    ```tad derivative    the derivative of the program before it
    ```text error        the error that the program before it ends in

Blocks that import PyTorch or JAX are skipped where it is not installed, and so are the pages about
it. Blocks may be indented, as in lists. Everything runs in a folder with a copy of `examples`.
Numbers may differ in their last digits.
"""

from __future__ import annotations

import contextlib
import difflib
import io
import math
import re
import shlex
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent, indent
from typing import Any

import pytest

import tadc
from tadc.commands.cli import main
from tadc.dialects.tix import AVX_512
from tests.support.frameworks import missing, settings_kept
from tests.support.paths import ROOT
from tests.support.registers import choose_loops_for

PAGES = [
    ROOT / "README.md",
    *sorted((ROOT / "docs").rglob("*.md")),
]
OF_FRAMEWORKS = ("pytorch.md", "jax.md")
"""Pages on which all blocks need a framework."""
EXAMPLES = sorted((ROOT / "examples").rglob("*.tad"))
FENCE = re.compile(r"^( *)```(\w+)( \w+)?\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d*)?(?:e[+-]?\d+)?(?![\w.])")


@dataclass(frozen=True)
class Block:
    kind: str
    text: str
    line: int


def block_of(match: re.Match[str]) -> Block:
    line = match.string[: match.start()].count("\n") + 1
    return Block(match[2] + (match[3] or ""), dedent(match[4]), line)


def same(shown: str, printed: str) -> bool:
    """Whether two texts agree but for blanks and the last digits of numbers."""
    words = [" ".join(NUMBER.sub("#", t).split()) for t in (shown, printed)]
    numbers = [[float(n) for n in NUMBER.findall(t)] for t in (shown, printed)]
    return words[0] == words[1] and all(map(close, *numbers))


def close(a: float, b: float) -> bool:
    return math.isclose(a, b, rel_tol=1e-6, abs_tol=1e-10)


def printed_by(action: Any, *arguments: Any) -> str:
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        action(*arguments)
    return out.getvalue()


def commands(text: str) -> list[str]:
    return re.findall(r"^\$ (.*)$", text, re.MULTILINE)


def run_command(command: str) -> str:
    words = shlex.split(command)
    assert words[0] == "tadc", command
    target = Path(words[words.index(">") + 1]) if ">" in words else None
    printed = printed_by(main, words[1 : words.index(">") if target else None])
    if target:
        target.write_text(printed)
    return "" if target else printed


class Page:
    """Runs the blocks of a page one after another."""

    def __init__(self) -> None:
        self.names: dict[str, Any] = {}
        self.printed: str | None = ""
        """None after a block that is skipped."""
        self.program = ""
        self.error: tadc.TadcError | None = None

    def run(self, block: Block) -> str:
        """What the block has to show: its own text, where it only says what to run."""
        if self.error and block.kind != "text error":
            raise self.error
        match block.kind:
            case "python" if missing(block.text):
                self.printed = None
            case "python":
                self.printed = printed_by(exec, compile(block.text, "page", "exec"), self.names)
            case "text":
                return block.text if self.printed is None else self.printed
            case "console":
                return "".join(f"$ {c}\n{run_command(c)}" for c in commands(block.text))
            case "tad":
                self.program = block.text
                try:
                    check_derivative(self.program)
                except tadc.TadcError as error:
                    self.error = error
            case "tad derivative":
                return str(tadc.compile(self.program).derivative())
            case "text error":
                error, self.error = self.error, None
                assert error, "the program is right"
                return f"{error}\n"
            case _:
                assert block.kind in ("sh", "mlir"), f"what is a block of {block.kind}?"
        return block.text


def updated(text: str) -> str:
    """The text of a page with every block showing what it has to, the same bytes where it does."""
    page = Page()

    def replace(match: re.Match[str]) -> str:
        block = block_of(match)
        try:
            actual = page.run(block)
        except BaseException as error:
            error.add_note(f"in the block at line {block.line}")
            raise
        if same(block.text, actual):
            return match[0]
        return indent(f"```{block.kind}\n{actual.rstrip()}\n```", match[1])

    result = FENCE.sub(replace, text)
    if page.error:
        raise page.error
    return result


@contextlib.contextmanager
def folder_with_examples() -> Iterator[None]:
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(ROOT / "examples", Path(folder) / "examples")
        with contextlib.chdir(folder):
            yield


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_what_is_shown_is_so(page: Path):
    """`python tests/house/test_documentation.py` corrects the pages; review what it changed."""
    text = page.read_text(encoding="utf-8")
    if page.name in OF_FRAMEWORKS and missing(text):
        pytest.skip(f"{' and '.join(missing(text))} is not installed")
    with folder_with_examples(), settings_kept():
        shown, actual = text.splitlines(), updated(text).splitlines()
    assert not list(difflib.unified_diff(shown, actual, "shown", "actual", lineterm="", n=0))


def update_pages() -> None:
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        with folder_with_examples(), settings_kept():
            page.write_text(updated(text), encoding="utf-8")


def check_derivative(program: str) -> None:
    derivative = str(tadc.compile(program, file="f.tad").derivative())
    assert str(tadc.compile(derivative)) == derivative


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.name)
def test_examples_say_what_they_show(path: Path):
    text = path.read_text(encoding="utf-8")
    assert text.startswith("# ")
    check_derivative(text)


def test_the_example_of_the_paper_is_the_one_of_the_paper():
    last = (ROOT / "examples" / "paper.tad").read_text().splitlines()[-1]
    assert last == "f[i, j] = exp(-sum[k]((a[i, k] + b[j, k])**2 * c[i, i] + d[i + k]**3))"


def test_help_begins_with_a_program_that_runs():
    shown = re.search(r"^(    .*\n|\n)+", (tadc.__doc__ or "").partition("\n")[2], re.MULTILINE)
    assert shown
    printed = printed_by(exec, dedent(shown[0]), {})
    assert printed.rstrip().endswith("return dx")


def test_differences_are_noticed():
    assert same("a = 1.0000001", "a  =  1.0")
    assert same("1.3e-12 ok", "2.7e-12 ok")
    assert not same("a = 1.01", "a = 1.0")
    assert not same("x[2]", "x[3]")
    assert not same("ok", "WRONG")


def test_every_row_of_stages_is_a_stage():
    from tadc.passes.pipeline import STAGES

    page = (ROOT / "docs" / "architecture.md").read_text()
    rows = re.findall(r"^\| `([a-z-]+)` \|", page, re.MULTILINE)
    assert [row for row in rows if row in STAGES] == list(STAGES)


if __name__ == "__main__":
    with pytest.MonkeyPatch.context() as patch:
        choose_loops_for(AVX_512, patch)
        update_pages()
