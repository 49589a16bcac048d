"""Times tadc on the CPU beside hand-written C and its rivals, in turns, in one run.

    python -m benchmarks.cpu [--threads 1 2] [--workloads more] [--only W1 W2]
                             [--contenders C tadc] [--save NAME] [--against FILE]

Thirteen workloads in f32, or others: the value, and the value with the gradients of all arguments.
For each number of threads a process of its own checks all results against NumPy in f64, and then
lets the contenders take turns. With one thread the time of the processor counts, which other work
on the machine changes least; with more, the time of the clock. See `benchmarks/README.md`.
"""

from __future__ import annotations

import argparse
import gc
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import machine, report, tables
from benchmarks.timing import Run, Times, measure
from benchmarks.workloads import ALL, MORE, WORKLOADS
from benchmarks.workloads.workload import Array, Contender, Workload, aligned, normal

LIMIT = 1e-3
"""The largest error allowed, by the largest element of the result."""

KINDS = ("value", "value + gradients")

SETS = {"thirteen": WORKLOADS, "more": MORE, "all": ALL}


def main() -> None:
    """Measure what the command line asks for, in one process per number of threads."""
    options = arguments()
    if options.turn:
        Path(options.turn).write_text(json.dumps(turn(options)), encoding="utf-8")
        return
    about = machine.about()
    turns = {str(n): in_process(n) for n in options.threads}
    print(report.report(turns))
    if options.against:
        before = json.loads(Path(options.against).read_text(encoding="utf-8"))
        print(f"\n# Change to {options.against}\n\n{report.change(before['turns'], turns)}")
    if options.save:
        title = "# CPU: tadc beside hand-written C and rivals"
        text = f"{title}\n\n{tables.listed(about)}\n\n{report.report(turns)}"
        tables.save(options.save, text, {"machine": about, "turns": turns})


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Times of tadc on the CPU beside others.")
    most = min(2, len(machine.cores()))
    parser.add_argument("--threads", type=int, nargs="+", default=list(range(1, most + 1)))
    parser.add_argument("--workloads", choices=SETS, default="thirteen")
    parser.add_argument("--only", nargs="+", default=[], help="of all workloads: W1 W2 ...")
    parser.add_argument("--contenders", nargs="+", default=[], help="as the columns are called")
    parser.add_argument("--rounds", type=int, default=6, help="turns of each contender")
    parser.add_argument("--share", type=float, default=0.1, help="seconds of a turn")
    parser.add_argument("--save", metavar="NAME", help="write benchmarks/results/NAME-<date>")
    parser.add_argument("--against", metavar="FILE", help="an earlier result to compare with")
    parser.add_argument("--turn", help=argparse.SUPPRESS)
    return parser.parse_args()


def in_process(threads: int) -> dict[str, Any]:
    """The results of a process that is limited to that many threads."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "turn.json"
        command = [sys.executable, "-m", "benchmarks.cpu", *sys.argv[1:]]
        done = subprocess.run(
            [*command, "--threads", str(threads), "--turn", str(out)],
            check=False,
            env=machine.environment(threads),
            preexec_fn=machine.pinned(threads),
        )
        if done.returncode:  # it has said why
            sys.exit(done.returncode)
        return json.loads(out.read_text(encoding="utf-8"))


# --- one process ----------------------------------------------------------------------------------


def turn(options: argparse.Namespace) -> dict[str, Any]:
    """All workloads on the threads that this process has."""
    # Loads the libraries of all contenders, which the process that starts this one does without.
    from benchmarks.contenders import ready

    threads = options.threads[0]
    makers, reasons = ready(threads, options.contenders)
    for name, reason in reasons.items():
        print(f"without {name}: {reason}", file=sys.stderr)
    times: dict[str, dict[str, Any]] = {kind: {} for kind in KINDS}
    errors: dict[str, dict[str, float]] = {}
    for workload in chosen(options):
        print(f"{threads}: {workload.name}, {workload.title}", file=sys.stderr)
        arrays, dy = inputs(workload)
        made = {name: make(workload, arrays, dy) for name, make in makers.items()}
        contenders = {name: c for name, c in made.items() if c is not None}
        errors[workload.name] = check(workload, arrays, dy, contenders)
        values = {name: c.value for name, c in contenders.items()}
        both = {name: c.both for name, c in contenders.items()}
        for kind, each in zip(KINDS, (values, both), strict=True):
            times[kind][workload.name] = milliseconds(timed(each, threads, options))
    clock = "the processor" if threads == 1 else "the clock"
    return {"clock": clock, "without": reasons, "errors": errors, "times": times}


def chosen(options: argparse.Namespace) -> list[Workload]:
    """The workloads that are named, or those of a set."""
    names = options.only or [w.name for w in SETS[options.workloads]]
    return [w for w in SETS["all"] if w.name in names]


def timed(runs: Mapping[str, Run], threads: int, options: argparse.Namespace) -> dict[str, Times]:
    gc.collect()
    clock = time.process_time if threads == 1 else time.perf_counter
    return measure(runs, clock, options.rounds, options.share)


def inputs(workload: Workload) -> tuple[dict[str, Array], Array]:
    """The arguments, and an adjoint of the result."""
    rng = np.random.default_rng(0)
    arrays = {name: aligned(a) for name, a in workload.inputs(rng).items()}
    shape = workload.value(*arrays.values()).shape
    return arrays, aligned(normal(rng, *shape))


def check(
    workload: Workload, arrays: dict[str, Array], dy: Array, contenders: Mapping[str, Contender]
) -> dict[str, float]:
    """The largest error of each contender; those that are wrong may not take part."""
    precise = [a.astype(np.float64) for a in arrays.values()]
    y = workload.value(*precise)
    expected = [y, y, *workload.gradients(y, dy.astype(np.float64), *precise)]
    errors: dict[str, float] = {}
    for name, contender in contenders.items():
        first = np.asarray(contender.value()).copy()
        value, gradients = contender.both()
        errors[name] = largest_error([first, value, *gradients], expected)
        assert errors[name] < LIMIT, f"{workload.name}: {name} is off by {errors[name]:.1e}"
    return errors


def largest_error(results: Sequence[Any], expected: Sequence[Array]) -> float:
    """The largest difference, each by the largest element of what is expected."""
    pairs = zip(results, expected, strict=True)
    return max(float(np.abs(np.asarray(a) - b).max() / np.abs(b).max()) for a, b in pairs)


def milliseconds(times: Mapping[str, Times]) -> dict[str, dict[str, float]]:
    return {
        name: {"median": t.median * 1e3, "minimum": t.minimum * 1e3, "readings": t.readings}
        for name, t in times.items()
    }


if __name__ == "__main__":
    main()
