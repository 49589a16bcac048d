"""Run printed CUDA C on the CPU: g++ compiles it behind `tadc_host.hpp`, which imitates CUDA.

    kernels = load(print_cuda(module))
    kernels["y"](thread_count, y, x, 1000)

The threads of a block run as fibers, so that barriers and shuffles work and are checked; what the
CPU cannot show is races between blocks, the order of memory accesses, and speed.
"""

from __future__ import annotations

import atexit
import ctypes as ct
import functools
import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest

HEADER = Path(__file__).with_name("tadc_host.hpp")
COMPILER = os.environ.get("CXX") or "g++"
FLAGS = (
    *("-std=c++20", "-O1", "-fPIC", "-w"),
    *("-ffp-contract=off", "-fno-strict-aliasing"),  # what the CUDA C says, and nothing else
)
THREADS = 256
Shape = Sequence[int]
needs_compiler = pytest.mark.skipif(
    shutil.which(COMPILER) is None, reason="running CUDA C on the CPU needs g++"
)


class Kernel:
    """One kernel: `kernel(threads, *arguments)` or `kernel((grid, block), *arguments)`."""

    def __init__(self, library: ct.CDLL, name: str):
        self.launch = library[f"tadc_launch_{name}"]
        self.launch.restype = ct.c_char_p

    def __call__(self, threads: int | tuple[Shape, Shape], *arguments: np.ndarray | int) -> None:
        if isinstance(threads, int):
            threads = ((-(-threads // THREADS),), (THREADS,))
        grid, block = threads
        if min(grid) < 1:
            return
        values = [argument(a) for a in arguments]
        pointers = (ct.c_void_p * len(values))(*[ct.addressof(v) for v in values])
        self.start(grid, block, pointers, None)

    def start(
        self,
        grid: Shape,
        block: Shape,
        pointers: ct.Array[ct.c_void_p] | None,
        packed: bytes | None,
    ) -> None:
        """Launch with the parameters behind pointers, or packed into one buffer."""
        error = self.launch(dimensions(grid), dimensions(block), pointers, packed)
        if error:
            raise RuntimeError(error.decode())


def argument(value: np.ndarray | int) -> ct.c_void_p | ct.c_longlong:
    """A parameter as the launch wants it: an address, or a size."""
    if isinstance(value, np.ndarray):
        if not value.flags.c_contiguous:
            raise ValueError("a buffer must be dense and row-major")
        return ct.c_void_p(value.ctypes.data)
    return ct.c_longlong(value)


def dimensions(shape: Shape) -> ct.Array[ct.c_uint]:
    """Three numbers, the missing ones 1."""
    return (ct.c_uint * 3)(*(*shape, 1, 1)[:3])


def run(*arguments: str | Path) -> None:
    """Call the compiler; its messages are those of the exception."""
    done = subprocess.run([COMPILER, *FLAGS, *arguments], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr)


@functools.cache
def precompiled() -> Path:
    """The folder with the compiled header, which is most of the work; it lasts as long as we."""
    folder = TemporaryDirectory(prefix="tadc-shim-")
    atexit.register(folder.cleanup)
    header = shutil.copy(HEADER, folder.name)
    run("-x", "c++-header", header, "-o", f"{header}.gch")
    return Path(folder.name)


def load(source: str) -> dict[str, Kernel]:
    """Compile all kernels of a source at once.

    They come into a namespace: a kernel may have the name of a function of the C library.
    """
    names = re.findall(r"__global__ void\s(?:__launch_bounds__\(\d+\)\s)?(\w+)\(", source)
    entries = "\n".join(f"TADC_ENTRY({name})" for name in names)
    body = source.replace('extern "C" ', "")
    text = '#include "tadc_host.hpp"\nnamespace program {\n#line 1 "kernel.cu"\n'
    headers = precompiled()
    with TemporaryDirectory(prefix="tadc-kernel-") as folder:
        program = Path(folder, "kernel.cpp")
        program.write_text(f"{text}{body}\n{entries}\n}}\n")
        run("-shared", "-I", headers, program, "-o", program.with_suffix(".so"))
        library = ct.CDLL(str(program.with_suffix(".so")))
    return {name: Kernel(library, name) for name in names}
