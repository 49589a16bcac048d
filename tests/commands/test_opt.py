"""`tadc-opt`: what it knows, and how it ends on bad input."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from importlib.metadata import entry_points
from io import BytesIO, TextIOWrapper
from pathlib import Path

import pytest

from tadc.commands.opt import main
from tadc.universe import DIALECTS, PASSES, REPLACED_TARGETS, TADC

GOOD = """
tix.program @f (%x = "x" : !tix.tensor<[N], f64>) {
  tix.return %x
}
"""
UNVERIFIED = """
tix.program @f (%x = "x" : f64) {
  tix.return
}
"""

installed = any(e.name == "tadc" for e in entry_points(group="xdsl.universe"))
needs_install = pytest.mark.skipif(not installed, reason="tadc is not installed")


@pytest.fixture
def good(tmp_path: Path) -> str:
    path = tmp_path / "good.mlir"
    path.write_text(GOOD)
    return str(path)


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """The message with which `tadc-opt` refuses these arguments."""
    assert main(arguments) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("tadc-opt: ")
    assert "Traceback" not in captured.err
    return captured.err.removeprefix("tadc-opt: ").rstrip("\n")


# --- what it knows --------------------------------------------------------------------------------


def test_help_lists_everything(capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit) as exit:
        main(["--help"])
    assert exit.value.code == 0
    words = set(re.findall(r"[\w-]+", capsys.readouterr().out))
    assert {*TADC.all_dialects, *TADC.all_passes, "cuda", "llvm", "tad", "canonicalize"} <= words


def test_every_option_has_help(capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit):
        main(["--help"])
    text = " ".join(capsys.readouterr().out.split())
    assert "--disable-verify Do not verify the IR" in text


def test_version_names_the_tool(capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit) as exit:
        main(["--version"])
    assert exit.value.code == 0
    assert capsys.readouterr().out.startswith("tadc-opt ")


@pytest.mark.parametrize("name", DIALECTS)
def test_every_dialect_loads(name: str):
    assert TADC.all_dialects[name]().name == name


@pytest.mark.parametrize("name", PASSES)
def test_every_pass_loads(name: str):
    assert TADC.all_passes[name]().name == name


@pytest.mark.parametrize("name", [*TADC.all_targets, *REPLACED_TARGETS])
def test_every_target_loads(name: str):
    assert (TADC.all_targets | REPLACED_TARGETS)[name]().name == name


def test_import_is_lazy():
    code = (
        "import sys, tadc.commands.opt; print([m for m in sys.modules if m.startswith('llvmlite')])"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.stdout.strip() == "[]", result.stderr


# --- running --------------------------------------------------------------------------------------


def test_ir_is_printed_as_it_was_read(good: str, capsys: pytest.CaptureFixture[str]):
    assert main([good]) == 0
    captured = capsys.readouterr()
    assert "tix.return %x" in captured.out
    assert captured.err == ""


def test_passes_that_change_nothing_print_no_ir(good: str, capsys: pytest.CaptureFixture[str]):
    assert main([good, "-p", "canonicalize,cse,dce", "--print-between-passes"]) == 0
    text = capsys.readouterr().out
    assert text.index("IR after canonicalize: the same") < text.index("IR after cse: the same")
    assert text.count("tix.program @f") == 1


def test_print_between_passes_shows_what_changed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    path = tmp_path / "f.tad"
    path.write_text("x: f64[N]\ny[i] = x[i]**2\n")
    line = "outline-reductions,differentiate,solve-index-kernels,infer-ranges"
    assert main([str(path), "-p", line, "--print-between-passes"]) == 0
    text = capsys.readouterr().out
    assert "IR after outline-reductions: the same\n" in text
    assert "IR after differentiate:\nbuiltin.module" in text
    assert "IR after infer-ranges" not in text


@pytest.mark.parametrize("words", [["-"], []])
def test_standard_input_is_ir_or_a_program(
    words, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("sys.stdin", TextIOWrapper(BytesIO(GOOD.encode())))
    assert main(words) == 0
    assert "tix.return %x" in capsys.readouterr().out
    monkeypatch.setattr("sys.stdin", TextIOWrapper(BytesIO(b"y[i] = 2 * x[i]")))
    assert main([*words, "-f", "tad"]) == 0
    assert "tix.return %y" in capsys.readouterr().out


def test_output_goes_to_a_file(good: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    output = tmp_path / "out.mlir"
    assert main([good, "-o", str(output)]) == 0
    assert "tix.program @f" in output.read_text()
    assert capsys.readouterr().out == ""


# --- bad input ------------------------------------------------------------------------------------


def test_missing_files_are_named(capsys: pytest.CaptureFixture[str]):
    assert refused(capsys, "no/such.mlir") == "no/such.mlir: No such file or directory"


def test_empty_name_of_a_file(capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit) as exit:
        main([""])
    assert exit.value.code == 2
    assert "it is empty: write the path" in capsys.readouterr().err


def test_unknown_kind_of_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "f.txt"
    path.write_text(GOOD)
    assert refused(capsys, str(path)) == "Unrecognized file extension 'txt'"


def test_unknown_passes_are_refused(good: str, capsys: pytest.CaptureFixture[str]):
    assert refused(capsys, good, "-p", "nonsense") == "Unrecognized passes: ['nonsense']"


def test_unknown_pass_option(good: str, capsys: pytest.CaptureFixture[str]):
    assert "nonsense" in refused(capsys, good, "-p", "canonicalize{nonsense=1}")


def test_a_malformed_pipeline_is_one_message(good: str, capsys: pytest.CaptureFixture[str]):
    assert "pass pipeline" in refused(capsys, good, "-p", "canonicalize{")


def test_an_unknown_target_is_one_message(good: str, capsys: pytest.CaptureFixture[str]):
    """As for every wrong argument of a command: its usage, and exit code 2."""
    with pytest.raises(SystemExit) as exit:
        main([good, "-t", "nonsense"])
    assert exit.value.code == 2
    assert "invalid choice: 'nonsense'" in capsys.readouterr().err


@pytest.mark.parametrize("target", ["cuda", "llvm"])
@pytest.mark.parametrize("passes", ["", "outline-reductions,"])
def test_targets_say_what_to_run_first(target, passes, good, capsys: pytest.CaptureFixture[str]):
    message = refused(capsys, good, "-t", target, *(["-p", passes.strip(",")] if passes else []))
    start = f"the target {target} takes loops, and here is a program\nhint: run schedule first: -p "
    assert message.startswith(start)
    pipeline = message.removeprefix(start).strip("'")
    assert pipeline.startswith(passes) and pipeline.endswith("schedule")
    assert main([good, "-t", target, "-p", pipeline]) == 0


@pytest.mark.parametrize("target", ["cuda", "llvm"])
def test_unknown_target_option(target: str, good: str, capsys: pytest.CaptureFixture[str]):
    line = ["-p", "set-precision,schedule", "-t", f"{target}{{nonsense=1}}"]
    assert "nonsense" in refused(capsys, good, *line)


def test_bad_syntax_is_shown_at_its_place(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "bad.mlir"
    path.write_text("\ntix.program f () {\n}\n")
    message = refused(capsys, str(path))
    assert message.startswith(f"{path}:2:13\n")
    assert "tix.program f ()" in message


def test_binary_programs_are_no_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "binary.tad"
    path.write_bytes(b"f = \xff")
    assert refused(capsys, str(path)) == "the input is not UTF-8 text (byte 4)"


def test_binary_ir_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "binary.mlir"
    path.write_bytes(b"tix.program @f () {\xff}")
    refused(capsys, str(path))


def test_ir_that_does_not_verify(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "unverified.mlir"
    path.write_text(UNVERIFIED)
    assert refused(capsys, str(path)).startswith("arguments must be tensors\n")
    assert main([str(path), "--verify-diagnostics"]) == 0


def test_bad_programs_are_shown_at_their_place(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "bad.tad"
    path.write_text("x: f64[N]\ny[i] = x[\n")
    assert refused(capsys, str(path)).startswith(f"{path}:2:")


def test_bad_program_in_a_split_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "bad.tad"
    path.write_text("x: f64[N]\ny[i] = x[i]\n# // -----\nx: f64[N]\ny[i] = x[\n")
    assert main([str(path), "--split-input-file"]) == 1
    assert f"{path}:5:" in capsys.readouterr().err


# --- as a plugin of xDSL --------------------------------------------------------------------------


@needs_install
def test_xdsl_opt_knows_the_project(good: str):
    tool = shutil.which("xdsl-opt", path=str(Path(sys.executable).parent))
    assert tool is not None
    result = subprocess.run([tool, good], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    assert "tix.program @f" in result.stdout
