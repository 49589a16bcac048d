"""The machine that was measured on: its description, and how many threads are used of it."""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Callable
from datetime import date
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from benchmarks import tables

ROOT = Path(__file__).parent.parent
CACHE = ROOT / "build" / "benchmarks"
"""Compiled C and what torch compiles; not tracked."""

PACKAGES = ("numpy", "scipy", "llvmlite", "xdsl", "torch", "jax", "jaxlib", "numba")
POOLS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
"""Variables that say how many threads a library starts; they are read when it is loaded."""


def about() -> dict[str, Any]:
    """The facts that times depend on: processor, threads, versions, commit, load."""
    return {
        "date": date.today().isoformat(),
        "commit": commit(),
        "processor": processor(),
        "cores": len(cores()),
        "system": platform.platform(terse=True),
        "load before": [round(x, 1) for x in os.getloadavg()],
        "python": platform.python_version(),
        **versions(),
        "gcc": printed("gcc", "-dumpfullversion"),
    }


def save(name: str, title: str, threads: int, text: str) -> Path:
    """Write a page to `results`, under its title what ran it; returns its path."""
    about_run = tables.listed({**about(), "threads": threads})
    return tables.save(name, f"# {title}\n\n{about_run}\n\n{text}")


def headline() -> str:
    """The date, the processor and versions, in one line."""
    return (
        f"{date.today()}, {processor()}, {len(cores())} cores, Python {platform.python_version()}"
    )


def commit() -> str:
    """The commit that is measured, with a mark where files differ from it."""
    return printed("git", "-C", str(ROOT), "describe", "--always", "--dirty", "--abbrev=10")


def processor() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text(encoding="utf-8").splitlines() if info.exists() else []
    fields = dict(line.replace("\t", "").split(":", 1) for line in lines if ":" in line)
    wide = ", AVX-512" if "avx512f" in fields.get("flags", "") else ""
    return fields.get("model name", platform.machine()).strip() + wide


def versions() -> dict[str, str]:
    """The versions of the libraries that are installed."""
    found: dict[str, str] = {}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def printed(*command: str) -> str:
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def cores() -> list[int]:
    """The processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))


def environment(threads: int) -> dict[str, str]:
    """The variables of a process whose libraries start that many threads."""
    limits = dict.fromkeys(POOLS, str(threads))
    inductor = {"TORCHINDUCTOR_CACHE_DIR": str(CACHE / f"inductor-{threads}")}
    return {**os.environ, **limits, **inductor, "JAX_PLATFORMS": "cpu"}


def pinned(threads: int) -> Callable[[], None] | None:
    """A command that binds a new process to that many processors, which tadc and jax count."""
    if not hasattr(os, "sched_setaffinity"):
        return None
    return lambda: os.sched_setaffinity(0, cores()[-threads:])


def resident() -> float:
    """Megabytes of memory that this process occupies."""
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1024
