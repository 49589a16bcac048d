"""The plan of the loops of a function and of a derivative, in one text (`tadc --explain-plan`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tadc.function import Function
from tadc.inverse.text import steps
from tadc.modes import INVERSE_MODES
from tadc.passes.scheduling.text.plan_text import without_comments
from tadc.program import Program
from tadc.runtime.compiled import Compiled
from tadc.runtime.loop_plan import loop_plan


def explain_loops(
    function: Function,
    wrt: Sequence[str] = (),
    mode: str = "reverse",
    sizes: Mapping[str, int] | None = None,
    precision: str = "f64",
) -> str:
    """The plan of a call of `function`, and of its derivative in a mode, by arguments `wrt`.

    It is a plan again: a definition that is in both has one entry, and where the derivative's would
    be another one that stands there as a comment. Raises what `Compiled.code` raises.
    """
    own = loop_plan(function.compiled, sizes, precision)
    lines = [own.call, "# the program", *own.lines]
    for program in _derivatives(function, wrt, mode):
        derivative = loop_plan(Compiled(program, function.target), sizes, precision)
        lines += ["", f"# its derivative of mode {mode}"]
        for label, entry in derivative.entries.items():
            if label not in own.entries:
                lines += entry
            elif (said := without_comments(entry)) != without_comments(own.entries[label]):
                lines += (f"# {line}" for line in said)
    return "\n".join(lines) + "\n"


def _derivatives(function: Function, wrt: Sequence[str], mode: str) -> list[Program]:
    """The programs of a derivative: several in inverse modes."""
    if mode in INVERSE_MODES:
        return [step for step in steps(function.program, mode) if isinstance(step, Program)]
    derived = function.forward(*wrt) if mode == "forward" else function.derivative(*wrt)
    return [derived.program]
