"""`split-solves`: cut a program where it needs the solution of a linear system.

    tix.program @p (%p = "p" : ..., %x = "x" : ...) {
      %A = tix.define "A" ...   reads p
      %b = tix.define "b" ...   reads p
      %q = tix.define "q" ...   reads x, p
      tix.return %q, %A, %b
    }
    tix.solve ["x"] from ["A"] and ["b"] as "dense"

becomes a program for what is needed before each system, and one for the rest. They return what
later ones need, under their labels, and what the program returned, under its names there wherever
nothing that stands below reads another tensor of that name.

    tix.program @p_1 (%p = "p" : ...) { ... tix.return %A, %b }
    tix.solve ["x"] from ["A"] and ["b"] as "dense"
    tix.program @p (%p = "p" : ..., %x = "x" : ...) { ... tix.return %q }

A program without systems stays as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from tadc.dialects import tix
from tadc.passes.derive.split_pullback import program_part
from tadc.passes.rewriting.program_pass import ContractPass
from tadc.passes.rewriting.programs import label_of, reads_of


@dataclass(frozen=True)
class SplitSolvesPass(ContractPass):
    """`split-solves`: no options."""

    name = "split-solves"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for program in [p for p in op.ops if isinstance(p, tix.ProgramOp)]:
            systems = _systems_after(program)
            if not systems:
                continue
            for system in systems:
                system.detach()
            parts = split_solves(program, [s for s in systems if isinstance(s, tix.SolveOp)])
            Rewriter.insert_op([*_between(parts, systems)], InsertPoint.before(program))
            program.detach()
            program.erase()


def _systems_after(program: tix.ProgramOp) -> list[Operation]:
    """The linear systems between a program and the next one."""
    found: list[Operation] = []
    op = program.next_op
    while isinstance(op, tix.SolveOp | tix.DeterminantOp):
        found.append(op)
        op = op.next_op
    return found


def _between(parts: Sequence[tix.ProgramOp], systems: Sequence[Operation]) -> list[Operation]:
    """Each system behind the part that makes its matrix."""
    ordered: list[Operation] = [parts[0]]
    rest = iter(parts[1:])
    for system in systems:
        ordered.append(system)
        if isinstance(system, tix.SolveOp):
            ordered.append(next(rest))
    return ordered


def split_solves(program: tix.ProgramOp, systems: Sequence[tix.SolveOp]) -> list[tix.ProgramOp]:
    """The programs before, between and after these systems: they take over its definitions."""
    solutions = [[program.arguments[n] for n in s.solution_names] for s in systems]
    stage = _stages(program, solutions)
    returned = list(dict.fromkeys(program.returned))
    names = dict(zip(program.returned, program.result_names, strict=True))
    needed = {(r.tensor, stage[op.result]) for op in program.definitions for r in reads_of(op)}
    parts: list[tix.ProgramOp] = []
    for n in reversed(range(len(systems) + 1)):  # what reads a value first: then it is an argument
        own = [op for op in program.definitions if stage[op.result] == n]
        read = {tensor for tensor, at in needed if at == n}
        arguments = [
            (name, v)
            for name, v in program.arguments.items()
            if v in read or not any(v in group for group in solutions)
        ]
        earlier = [(op.label.data, op.result) for op in program.definitions if stage[op.result] < n]
        arguments += [(name, v) for name, v in earlier if v in read]
        later = {tensor for tensor, at in needed if at > n}
        results = [op.result for op in own if op.result in later or op.result in returned]
        # a new version of an argument takes its name where nobody reads the old one any more
        done = {v for v, name in names.items() if not {v, program.arguments.get(name)} & later}
        labels = [names[v] if v in done else label_of(v) for v in results]
        suffix = f"_{n + 1}" if n < len(systems) else ""
        parts.append(program_part(program, arguments, own, results, labels, suffix))
    return parts[::-1]


def _stages(program: tix.ProgramOp, solutions: Sequence[Sequence[SSAValue]]) -> dict[SSAValue, int]:
    """The number of systems that must be solved before each tensor is known."""
    stage = {v: n + 1 for n, group in enumerate(solutions) for v in group}
    for op in program.definitions:
        stage[op.result] = max((stage.get(r.tensor, 0) for r in reads_of(op)), default=0)
    return stage
