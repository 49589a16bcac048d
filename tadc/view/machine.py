"""Parts of an answer that only this machine can give: assembly, and what a run takes.

`answer` is `tadc.view.view` with two more parts, for a server on the reader's own machine:

    "assembly": {"text": ...}                           of the derivative program
    "run": {"says": ..., "head": [...], "rows": [...]}  times, bytes and memory, as a table
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from time import perf_counter
from typing import Any

import numpy as np

from tadc.errors import TadcError
from tadc.function import Function
from tadc.program import Program
from tadc.runtime.arguments import DTYPES, Array
from tadc.runtime.memory import readable
from tadc.runtime.team import get_num_threads
from tadc.sizes import shape_of
from tadc.summary import Summary
from tadc.verify.gradients import choose_sizes
from tadc.view import view

ENOUGH_WORK = 10**8
"""About how many operations a run takes at least, where sizes can be chosen."""
MOST_ELEMENTS = 10**7
"""The most elements of all arguments together."""
SECONDS = 0.3
"""The time for which a program is run again and again, in seconds; the shortest run counts."""

HEAD = ("gives", "time", "operations", "bytes in", "bytes out", "memory")


def answer(request: Mapping[str, Any]) -> dict[str, Any]:
    """The answer to a request, the arguments of `view` by name; JSON as it stands."""
    asked: Sequence[str] = request.get("parts", ())
    plain: dict[str, Any] = {**request, "parts": [part for part in asked if part not in PARTS]}
    found = view(**plain)
    own = [part for part in asked if part in PARTS]
    if own and not found["error"]:
        try:
            function = Function(Program.parsed(request["source"]), "cpu")
            found.update({part: PARTS[part](function) for part in own})
        except TadcError as error:
            found["error"] = _error(error)
    return found


def _error(error: TadcError) -> dict[str, Any]:
    """An error about what runs, which has no place in the formula."""
    said = {"kind": type(error).__name__, "message": str(error), "says": error.message}
    return {**said, **dict.fromkeys(("line", "column", "end_line", "end_column"))}


def assembly(function: Function) -> dict[str, Any]:
    """The machine code of the derivative, as text, for large calls of any sizes."""
    return {"text": function.derivative().emit("assembly")}


def run(function: Function) -> dict[str, Any]:
    """The costs of a run of a function, and of one of its derivative, at large sizes."""
    sizes = large_sizes(function)
    named = ", ".join(f"{name} = {size}" for name, size in sizes.items()) or "the declared sizes"
    threads = get_num_threads()
    says = f"Random arguments at {named}, on {threads} thread{'s' if threads > 1 else ''}."
    rows = [measured(program, sizes) for program in (function, function.derivative())]
    return {"says": says, "head": HEAD, "rows": rows}


PARTS: Mapping[str, Callable[[Function], dict[str, Any]]] = {"assembly": assembly, "run": run}
"""The parts that `view` does not know."""


def large_sizes(function: Function) -> dict[str, int]:
    """Sizes of a run that takes long enough to be timed: small ones that are valid, doubled.

    Raises `SizeError` where no sizes are valid.
    """
    sizes = choose_sizes(function)
    summary = Summary.of(function.program.op)
    while True:
        larger = {name: 2 * size for name, size in sizes.items()}
        elements = _elements(summary, larger)
        work = summary.total_work(summary.with_derived(sizes))
        if not sizes or work >= ENOUGH_WORK or elements > MOST_ELEMENTS:
            return sizes
        sizes = larger


def _elements(summary: Summary, sizes: Mapping[str, int]) -> int:
    shapes = (shape_of(t.type, summary.with_derived(sizes)) for t in summary.inputs)
    return sum(int(np.prod(shape)) for shape in shapes)


def measured(function: Function, sizes: Mapping[str, int]) -> list[str]:
    """The row of a program: its results, shortest time, operations, bytes in and out, memory."""
    summary = Summary.of(function.program.op)
    sizes = summary.with_derived(sizes)
    arguments = random_arguments(summary, sizes)
    results = function.call(arguments, {})
    memory = function.memory(*arguments)
    return [
        ", ".join(t.name for t in function.results),
        _readable_time(_shortest(lambda: function.call(arguments, {}))),
        f"{summary.total_work(sizes):,}",
        readable(memory.arguments),
        readable(sum(np.asarray(result).nbytes for result in results)),
        readable(memory.peak),
    ]


def random_arguments(summary: Summary, sizes: Mapping[str, int]) -> list[Array]:
    """Arguments from 0.1 to 0.9, where all elementary functions are defined; `real` is float64."""
    generator = np.random.default_rng(0)
    return [
        generator.uniform(0.1, 0.9, shape_of(t.type, sizes)).astype(DTYPES.get(t.type.dtype, "f8"))
        for t in summary.inputs
    ]


def _shortest(work: Callable[[], object]) -> float:
    """The shortest time of one run, in seconds."""
    times: list[float] = []
    end = perf_counter() + SECONDS
    while not times or perf_counter() < end:
        start = perf_counter()
        work()
        times.append(perf_counter() - start)
    return min(times)


def _readable_time(seconds: float) -> str:
    units = {"s": 1, "ms": 1e3, "µs": 1e6}
    unit = next((unit for unit, scale in units.items() if seconds * scale >= 1), "µs")
    return f"{seconds * units[unit]:.3g} {unit}"
