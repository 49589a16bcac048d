"""Signals end kernels that would run for minutes, wherever their time goes."""

from __future__ import annotations

import ctypes
import re
import signal

import numpy as np
import pytest

import tadc
from tadc.runtime.cpu import CpuModule
from tadc.runtime.team import team
from tests.runtime.machine_code import machine_code
from tests.runtime.test_team import fail, handled

PROGRAMS = {
    "one long sum": "s = sum[k in range(10**12)](1/(k + 1))",
    "one long maximum": "s = max[k in range(10**12)](sin(0.5*k))",
    "a product of sums": "s = prod[j in range(10**6)](sum[k in range(10**6)](cos(0.5*j*k)))",
    "short sums in long ones": "s = sum[j in range(10**12), l in range(7)](j*l)",
    "long elements": "y[i in range(4)] = sum[j in range(10**6), k in range(10**6)](exp(-i*j*k))",
    "elements of one piece": "y[i in range(3), j in range(3)] = sum[k in range(10**12)](i + j*k)",
}


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_signal_ends_it(program: str):
    text = re.sub(r"10\*\*(\d+)", lambda m: str(10 ** int(m[1])), PROGRAMS[program])
    module = CpuModule(tadc.compile(text).emit("llvm"))
    y, stop = np.empty(9), ctypes.c_int64(0)
    params, word = (ctypes.c_int64 * 1)(y.ctypes.data), ctypes.addressof(stop)
    kernel, at = module.kernel(text[0]), ctypes.addressof(params)
    n = kernel.extent(params)
    words = (ctypes.c_int64 * 7)(team.address(), kernel.entry, at, n, 1, n, word)
    with handled(signal.SIGINT, fail), pytest.raises(KeyboardInterrupt):
        team.supervise(team.address(), machine_code().call, ctypes.addressof(words), word)
