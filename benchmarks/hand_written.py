"""The workloads in C, written by hand with vectors of 16 floats: the measure for all others.

`benchmarks/c` is compiled at the first run, once for each number of threads. Arguments, results and
what is kept between the two calls are allocated once, as a program in C would have them.
"""

from __future__ import annotations

import ctypes
import hashlib
import shutil
import subprocess
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.machine import CACHE, processor
from benchmarks.workloads.workload import Array, Contender, Workload, aligned

SOURCES = Path(__file__).parent / "c"
FLAGS = ("-O3", "-march=native", "-mprefer-vector-width=512", "-ffast-math", "-fopenmp")


class Unavailable(Exception):
    """A package or tool that a contender lacks on this machine, and how to get it."""


def library(threads: int) -> ctypes.CDLL:
    """The compiled kernels. Raises `Unavailable`."""
    if "AVX-512" not in processor():
        raise Unavailable("the C needs a processor with AVX-512")
    if not shutil.which("gcc"):
        raise Unavailable("the C needs gcc: apt-get install gcc")
    files = sorted(SOURCES.glob("*.[ch]"))
    content = b"".join(file.read_bytes() for file in files) + processor().encode()
    path = CACHE / f"c-{threads}-{hashlib.sha256(content).hexdigest()[:12]}.so"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        units = [str(file) for file in files if file.suffix == ".c"]
        out = ["-shared", "-fPIC", *units, "-o", str(path), "-lm"]
        subprocess.run(["gcc", *FLAGS, f"-DNT={threads}", *out], check=True)
    found = ctypes.CDLL(str(path))
    blas = single_threaded_blas()
    found.set_sgemm(ctypes.cast(blas.scipy_cblas_sgemm, ctypes.c_void_p))
    return found


def single_threaded_blas() -> ctypes.CDLL:
    """OpenBLAS as SciPy's wheels carry it; NumPy has one of its own, which this leaves alone."""
    spec = find_spec("scipy")
    folder = Path(spec.origin).parent.parent / "scipy.libs" if spec and spec.origin else Path()
    for path in folder.glob("libscipy_openblas*"):
        blas = ctypes.CDLL(str(path))
        blas.scipy_openblas_set_num_threads(1)
        return blas
    raise Unavailable("the C takes BLAS from SciPy's wheel: pip install scipy")


def contender(
    kernels: ctypes.CDLL, workload: Workload, arrays: dict[str, Array], dy: Array
) -> Contender:
    """The functions in C of a workload, on 64-byte aligned copies of these arrays."""
    given = [aligned(a) for a in arrays.values()]
    y = aligned(np.zeros_like(dy))
    saved = [aligned(np.zeros(shape, np.float32)) for shape in workload.saved]
    gradients = [aligned(np.zeros_like(a)) for a in given]
    name = workload.name.lower()
    value = _bound(kernels[f"{name}_value"], *given, y, *saved)
    backward = _bound(kernels[f"{name}_gradients"], *given, y, *saved, aligned(dy), *gradients)

    def forward() -> Array:
        value()
        return y

    def both() -> tuple[Array, list[Array]]:
        value()
        backward()
        return y, gradients

    return Contender(forward, both)


def _bound(function: Any, *arrays: Array) -> Any:
    """A call without arguments, which keeps the arrays alive."""
    function.restype = None
    return partial(function, *(a.ctypes.data_as(ctypes.c_void_p) for a in arrays))
