"""Processes that check seeds: each takes every n-th seed of each kind, in turns by time.

A worker shrinks and saves what fails. It writes down the seed that it is at before it starts it, so
that a crash of the process (machine code!) names its program too; the worker then starts again
behind it.
"""

from __future__ import annotations

import gc
import signal
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from multiprocessing import get_context
from multiprocessing.process import BaseProcess
from pathlib import Path
from time import monotonic
from types import FrameType
from typing import Any, Protocol

from tests.fuzz import malformed, programs, systems
from tests.fuzz.failures import Failure
from tests.fuzz.shrink import Candidate, shrink_program, shrink_text

KINDS: Mapping[str, type[Checker]]
SHARES = {"programs": 80, "malformed": 15, "systems": 5}
"""Parts of the time, until the counts are reached."""
LIMIT = 120
"""Seconds for one seed: what takes longer has failed."""
TURN = 0.5
"""Seconds between reports."""


class Checker(Protocol):
    """Checks seeds of one kind."""

    kind: str

    def check(self, seed: int) -> list[Failure]: ...
    def flush(self) -> list[Failure]: ...


KINDS = {
    "programs": programs.Programs,
    "malformed": malformed.Malformed,
    "systems": systems.Systems,
}
AGAIN: Mapping[str, Callable[[Failure], Failure | None]] = {
    "programs": programs.again,
    "malformed": malformed.again,
    "systems": systems.again,
}


class TooSlow(Exception):
    """A seed took longer than `LIMIT`."""


@dataclass
class Task:
    """Seeds of one kind for one worker: from `next` in steps, `left` of them."""

    kind: str
    next: int
    step: int
    left: int
    spent: float = 0.0


@dataclass
class Report:
    """What a worker says: seeds done by kind since the last time, and what failed."""

    worker: int
    done: dict[str, int] = field(default_factory=dict[str, int])
    failures: list[tuple[str, str, str]] = field(default_factory=list[tuple[str, str, str]])
    """Path, how it failed, and the report of each."""


# --- in the worker --------------------------------------------------------------------------------


def work(number: int, tasks: Sequence[Task], end: float, at: Any, reports: Any, folder: Path):
    """Check seeds until all are done or time is up; `at` holds the kind and the seed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGALRM, _stop)
    gc.freeze()  # what is imported stays; the IR of a program goes as a whole
    gc.set_threshold(50_000, 20, 20)
    checkers = {task.kind: KINDS[task.kind]() for task in tasks}
    while monotonic() < end:
        open_tasks = [t for t in tasks if t.left]
        if not open_tasks:
            break
        task = min(open_tasks, key=lambda t: t.spent / SHARES[t.kind])
        start, done, failures = monotonic(), 0, list[Failure]()
        while task.left and monotonic() < min(end, start + TURN):
            at[0], at[1] = list(KINDS).index(task.kind), task.next
            failures += _checked(checkers[task.kind], task.next)
            task.next += task.step
            task.left -= 1
            done += 1
        task.spent += monotonic() - start
        reports.put(Report(number, {task.kind: done}, [_kept(f, folder) for f in failures]))
    rest = [f for checker in checkers.values() for f in checker.flush()]
    reports.put(Report(number, {}, [_kept(f, folder) for f in rest]))


def _stop(signal: int, frame: FrameType | None) -> None:
    raise TooSlow(f"takes longer than {LIMIT} s")


def _checked(checker: Checker, seed: int) -> list[Failure]:
    signal.alarm(LIMIT)
    try:
        return checker.check(seed)
    except TooSlow as error:
        return [Failure(checker.kind, seed, "TooSlow", "", {}, str(error))]
    finally:
        signal.alarm(0)


def _kept(failure: Failure, folder: Path) -> tuple[str, str, str]:
    """Shrink and save a failure."""
    small = shrunk(failure)
    return str(small.save(folder)), small.how, f"{small.report}\n{small.text}"


def shrunk(failure: Failure) -> Failure:
    """A failure of less text that fails in the same way; itself where that cannot be tried."""

    def attempt(other: Failure) -> Failure | None:
        signal.alarm(LIMIT)
        try:
            found = AGAIN[failure.kind](other)
        except Exception:
            return None
        finally:
            signal.alarm(0)
        return found if found and found.how == failure.how else None

    def with_program(c: Candidate) -> Failure:
        facts = {**failure.facts, "shapes": {n: list(s) for n, s in c.shapes.items()}}
        return Failure(failure.kind, failure.seed, failure.how, c.source, facts)

    if failure.kind == "systems" or not failure.text or not attempt(failure):
        return failure
    if failure.kind == "programs":
        small = shrink_program(
            failure.text, failure.facts["shapes"], lambda c: attempt(with_program(c)) is not None
        )
        return attempt(with_program(small)) or failure

    def with_text(text: str) -> Failure:
        return Failure(failure.kind, failure.seed, failure.how, text, failure.facts)

    text = shrink_text(failure.text, lambda text: attempt(with_text(text)) is not None)
    return attempt(with_text(text)) or failure


# --- around the workers ---------------------------------------------------------------------------


class Fleet:
    """All workers; one that dies is replaced, and what it was at becomes a failure."""

    def __init__(self, jobs: int, counts: Mapping[str, int], seed: int, seconds: float, out: Path):
        self.context = get_context("spawn")
        self.end, self.folder, self.jobs = monotonic() + seconds, out, jobs
        self.at = [self.context.Array("q", [0, seed]) for _ in range(jobs)]
        self.tasks = [
            [Task(k, seed + w, jobs, len(range(w, n, jobs))) for k, n in counts.items() if n]
            for w in range(jobs)
        ]
        # one queue each: a worker that dies with the lock of its own stops no other one
        self.queues: list[Any] = [self.context.SimpleQueue() for _ in range(jobs)]
        self.workers: list[BaseProcess] = [self._start(w) for w in range(jobs)]

    def _start(self, number: int) -> BaseProcess:
        arguments = (number, self.tasks[number], self.end, self.at[number])
        worker = self.context.Process(
            target=work, args=(*arguments, self.queues[number], self.folder), daemon=True
        )
        worker.start()
        return worker

    @property
    def running(self) -> bool:
        """Is any worker at work?"""
        return any(w.is_alive() for w in self.workers)

    def read(self) -> list[Report]:
        """What the workers have said since the last time."""
        return [queue.get() for queue in self.queues if not queue.empty()]

    def replace_the_dead(self) -> list[Failure]:
        """What killed workers; they go on behind it."""
        return [self._replace(n) for n, w in enumerate(self.workers) if w.exitcode not in (None, 0)]

    def _replace(self, number: int) -> Failure:
        kind, seed = list(KINDS)[self.at[number][0]], int(self.at[number][1])
        code = self.workers[number].exitcode
        for task in self.tasks[number]:
            if task.kind == kind:
                task.left -= max(0, (seed - task.next) // task.step + 1)
                task.next = seed + task.step
        self.queues[number] = self.context.SimpleQueue()
        self.workers[number] = self._start(number)
        report = f"the process died with exit code {code}; `--seed {seed} --{kind} 1` runs it alone"
        return Failure(kind, seed, f"died: {code}", "", {}, report)

    def stop(self) -> None:
        """End all workers at once."""
        for worker in self.workers:
            worker.terminate()
