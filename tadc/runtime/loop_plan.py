"""The plan of the loops that a call runs, as text: see `passes/scheduling/plan_text.py`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp

from dialects.tix import ProgramOp
from passes.rewriting.written_sizes import write_sizes
from passes.scheduling.nest import PLAIN, ChooseNest, nest_chooser
from passes.scheduling.plan_parser import parse_plan
from passes.scheduling.plan_text import plan_entries
from passes.scheduling.planned import planned
from tadc.runtime.executable import Executable
from tadc.runtime.runner import Runner
from tadc.runtime.size_class import SizeClass


@dataclass(frozen=True)
class ShownPlan:
    """The plan of a call: the line that names the call, and lines for each definition."""

    call: str
    entries: Mapping[str, Sequence[str]]

    @property
    def lines(self) -> list[str]:
        """The lines of all definitions."""
        return [line for entry in self.entries.values() for line in entry]

    def __str__(self) -> str:
        return "\n".join([self.call, *self.lines]) + "\n"


def loop_plan(runner: Runner, sizes: Mapping[str, int] | None, precision: str) -> ShownPlan:
    """The plan of the loops that a call of these sizes runs on the target `cpu`.

    Other targets have no choice. Without sizes it is that of large calls of any sizes. Raises what
    `Runner.code` raises.
    """
    if runner.target != "cpu":
        runner = Runner(runner.program, "cpu")
    with runner.program.located_errors():
        return runner.program.recurse(lambda: _loop_plan(runner, sizes, precision))


def _loop_plan(runner: Runner, sizes: Mapping[str, int] | None, precision: str) -> ShownPlan:
    executable = runner.code(sizes, precision)
    program = program_in(executable.shaped)
    choose = nests_of(executable, program)
    call = ", ".join([*write_sizes(sizes or {}), precision])
    return ShownPlan(f"for {call}", plan_entries(program, choose, lambda op, nest: []))


def nests_of(executable: Executable, program: ProgramOp) -> ChooseNest:
    """The nests that the definitions of a program run in, which was shaped for this executable."""
    classes: SizeClass = executable.sizes
    own = nest_chooser(classes.tiles, write_sizes(dict(classes.example)))
    if own is None:
        return lambda op: PLAIN
    return planned(parse_plan(executable.program.loop_plan), program, own)


def program_in(module: ModuleOp) -> ProgramOp:
    """The only program of a module."""
    (program,) = (op for op in module.ops if isinstance(op, ProgramOp))
    return program
