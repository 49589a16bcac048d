"""The walkthrough is one chain through the pipeline, and `tadc-opt` shows all of it at once."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import pytest
from xdsl.passes import ModulePass, PassPipeline

from lit_tests.conftest import Stage, parse_run_line, run_lines, run_tool
from tadc.passes.code_pipeline import code_passes
from tadc.passes.derive.differentiate import DifferentiatePass
from tadc.passes.pipeline import STAGES, derivative_passes
from tadc.universe import TADC
from tests.support.paths import ROOT

FILES = sorted((ROOT / "lit_tests" / "walkthrough").glob("*-*"))


def options(path: Path) -> list[str]:
    """What the first RUN line of a file gives to `tadc-opt`, besides the file."""
    first, *_ = parse_run_line(run_lines(path)[0], path)
    assert first.tool == "tadc-opt"
    return [a for a in first.arguments if a != str(path)]


def printed(path: Path, *options: str) -> str:
    """What `tadc-opt` prints for a file."""
    tool = Stage("tadc-opt", [str(path), *options], fails=False, merged=False)
    code, output, errors = run_tool(tool, "")
    assert code == 0, errors
    return output


def passes_of(path: Path) -> tuple[ModulePass, ...]:
    """The passes of a file."""
    match options(path):
        case ["-p", spec]:
            return PassPipeline.parse_spec(TADC.all_passes, spec).passes
        case _:
            return ()


def test_there_is_one_file_per_stage():
    names = [f"{number:02}-{stage}" for number, stage in enumerate(STAGES, 1)]
    assert [path.stem for path in FILES] == names


@pytest.mark.parametrize(("path", "following"), list(pairwise(FILES)), ids=lambda p: p.stem)
def test_each_input_is_what_the_file_before_prints(path: Path, following: Path):
    assert printed(path, *options(path)) == printed(following)


def test_the_chain_is_the_pipeline():
    chain = [each for path in FILES for each in passes_of(path)]
    assert chain == [*derivative_passes(DifferentiatePass(("x",))).passes, *code_passes().passes]


# --- the program of the paper ---------------------------------------------------------------------

PAPER = ROOT / "examples" / "paper.tad"


def after_each_pass() -> dict[str, str]:
    """What `--print-between-passes` shows for the program of the paper, by the pass before."""
    names = [
        each.name
        for each in (*derivative_passes(DifferentiatePass()).passes, *code_passes().passes)
    ]
    text = printed(PAPER, "-p", ",".join(names), "--print-between-passes")
    modules = iter(re.findall(r"^builtin\.module \{\n.*?^\}$", text, re.MULTILINE | re.DOTALL))
    shown: dict[str, str] = {}
    last = printed(PAPER)
    headings = re.findall(r"^IR after (\S+):( the same)?$", text, re.MULTILINE)
    # the result stands last, without a heading
    after = [*headings, (names[-1], "")]
    assert [name for name, _ in after] == names
    for name, same in after:
        last = shown[name] = last if same else next(modules)
    return shown


def sums_of(label: str, text: str) -> list[str]:
    """The sets of the sums in a definition."""
    body = text.split(f'tix.define "{label}"')[1].split("tix.define")[0]
    found = re.findall(r"tix\.sum \(.*?\) in \((.*?)\) \{", body)
    return [re.sub(r"(%\w+?)(_\d+)?\b", r"\1", each) for each in found]


def test_printing_between_passes_shows_the_stages():
    shown = after_each_pass()
    ranges = "%i >= 0, %i <= 2, %j >= 0, %j <= 3, %k >= 0, %k <= 4"
    assert sums_of("dd", shown["differentiate"]) == [f"%p == %i + %k, {ranges}"]
    assert sums_of("dc", shown["differentiate"]) == [f"%i == %i, %p == %i, {ranges}"]
    (solved,) = sums_of("dd", shown["solve-index-kernels"])
    assert "==" not in solved
    assert sums_of("dc", shown["solve-index-kernels"])[0].startswith("%i == %p, ")
    # as in section 6 of the paper: k from max(0, p - 2) to min(4, p), and a Kronecker delta
    for name in ("infer-ranges", "simplify-sums", "inline-definitions", "set-precision"):
        (bounded,) = sums_of("dd", shown[name])
        assert bounded == "%k >= 0, %k + 2 >= %p, %k <= 4, %p >= %k, %j >= 0, %j <= 3"
        assert re.search(r'"dc".*\n.*tix.if \(%i_\d+ == %p\) {', shown[name])
    functions = re.findall(r"func\.func @(\w+)", shown["schedule"])
    assert functions == ["f", "da", "db", "dc", "dd"]
    assert "tix." not in shown["schedule"]
