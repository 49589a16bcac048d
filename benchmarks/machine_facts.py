"""The facts of this machine that times are predicted from, measured on one thread.

`passes/scheduling/predict.py` assumes a server of 2022. Beside measured times, predictions are made
for the machine that was measured on: the clock is that of multiply-additions in registers, the
speeds of memory are those of `y = x + 1` where both lie in the caches of a core, in the shared
cache, and in neither, and a function takes as much longer as `exp` does.
"""

from __future__ import annotations

import ctypes
from dataclasses import replace
from pathlib import Path

import numpy as np

import tadc
from benchmarks import hand_written
from benchmarks.limits import LANES, SUMS, least
from benchmarks.workloads.workload import aligned
from dialects.tix import elementwise as ew
from passes.scheduling.predict import FUNCTION_SLOTS, MACHINE, Machine

CACHES = Path("/sys/devices/system/cpu/cpu0/cache")
UNITS = {"K": 1 << 10, "M": 1 << 20}
TURNS = 20_000
"""Of the probe for multiply-additions: some milliseconds."""

ROWS, COLUMNS = 1024, 256
"""Of results of `exp`: many, to outlast the call, in a near cache."""


def facts() -> Machine:
    """The speeds and caches of a core of this machine. Raises `Unavailable` without the C."""
    nearest, own, largest = cache_sizes()
    shared = min(largest, MACHINE.large_bytes)  # a part of a machine shares more with other parts
    hertz = clock()
    slower = slots_of_exp(hertz) / FUNCTION_SLOTS[ew.ExpOp]
    return replace(
        MACHINE,
        gigahertz=hertz / 1e9,
        functions={kind: n * slower for kind, n in FUNCTION_SLOTS.items()},
        other_function=MACHINE.other_function * slower,
        nearest_bytes=nearest * 2 // 3,
        cache_bytes=own * 2,
        large_bytes=shared,
        cache_speed=speed(own // 2) / 1e9,
        shared_speed=speed(shared // 2) / 1e9,
        memory_speed=speed(max(shared * 8, largest * 2)) * 3 / 2 / 1e9,
    )


def clock() -> float:
    """Cycles per second, if so many vectors as the model says are multiplied and added in one."""
    probe = hand_written.library(1).peaks_fma
    return TURNS * SUMS / MACHINE.arithmetic / least(lambda: probe(ctypes.c_long(TURNS)))


def speed(size: int) -> float:
    """Bytes per second that are read and written, of so many; a written line is read first."""
    x = aligned(np.ones(size // 8, np.float32))
    y = aligned(x)
    return 2 * x.nbytes / least(lambda: np.add(x, 1, out=y), 20)


def slots_of_exp(hertz: float) -> float:
    """The vectors that could be added in the time that one of `exp` takes."""
    x = aligned(np.linspace(-1, 1, COLUMNS, dtype=np.float32))
    f = tadc.compile(f"x: f32[{COLUMNS}]\ny[i in range({ROWS}), j] = exp(x[j] - i)")
    seconds = least(lambda: f(x))
    return seconds * hertz * MACHINE.arithmetic / (ROWS * COLUMNS / LANES)


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
