"""`tadc check`: verify every derivative and mode numerically, and print tables."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Sequence

from tadc.commands.programs import load
from tadc.function import Function
from tadc.verify.gradients import Progress, Verdict, choose_sizes, verify
from tadc.verify.modes import ModeVerdict, updates, verify_modes, why_no_inverse


def run(options: Namespace) -> int:
    """The command; its exit code: 1 where a derivative is wrong."""
    function = load(options.file)
    sizes = choose_sizes(function, options.seed, dict(options.size))
    verdicts = verify(
        function,
        options.seed,
        tolerance=options.tolerance,
        sizes=sizes,
        progress=_progress(),
        wrt=options.wrt,
    )
    name = "standard input" if options.file == "-" else options.file
    print(f"{name}: derivatives against central differences in float64")
    print("\n".join(_conditions(function, sizes, options.seed, verdicts)))
    print("\n".join(table(verdicts)))
    modes = verify_modes(
        function, options.seed, tolerance=options.tolerance, sizes=sizes, wrt=options.wrt
    )
    print("\n".join(mode_table(modes)))
    if len(modes) == 1 and updates(function):
        print(f"  no inverse modes: {why_no_inverse(function)}")
    wrong = [v.argument for v in verdicts if not v.ok] + [v.mode for v in modes if not v.ok]
    if wrong:
        print(f"WRONG by more than {options.tolerance:g}: {', '.join(wrong)}")
    return 1 if wrong else 0


def _conditions(
    function: Function, sizes: dict[str, int], seed: int, verdicts: Sequence[Verdict]
) -> list[str]:
    """Under what conditions the table holds."""
    low, high = verdicts[0].interval
    lines = [f"  random arguments between {low:g} and {high:g}, seed {seed}"]
    if sizes:
        lines.append(f"  sizes {', '.join(f'{n} = {size}' for n, size in sizes.items())}")
    if any(t.dtype == "f32" for t in (*function.args, *function.results)):
        lines.append("  f32 is computed in float64 here")
    if any(v.compared < _count(v) for v in verdicts):
        some = ", ".join(f"{v.compared} of {v.argument}" for v in verdicts)
        lines.append(f"  a random choice of elements: {some}")
    return lines


def _count(verdict: Verdict) -> int:
    count = 1
    for size in verdict.shape:
        count *= size
    return count


def table(verdicts: Sequence[Verdict]) -> list[str]:
    """The verdicts as lines of equal columns."""
    rows = [("argument", "shape", "largest error", "")]
    rows += [(v.argument, _shape(v), f"{v.error:.1e}", "ok" if v.ok else "WRONG") for v in verdicts]
    return _columns(rows)


def mode_table(verdicts: Sequence[ModeVerdict]) -> list[str]:
    """The verdicts about modes as lines of equal columns."""
    rows = [("mode", "compared with", "largest error", "")]
    for v in verdicts:
        error = "-" if v.error is None else f"{v.error:.1e}"
        judged = "not compared" if v.error is None else "ok" if v.ok else "WRONG"
        rows.append((v.mode, v.against, error, judged))
    return _columns(rows)


def _columns(rows: Sequence[tuple[str, str, str, str]]) -> list[str]:
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    lines = ("  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)) for row in rows)
    return [f"  {line.rstrip()}" for line in lines]


def _shape(verdict: Verdict) -> str:
    return " x ".join(str(size) for size in verdict.shape) or "scalar"


def _progress() -> Progress | None:
    """A counter on standard error, where that is a terminal."""
    if not sys.stderr or not sys.stderr.isatty():
        return None

    def show(done: int, total: int) -> None:
        end = "\r\x1b[K" if done == total else ""
        print(f"\r{done} of {total} elements{end}", end="", file=sys.stderr, flush=True)

    return show
