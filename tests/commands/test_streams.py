"""`tadc` and `tadc-opt` where a standard stream is closed, full, or a pipe without a reader."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.campaign import CAMPAIGN
from tests.support.paths import ROOT

TADC = f"{sys.executable} -m tadc"
TADC_OPT = f"{sys.executable} -c 'import sys, tadc.commands.opt as o; sys.exit(o.main())'"
TIMES = range(3 if CAMPAIGN else 1)
CLOSED = "cannot write the output: standard output is closed\n"


def shell(command: str, **how: object) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        ["bash", "-c", command], cwd=ROOT, capture_output=True, text=True, check=False, **how
    )
    assert "Traceback" not in done.stderr and "Exception" not in done.stderr, done.stderr
    return done


@pytest.fixture
def program(tmp_path: Path) -> str:
    """A file whose derivative is longer than what a pipe holds, and whose check fails."""
    path = tmp_path / "f.tad"
    path.write_text("; ".join(f"a_long_name_{n:02000}[i] = x[i] * {n}" for n in range(40)))
    return str(path)


@pytest.mark.parametrize("n", TIMES)
def test_the_exit_code_is_that_of_the_program_whoever_reads(program: str, n: int):
    command = f"{TADC} derive {program} | head -n 1 | wc -l; echo ${{PIPESTATUS[0]}}"
    done = shell(command)
    assert done.stdout.split()[1:] == ["0"] and done.stderr == ""
    command = f"{TADC} check examples/paper.tad --tolerance 1e-18 | head -n 1 > {os.devnull}"
    done = shell(f"{command}; echo ${{PIPESTATUS[0]}}")
    assert (done.stdout, done.stderr) == ("1\n", "")


@pytest.mark.parametrize("tool", [f"{TADC} derive", TADC_OPT])
def test_no_reader_at_all(program: str, tool: str):
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as pipe:
        command = ["bash", "-c", f"{tool} {program}"]
        done = subprocess.run(command, cwd=ROOT, stdout=pipe, stderr=subprocess.PIPE, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize("n", TIMES)
def test_a_closed_output_is_an_error(program: str, n: int):
    done = shell(f"{TADC} derive {program} >&-")
    assert (done.returncode, done.stderr) == (1, f"tadc: {CLOSED}")
    done = shell(f"{TADC_OPT} {program} >&-")
    assert (done.returncode, done.stderr) == (1, f"tadc-opt: {CLOSED}")


def test_what_prints_nothing_needs_no_output(tmp_path: Path):
    out = tmp_path / "o.npz"
    done = shell(f"{TADC} run - --arg 'x=[1]' --out {out} >&-", input="y[i] = 2 * x[i]")
    assert (done.returncode, done.stderr, out.exists()) == (0, "", True)


def test_closed_errors_are_lost():
    done = shell(f"{TADC} derive nowhere.tad 2>&-")
    assert (done.returncode, done.stdout) == (1, "")
    done = shell(f"{TADC} check examples/paper.tad 2>&-")
    assert done.returncode == 0 and "WRONG" not in done.stdout


@pytest.mark.parametrize("tool", [f"{TADC} derive", TADC_OPT])
def test_a_closed_input_is_an_error(tool: str):
    done = shell(f"{tool} - <&-")
    assert done.returncode == 1
    assert done.stderr.endswith(": <stdin>: standard input is closed\n")


@pytest.mark.parametrize("tool", [f"{TADC} derive", TADC_OPT])
def test_a_full_disk_is_an_error(program: str, tool: str):
    if not Path("/dev/full").exists():
        pytest.skip("needs a device that is always full")
    done = shell(f"{tool} {program} > /dev/full")
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert "No space left" in done.stderr
