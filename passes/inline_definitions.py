"""`inline-definitions`: decide what is stored and what is computed where it is used.

A definition that no result depends on is dropped. One that is read in a single place, once per
element at most, moves there: storing it would only cost memory.

    %u = tix.define "u" (%i) : ... {           %f = tix.define "f" (%i) : ... {
      %0 = tix.sum (%k) in (...) {...}           %0 = tix.sum (%k) in (...) {...}
      tix.yield %0                     becomes   %2 = tix.exp %0
    }                                            tix.yield %2
    %f = tix.define "f" (%i) : ... {           }
      %1 = tix.read %u[%i]
      %2 = tix.exp %1
      tix.yield %2
    }

All else stays stored: reading an element again, in a sum or in two places, costs less than
computing it again. Elements are then computed in the precision of the definition that reads them,
so a definition only moves into one of its own precision.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from dialects import tix
from passes.emitter import Emitter, Scope
from passes.programs import ProgramBuilder, arguments_of, copy_definition, rewrite_programs
from passes.regions import Path


@dataclass(frozen=True)
class InlineDefinitionsPass(ModulePass):
    """`inline-definitions`: no options."""

    name = "inline-definitions"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        rewrite_programs(op, inline_definitions)


def inline_definitions(program: tix.ProgramOp) -> tix.ProgramOp:
    """The program without definitions that are not needed, or not needed in memory.

    It may be the same one, changed in place.
    """
    needed = _needed(program)
    moved: dict[SSAValue, tix.DefineOp] = {d.result: d for d in needed if _moves(d, needed)}
    if not moved:
        return _without_others(program, needed)
    builder = ProgramBuilder(arguments_of(program))
    scope = _Inliner(Emitter(builder.block, program.location))
    scope.moved = moved
    scope.values.update(zip(program.body.block.args, builder.block.args, strict=True))
    for op in needed:
        if op.result not in moved:
            scope.values[op.result] = copy_definition(builder, scope, op)
    return builder.finish(program, [scope.value(v) for v in program.returned])


def _without_others(program: tix.ProgramOp, needed: Sequence[tix.DefineOp]) -> tix.ProgramOp:
    """The program itself, all other definitions erased."""
    kept = set(needed)
    for op in reversed(program.definitions):
        if op not in kept:
            Rewriter.erase_op(op)
    return program


def _needed(program: tix.ProgramOp) -> list[tix.DefineOp]:
    """The definitions that results depend on, in order."""
    used = set(program.returned)
    needed: list[tix.DefineOp] = []
    for op in reversed(program.definitions):
        if op.result in used:
            needed.append(op)
            used.update(r.tensor for r in op.walk() if isinstance(r, tix.ReadOp))
    return needed[::-1]


def _moves(op: tix.DefineOp, needed: Sequence[tix.DefineOp]) -> bool:
    """Is `op` read in one place, which reads each element once at most?"""
    uses = [use.operation for use in op.result.uses]
    reads = [r for r in uses if isinstance(r, tix.ReadOp) and _definition_of(r) in needed]
    if len(reads) != 1 or any(isinstance(u, tix.ReturnOp) for u in uses):
        return False
    reader = _definition_of(reads[0])
    if Path.to(reads[0], reader).reductions:
        return False
    indices = [form.single_index for form in reads[0].forms]
    return reader.type.dtype == op.type.dtype and set(indices) == set(reader.indices)


def _definition_of(op: Operation) -> tix.DefineOp:
    """The definition that `op` stands in."""
    parent = op.parent_op()
    while not isinstance(parent, tix.DefineOp):
        assert parent is not None
        parent = parent.parent_op()
    return parent


class _Inliner(Scope):
    """Copies a body; a read of a moved definition becomes the body of that."""

    moved: dict[SSAValue, tix.DefineOp]

    def inner(self, emitter: Emitter, own: Sequence[SSAValue], new: Sequence[SSAValue]) -> Scope:
        scope = super().inner(emitter, own, new)
        assert isinstance(scope, _Inliner)
        scope.moved = self.moved
        return scope

    def copy(self, op: Operation) -> None:
        if isinstance(op, tix.ReadOp) and op.tensor in self.moved:
            definition = self.moved[op.tensor]
            body = self.inner(self.emitter, [], [])
            elements = zip(definition.indices, op.forms, strict=True)
            body.indices.update({v: self.form(form) for v, form in elements})
            self.values[op.result] = body.copy_body(definition.body)
        else:
            super().copy(op)
