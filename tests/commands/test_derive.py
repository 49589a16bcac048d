"""`tadc derive`: what it prints, and how it explains and times it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import tadc
from tadc.passes.code_pipeline import code_passes
from tadc.passes.derive.differentiate import DifferentiatePass
from tadc.passes.pipeline import derivative_passes
from tests.support.paths import ROOT

EXAMPLES = sorted((ROOT / "examples").rglob("*.tad"))
PAPER = str(ROOT / "examples" / "paper.tad")


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_derivatives_of_examples_derive_again(tadc_, path: Path):
    first = tadc_("derive", str(path))
    again = tadc_("derive", "-", stdin=first.out)
    assert (first.code, again.code) == (0, 0)
    derivative = tadc.compile_file(path).derivative()
    assert first.out == str(derivative).rstrip("\n") + "\n"
    assert [t.name for t in tadc.compile(again.out).results] == [
        t.name for t in derivative.derivative().results
    ]


def test_wrt_chooses_arguments_in_its_order(tadc_):
    assert tadc_("derive", PAPER, "--wrt", "c,a").out.endswith("\nreturn dc, da\n")
    outcome = tadc_("derive", PAPER, "--wrt", "aa")
    assert outcome.code == 1
    assert outcome.err == "tadc: there is no argument 'aa'\nhint: did you mean a?\n"
    assert tadc_("derive", "-", stdin="y = 2").code == 1


@pytest.mark.parametrize(
    "emit, expected",
    [
        ("source", "\nreturn dx\n"),
        ("tensor-index", "tix.return %y"),
        ("derivative", "%p == %i"),
        ("solved", "tix.return %dx"),
        ("bounded", "tix.return %dx"),
        ("simplified", "tix.return %dx"),
        ("scheduled", "loops.parallel"),
        ("code", "define "),
        ("llvm", "define "),
        ("llvm-optimized", "define "),
        ("assembly", "ret"),
        ("cuda", "__global__"),
    ],
)
def test_emit_prints_each_stage_and_text(tadc_, emit: str, expected: str):
    program = "x: f64[2*N]\ny[i in range(N)] = x[i + 1] * s"
    outcome = tadc_("derive", "-", "--wrt", "x", "--emit", emit, stdin=program)
    assert outcome.code == 0
    assert expected in outcome.out
    assert not outcome.out.endswith("\n\n")


def test_ptx_needs_nvrtc(tadc_):
    outcome = tadc_("derive", "f.tad", "--emit", "ptx")
    assert ".version" in outcome.out if outcome.code == 0 else "nvrtc" in outcome.err.lower()


def test_explain_prints_the_equations(tadc_):
    outcome = tadc_("derive", "f.tad", "--wrt", "x", "--explain")
    assert outcome.code == 0
    assert "dx[i]: the contribution of one read\n" in outcome.out
    assert "\n      [ 1 ]   i\n" in outcome.out
    outcome = tadc_("derive", "f.tad", "--wrt", "q", "--explain")
    assert (outcome.code, outcome.out) == (1, "")


def test_read_explains_some_contributions(tadc_):
    program = "y[i] = x[i] * x[2*i + 1]"
    outcome = tadc_("derive", "-", "--explain", "--read", "x[2 * i + 1]", stdin=program)
    assert outcome.code == 0
    assert ": 1 of 2 contributions\n" in outcome.out
    outcome = tadc_("derive", "-", "--explain", "--read", "y", stdin=program)
    assert outcome.code == 1
    assert outcome.err.startswith("tadc: there is no contribution of a read 'y'\nhint: ")
    assert tadc_("derive", "f.tad", "--explain", "--read", " ").code == 2


def test_explain_plan_prints_a_plan_that_compile_takes(tadc_):
    program = "x: f32[N, K]\nw: f32[M, K]\ny[i, j] = sum[k](x[i, k] * w[j, k])"
    sizes = ("--size", "N=512", "M=512", "K=512", "--precision", "f32")
    outcome = tadc_("derive", "-", "--explain-plan", *sizes, stdin=program)
    assert outcome.code == 0
    assert outcome.out.startswith("for N=512, M=512, K=512, f32\n")
    assert "y[i, j]: rows i by 6" in outcome.out and "\ndw[j, k]: rows" in outcome.out
    planned = tadc.compile(program, plan=outcome.out)
    assert "y[i, j]: rows i by 6" in planned.emit("plan")
    outcome = tadc_("derive", "-", "--explain-plan", "--emit", "llvm", stdin=program)
    assert outcome.code == 1
    assert "--explain-plan and --emit print different things" in outcome.err


@pytest.mark.parametrize("mode", ["forward", "inverse-jvp", "log-abs-det"])
def test_explain_plan_is_about_any_mode(tadc_, mode: str):
    path = ROOT / "examples" / "leapfrog.tad"
    outcome = tadc_("derive", str(path), "--mode", mode, "--explain-plan")
    assert outcome.code == 0
    assert f"# its derivative of mode {mode}\n" in outcome.out
    assert tadc.compile_file(path).emit("plan") in outcome.out.replace("# the program\n", "")
    tadc.compile(path.read_text(), plan=outcome.out)


def test_time_lists_every_pass_and_changes_no_output(tadc_):
    plain, timed = (
        tadc_("derive", PAPER, "--wrt", "a"),
        tadc_("derive", PAPER, "--wrt", "a", "--time"),
    )
    assert (timed.code, timed.out) == (0, plain.out)
    rows = [line.split("  ")[0].strip() for line in timed.err.splitlines()]
    steps = [p.run.name for p in (*derivative_passes(DifferentiatePass()), *code_passes())]
    assert [row for row in rows if row in steps] == list(dict.fromkeys(steps))
    assert rows[0] == "loading tadc"
    assert rows[-3:] == ["LLVM IR", "machine code", "total"]
    assert all(line.split()[-3].replace(".", "").isdigit() for line in timed.err.splitlines())
    assert plain.err == ""


# --- several texts, differences, pictures ---------------------------------------------------------

CONVOLUTION = "x: f64[N]\nw: f64[K]\ny[i] = sum[k](w[k] * x[2*i + 3*k])"


@pytest.mark.parametrize("words", [["solved,source,llvm"], ["solved", "source,llvm"]])
def test_several_texts_stand_below_their_names(tadc_, words: list[str]):
    emits = [word for each in words for word in ("--emit", each)]
    outcome = tadc_("derive", "-", *emits, stdin=CONVOLUTION)
    f = tadc.compile(CONVOLUTION, file="<stdin>")
    d = f.derivative()
    texts = "// solved\n", f.ir("solved"), "\n\n# source\n", str(d), "\n; llvm\n", d.emit("llvm")
    assert outcome.out == "".join(texts).rstrip("\n") + "\n"


def test_a_text_that_is_asked_for_twice_is_printed_once(tadc_):
    once = tadc_("derive", "-", "--emit", "solved", stdin=CONVOLUTION)
    twice = tadc_("derive", "-", "--emit", "solved,solved", stdin=CONVOLUTION)
    assert once.out == twice.out


def test_source_lines_stand_beside_the_ir(tadc_):
    outcome = tadc_("derive", "-", "--emit", "solved", "--source-lines", stdin=CONVOLUTION)
    plain = tadc_("derive", "-", "--emit", "solved", stdin=CONVOLUTION)
    assert re.sub(r" +// .*", "", outcome.out) == plain.out
    assert re.search(r"%1 = tix.read %w\[%k\] +// 3: w\[k\]\n", outcome.out)


def test_differences_of_stages(tadc_):
    outcome = tadc_(
        "derive", "-", "--wrt", "x", "--diff", "derivative", "solved", stdin=CONVOLUTION
    )
    assert outcome.out.startswith("--- derivative\n+++ solved\n@@ ")
    changed = [line for line in outcome.out.splitlines()[3:] if line[0] in "+-"]
    assert "%p == 2 * %i_1 + 3 * %k_1" in changed[0] and "(%z) in (3 * %z >= %p," in changed[-3]
    same = tadc_("derive", "-", "--diff", "solved", "solved", stdin=CONVOLUTION)
    assert same.out == "solved and solved are the same\n"


def test_differences_of_code(tadc_):
    words = "--diff", "scheduled", "llvm", "--size", "N=30", "K=5", "--precision", "f32"
    outcome = tadc_("derive", "-", *words, stdin=CONVOLUTION)
    assert outcome.code == 0 and "\n+define " in outcome.out and "\n-builtin.module" in outcome.out


def test_a_picture_is_drawn(tadc_):
    words = "--wrt", "x", "--picture", "x.svg", "--size", "N=30", "K=5", "--element", "p=12"
    outcome = tadc_("derive", "-", *words, stdin=CONVOLUTION)
    assert (outcome.code, outcome.out) == (0, "")
    text = Path("x.svg").read_text(encoding="utf-8")
    assert text.startswith("<svg ") and "dx[12] from x[2*i + 3*k]" in text


@pytest.mark.parametrize(
    "line, says",
    [
        ("--diff solved bounded --emit llvm", "--emit and --diff print different things"),
        ("--picture p.svg --explain", "--explain and --picture print different things"),
        ("--picture p.svg --mode forward", "--picture has nothing to draw in the mode forward"),
        ("--picture nowhere/p.svg", "nowhere/p.svg: cannot write it: "),
        ("--picture p.svg --size M=3", "there is no size 'M'"),
        ("--element p=3", "--element chooses what --picture shows"),
        ("--source-lines", "--source-lines has nothing to stand beside in source"),
        ("--source-lines --emit solved,cuda", "--source-lines has nothing to stand beside in cuda"),
    ],
)
def test_options_that_make_no_sense(tadc_, line: str, says: str):
    outcome = tadc_("derive", "-", *line.split(), stdin=CONVOLUTION)
    assert outcome.code == 1 and says in outcome.err and not outcome.out
