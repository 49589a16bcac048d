"""The check of a plan of loops by hand: each entry must be possible in the call that it is for.

Entries name definitions of the program, or of a program derived from it: these are looked through
in the order of `_programs` until each entry has found its definition. So nothing is derived for a
plan that names definitions of the program alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

from tadc.errors import PlanError, Span, TadcError, did_you_mean
from tadc.function import Function
from tadc.inverse.text import steps
from tadc.language.source import Source
from tadc.modes import INVERSE_MODES
from tadc.passes.analysis.equivalence import equivalent_definitions
from tadc.passes.analysis.rounding import must_round_identically
from tadc.passes.rewriting.programs import tensor_names
from tadc.passes.scheduling.blocking import PLAIN
from tadc.passes.scheduling.text.apply_plan import blocking_of
from tadc.passes.scheduling.text.plan_parser import (
    PLAN,
    Entry,
    LoopPlan,
    PlanFailure,
    Token,
    parse_plan,
)
from tadc.program import Program
from tadc.runtime.compiled import Compiled
from tadc.runtime.loop_plan import program_in


def check_loop_plan(function: Function) -> None:
    """Raise `PlanError` where the plan of a function cannot be read, or is not possible."""
    text = function.program.loop_plan
    if not isinstance(text, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise PlanError(f"a plan is text, not {type(text).__name__}", Span(PLAN, 1, 1, 2, ""))
    try:
        _check(function, parse_plan(text))
    except PlanFailure as failure:
        token = failure.token
        place = Source(text, PLAN).at(token.line, token.column, token.column + len(token.text))
        raise PlanError(failure.reason, place, failure.hint) from None


def _check(function: Function, plan: LoopPlan) -> None:
    sizes, precision = _call(function, plan)
    left = {entry.name.text: entry for entry in plan.entries}
    refused: dict[str, PlanFailure] = {}
    known: list[str] = []
    for program in _programs(function):
        definitions = _Definitions(program, sizes, precision)
        known += definitions.labels
        for name in [name for name in left if name in definitions.labels]:
            try:
                definitions.check(left[name])
                del left[name]
            except PlanFailure as failure:
                refused.setdefault(name, failure)
        if not left:
            return
    for name, entry in left.items():
        raise refused.get(name) or _unknown(entry.name, known)


def _call(function: Function, plan: LoopPlan) -> tuple[Mapping[str, int] | None, str]:
    """The sizes of the call that a plan is for, or None for any, and its precision."""
    if plan.call is None:
        return None, "f64"
    names = function.program.summary.size_names()
    for token, _ in plan.call.sizes:
        if token.text not in names:
            hint = did_you_mean(token.text, names) or f"its sizes are {', '.join(names) or 'none'}"
            raise PlanFailure(token, f"{token.text} is no size of the program", hint)
    sizes = {token.text: size for token, size in plan.call.sizes}
    missing = [name for name in names if name not in sizes]
    if sizes and missing:
        raise PlanFailure(
            plan.call.token,
            f"the size {missing[0]} is missing",
            "a plan is for a call of which all sizes are given, or for calls of any sizes",
        )
    return sizes or None, plan.call.precision


def _programs(function: Function) -> Iterator[Program]:
    """The program of a function and those of its derivatives, made when they are looked at."""
    yield function.program
    derivatives: Sequence[Callable[[], Sequence[Program]]] = [
        lambda: [function.derivative().program],
        lambda: _pullback(function),
        lambda: [function.forward().program],
        *(partial(_inverse, function, mode) for mode in INVERSE_MODES),
    ]
    for derived in derivatives:
        try:
            programs = derived()
        except TadcError:  # not every program has arguments, or inverse modes
            continue
        yield from programs


def _pullback(function: Function) -> Sequence[Program]:
    parts = function.with_pullback()
    return parts.value.program, parts.gradients.program


def _inverse(function: Function, mode: str) -> Sequence[Program]:
    return [step for step in steps(function.program, mode) if isinstance(step, Program)]


class _Definitions:
    """The definitions of a program as a call runs them, for a plan to be tried on."""

    def __init__(self, program: Program, sizes: Mapping[str, int] | None, precision: str):
        executable = Compiled(program, "cpu").code(sizes, precision)
        self.has_choice = executable.is_tiled
        """False for short calls: all their loops are plain."""
        shaped = program_in(executable.shaped)
        self._tensors = tensor_names(shaped)
        members = equivalent_definitions(shaped, must_round_identically(shaped))
        self._members = {member.op.label.data: member for member in members}

    @property
    def labels(self) -> Sequence[str]:
        return list(self._members)

    def check(self, entry: Entry) -> None:
        """Raise `PlanFailure` where the definition of this name has no such nest."""
        member = self._members[entry.name.text]
        if member.op is not member.first:
            first = member.first.label.data
            raise PlanFailure(
                entry.name,
                f"{entry.name.text} runs the code of {first}, which is equal",
                f"write the plan of {first}",
            )
        nest = blocking_of(entry, member.op, self._tensors)
        if not self.has_choice and nest != PLAIN:
            raise PlanFailure(
                entry.kind,
                "calls of these sizes are short: all their loops are plain",
                "name a longer call in the first line: for N=512, f32",
            )


def _unknown(name: Token, known: Sequence[str]) -> PlanFailure:
    """The failure about a definition that no program has."""
    hint = did_you_mean(name.text, known) or f"there are {', '.join(dict.fromkeys(known))}"
    return PlanFailure(name, f"there is no definition {name.text} to plan", hint)
