"""Signals whose handlers raise while machine code is made."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tadc.runtime.compilation import VARIABLE
from tests.support.campaign import CAMPAIGN
from tests.support.paths import ROOT

COMPILE = """
import gc, os, signal, sys, threading
import numpy as np
import tadc
from tadc.runtime import compilation
signal.signal(signal.SIGINT, signal.default_int_handler)  # it is ignored in the background
compilation.MOST_MODULES_HERE = int(sys.argv[1])
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


@pytest.mark.parametrize(("modules_here", "others"), [("0", "1"), ("1000", "0"), ("1000", "2")])
def test_signals_while_code_is_made(modules_here: str, others: str):
    """In a process of its own, which the end of LLVM's objects in a wrong order ends."""
    command = [sys.executable, "-X", "faulthandler", "-c", COMPILE, modules_here, EACH]
    environment = {**os.environ, VARIABLE: others}
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=environment)
    assert (done.returncode, done.stderr) == (0, "")
    assert int(done.stdout) > 0


IN_LLVM = """
import sys
import numpy as np
import tadc
from tadc.runtime.llvm_library import llvm
found = set()
def is_llvm(frame):
    return "llvmlite" in frame.f_code.co_filename
def note(frame, event, argument):
    if is_llvm(frame) and not is_llvm(frame.f_back):
        found.add(frame.f_code.co_name)
llvm()
sys.setprofile(note)
np.testing.assert_array_equal(tadc.compile("y[i] = 2 * x[i]")(np.ones(3)), 2)
sys.setprofile(None)
print(*found - {"close", "detach", "__del__"})
"""


def test_no_signal_ends_a_call_of_llvm_in_between(tmp_path: Path):
    """The main thread, where handlers of signals raise, calls llvmlite to end objects only."""
    command = [sys.executable, "-c", IN_LLVM]
    environment = {**os.environ, VARIABLE: "0", "TADC_CACHE": str(tmp_path)}
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=environment)
    assert (done.returncode, done.stderr, done.stdout) == (0, "", "\n")
