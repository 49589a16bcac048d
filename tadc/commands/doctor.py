"""`tadc doctor`: what tadc finds on this machine, and whether it works.

Nothing here is imported before it is looked at: a package that is missing, or damaged, is one line
of the answer.
"""

from __future__ import annotations

import os
import platform
import re
from argparse import Namespace
from collections.abc import Callable, Iterable, Iterator
from importlib.metadata import PackageNotFoundError, requires, version
from typing import NamedTuple

from tadc import __version__
from tadc.errors import TadcError

PROGRAM = "y[i] = sum[k](w[k] * x[2*i + k])"

NEEDED = {"xDSL": "xdsl", "llvmlite": "llvmlite", "NumPy": "numpy"}
OPTIONAL = {"SciPy": "scipy", "PyTorch": "torch", "JAX": "jax"}
"""The packages of each name, and those that only some calls need."""

LEAST = re.compile(r"([\w-]+).*?>=([\d.]+)")


class Finding(NamedTuple):
    """A line of the answer: what was looked at and what was found; advice where that is wrong."""

    name: str
    text: str
    advice: str = ""


def run(options: Namespace) -> int:
    """The command; its exit code: 1 where something is wrong."""
    wrong: list[Finding] = []
    for title, look in SECTIONS.items():
        print(title)
        for finding in _safely(look):
            print(f"  {finding.name:<11}{finding.text}")
            if finding.advice:
                wrong.append(finding)
    if not wrong:
        print("all is well")
        return 0
    print("\nwrong here: " + ", ".join(finding.name for finding in wrong))
    for finding in wrong:
        print(f"  {finding.name:<11}{finding.advice}")
    return 1


def _safely(look: Callable[[], Iterable[Finding]]) -> Iterator[Finding]:
    """The findings of a look; an error ends it, and is one itself."""
    try:
        yield from look()
    except TadcError as error:
        yield Finding("error", error.message, error.hint or "see above")
    except Exception as error:  # whatever a damaged installation ends in
        advice = "a new environment may help: python -m venv, and there pip install tadc"
        yield Finding("error", f"{type(error).__name__}: {error}", advice)


# --- versions -------------------------------------------------------------------------------------


def _versions() -> Iterator[Finding]:
    yield Finding("Python", platform.python_version())
    yield Finding("tadc", __version__)
    least = _least_versions()
    for name, package in (NEEDED | OPTIONAL).items():
        yield _package(name, package, least.get(package, ""))


def _package(name: str, package: str, least: str) -> Finding:
    """The version of a package, which is in order from `least` on."""
    try:
        found = version(package)
    except PackageNotFoundError:
        advice = f"pip install {package}" if package in NEEDED.values() else ""
        return Finding(name, "not installed", advice)
    if _numbers(found) < _numbers(least):
        return Finding(name, f"{found}, older than {least}", f"pip install '{package}>={least}'")
    return Finding(name, found)


def _least_versions() -> dict[str, str]:
    """The lower bounds that an installed tadc has for its packages."""
    try:
        bounds = map(LEAST.match, requires("tadc") or ())
    except PackageNotFoundError:  # a checkout that nobody installed
        return {}
    return {bound[1]: bound[2] for bound in bounds if bound}


def _numbers(text: str) -> list[int]:
    """The numbers at the beginning of a version: of 2.13.0+cpu, 2, 13 and 0."""
    return [int(n) for n in re.findall(r"\d+", re.split(r"[^\d.]", text)[0])]


# --- machine and cache ----------------------------------------------------------------------------


def _machine() -> Iterator[Finding]:
    from tadc.runtime.machine import machine
    from tadc.runtime.thread_count import VARIABLE, default_thread_count, processors
    from tadc.support.packages import installed

    llvm = installed("llvmlite.binding", "the target cpu")
    yield Finding("LLVM", ".".join(map(str, llvm.llvm_version_info)))
    yield Finding("processor", machine().description)
    chosen = f", as {VARIABLE} says" if os.environ.get(VARIABLE, "").strip() else ""
    yield Finding("threads", f"{default_thread_count()} on {processors()} processors{chosen}")


def _cache() -> Iterator[Finding]:
    from tadc.commands.cache import entries, megabytes, why_nothing_is_kept
    from tadc.support.disk_store import disk_store

    store = disk_store()
    if store.folder is None:
        yield Finding("folder", f"none: {why_nothing_is_kept()}")
        return
    yield Finding("folder", str(store.folder))
    if not store.works():
        advice = "programs are compiled again in each process; TADC_CACHE=FOLDER chooses another"
        yield Finding("writable", "no", advice)
        return
    used = store.usage()
    yield Finding("writable", "yes")
    yield Finding("holds", f"{entries(used.entries)}, {megabytes(used.nbytes)}")


# --- a program ------------------------------------------------------------------------------------


def _program() -> Iterator[Finding]:
    """One program as the target `cpu` runs it, beside the reference and differences."""
    import numpy as np

    from tadc.api import compile
    from tadc.verify.gradients import verify

    advice = "please report it, with all of this output: results of tadc are not right here"
    f = compile(PROGRAM)
    yield Finding("program", PROGRAM)
    x, w = np.arange(9.0), np.array([1.0, 0.5, 0.25])
    right = np.allclose(f(w, x), f.with_target("interpret")(w, x), rtol=1e-12)
    yield Finding(
        "result", "as the reference has it" if right else "wrong", "" if right else advice
    )
    verdicts = verify(f)
    error = max(verdict.error for verdict in verdicts)
    right = all(verdict.ok for verdict in verdicts)
    text = f"{error:.1e} from central differences"
    yield Finding("gradients", text, "" if right else advice)


SECTIONS: dict[str, Callable[[], Iterable[Finding]]] = {
    "versions": _versions,
    "machine": _machine,
    "cache": _cache,
    "a program, compiled, run and derived": _program,
}
"""The parts of the answer, under their titles."""
