"""Deriving needs neither NumPy, SciPy nor llvmlite; what needs them says what to install."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import cache

import pytest

from tadc.passes.pipeline import STAGES
from tests.support.paths import ROOT

FLOW = "tadc.ode.flow(tadc.compile('x: f64[]\\ny = -x', target='interpret'), 0, 1)"
CALLS = {
    "llvmlite": "tadc.compile('y[i] = 2 * x[i]')(np.ones(1))",
    "scipy": f"{FLOW}(1.0)",
}
DENSE = """
f = tadc.compile("m: f64[N, N]\\ns: f64[N]\\ns[i] = s[i] + sum[j](m[i, j] * s[j])")
g = tadc.compile("s: f64[N]\\ns[i] = 2 * s[i]")
print(tadc.inverse_jvp(g, (np.ones(2),), np.ones(2)).s)
try: tadc.inverse_jvp(f, (np.ones((2, 2)), np.ones(2)), np.ones(2))
except tadc.TadcError as error: print(error)
"""
JACOBIAN = """
jacobian = tadc.compile("y[i] = x[i]**2", target="interpret").jacobian("x")
print(str(jacobian).splitlines()[0])
try: jacobian(np.ones(2))
except tadc.TadcError as error: print(error)
"""
BASELINE = "print(tadc.compile('y[i] = exp(x[i])').emit('llvm'))"
INTERPRETED = """
f = tadc.compile("y[i] = 2 * x[i]", target="interpret")
print(f(np.ones(2)), f.derivative(), f.emit("llvm")[:7])
"""
COMMANDS = """
from tadc.commands.cli import main
assert main(["check", "examples/paper.tad"]) == 1
assert main(["derive", "examples/paper.tad", "--emit", "assembly"]) == 1
assert main(["derive", "examples/paper.tad", "--time"]) == 1
assert main(["derive", "examples/paper.tad"]) == 0
"""
DERIVED = """
f = tadc.compile("y[i] = exp(x[i])\\ns = sum[i](y[i])\\nreturn y, s", target="interpret")
(y, s), pullback = tadc.vjp(f, np.zeros(40_000))
(dx,) = pullback(np.ones(40_000), 2.0)
(y, s), (ydot, sdot) = tadc.jvp(f, (np.zeros(2),), (np.ones(2),))
g = tadc.grad(tadc.compile("s = sum[i](x[i]**2)", target="interpret"))
print(s, set(dx.tolist()), ydot, sdot, g(np.ones(2)), f.memory(np.ones(2)).peak)
"""
BETWEEN = "-" * 50 + "\n"


@cache
def without(package: str) -> dict[str, str]:
    """The lines that a process without the package prints, one for each thing that it tries.

    With LLVM it is told to make code for the level that it takes without.
    """
    tried = {
        "a call": f"try: {CALLS[package]}\nexcept tadc.TadcError as error: print(error)",
        "interpreted": INTERPRETED,
        "derived": DERIVED,
        "text": BASELINE,
        "commands": COMMANDS if package == "llvmlite" else "",
        "systems": DENSE if package == "scipy" else "",
        "jacobians": JACOBIAN if package == "scipy" else "",
    }
    start = f"import sys\nsys.modules[{package!r}] = None\nimport numpy as np\nimport tadc"
    code = f"\nprint({BETWEEN!r}, end='')\n".join([start, *tried.values()])
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env=os.environ | ({} if package == "llvmlite" else {"TADC_CPU": "baseline"}),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return dict(zip(tried, done.stdout.split(BETWEEN)[1:], strict=True))


@pytest.mark.parametrize("package", CALLS)
def test_a_call_says_what_to_install(package: str):
    text = without(package)["a call"]
    assert f"needs the package {package}, which cannot be imported: " in text
    assert text.endswith(f"\nhint: pip install {package}\n")


def test_of_jacobians_matrices_alone_need_scipy():
    first, text = without("scipy")["jacobians"].split("\n", 1)
    assert first == "# dy_dx[i]: the derivative of y[i] by x[i]"
    assert "a sparse Jacobian needs the package scipy" in text
    assert text.endswith("\nhint: pip install scipy\n")


def test_of_inverse_modes_linear_systems_alone_need_scipy():
    first, text = without("scipy")["systems"].split("\n", 1)
    assert first == "[0.5 0.5]"
    assert "needs the package scipy" in text and text.endswith("\nhint: pip install scipy\n")


@pytest.mark.parametrize("package", CALLS)
def test_everything_else_works(package: str):
    assert without(package)["interpreted"].startswith("[2. 2.] x: ")


@pytest.mark.parametrize("package", CALLS)
def test_derivatives_that_are_interpreted_work(package: str):
    assert without(package)["derived"].startswith("2.0 {3.0} [1. 1.] 2.0 [2. 2.] ")


DERIVE = """
import sys

class Refused:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("numpy", "scipy", "llvmlite"):
            raise ImportError(f"{name} is not needed here")

sys.meta_path.insert(0, Refused())
import tadc
from tadc.explain.gradients import explain
from tadc.explain.lumps import explain_lumps
from tadc.view.view import PARTS

f = tadc.compile("x: f32[N]\\nw: f32[K]\\ny[i] = 0.1 * exp(sum[k](w[k] * x[2*i + 3*k]))")
derivatives = f, f.derivative(), f.forward(), f.derivative("x").derivative("w"), f.batched("x")
stages = [f.ir(stage) for stage in STAGES]
texts = [g.emit(kind) for g in derivatives for kind in ("source", "plan", "llvm", "cuda")]
texts += [f.emit(kind, {"N": 3000, "K": 400}, "f32") for kind in ("plan", "llvm", "scheduled")]
explain(f)
p = tadc.compile("p: f64[N]\\np[i] = 3 * p[i] + pad(p[i - 1])")
p.ir("simplified", "inverse-jvp"), p.ir("scheduled", "inverse-jvp"), explain_lumps(p, "inverse-vjp")
view = tadc.view.view("x: f64[N]\\ny[i] = x[2*i] * x[i]", parts=PARTS)
assert view["error"] is None and set(PARTS) < set(view)
f._repr_html_()
print([m for m in sys.modules if m.partition(".")[0] in ("numpy", "scipy", "llvmlite")])
print(derivatives[1])
print(f.emit("llvm"))
"""


def test_deriving_and_all_texts_need_none_of_them():
    code = DERIVE.replace("STAGES", repr(STAGES))
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    loaded, _, rest = done.stdout.partition("\n")
    assert loaded == "[]"
    assert "dw[k in range(K)] = " in rest
    assert "; for x86-64, vectors of 128 bits: llvmlite, which knows this processor, is not" in rest


def test_texts_without_llvm_are_those_for_the_level():
    """The code for `baseline` is the same text where LLVM is there, but for the comment."""
    comment, _, text = without("llvmlite")["text"].partition("\n\n")
    assert comment.startswith("; for x86-64,")
    assert text == without("scipy")["text"]


def test_no_command_ends_in_a_traceback():
    assert "return da, db, dc, dd" in without("llvmlite")["commands"]
