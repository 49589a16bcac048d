"""Hashes of the LLVM text of all workloads, to see which loops a change of the compiler touches.

    python -m benchmarks.fingerprint                   # the programs whose text has changed
    python -m benchmarks.fingerprint --only W1 W3b     # of these workloads alone
    python -m benchmarks.fingerprint --texts FOLDER    # with their texts, to compare with others
    python -m benchmarks.fingerprint --keep            # the hashes of today are kept from now on

A program is a workload's value or its gradients, with its sizes declared or free, for one level of
x86-64: its text is the same on every machine. The hashes are kept in `fingerprints.txt`, a line for
each program. A commit that changes loops changes these lines, which say whose. Nothing is compiled
to machine code, or run.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np

import tadc
from benchmarks.workloads import ALL
from benchmarks.workloads.workload import Array, Workload
from tadc.dialects.tix import Registers
from tadc.program import Program
from tadc.runtime.compiled import Compiled
from tadc.runtime.machine import LEVELS, level_machine
from tadc.runtime.on_cpu import CpuExecutable
from tadc.sizes import NUMBERS

KEPT = Path(__file__).parent / "fingerprints.txt"

BY_NAME = {w.name: w for w in ALL}

DIGITS = 16
"""The digits of a hash that are kept."""

Hashes = dict[str, str]
"""A hash for each program."""


def code_for(level: str) -> type[CpuExecutable]:
    """Code for a level of x86-64, whatever this processor is: it can be printed, not run."""
    machine = level_machine(level)

    class OfLevel(CpuExecutable):
        @classmethod
        def registers(cls) -> Registers:
            return Registers(*machine.registers)

        def _print(self) -> str:
            return self.text_for(machine)

    return OfLevel


CODE = {level: code_for(level) for level in LEVELS}


def texts_of(workload: Workload) -> Iterator[tuple[str, str]]:
    """The programs of a workload by name, each with its LLVM text."""
    arrays = workload.inputs(np.random.default_rng(0))
    for sizes, source in (("declared", workload.declared(arrays)), ("free", workload.free())):
        for part, program, numbers in parts(source, arrays):
            for level, text in texts_for_levels(program, numbers).items():
                yield f"{workload.name} {part} {sizes} {level}", text


def texts_for_levels(program: Program, sizes: Mapping[str, int]) -> Mapping[str, str]:
    """The LLVM text of a program for each level, as a call of these sizes in f32 would run it."""
    return {
        level: Compiled(program, "cpu", kind).code(sizes, "f32").text
        for level, kind in CODE.items()
    }


def parts(
    source: str, arrays: Mapping[str, Array]
) -> Iterator[tuple[str, Program, Mapping[str, int]]]:
    """The value and the gradients of a text, and the sizes of their calls for these arguments."""
    f = tadc.compile(source)
    arguments = [arrays[t.name] for t in f.args]
    both = f.pullback_of(arguments, {})
    given = [a.shape for a in arguments]
    made = both.value.result_shapes(given, NUMBERS)
    saved = dict(zip(both.value.program.result_labels, made, strict=True))
    of_gradients = [*given, *(saved[name] for name in both.saved), *made[: len(both.adjoints)]]
    for part, runner, shapes in (
        ("value", both.value, given),
        ("gradients", both.gradients, of_gradients),
    ):
        program, sizes = runner.program, runner.sizes_of(shapes)
        yield part, program, {n: sizes[n] for n in program.summary.size_names()}


def hashes_of(workload: Workload, folder: Path | None = None) -> Hashes:
    """The hashes of a workload's programs; their texts are written to a folder if there is one."""
    found: Hashes = {}
    for name, text in texts_of(workload):
        found[name] = hashlib.sha256(text.encode()).hexdigest()[:DIGITS]
        if folder:
            (folder / f"{name.replace(' ', '-')}.ll").write_text(text, encoding="utf-8")
    return found


def _hashes_by_name(name: str, folder: Path | None) -> Hashes:
    """The hashes of a workload by its name: it holds functions, which no process can be sent."""
    return hashes_of(BY_NAME[name], folder)


def kept() -> Hashes:
    """The hashes that were kept last."""
    lines = KEPT.read_text(encoding="utf-8").splitlines()
    return {name: digest for digest, name in (line.split(" ", 1) for line in lines)}


def keep(hashes: Hashes) -> None:
    """Keep these hashes instead of those that were kept for the same programs."""
    all_of_them = kept() | hashes
    order = [w.name for w in ALL]
    names = sorted(all_of_them, key=lambda name: (order.index(name.split()[0]), name))
    lines = (f"{all_of_them[name]} {name}\n" for name in names)
    KEPT.write_text("".join(lines), encoding="utf-8")


def changed(hashes: Hashes) -> list[str]:
    """The programs whose hashes are not those that were kept."""
    expected = kept()
    return [name for name, digest in hashes.items() if expected.get(name) != digest]


def main() -> None:
    """Print the programs whose text has changed; the exit code is 1 where there are some."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", nargs="+", choices=BY_NAME, default=[*BY_NAME], metavar="NAME")
    parser.add_argument("--texts", type=Path, metavar="FOLDER", help="write all texts there")
    parser.add_argument("--keep", action="store_true", help="keep the hashes of today")
    options = parser.parse_args()
    if options.texts:
        options.texts.mkdir(parents=True, exist_ok=True)
    begin, hashes = time.perf_counter(), Hashes()
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        folders = [options.texts] * len(options.only)
        for found in pool.map(_hashes_by_name, options.only, folders):
            hashes |= found
            print(end=".", flush=True, file=sys.stderr)
    print(file=sys.stderr)
    different = changed(hashes)
    if options.keep:
        keep(hashes)
    print(*different, sep="\n", end="\n" if different else "")
    seconds = time.perf_counter() - begin
    print(f"{len(different)} of {len(hashes)} programs have changed ({seconds:.0f} s)")
    sys.exit(bool(different) and not options.keep)


if __name__ == "__main__":
    main()
