"""The commands `tadc derive`, `tadc run` and `tadc check`, and `tadc.verify` behind the last."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tadc
from dialects.tix import elementwise as ew
from passes.differentiate import DifferentiatePass
from passes.differentiation import rules
from passes.pipeline import STAGES, code_passes, derivative_passes
from tadc.commands import check, cli, derive
from tadc.emit import TEXTS
from tadc.errors import ArgumentError, SizeError, UnknownNameError
from tadc.runtime.targets import TARGETS
from tadc.verify.gradients import choose_sizes, verify, widened
from tests.support.paths import ROOT

EXAMPLES = sorted((ROOT / "examples").rglob("*.tad"))
PAPER = str(ROOT / "examples" / "paper.tad")


# --- the command line -----------------------------------------------------------------------------


def test_help_and_version(tadc_):
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
        "derive f.tad --emit nothing",
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
def test_wrong_command_lines(tadc_, line: str):
    outcome = tadc_(*line.split())
    assert outcome.code == 2
    assert outcome.err.startswith("usage: tadc")
    assert not outcome.out


def test_the_command_line_knows_all_stages_and_targets():
    assert derive.EMITS == cli.EMITS
    assert set(cli.EMITS) == {*STAGES, *TEXTS}
    assert set(cli.TARGETS) == set(TARGETS)


def test_help_needs_no_compiler():
    code = "import sys, tadc.commands.cli; tadc.commands.cli.parser(); print(sorted(sys.modules))"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert "tadc.commands.derive" not in done.stdout


@pytest.mark.parametrize("line", ["derive nowhere.tad", "run nowhere.tad", "check nowhere.tad"])
def test_missing_files(tadc_, line: str):
    outcome = tadc_(*line.split())
    assert outcome.code == 1
    assert outcome.err == "tadc: nowhere.tad: cannot read it: No such file or directory\n"


@pytest.mark.parametrize("command", ["derive", "run", "check"])
def test_errors_in_programs(tadc_, command: str):
    outcome = tadc_(command, "-", stdin="y[i] = expp(x[i])")
    assert outcome.code == 1
    assert outcome.err.startswith("tadc: <stdin>:1:8: there is no function expp\n")
    assert "\n           ^^^^\nhint: did you mean exp?" in outcome.err
    outcome = tadc_(command, "-", stdin=b"\xff")
    assert (outcome.code, outcome.err) == (1, "tadc: <stdin>: not a text in UTF-8 (byte 0)\n")


def test_interrupts(tadc_, monkeypatch: pytest.MonkeyPatch):
    def interrupt(*_: object):
        raise KeyboardInterrupt

    monkeypatch.setattr(tadc.Function, "derivative", interrupt)
    outcome = tadc_("derive", "f.tad")
    assert (outcome.code, outcome.err) == (130, "\ntadc: stopped\n")


def test_closed_pipes(tmp_path: Path):
    program = "; ".join(f"y{n}[i] = x[i] * {n}" for n in range(200))
    (tmp_path / "f.tad").write_text(program)
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "tadc.commands.cli", "derive", str(tmp_path / "f.tad")]
    with os.fdopen(writer, "w") as pipe:
        done = subprocess.run(command, cwd=ROOT, stdout=pipe, stderr=subprocess.PIPE, check=False)
    assert (done.returncode, done.stderr) == (1, b"")


def test_full_disks(tmp_path: Path):
    (tmp_path / "f.tad").write_text("x: f64[N]\ny[i] = s * x[i]**2\n")
    command = [sys.executable, "-m", "tadc.commands.cli", "derive", str(tmp_path / "f.tad")]
    if not Path("/dev/full").exists():
        pytest.skip("needs a device that is always full")
    with open("/dev/full", "w") as full:
        done = subprocess.run(command, cwd=ROOT, stdout=full, stderr=subprocess.PIPE, check=False)
    assert (done.returncode, done.stderr.count(b"\n")) == (1, 1)
    assert b"tadc: cannot write the output: No space left" in done.stderr


# --- derive ---------------------------------------------------------------------------------------


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


def test_derive_with_respect_to_some(tadc_):
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
def test_emit(tadc_, emit: str, expected: str):
    program = "x: f64[2*N]\ny[i in range(N)] = x[i + 1] * s"
    outcome = tadc_("derive", "-", "--wrt", "x", "--emit", emit, stdin=program)
    assert outcome.code == 0
    assert expected in outcome.out
    assert not outcome.out.endswith("\n\n")


def test_emit_ptx(tadc_):
    outcome = tadc_("derive", "f.tad", "--emit", "ptx")
    assert ".version" in outcome.out if outcome.code == 0 else "nvrtc" in outcome.err.lower()


def test_explain(tadc_):
    outcome = tadc_("derive", "f.tad", "--wrt", "x", "--explain")
    assert outcome.code == 0
    assert "dx[i]: the contribution of one read\n" in outcome.out
    assert "\n      [ 1 ]   i\n" in outcome.out
    outcome = tadc_("derive", "f.tad", "--wrt", "q", "--explain")
    assert (outcome.code, outcome.out) == (1, "")


def test_time(tadc_):
    plain, timed = (
        tadc_("derive", PAPER, "--wrt", "a"),
        tadc_("derive", PAPER, "--wrt", "a", "--time"),
    )
    assert (timed.code, timed.out) == (0, plain.out)
    rows = [line.split("  ")[0].strip() for line in timed.err.splitlines()]
    passes = *derivative_passes(DifferentiatePass()).passes, *code_passes().passes
    steps = [p.name for p in passes]
    assert [row for row in rows if row in steps] == list(dict.fromkeys(steps))
    assert rows[0] == "loading tadc"
    assert rows[-3:] == ["LLVM IR", "machine code", "total"]
    assert all(line.split()[-3].replace(".", "").isdigit() for line in timed.err.splitlines())
    assert plain.err == ""


# --- run ------------------------------------------------------------------------------------------


def test_run_prints_names_types_and_shapes(tadc_):
    outcome = tadc_("run", "f.tad", "--arg", "x=[1, 2, 3]", "s=-0.5")
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out == "y: float64 (3,)\n[-0.5 -2.  -4.5]\n"
    outcome = tadc_("run", "-", "--arg", "x=[[1, 2]]", stdin="x: f32[1, N]\nt = sum[i](x[0, i])")
    assert outcome.out == "t: float32 () = 3.0\n"


@pytest.mark.parametrize("target", ["cpu", "interpret"])
def test_run_reads_files_and_writes_archives(tadc_, target: str):
    rng = np.random.default_rng(0)
    f = tadc.compile_file(PAPER)
    a, b, c, d = (rng.uniform(-1, 1, t.shape) for t in f.args)
    np.save("a.npy", a)
    np.savez("bc.npz", b=b, other=c)
    np.savez("d.npz", d=d)
    line = ["run", PAPER, "--arg", "a=a.npy", "b=bc.npz", "c=bc.npz:other", "--arg", "d=d.npz:d"]
    outcome = tadc_(*line, "--target", target, "--vjp", "--out", "out.npz")
    assert (outcome.code, outcome.out) == (0, "")
    assert outcome.err == "tadc: df: ones, since no --arg gives other values\n"
    y, pullback = tadc.vjp(f, a, b, c, d)
    with np.load("out.npz") as results:
        assert results.files == ["f", "da", "db", "dc", "dd"]
        for name, value in zip(results.files, (y, *pullback(np.ones_like(y))), strict=True):
            np.testing.assert_allclose(results[name], value, rtol=1e-12)


def test_adjoints(tadc_):
    np.save("dy.npy", np.array([1.0, 10.0]))
    line = ["run", "f.tad", "--arg", "x=[1, 2]", "s=1", "--vjp"]
    outcome = tadc_(*line, "--arg", "dy=dy.npy")
    assert outcome.err == ""
    assert "dx: float64 (2,)\n[ 2. 40.]\nds: float64 () = 41.0\n" in outcome.out
    outcome = tadc_(*line[:-1], "--arg", "dy=dy.npy")
    assert outcome.code == 1
    assert "--vjp computes gradients with it" in outcome.err


def test_arrays_may_have_any_name(tadc_):
    program = "file[i] = arr_0[i]\nself[i] = 2*arr_0[i]"
    outcome = tadc_("run", "-", "--arg", "arr_0=[1.5]", "--out", "o", stdin=program)
    assert outcome.code == 0
    with np.load("o") as results:
        assert {name: results[name].tolist() for name in results} == {"file": [1.5], "self": [3.0]}


def test_stats(tadc_):
    outcome = tadc_("run", "f.tad", "--arg", "x=[1]", "s=1", "--stats")
    assert "second run" in outcome.err
    assert "peak memory: 8 B in 1 buffer (arguments: 16 B)" in outcome.err
    outcome = tadc_("run", "f.tad", "--arg", "x=[1]", "s=1", "--stats", "--vjp")
    assert "kept for the pullback: " in outcome.err


@pytest.mark.parametrize(
    "words, message",
    [
        ("s=1", "the argument x is missing"),
        ("x=[1] s=1 t=2", "there is no argument t"),
        ("x=[1] x=[2] s=1", "--arg gives x twice"),
        ("x=1 s=1", "the argument x has rank 0, not 1"),
        ("x=many s=1", "--arg x=many is neither a number nor a file"),
        ("x=[[1],[2,3]] s=1", "neither a number nor a file"),
        ("x=['a'] s=1", "neither a number nor a file"),
        ("x=int.npy s=1", "the argument x has dtype int64, not float64"),
        ("x=none.npy s=1", "none.npy: cannot read it: No such file"),
        ("x=text.npy s=1", "text.npy: no array of numbers"),
        ("x=empty.npy s=1", "empty.npy: no array of numbers"),
        ("x=objects.npy s=1", "objects.npy: no array of numbers"),
        ("x=text.npz:x s=1", "text.npz: no array of numbers"),
        ("x=int.npz:x s=1", "int.npz: not an archive of NumPy"),
        ("x=some.npz s=1", "some.npz: there is no array x in it\nhint: it holds y, o"),
        ("x=some.npz:o s=1", "some.npz: o is no array of numbers"),
        ("x=[1] s=1 --out nowhere/o.npz", "nowhere/o.npz: cannot write it: No such file"),
    ],
)
def test_bad_arguments(tadc_, words: str, message: str):
    np.save("int.npy", np.arange(3, dtype=np.int64))
    Path("int.npz").write_bytes(Path("int.npy").read_bytes())
    np.save("objects.npy", np.array([None]), allow_pickle=True)
    np.savez("some.npz", y=np.ones(2), o=np.array([None]))
    for name in ("text.npy", "text.npz"):
        Path(name).write_text("text")
    Path("empty.npy").touch()
    outcome = tadc_("run", "f.tad", "--arg", *words.split())
    assert (outcome.code, outcome.out) == (1, "")
    assert outcome.err.startswith("tadc: ")
    assert message in outcome.err


# --- check ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_examples_are_right(tadc_, path: Path):
    outcome = tadc_("check", str(path))
    assert (outcome.code, outcome.err) == (0, "")
    assert "seed 0" in outcome.out
    assert "WRONG" not in outcome.out
    for t in tadc.compile_file(path).args:
        assert f"\n  {t.name} " in outcome.out


def test_check_says_how(tadc_):
    outcome = tadc_("check", "f.tad", "--seed", "7", "--size", "N=6")
    assert outcome.out.splitlines()[:3] == [
        "f.tad: derivatives against central differences in float64",
        "  random arguments between -1 and 1, seed 7",
        "  sizes N = 6",
    ]
    assert tadc_("check", "f.tad", "--seed", "7", "--size", "N=6").out == outcome.out
    outcome = tadc_("check", "-", stdin="x: f32[300]\ny[i] = log(x[i])")
    assert "between 0.5 and 1.5" in outcome.out
    assert "  f32 is computed in float64 here\n" in outcome.out
    assert "200 of x" in outcome.out


def test_some_arguments_alone(tadc_):
    """`--wrt` computes, keeps and compares no other gradients."""
    line = ["run", "f.tad", "--arg", "x=[1, 2]", "s=1"]
    outcome = tadc_(*line, "--vjp", "--wrt", "s")
    assert outcome.code == 0 and "ds: " in outcome.out and "dx: " not in outcome.out
    outcome = tadc_(*line, "--wrt", "s")
    assert (outcome.code, outcome.err) == (
        1,
        "tadc: --wrt chooses gradients\nhint: --vjp computes them\n",
    )
    rows = tadc_("check", "f.tad", "--wrt", "s").out.splitlines()[3:]
    assert [row.split()[0] for row in rows] == ["argument", "s", "mode", "forward"]
    for command in (["check", "f.tad"], [*line, "--vjp"]):
        outcome = tadc_(*command, "--wrt", "q")
        assert outcome.code == 1 and "there is no argument 'q'" in outcome.err


def test_check_can_fail(tadc_):
    outcome = tadc_("check", PAPER, "--tolerance", "1e-18")
    assert outcome.code == 1
    assert "WRONG by more than 1e-18: a, b, c, d, forward\n" in outcome.out


def test_progress_on_terminals(tadc_, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    outcome = tadc_("check", "f.tad")
    assert "1 of 6 elements" in outcome.err
    assert outcome.err.endswith("\r\x1b[K")


def wrong_exp(e, a, x, y):
    return e.mul(a, e.mul(y(), e.constant(1.001)))


def test_a_wrong_rule_is_noticed(tadc_, monkeypatch: pytest.MonkeyPatch):
    wrong = {**rules.RULES, ew.ExpOp: rules._unary_rule(wrong_exp)}
    monkeypatch.setattr(rules, "RULES", wrong)
    outcome = tadc_("check", PAPER)
    assert outcome.code == 1
    assert "WRONG by more than 1e-06: a, b, c, d, forward" in outcome.out
    function = tadc.compile("y[i] = exp(x[i]) * w[i] + log(v[i])")
    assert {v.argument: v.ok for v in verify(function)} == {"x": False, "w": True, "v": True}


def test_derivatives_that_are_no_numbers_are_wrong(monkeypatch: pytest.MonkeyPatch):
    def nothing(e, a, x, y):
        return e.mul(a, e.div(e.sub(x(), x()), e.sub(x(), x())))

    wrong = {**rules.RULES, ew.ExpOp: rules._unary_rule(nothing)}
    monkeypatch.setattr(rules, "RULES", wrong)
    (verdict,) = verify(tadc.compile("y[i] = exp(x[i])"))
    assert verdict.error == np.inf
    assert not verdict.ok


# --- verify ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "program",
    [
        "y[i] = asin(x[i]) + log(x[i])",
        "y[i] = 1 / x[i] + abs(x[i]) * relu(z[i]) - sqrt(z[i])",
        "y[i] = sqrt(x[i]**2 - 2)",
        "y[i] = max(x[i], z[i], 0.1) * sign(x[i]) + min(x[i], z[i])",
        "x: f32[N, N + 1]\ny[i] = sum[k](x[i, k]) * s",
        "x: f64[300, 300]\ny[i, j] = sum[k](x[i, k] * x[k, j])",
        "x: f64[0]\ny[i] = x[i] * s",
        "y = s**3",
    ],
)
def test_verify_finds_arguments(program: str):
    verdicts = verify(tadc.compile(program))
    assert verdicts
    assert all(v.ok and v.error < 1e-7 for v in verdicts), verdicts


def test_verify_where_nothing_is_finite():
    with pytest.raises(ArgumentError, match="not finite at any"):
        verify(tadc.compile("y[i] = log(x[i] - 70)"))


@pytest.mark.parametrize("program", ["x: f32[N]\ny[i] = x[i] / 3", "y: f32[3]\ny[i] = x[i] / 3"])
def test_widened(program: str):
    function = tadc.compile(program)
    wide = widened(function)
    assert "f32" in function.ir("tensor-index")
    assert "f32" not in wide.ir("tensor-index")
    assert wide(np.ones(3)).dtype == np.float64
    assert widened(wide) is wide
    assert pickle.loads(pickle.dumps(wide)).args == wide.args


def test_sizes():
    f = tadc.compile("x: f64[N]\nw: f64[K]\ny[i] = sum[k](w[k] * x[3*i + 5*k])")
    sizes = choose_sizes(f)
    assert sizes["N"] > 5 * sizes["K"]
    assert choose_sizes(f, given={"K": 1})["K"] == 1
    assert choose_sizes(f, given={"N": 40, "K": 2}) == {"N": 40, "K": 2}
    with pytest.raises(UnknownNameError, match=r"no size M\nhint: there are N, K"):
        choose_sizes(f, given={"M": 3})
    with pytest.raises(SizeError, match="outside, or a tensor empty"):
        choose_sizes(f, given={"N": 2, "K": 9})
    with pytest.raises(SizeError, match="no small sizes"):
        choose_sizes(tadc.compile("x: f64[N]\ny[i in range(3)] = x[i + 500]"))


def test_tables_align():
    verdicts = verify(tadc.compile("y[i] = x[i] * some_name"))
    lines = check.table(verdicts)
    assert lines[2].startswith("  some_name  scalar")
    assert len({line.rfind("ok") for line in lines[1:]}) == 1
