"""Without llvmlite or SciPy, `import tadc` works, and what needs them says what to install."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.support.paths import ROOT

FLOW = "tadc.ode.flow(tadc.compile('x: f64[]\\ny = -x', target='interpret'), 0, 1)"
CALLS = {
    "llvmlite": "tadc.compile('y[i] = 2 * x[i]')([1.0])",
    "scipy": f"{FLOW}(1.0)",
}


def without(package: str, code: str) -> str:
    """The output of a process that cannot import the package."""
    code = f"import sys\nsys.modules[{package!r}] = None\nimport numpy as np\nimport tadc\n{code}"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("package", CALLS)
def test_a_call_says_what_to_install(package: str):
    call = CALLS[package].replace("[1.0]", "np.ones(1)")
    text = without(package, f"try: {call}\nexcept tadc.TadcError as error: print(error)")
    assert f"needs the package {package}, which cannot be imported: " in text
    assert text.endswith(f"\nhint: pip install {package}\n")


@pytest.mark.parametrize("package", CALLS)
def test_everything_else_works(package: str):
    code = """
f = tadc.compile("y[i] = 2 * x[i]", target="interpret")
print(f(np.ones(2)), f.derivative(), f.emit("llvm")[:7])
"""
    assert without(package, code).startswith("[2. 2.] x: ")


def test_no_command_ends_in_a_traceback():
    code = """
from tadc.commands.cli import main
assert main(["check", "examples/paper.tad"]) == 1
assert main(["derive", "examples/paper.tad", "--emit", "assembly"]) == 1
assert main(["derive", "examples/paper.tad", "--time"]) == 1
assert main(["derive", "examples/paper.tad"]) == 0
"""
    assert "return da, db, dc, dd" in without("llvmlite", code)
