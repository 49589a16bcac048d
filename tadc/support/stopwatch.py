"""The time of each step of the compiler: steps are `timed`, a `Stopwatch` collects them.

    with Stopwatch() as watch:
        function.derivative()
    print("\\n".join(watch.table()))

`tadc derive --time` prints such a table.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from time import perf_counter

_running: list[Stopwatch] = []


class Stopwatch:
    """Steps by name, in order, with their seconds while it runs; steps of one name add up.

    It hears of the steps of all threads.
    """

    def __init__(self) -> None:
        self.steps: dict[str, float] = {}

    def __enter__(self) -> Stopwatch:
        _running.append(self)
        return self

    def __exit__(self, *_: object) -> None:
        _running.remove(self)

    def table(self) -> list[str]:
        """One line per step and one for their sum, in columns: name, milliseconds, share."""
        total = sum(self.steps.values())
        rows = [*self.steps.items(), ("total", total)]
        width = max(len(name) for name, _ in rows)
        return [
            f"{name:{width}}  {seconds * 1e3:9.1f} ms  {seconds / (total or 1):4.0%}"
            for name, seconds in rows
        ]


@contextmanager
def timed(step: str) -> Generator[None]:
    """A step, heard by the stopwatches that run."""
    start = perf_counter()
    try:
        yield
    finally:
        for watch in _running:
            watch.steps[step] = watch.steps.get(step, 0.0) + perf_counter() - start
