"""The process that compiles for this one: its answers, and signals while they are awaited."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tadc.runtime import compiler_process as compilers
from tadc.runtime.cpu import CpuModule
from tests.support.campaign import CAMPAIGN
from tests.support.paths import ROOT


def text(name: str) -> str:
    return f"define i64 @{name}() {{\n  ret i64 1\n}}\n"


def test_an_interrupted_request_leaves_its_answer_to_nobody(monkeypatch: pytest.MonkeyPatch):
    process = compilers.compiler_process

    def interrupted(pipe: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(compilers, "_read", interrupted)
        with pytest.raises(KeyboardInterrupt):
            process.compile(text("first"), True)
    data = process.compile(text("second"), True)
    assert data and CpuModule.of_object(data).address("second")


COMPILE = """
import gc, os, signal, sys, threading
import numpy as np
import tadc
from tadc.runtime import cpu
signal.signal(signal.SIGINT, signal.default_int_handler)  # it is ignored in the background
cpu.MOST_MODULES_HERE = int(sys.argv[1])
x, ended = np.linspace(0, 1, 9), 0
tadc.compile("y[i] = x[i]")(x)
for n in range(0, 60, int(sys.argv[2])):
    f = tadc.compile(f"y[i] = {n} * x[i]\\n" + "y[i] += sum[j](sin(y[j] * x[i]))\\n" * 5)
    timer = threading.Timer(0.002 * n, os.kill, (os.getpid(), signal.SIGINT))
    try:
        timer.start()
        found = f(x)
        timer.join()
    except KeyboardInterrupt:
        ended += 1
    gc.collect()
    y = n * x
    for _ in range(5):
        y = y + np.sin(np.outer(x, y)).sum(1)
    np.testing.assert_allclose(f(x), y, rtol=1e-12)
print(ended)
"""


EACH = "1" if CAMPAIGN else "6"
"""Every so many times two milliseconds, up to 120, a signal comes."""


@pytest.mark.parametrize("modules_here", [0, 1000])
def test_signals_while_code_is_made(modules_here: int):
    """In a process of its own, which the end of LLVM's objects in a wrong order ends."""
    command = [sys.executable, "-X", "faulthandler", "-c", COMPILE, str(modules_here), EACH]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert int(done.stdout) > 0
