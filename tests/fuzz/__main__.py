"""`python -m tests.fuzz`: the command line."""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter
from pathlib import Path
from time import monotonic, sleep

from tests.fuzz import malformed, programs
from tests.fuzz.failures import FOLDER, Failure, load
from tests.fuzz.workers import AGAIN, SHARES, Fleet

DESCRIPTION = """
Checks random programs, malformed input and integer systems until their counts are reached or the
time is up; without counts, until the time is up. Failures are made small and saved; exit code 1.

  python -m tests.fuzz --seconds 60
  python -m tests.fuzz --programs 100000 --malformed 100000 --systems 100000
  python -m tests.fuzz --replay build/fuzz/programs-7.tad
"""
UNLIMITED = 1 << 40


def main() -> int:
    options = _parser().parse_args()
    if options.replay:
        return replay(options.replay)
    counts = {kind: getattr(options, kind) for kind in SHARES}
    if all(n is None for n in counts.values()):
        counts = dict.fromkeys(counts, UNLIMITED)
        options.seconds = options.seconds or 60.0
    wanted = {kind: n or 0 for kind, n in counts.items()}
    return fuzz(options.jobs, wanted, options.seed, options.seconds or float("inf"), options.out)


def _parser() -> argparse.ArgumentParser:
    programs_are = programs.__doc__ or ""
    malformed_is = malformed.__doc__ or ""
    parser = argparse.ArgumentParser(
        prog="python -m tests.fuzz",
        description=DESCRIPTION.strip(),
        epilog=f"programs: {programs_are.strip()}\n\nmalformed: {malformed_is.strip()}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--seed", type=int, default=0, help="the first seed (0)")
    parser.add_argument("--seconds", type=float, help="when to stop (60 without counts)")
    for kind in SHARES:
        parser.add_argument(f"--{kind}", type=int, metavar="N", help=f"how many {kind}")
    parser.add_argument(
        "--jobs", type=int, default=len(os.sched_getaffinity(0)), help="processes (all processors)"
    )
    parser.add_argument("--out", type=Path, default=FOLDER, help=f"for failures ({FOLDER.name})")
    parser.add_argument("--replay", type=Path, metavar="FILE", help="check a failure again")
    return parser


def fuzz(jobs: int, counts: dict[str, int], seed: int, seconds: float, out: Path) -> int:
    """Run the workers and say what they do; 1 where something failed."""
    start = monotonic()
    fleet = Fleet(max(1, jobs), counts, seed, seconds, out)
    done: Counter[str] = Counter()
    failures = 0
    try:
        while True:
            for failure in fleet.replace_the_dead():
                failures += 1
                _show(str(failure.save(out)), failure.how, failure.report)
            alive, reports = fleet.running, fleet.read()
            for report in reports:
                done.update(report.done)
                for path, how, text in report.failures:
                    failures += 1
                    _show(path, how, text)
            _progress(done, failures, monotonic() - start)
            if not alive and not reports:
                break
            sleep(0 if reports else 0.1)
    except KeyboardInterrupt:
        fleet.stop()
    _clear()
    print(_summary(done, failures, monotonic() - start))
    return 1 if failures else 0


def _show(path: str, how: str, text: str) -> None:
    _clear()
    printable = text.encode("utf-8", "backslashreplace").decode()
    print(f"{path}: {how}\n{printable}\n", flush=True)


def _summary(done: Counter[str], failures: int, seconds: float) -> str:
    parts = [f"{n} {kind} ({n / max(seconds, 1e-9):.0f}/s)" for kind, n in done.items()]
    return f"{', '.join(parts) or 'nothing'} in {seconds:.0f} s: {failures or 'no'} failures"


def _progress(done: Counter[str], failures: int, seconds: float) -> None:
    if sys.stderr.isatty():
        text = _summary(done, failures, seconds)
        print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)


def _clear() -> None:
    if sys.stderr.isatty():
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def replay(path: Path) -> int:
    """Check the failure in a file again; 1 where it still fails."""
    failure = load(path)
    found: Failure | None = AGAIN[failure.kind](failure)
    if found is None:
        print(f"{path}: passes now (it failed with {failure.how})")
        return 0
    _show(str(path), found.how, found.report)
    return 1


if __name__ == "__main__":
    sys.exit(main())
