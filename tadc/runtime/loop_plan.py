"""The plan of the loops that a call runs: as text, and what it is predicted to take.

The text is that of `passes/scheduling/text/plan_text.py`, with comments.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp

from tadc.dialects.tix import DefineOp, ProgramOp
from tadc.passes.analysis.equivalence import equivalent_definitions
from tadc.passes.analysis.rounding import must_round_identically
from tadc.passes.rewriting.written_sizes import write_sizes
from tadc.passes.scheduling.blocking import PLAIN, Blocking, ChooseBlocking, blocking_chooser
from tadc.passes.scheduling.choose_nests import nests_of
from tadc.passes.scheduling.costs.predict_nest_time import predict_nest
from tadc.passes.scheduling.costs.predict_time import MACHINE, Machine, Prediction
from tadc.passes.scheduling.text.apply_plan import planned, refusals
from tadc.passes.scheduling.text.plan_comments import Comments
from tadc.passes.scheduling.text.plan_parser import LoopPlan, parse_plan
from tadc.passes.scheduling.text.plan_text import plan_entries
from tadc.runtime.compiled import Compiled
from tadc.sizes import argument_shapes


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


def loop_plan(compiled: Compiled, sizes: Mapping[str, int] | None, precision: str) -> ShownPlan:
    """The plan of the loops that a call of these sizes runs on the target `cpu`.

    Other targets have no choice. Without sizes it is that of large calls of any sizes. Raises what
    `Compiled.code` raises.
    """

    def shown() -> ShownPlan:
        call = _Call.of(compiled, sizes, precision)
        refused = refusals(call.plan, call.program)
        comments = Comments(call.sizes, call.example, call.own, refused, call.plan)
        settings = ", ".join([*write_sizes(sizes or {}), precision])
        entries = plan_entries(call.program, call.choose, comments.about)
        return ShownPlan(f"for {settings}", entries)

    with compiled.program.located_errors():
        return compiled.program.recurse(shown)


def predictions(
    compiled: Compiled,
    sizes: Mapping[str, int] | None,
    precision: str,
    machine: Machine = MACHINE,
) -> dict[str, Prediction]:
    """The work and the time of each nest, on one core of a machine, by the label of the first
    definition that it stores, and of those that run its code; empty without sizes."""

    def found() -> dict[str, Prediction]:
        call = _Call.of(compiled, sizes, precision)
        if call.sizes is None:
            return {}
        as_written = must_round_identically(call.program)
        members = equivalent_definitions(call.program, as_written)
        stored: dict[DefineOp, Prediction] = {}
        for nest in list(nests_of(members, call.choose, as_written)):
            stored[nest.written[0]] = predict_nest(nest, call.choose, call.sizes, machine)
            nest.forget()
        return {m.op.label.data: stored[m.first] for m in members if m.first in stored}

    with compiled.program.located_errors():
        return compiled.program.recurse(found)


@dataclass(frozen=True)
class _Call:
    """A call whose loops are looked at."""

    program: ProgramOp
    """The program whose loops are shaped."""
    plan: LoopPlan
    """The plan by hand, empty for short calls, which have none."""
    own: ChooseBlocking
    choose: ChooseBlocking
    """The nests that run: those of the plan by hand, and the compiler's own."""
    sizes: Mapping[str, int] | None
    """All sizes, also those that follow from others; None where they are not given."""
    example: Mapping[str, int]
    """The sizes for which nests are chosen."""

    @staticmethod
    def of(compiled: Compiled, sizes: Mapping[str, int] | None, precision: str) -> _Call:
        """The call of a program with these sizes; raises what `Compiled.code` raises."""
        if compiled.target != "cpu":
            compiled = Compiled(compiled.program, "cpu")
        executable = compiled.code(sizes, precision)
        program = program_in(executable.shaped)
        example = executable.summary.with_derived(dict(executable.sizes.example))
        least = write_sizes(executable.sizes.least)
        own = blocking_chooser(executable.is_tiled, write_sizes(example), least, program.registers)
        known = _all_sizes(compiled, sizes)
        known = None if known is None else executable.summary.with_derived(known)
        if own is None:
            return _Call(program, LoopPlan(), _plain, _plain, known, example)
        plan = parse_plan(executable.program.loop_plan)
        choose = planned(plan, program, own)
        return _Call(program, plan, own, choose, known, example)


def _plain(_: object) -> Blocking:
    return PLAIN


def _all_sizes(compiled: Compiled, sizes: Mapping[str, int] | None) -> Mapping[str, int] | None:
    """The sizes of a call with those that follow from them; None where they are not given."""
    summary = compiled.program.summary
    if not sizes and summary.size_names():
        return None
    shapes = argument_shapes(summary, sizes or {})
    return compiled.sizes_of([shapes[t.name] for t in compiled.program.args])


def program_in(module: ModuleOp) -> ProgramOp:
    """The only program of a module."""
    (program,) = (op for op in module.ops if isinstance(op, ProgramOp))
    return program
