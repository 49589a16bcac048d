"""The facts of this machine that times are predicted from, measured on one thread.

`passes/scheduling/costs/predict_time.py` assumes a server of 2022. Beside measured times,
predictions are made for the machine that was measured on: the clock is that of multiply-additions
that wait for each other, as many cycles as the model says, and the rates of arithmetic and of loads
are those of vectors in registers and in the nearest cache. The speeds of memory are those of
`y = x + 1` where both lie in the caches of a core, in the shared cache, and in neither, and a
function takes as much longer as `exp` does.
"""

from __future__ import annotations

import ctypes
from dataclasses import replace
from pathlib import Path

import numpy as np

import tadc
from benchmarks import hand_written
from benchmarks.limits import LANES, SUMS, least
from benchmarks.workloads.workload import Array, aligned
from tadc.dialects.tix import elementwise as ew
from tadc.passes.scheduling.costs.predict_time import FUNCTION_SLOTS, MACHINE, Machine

CACHES = Path("/sys/devices/system/cpu/cpu0/cache")
UNITS = {"K": 1 << 10, "M": 1 << 20}
TURNS = 20_000
"""Of a probe: a tenth of a millisecond."""

LOADS = 16
"""The vectors that are loaded in a turn."""

ROWS, COLUMNS = 128, 2048
"""Of arguments of `exp`: many, to outlast the call, in a near cache."""


def facts() -> Machine:
    """The speeds and caches of a core of this machine. Raises `Unavailable` without the C."""
    nearest, own, largest = cache_sizes()
    # other cores, and other parts of a machine, have their share
    shared = min(largest // 2, MACHINE.large_bytes)
    hertz = clock()
    found = replace(
        MACHINE,
        gigahertz=hertz / 1e9,
        arithmetic=rate("peaks_fma", SUMS) / hertz,
        additions=rate("peaks_add", SUMS) / hertz,
        together=rate("peaks_both", SUMS) / hertz,
        loads=rate("peaks_load", LOADS, aligned(np.ones(LOADS * LANES, np.float32))) / hertz,
    )
    slower = slots_of_exp(found) / FUNCTION_SLOTS[ew.ExpOp]
    return replace(
        found,
        functions={kind: n * slower for kind, n in FUNCTION_SLOTS.items()},
        other_function=MACHINE.other_function * slower,
        nearest_bytes=nearest * 2 // 3,
        cache_bytes=own * 2,
        large_bytes=shared,
        cache_speed=speed(own // 2) / 1e9,
        shared_speed=speed(shared // 2) / 1e9,
        memory_speed=speed(max(shared * 8, largest * 2)) * 3 / 2 / 1e9,
        stream_speed=speed_of_stream(max(shared * 8, largest * 2)) / 1e9,
    )


def clock() -> float:
    """Cycles per second, if an addition waits as long for the one before as the model says."""
    return rate("peaks_chain", 1) * MACHINE.latency


def rate(probe: str, count: int, *arrays: Array) -> float:
    """The operations per second of a probe that does so many in a turn."""
    run = getattr(hand_written.library(1), probe)
    addresses = [ctypes.c_void_p(a.ctypes.data) for a in arrays]
    return TURNS * count / least(lambda: run(*addresses, ctypes.c_long(TURNS)))


def speed(size: int) -> float:
    """Bytes per second that are read and written, of so many; a written line is read first."""
    x = aligned(np.ones(size // 8, np.float32))
    y = aligned(x)
    return 2 * x.nbytes / least(lambda: np.add(x, 1, out=y), 20)


def speed_of_stream(size: int) -> float:
    """Bytes per second that a stream of so many reads, and writes past the caches."""
    x = aligned(np.ones((size // 8 // COLUMNS, COLUMNS), np.float32))
    y, f = aligned(x), tadc.compile("y[i, j] = x[i, j] + 1")
    return 2 * x.nbytes / least(lambda: f(x, out=y), 20)


def slots_of_exp(of: Machine) -> float:
    """The vectors that could be multiplied and added in the time that one of `exp` takes."""
    x = aligned(np.linspace(-1, 1, ROWS * COLUMNS, dtype=np.float32).reshape(ROWS, COLUMNS))
    f = tadc.compile("y[i] = sum[j](exp(x[i, j]))")
    seconds = least(lambda: f(x))
    return seconds * of.gigahertz * 1e9 * of.arithmetic / (ROWS * COLUMNS / LANES)


def cache_sizes() -> tuple[int, int, int]:
    """Bytes of the data caches of a core, and of the largest one; those assumed where unknown."""
    sizes = [
        int(text[:-1]) * UNITS[text[-1]]
        for folder in sorted(CACHES.glob("index*"))
        if (folder / "type").read_text().strip() != "Instruction"
        for text in [(folder / "size").read_text().strip()]
    ]
    if len(sizes) < 3:
        return MACHINE.nearest_bytes * 3 // 2, MACHINE.cache_bytes // 2, MACHINE.large_bytes
    return sizes[0], sizes[1], sizes[2]
