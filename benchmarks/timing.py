"""Times of functions that take turns, and of fresh processes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

Run = Callable[[], Any]
Clock = Callable[[], float]

BATCH = 2e-4
"""Seconds that a single reading covers at least: reading a clock takes up to a microsecond."""

PAUSE = 5e-3
"""Seconds of rest before a turn: threads of the one before wait for work by spinning."""

MOST_READINGS = 60


@dataclass(frozen=True)
class Times:
    """Seconds of one call: what is typical, and what the function takes undisturbed."""

    median: float
    minimum: float
    readings: int


def measure(
    runs: Mapping[str, Run],
    clock: Clock = time.perf_counter,
    rounds: int = 6,
    share: float = 0.1,
) -> dict[str, Times]:
    """The times of functions that take turns, so that a busy machine disturbs all of them.

    In each of the `rounds` every function has a turn of about `share` seconds, at least one
    reading. A turn opens with a call that is not counted: it brings data back into the caches.
    """
    batches = {name: _batch(run) for name, run in runs.items()}
    readings: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(rounds):
        for name, run in runs.items():
            readings[name] += _turn(run, clock, batches[name], share)
    return {name: Times(median(all_), min(all_), len(all_)) for name, all_ in readings.items()}


def _batch(run: Run) -> int:
    """The number of calls that a reading of the clock covers; the first ones are made here."""
    for _ in range(2):
        run()
    start = time.perf_counter()
    run()
    return max(1, round(BATCH / (time.perf_counter() - start)))


def _turn(run: Run, clock: Clock, batch: int, share: float) -> list[float]:
    time.sleep(PAUSE)
    run()
    readings: list[float] = []
    end = time.perf_counter() + share
    while not readings or (time.perf_counter() < end and len(readings) < MOST_READINGS):
        start = clock()
        for _ in range(batch):
            run()
        readings.append((clock() - start) / batch)
    return readings


class Watch:
    """Milliseconds of a clock between steps that happen once; by default the processor's."""

    def __init__(self, clock: Clock = time.process_time) -> None:
        self.clock = clock
        self.times: dict[str, float] = {}
        self.last = clock()

    def done(self, step: str) -> None:
        now = self.clock()
        self.times[step] = (now - self.last) * 1e3
        self.last = now


def fresh(module: str, *arguments: Any, text: str = "", **variables: str) -> dict[str, Any]:
    """The JSON that `python -m module arguments` prints, in a process of its own; `variables` are
    added to its environment."""
    command = [sys.executable, "-m", module, *map(str, arguments)]
    around = {**os.environ, **variables}
    done = subprocess.run(command, input=text, text=True, check=True, stdout=-1, env=around)
    return json.loads(done.stdout)


def least(turns: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """The least of each step."""
    return {step: min(turn[step] for turn in turns) for step in turns[0]}
